package members

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// inBubble runs a test in simulated time, with one replica and so many people who have saved
// their first wallet.
func inBubble(t *testing.T, people int, test func(t *testing.T, w *world, r *replica)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 6*time.Hour, people)
		r := w.start()
		for _, p := range w.people {
			if _, err := r.save(p, 0); err != nil {
				t.Fatal(err)
			}
		}
		test(t, w, r)
		r.end()
	})
}

// sleep has time pass, and all that follows from that happen.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// having returns how many people have a badge.
func (w *world) having(community, badge string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.people {
		if p.has[community+":"+badge] {
			n++
		}
	}
	return n
}

// unstake has people stake nothing from now on.
func (w *world) unstake(people ...*person) {
	w.change(func() {
		for _, p := range people {
			p.stakes = [2]int64{}
		}
	})
}

// A replica that deletes some rows is no alarm. A store that lost most of them is one.
func TestRowsThatVanishAreTold(t *testing.T) {
	t.Parallel()
	inBubble(t, 40, func(t *testing.T, w *world, r *replica) {
		sleep(7 * time.Hour)
		lose := func(n int) {
			w.change(func() {
				for _, p := range w.people[:n] {
					delete(w.values, shardKey(shardOf(p.User)))
				}
			})
			sleep(7 * time.Hour)
		}
		if lose(5); w.events["rows_missing"] != 0 {
			t.Error("five rows that another replica may have deleted are told")
		}
		if lose(40); w.events["rows_missing"] == 0 || w.events["rows_missing"] > 2 || !strings.Contains(w.log.String(), "saved addresses are gone") {
			t.Errorf("told %d times: %s", w.events["rows_missing"], w.log.String())
		}
		if rows, _, _ := r.m.Census(); rows != 0 {
			t.Errorf("%d rows are counted", rows)
		}
	})
}

func TestTheFuseOfOneCommunityHoldsNoOther(t *testing.T) {
	t.Parallel()
	inBubble(t, 30, func(t *testing.T, w *world, r *replica) {
		w.change(func() { // Eleven of thirty are in both, and nobody else in 9002.
			for _, p := range w.people[11:] {
				p.in["9002"] = false
				delete(p.has, "9002:7003")
			}
			w.people[1].in["9002"] = true
		})
		w.unstake(w.people[:11]...)
		w.change(func() { w.communities["9002"].problem = chat.MissingRight })
		sleep(20 * time.Hour)
		if got := w.having("9001", "7001"); got != 30 || w.events["fuse_blown"] == 0 {
			t.Fatalf("%d have the badge, the fuse blew %d times", got, w.events["fuse_blown"])
		}
		if s, err := r.m.Status("discord", "9001"); err != nil || !s.Held || s.Losing != 11 || s.Have != 30 {
			t.Errorf("moderators see %+v, %v", s, err)
		}
		held, err := r.m.Release(t.Context())
		if err != nil || len(held) < 11 || !slices.ContainsFunc(held, func(h Place) bool { return h.Community == "9001" && h.User == w.people[0].User }) {
			t.Fatalf("released %v, %v", held, err)
		}
		sleep(2 * time.Minute)
		if again, err := r.m.Release(t.Context()); err != nil || len(again) != 0 {
			t.Errorf("released again: %v, %v", again, err)
		}
		sleep(7 * time.Hour)
		if got := w.having("9001", "7001"); got != 19 {
			t.Errorf("after the release %d have the badge, want 19", got)
		}
		w.unstake(w.people[11:25]...)
		sleep(20 * time.Hour)
		if got := w.having("9001", "7001"); got != 19 {
			t.Errorf("a release of before takes badges: %d have one", got)
		}
		for _, at := range []time.Duration{365 * 24 * time.Hour, -13 * time.Hour} {
			w.change(func() { w.values[releaseKey("discord")] = strconv.AppendInt(nil, time.Now().Add(at).Unix(), 10) })
			sleep(7 * time.Hour)
			if got := w.having("9001", "7001"); got != 19 || w.snapshot()[releaseKey("discord")] != nil {
				t.Errorf("a release from %v hence: %d have the badge", at, got)
			}
		}
	})
}

