package members

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// pressCase is a press of user 1, and what it finds.
type pressCase struct {
	row    func(m *membersTest) Row // what is saved before, or nothing
	wallet int                      // or 1
	stake  int64
	// told is what the user is told, and left what is saved then.
	told, left string
}

func runPress(t *testing.T, table map[string]pressCase) {
	t.Helper()
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				if c.row != nil {
					r := c.row(m)
					m.put(r)
					for _, h := range r.Badges {
						m.wears(h.Community, 1, h.Badge)
					}
				}
				time.Sleep(time.Minute)
				m.platform.latest.publish(newCensus(), nil)
				m.equal("told", m.presses(wallet(max(1, c.wallet)), c.stake), c.told)
				r := m.saved(1)
				m.equal("left", shown(r), c.left)
				m.equal("wallet", r.Wallet, wallet(max(1, c.wallet)))
				m.equal("proven", time.Since(r.ProvenAt.Time) < time.Minute, true)
				m.equal("due in a cycle", r.Due.After(time.Now().Add(cycle-2*tickEvery)), true)
			})
		})
	}
}

func TestAPressSavesTheWalletAndGivesWhatItReaches(t *testing.T) {
	runPress(t, map[string]pressCase{
		"the first":    {stake: 5, told: "+7001, +7003", left: "7001, 7003"},
		"of no stake":  {},
		"of an unread": {stake: -1},
		"another wallet": {
			row:    func(m *membersTest) Row { return m.row(1, 0) },
			wallet: 2,
			stake:  1000,
			told:   "+7001, +7002, +7003",
			left:   "7001, 7002, 7003",
		},
		"where they were idle": {
			row: func(m *membersTest) Row {
				r := m.row(1, 0)
				r.setIdle("9001")
				return r
			},
			stake: 5,
			told:  "+7001, +7003",
			left:  "7001, 7003",
		},
		"of a forgotten row": {
			row:   func(m *membersTest) Row { return m.row(1, 0, "7001").afterForget() },
			stake: 5,
			told:  "+7003",
			left:  "7001, 7003",
		},
		"of a forgotten row that stakes nothing": {
			row:  func(m *membersTest) Row { return m.row(1, 0, "7001").afterForget() },
			left: "7001 low",
		},
	})
}

func TestAPressKeepsNoBadge(t *testing.T) {
	low := func(m *membersTest) Row {
		r := m.row(1, -1, "7001")
		r.Badges[0].Low = Low{timeOf(time.Now().Add(-2 * time.Hour)), underOf(m.platform.tiers, "7001")}
		return r
	}
	runPress(t, map[string]pressCase{
		"that was missed, and cannot be read now": {row: low, stake: -1, left: "7001 low"},
		"that was missed, and is missed again":    {row: low, told: "-7001"},
		"and another wallet is no excuse":         {row: low, wallet: 2, told: "-7001"},
		"but a reached one does": {
			row:   low,
			stake: 5,
			told:  "+7003",
			left:  "7001, 7003",
		},
	})
}

// What one wallet reaches says nothing of another.
func TestAnUnreadWalletGivesNothingThatTheWalletBeforeReached(t *testing.T) {
	runPress(t, map[string]pressCase{"of an unread one": {
		row:    func(m *membersTest) Row { return m.row(1, 1000, "7001") },
		wallet: 2,
		stake:  -1,
		left:   "7001",
	}})
}

// The user left, came back without a command, and presses.
func TestAPressAsksWhatIsWorn(t *testing.T) {
	for _, oneEach := range []bool{false, true} {
		inBubble(t, func(m *membersTest) {
			m.change(func() { m.oneEach = oneEach })
			m.run()
			m.presses(wallet(1), 5)
			m.wears("9001", 1)
			time.Sleep(10 * time.Second)
			m.equal("the press", m.presses(wallet(1), 5), "+7001")
			m.equal("worn", m.seen("9001"), "1:7001")
		})
	}
}

