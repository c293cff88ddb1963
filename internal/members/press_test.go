package members

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// A badge is not given behind the removal of somebody who is forgotten, by another replica.
func TestForgettingWaitsForACallInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 6*time.Hour, 1)
		p, here, there := w.people[0], w.start(), w.start()
		w.onCall = func(_ string, remove bool) {
			if !remove {
				time.Sleep(5 * time.Second)
			}
		}
		var pressing sync.WaitGroup
		pressing.Go(func() { _, _ = here.save(p, 0) })
		sleep(time.Second)
		there.forgets(p)
		pressing.Wait()
		sleep(2 * time.Minute)
		if row, err := here.m.rows.find(w.t.Context(), p.User); len(p.has) != 0 || row != nil || err != nil {
			t.Errorf("has %v, row %+v, %v", p.has, row, err)
		}
		here.end()
		there.end()
	})
}

// A check of the wallet of before says nothing of the one that is saved meanwhile.
func TestACheckOfAnotherWalletCountsForNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *world, r *replica) {
		p := w.people[0]
		w.change(func() { p.stakes = [2]int64{0, 5} })
		pressed := false
		w.change(func() {
			w.onRead = func() {
				if !pressed {
					pressed = true
					if _, err := r.save(p, 1); err != nil {
						t.Error(err)
					}
				}
			}
		})
		sleep(6 * time.Hour)
		if row, err := r.m.rows.find(w.t.Context(), p.User); err != nil || !pressed || row.Below != nil || row.Wallet != p.wallets[1] {
			t.Errorf("pressed %t, row %+v, %v", pressed, row, err)
		}
	})
}

// Who was not in a community at the first press is given its badge by the next one.
func TestAPressTriesEveryCommunityAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, w *world, r *replica) {
		p := w.people[1]
		calls := len(w.communities["9002"].calls)
		if sleep(7 * time.Hour); len(w.communities["9002"].calls) != calls || p.has["9002:7003"] {
			t.Errorf("the cycle calls for somebody who is not there: %q", w.communities["9002"].calls[calls:])
		}
		w.change(func() { p.in["9002"] = true })
		if _, err := r.save(p, 0); err != nil || !p.has["9002:7003"] {
			t.Errorf("has %v, %v", p.has, err)
		}
	})
}

// What a press cannot read in full forgets no first check.
func TestAPressThatReadsAPartForgetsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *world, r *replica) {
		p := w.people[0]
		w.change(func() { p.stakes[0] = 2000 })
		if _, err := r.save(p, 0); err != nil || !p.has["9001:7002"] {
			t.Fatal(p.has, err)
		}
		w.change(func() { p.stakes[0] = 5 })
		sleep(7 * time.Hour)
		part := core.Stake{Checked: 20, BlockTime: time.Now(), Failed: []core.UnreadPool{{}}, Staked: []core.PoolAmount{{Amount: decimal.NewFromInt(5)}}}
		if _, err := r.m.Save(w.t.Context(), p.User, p.wallets[0], part); err != nil {
			t.Fatal(err)
		}
		if row, err := r.m.rows.find(w.t.Context(), p.User); err != nil || row.Below == nil {
			t.Errorf("row %+v, %v", row, err)
		}
	})
}

// Until all rows were read once, nobody knows how many would lose a badge.
func TestNothingGoesBeforeAllRowsAreRead(t *testing.T) {
	w := newWorld(t, time.Hour, 0)
	m := New(Config{Settings: Settings{Every: time.Hour}, Store: &replica{world: w}})
	if !m.held(m.platforms["discord"], "9001") {
		t.Error("a badge may go")
	}
}

func TestARefusalIsOfACommunityOrOfARole(t *testing.T) {
	for problem, others := range map[chat.BadgeProblem]chat.BadgeProblem{
		chat.MissingRight: chat.MissingRight, chat.CommunityGone: chat.CommunityGone,
		chat.RoleAbove: "", chat.NotAllowed: "", chat.BadgeGone: "", chat.NotAMember: "", chat.CannotHave: "", chat.BadgeFailed: "",
	} {
		w := newWorld(t, time.Hour, 0)
		r := &replica{world: w}
		m := New(Config{Settings: Settings{Every: time.Hour}, Store: r, Limiter: w.limiter, Count: func(string) {}, Log: r.logger()})
		g := m.platforms["discord"].gate("9001")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		g.note(ctx, "7001", &chat.BadgeError{Problem: problem, Err: errFault})
		if got := g.refused("7002"); got != others {
			t.Errorf("after %s, another role is refused with %q", problem, got)
		}
		own := slices.Contains([]chat.BadgeProblem{chat.NotAMember, chat.CannotHave, chat.BadgeFailed}, problem)
		if got := g.refused("7001"); (got == "") != own {
			t.Errorf("after %s, the role is refused with %q", problem, got)
		}
		g.note(ctx, "7001", nil)
		if got := g.refused("7001"); got != "" {
			t.Errorf("after %s and a success, the role is refused with %q", problem, got)
		}
		cancel()
	}
}

// Of several tags of a group, a person had one. Who falls to a lower one is told of the higher.
func TestWhoFallsToALowerTagIsToldOfTheHigher(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(t *testing.T, w *world, r *replica) {
		p := w.people[0]
		w.change(func() { w.oneEach, p.stakes[0] = true, 2000 })
		if _, err := r.save(p, 0); err != nil || !slices.Equal(p.badges("9001"), []string{"7002"}) {
			t.Fatal(p.has, err)
		}
		w.change(func() { p.stakes[0] = 5 })
		sleep(14 * time.Hour)
		if !slices.Equal(p.badges("9001"), []string{"7001"}) || len(w.notices) != 1 || words.Print(w.notices[0]).Title.String() != "7002 is removed in Server 9001" {
			t.Errorf("has %v, told %+v", p.has, w.notices)
		}
		w.unstake(p)
		sleep(14 * time.Hour)
		s, err := r.m.Saved(w.t.Context(), p.User)
		var missing []string
		for _, b := range s.Missing {
			missing = append(missing, b.ID)
		}
		if err != nil || !slices.Equal(missing, []string{"7001", "7003"}) {
			t.Errorf("missing %v, %v", missing, err)
		}
	})
}