// A press into a community that refuses makes one call a minute, for all who press.
func TestARefusingCommunityIsCalledOnceAMinute(t *testing.T) {
	t.Parallel()
	inBubble(t, 20, func(t *testing.T, w *world, r *replica) {
		w.change(func() {
			w.communities["9001"].problem = chat.MissingRight
			w.communities["9001"].calls = nil
			for _, p := range w.people {
				p.stakes[0], p.has = 2000, map[string]bool{"9002:7003": true}
			}
		})
		began := time.Now()
		for _, p := range w.people {
			changes, err := r.save(p, 0)
			if err != nil || !slices.ContainsFunc(changes, func(c Change) bool { return c.Problem == chat.MissingRight && c.Badge.Community == "9001" }) {
				t.Errorf("a press: %v, %v", changes, err)
			}
		}
		minutes := int(time.Since(began)/time.Minute) + 2
		if calls := len(w.communities["9001"].calls); calls == 0 || calls > minutes {
			t.Errorf("%d calls in %v", calls, time.Since(began))
		}
		if got := w.having("9002", "7003"); got != 20 {
			t.Errorf("%d have the badge of the other community", got)
		}
		w.change(func() { w.communities["9001"].calls = nil })
		if sleep(12 * time.Hour); len(w.communities["9001"].calls) > 6 {
			t.Errorf("the cycle makes %d calls in 12 hours", len(w.communities["9001"].calls))
		}
	})
}

// Who is registered no more goes after two checks; with the partner away nobody does. Two
// accounts that do not exist are not one.
func TestTheMonthlyProof(t *testing.T) {
	t.Parallel()
	inBubble(t, 3, func(t *testing.T, w *world, r *replica) {
		w.change(func() { w.partnerAway = true })
		sleep(31 * 24 * time.Hour)
		if got := w.having("9001", "7001"); got != 3 || w.asked == 0 {
			t.Errorf("with the partner away %d have the badge, asked %d times", got, w.asked)
		}
		w.change(func() {
			w.partnerAway, w.unregistered = false, true
			for _, p := range w.people {
				p.disowned = true
			}
		})
		sleep(24 * time.Hour)
		if got := w.having("9001", "7001"); got != 0 {
			t.Errorf("%d have the badge with accounts that do not exist", got)
		}
		if s, err := r.m.Saved(t.Context(), w.people[0].User); err != nil || s == nil || s.Lost == nil || !s.Lost.Disowned {
			t.Errorf("%+v, %v", s, err)
		}
		asked := w.asked
		if sleep(24 * time.Hour); w.asked != asked {
			t.Error("rows of those who lost all are asked about again and again")
		}
	})
}

// A slot asks about few; those who wait longest come first.
func TestNobodyWaitsBehindThoseWhoWereAskedInVain(t *testing.T) {
	w := newWorld(t, 6*time.Hour, 0)
	m := New(Config{Settings: Settings{Every: 10 * time.Minute}, Store: &replica{world: w}, Pools: poolList(21), Chain: "1",
		Badges: map[chat.Platform][]chat.Badge{"discord": twoBadges}, Count: func(string) {}})
	l := m.platforms["discord"].levels
	row := func(user string, askedHours float64) Row {
		return Row{User: chat.User{Platform: "discord", ID: user}, Level: 1, List: l.list, AskedAt: timeOf(at(askedHours))}
	}
	var asked []string
	var mu sync.Mutex
	m.Accounts = source(func(id core.Identity) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, id.UID)
	})
	m.Stakes = func(_ context.Context, wallets []common.Address) []core.Answer[core.Stake] {
		return make([]core.Answer[core.Stake], len(wallets))
	}
	rows := []Row{row("1", -1), row("2", -100), row("3", -2), row("4", -3), row("5", -4), row("6", -5)}
	rows[2].Below = []Time{timeOf(noon)}
	m.find(t.Context(), rows)
	asked = slices.DeleteFunc(asked, func(id string) bool { return len(id) > 1 })
	if !slices.Equal(asked, []string{"3", "2", "6", "5"}) {
		t.Errorf("asked about %q", asked)
	}
}