func TestAPressBeforeTheRowsAreCountedGives(t *testing.T) {
	inBubble(t, func(m *membersTest) { m.equal("told", m.presses(wallet(1), 5), "+7001, +7003") })
}

func TestAPressWaitsForTenSecondsAndTheRestFollows(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.platform.community("9001").pausedUntil = time.Now().Add(11 * time.Second)
		began := time.Now()
		m.equal("the press", m.presses(wallet(1), 5), "+7001 later, +7003")
		m.equal("it waited", time.Since(began) <= settleTime, true)
		time.Sleep(20 * time.Second)
		m.equal("worn", m.seen("9001"), "1:7001")
	})
}

func TestAPressWhoseCallFailsIsRepeatedSoon(t *testing.T) {
	for _, executed := range []bool{true, false} {
		inBubble(t, func(m *membersTest) {
			m.run()
			m.failWith(lost(executed))
			m.equal("the press", m.presses(wallet(1), 5), "+7001 failed, +7003")
			m.failWith(nil)
			time.Sleep(2 * followPause)
			m.equal("row", shown(m.saved(1)), "7001, 7003")
			m.equal("worn", m.seen("9001"), "1:7001")
		})
	}
}

func TestNothingIsGivenIfNothingCanBeSaved(t *testing.T) {
	for name, change := range map[string]func(m *membersTest){
		"down": func(m *membersTest) { m.change(func() { m.down = true }) },
		"full": fill,
	} {
		inBubble(t, func(m *membersTest) {
			change(m)
			_, err := m.Save(m.Context(), user(1), wallet(1), stakeOf(5, time.Now()))
			m.equal(name, err == nil, false)
			m.equal("calls", m.called(), "")
			m.equal("counted", m.event("address_saved"), 0)
		})
	}
	inBubble(t, func(m *membersTest) {
		_, err := m.Save(m.Context(), chat.User{Platform: "terminal", ID: "1"}, wallet(1), stakeOf(5, time.Now()))
		m.equal("of another platform", err == nil, false)
	})
}

// forgetCase is /forget of user 1.
type forgetCase struct {
	row     func(m *membersTest) Row
	problem chat.BadgeProblem
	wallet  bool // was saved
	told    string
	left    string // of the row
	deleted int    // address_deleted
}

func TestForgetDeletesTheWalletAtOnceAndTheRowOnceNoBadgeIsLeft(t *testing.T) {
	holder := func(m *membersTest) Row { return m.row(1, 0, "7001") }
	forgotten := func(m *membersTest) Row { return holder(m).afterForget() }
	for name, c := range map[string]forgetCase{
		"who has a badge":       {holder, "", true, "-7001", "", 1},
		"who has none":          {func(m *membersTest) Row { return m.row(1, 0) }, "", true, "", "", 1},
		"nothing is saved":      {nil, "", false, "", "", 0},
		"a removal is refused":  {holder, chat.MissingRight, true, "-7001 missing_right", "7001 refused", 1},
		"again":                 {forgotten, "", false, "-7001", "", 1},
		"the role is deleted":   {holder, chat.BadgeGone, true, "-7001 gone", "", 1},
		"the server is unknown": {holder, chat.CommunityGone, true, "", "", 1},
		"they left":             {holder, chat.NotAMember, true, "", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				if c.row != nil {
					m.put(c.row(m))
				}
				if c.problem != "" {
					m.failWith(failure(c.problem))
				}
				f, err := m.Forget(m.Context(), user(1))
				m.equal("told", fmt.Sprint(changed(f.Changes), err), c.told+"<nil>")
				m.equal("the wallet", f.Wallet == wallet(1), c.wallet)
				m.equal("left", shown(m.saved(1)), c.left)
				m.equal("of the user", m.saved(1).User.ID != "", c.left != "")
				m.equal("counted", m.event("address_deleted"), c.deleted)
			})
		})
	}
}

// A removal that is refused is tried for 30 days after /forget, however long it was refused before.
func TestThirtyDaysOfRefusalCountFromForget(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		r := m.row(1, -1, "7001")
		r.Badges[0].Refused = timeOf(time.Now().Add(-refusedFor + time.Hour))
		m.put(r)
		m.wears("9001", 1, "7001")
		m.failWith(failure(chat.MissingRight))
		m.run()
		if _, err := m.Forget(m.Context(), user(1)); err != nil {
			t.Error(err)
		}
		time.Sleep(refusedFor - cycle)
		m.equal("left after almost 30 days", shown(m.saved(1)), "7001 refused")
		m.cycles(3)
		m.equal("left after 30 days", shown(m.saved(1)), "")
		m.equal("lines", m.log.Lines("is not saved any more"), 1)
	})
}

func TestAForgottenBadgeIsRemovedOnceThePlatformAllowsIt(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0, "7001"))
		m.wears("9001", 1, "7001")
		m.failWith(failure(chat.MissingRight))
		m.run()
		_, _ = m.Forget(m.Context(), user(1))
		m.failWith(nil)
		m.cycles(2)
		m.equal("worn", m.seen("9001"), "")
		m.equal("user", m.saved(1).User.ID, "")
		m.stop()
		m.equal("notices", len(m.notices), 0)
	})
}

func TestForgetOfWhatCannotBeReadSaysSo(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		putValue(m, "1", "damaged")
		_, err := m.Forget(m.Context(), user(1))
		m.equal("unreadable", errors.Is(err, ErrUnreadable), true)
		m.equal("lines", m.log.Lines("sent /forget"), 1)
		m.equal("the value", valueOf(m, "1"), "damaged")
	})
	inBubble(t, func(m *membersTest) {
		m.change(func() { m.down = true })
		_, err := m.Forget(m.Context(), user(1))
		m.equal("of a store that is away", err != nil && !errors.Is(err, ErrUnreadable), true)
	})
}

// putValue saves a value of a user, and valueOf returns it.
func putValue(m *membersTest, id, value string) {
	m.Helper()
	b := m.memory.Bucket("members/discord-42")
	old, _ := b.Load(m.Context(), id)
	if replaced, err := b.Replace(m.Context(), id, old, []byte(value)); !replaced || err != nil {
		m.Fatal(replaced, err)
	}
}

func valueOf(m *membersTest, id string) string {
	value, _ := m.memory.Bucket("members/discord-42").Load(m.Context(), id)
	return string(value)
}

// Two presses and a /forget within a second, on two replicas, end as some order of them would.
func TestPressesAndForgetOnTwoReplicasEndInOneState(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		other := New(m.config())
		var all sync.WaitGroup
		for _, on := range []*Members{m.Members, other} {
			all.Go(func() { _, _ = on.Save(m.Context(), user(1), wallet(1), stakeOf(5, time.Now())) })
		}
		all.Go(func() { _, _ = m.Forget(m.Context(), user(1)) })
		all.Wait()
		m.cycles(1)
		want := ""
		if m.saved(1).Wallet == wallet(1) {
			want = "1:7001"
		}
		m.equal("worn", m.seen("9001"), want)
	})
}

// seenCase is a command of user 1 in server 9001.
type seenCase struct {
	row     string // the badges of server 9001, or "none"
	idle    bool
	wears   string
	oneEach bool
	calls   string
	left    string
}