// Whoever loses a badge is told once, where and by which checks, without an amount.
func TestWhoLosesABadgeIsToldWhy(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *world, r *replica) {
		w.unstake(w.people...)
		sleep(14 * time.Hour)
		if len(w.notices) != 2 {
			t.Fatalf("%d notices", len(w.notices))
		}
		for _, n := range w.notices {
			card := words.Print(n)
			if title := card.Title.String(); !strings.HasPrefix(title, "7001 is removed in Server") && !strings.HasPrefix(title, "7003 is removed in Server") {
				t.Errorf("titled %q", title)
			}
			if text := card.Text.String(); !strings.HasPrefix(text, "No stake found in 0xee00") || !strings.Contains(text, "send /verify") {
				t.Errorf("told %q", text)
			}
		}
		s, err := r.m.Saved(t.Context(), w.people[0].User)
		if err != nil || s == nil || s.Lost == nil || len(s.Missing) != 2 || len(s.Badges) != 0 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// Who left and came back has the badge again with a command; /verify of what is saved writes
// and calls nothing for anybody else.
func TestWhoCameBackHasTheBadgeAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, w *world, r *replica) {
		p := w.people[0]
		effects := w.effects.Load()
		stake := r.stakeOf(p.wallets[0]).Value
		if changes, err := r.m.Refresh(t.Context(), p.User, "9001", p.wallets[0], stake); err != nil || changes != nil || w.effects.Load() != effects {
			t.Errorf("/verify has %d effects: %v, %v", w.effects.Load()-effects, changes, err)
		}
		w.change(func() { clear(p.has) })
		r.m.Seen(p.User, "9001", nil)
		sleep(5 * time.Second)
		if got := p.badges("9001"); !slices.Equal(got, []string{"7001"}) {
			t.Errorf("after a command they have %q", got)
		}
		sleep(2 * time.Minute)
		if changes, err := r.m.Refresh(t.Context(), p.User, "9001", p.wallets[0], stake); err != nil || len(changes) != 1 || !p.has["9002:7003"] {
			t.Errorf("/verify: %v, %v, has %v", changes, err, p.has)
		}
		effects = w.effects.Load()
		r.m.Seen(chat.User{Platform: "discord", ID: "5"}, "9001", nil)
		if sleep(5 * time.Second); w.effects.Load() != effects {
			t.Error("a command of somebody without a saved address has effects")
		}
	})
}

func TestWhatAPressGivesIsKnownBefore(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, w *world, r *replica) {
		rich := core.Stake{Checked: 21, Staked: []core.PoolAmount{{Amount: twoBadges[1].Amount}}}
		for _, c := range []struct {
			here    string
			oneEach bool
			absent  bool
			want    string
		}{
			{"9001", false, false, "7001 7002 7003"},
			{"9001", true, false, "7002 7003"},
			{"", false, true, "7001 7002"},
			{"9002", false, true, "7001 7002 7003"}, // just let in
		} {
			p := w.people[1]
			w.change(func() { w.oneEach, p.in["9002"] = c.oneEach, !c.absent })
			sleep(2 * time.Minute)
			var got []string
			for _, b := range r.m.Offer(t.Context(), p.User, c.here, rich) {
				got = append(got, b.ID)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%+v: offered %q", c, got)
			}
		}
		w.change(func() { w.oneEach = false })
	})
}

// source is a core.Source of accounts that are not known.
type source func(core.Identity)

func (f source) Get(_ context.Context, id core.Identity) (s core.Snapshot[core.Account], err error) {
	f(id)
	return s, fmt.Errorf("ask: %w", errFault)
}