func TestACommandGivesBackWhatIsMissing(t *testing.T) {
	for name, c := range map[string]seenCase{
		"who has all":   {row: "7001", wears: "7001", left: "7001"},
		"who came back": {row: "7001", calls: "give 7001 1", left: "7001"},
		"who was idle":  {idle: true, calls: "give 7001 1", left: "7001"},
		"who is unsure": {row: "7001:unsure", wears: "7001", left: "7001"},
		"who has a role of VIPs": {
			row:   "7001",
			wears: "VIP",
			calls: "give 7001 1",
			left:  "7001",
		},
		"who has a tag of VIPs": {
			row:     "7001",
			wears:   "VIP",
			oneEach: true,
			left:    "idle 9001",
		},
		"whose tag of VIPs went": {
			idle:    true,
			oneEach: true,
			calls:   "give 7001 1",
			left:    "7001",
		},
		"who has saved nothing": {row: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				m.run()
				if c.row != "none" {
					r := m.row(1, 0)
					r.Badges = heldOf(m.platform.tiers, c.row)
					if c.idle {
						r.setIdle("9001")
					}
					m.put(r)
				}
				m.leaves("9002")
				m.change(func() { m.oneEach = c.oneEach })
				m.wears("9001", 1, strings.Fields(c.wears)...)
				m.Seen(user(1), "9001", strings.Fields(c.wears))
				time.Sleep(10 * time.Second)
				m.equal("calls", m.called(), c.calls)
				m.equal("left", shown(m.saved(1)), c.left)
			})
		})
	}
}

func TestCommandsGiveBackOnceAMinute(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.presses(wallet(1), 5)
		for want, pause := range map[string]time.Duration{"1:7001": time.Minute} {
			m.wears("9001", 1)
			m.Seen(user(1), "9001", nil)
			m.Seen(user(1), "8888", nil)
			time.Sleep(5 * time.Second)
			m.equal("given back", m.seen("9001"), want)
			m.wears("9001", 1)
			m.Seen(user(1), "9001", nil)
			time.Sleep(5 * time.Second)
			m.equal("within the minute", m.seen("9001"), "")
			time.Sleep(pause)
			m.Seen(user(1), "9001", nil)
			time.Sleep(5 * time.Second)
			m.equal("after it", m.seen("9001"), want)
		}
	})
}

// The sender of a command wears a badge, and no address is saved.
func TestABadgeWithoutARowIsReported(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		for id := range 3 {
			m.Seen(user(id), "9001", []string{"7001", "VIP"})
		}
		m.Seen(user(4), "9001", []string{"VIP"})
		m.put(m.row(5, 0, "7001"))
		m.Seen(user(5), "9001", []string{"7001"})
		time.Sleep(time.Second)
		m.equal("events", m.event("badge_unrecorded"), 3)
		m.equal("lines", m.log.Lines("no address of theirs is saved"), 1)
		m.equal("calls", m.called(), "")
	})
}

// refreshCase is a /verify of user 1, who holds 7001 and 7003.
type refreshCase struct {
	here, missing string
	wallet        int
	stake         int64
	calls         string
	asked         int
}

func TestVerifyGivesBackWhatIsMissingElsewhere(t *testing.T) {
	for name, c := range map[string]refreshCase{
		"nothing is missing": {wallet: 1, stake: 5, asked: 2},
		"one is missing": {
			wallet:  1,
			stake:   5,
			missing: "9002",
			calls:   "give 7003 1",
			asked:   3,
		},
		"in the server of the command": {
			wallet:  1,
			stake:   5,
			here:    "9001",
			missing: "9001",
			asked:   1,
		},
		"of another wallet": {wallet: 2, stake: 5, missing: "9002"},
		"less is staked":    {wallet: 1, stake: 0, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				r := m.row(1, 0, "7001")
				r.set(Held{Community: "9002", Badge: "7003", Since: r.SavedAt})
				m.put(r)
				m.wears("9001", 1, "7001")
				m.wears("9002", 1, "7003")
				if c.missing != "" {
					m.wears(c.missing, 1)
				}
				for range 2 {
					_, err := m.Refresh(m.Context(), user(1), c.here, wallet(c.wallet), stakeOf(c.stake, time.Now()))
					m.equal("error", err, nil)
					m.equal("calls", m.called(), c.calls)
					m.equal("asked", m.asked, c.asked)
					c.calls = "" // A second one within the minute asks only where something was given.
					if c.missing == "9002" && c.wallet == 1 {
						c.asked++
					}
				}
			})
		})
	}
}

func TestVerifyOfAHigherStakeIsAPress(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.presses(wallet(1), 5)
		time.Sleep(time.Minute)
		changes, err := m.Refresh(m.Context(), user(1), "9001", wallet(1), stakeOf(1000, time.Now()))
		m.equal("told", fmt.Sprint(changed(changes), err), "+7002<nil>")
		m.equal("reached", m.saved(1).Reached.Decimal, decimal.NewFromInt(1000))
	})
}

// A /verify before the press has asked what is worn.
func TestARoleThatIsRemovedByHandRightAfterThePressIsGivenBack(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.run()
		m.Offer(m.Context(), user(1), "9002", stakeOf(5, time.Now()))
		m.presses(wallet(1), 5)
		m.wears("9001", 1)
		time.Sleep(10 * time.Second)
		changes, _ := m.Refresh(m.Context(), user(1), "9002", wallet(1), stakeOf(5, time.Now()))
		m.equal("told", changed(changes), "+7001")
	})
}

func TestVerifyDoesNotSaveWhatForgetDeletes(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, -1))
		time.Sleep(time.Minute)
		m.change(func() {
			m.atReplace = func() {
				_, err := m.Forget(m.Context(), user(1))
				m.equal("forget", err, nil)
			}
		})
		changes, err := m.Refresh(m.Context(), user(1), "", wallet(1), stakeOf(5, time.Now()))
		m.equal("told", fmt.Sprint(changed(changes), err), "<nil>")
		m.equal("saved", m.saved(1).Wallet, common.Address{})
		m.equal("counted", m.event("address_saved"), 0)
	})
}

// A card of wallet B, while A is saved, offers what B would be given.
func TestAnOfferIsWhatAPressWouldGive(t *testing.T) {
	for name, c := range map[string]struct {
		here            string
		oneEach, absent bool
		want            string
	}{
		"roles":                  {here: "9001", want: "7001 7002 7003"},
		"tags":                   {here: "9001", oneEach: true, want: "7002 7003"},
		"where they are":         {absent: true, want: "7001 7002"},
		"where they were let in": {here: "9002", absent: true, want: "7001 7002 7003"},
	} {
		inBubble(t, func(m *membersTest) {
			m.put(m.row(1, 0)) // of wallet 1
			m.change(func() { m.oneEach = c.oneEach })
			if c.absent {
				m.leaves("9002")
			}
			var got []string
			for range 2 {
				got = nil
				for _, b := range m.Offer(m.Context(), user(1), c.here, stakeOf(1000, time.Now())) {
					got = append(got, string(b.Name))
				}
			}
			m.equal(name, strings.Join(got, " "), c.want)
			m.equal("asked", m.asked, 2)
		})
	}
}

func TestAbsentUsersAreOfferedNothing(t *testing.T) {
	for problem, want := range map[chat.BadgeProblem]string{
		chat.NotAMember: "true false", chat.CannotHave: "true true", chat.CommunityGone: "true true",
		chat.BadgeFailed: "false false", chat.MissingRight: "false false",
	} {
		err := failure(problem)
		if got := fmt.Sprint(isAbsent(err, false), " ", isAbsent(err, true)); got != want {
			t.Errorf("%s: %s, want %s", problem, got, want)
		}
	}
	if isAbsent(errFault, false) {
		t.Error("no answer counts as absent")
	}
}

// hanging is a platform that does not say what a user wears in server 9001.
type hanging struct{ *fake }

func (h hanging) Has(ctx context.Context, community, user string) ([]string, error) {
	if community == "9001" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.fake.Has(ctx, community, user)
}

func TestAServerThatHangsDelaysNoOther(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.useAdapter(hanging{m.fake})
		m.put(m.row(1, 0, "7001"))
		began := time.Now()
		changes, err := m.Refresh(m.Context(), user(1), "", wallet(1), stakeOf(5, began))
		m.equal("given", fmt.Sprint(changed(changes), err), "+7003<nil>")
		m.equal("within", time.Since(began), settleTime)
		began = time.Now()
		m.equal("offered", len(m.Offer(m.Context(), user(1), "", stakeOf(5, began))), 2)
		m.equal("within", time.Since(began), offerTime)
	})
}
