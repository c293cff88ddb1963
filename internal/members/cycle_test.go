package members

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

// begin starts a replica, and has n people keep their wallets.
func begin(t *testing.T, every time.Duration, n int) (*world, *replica) {
	w := newWorld(t, every, n)
	r := w.start()
	for _, p := range w.people {
		if _, err := r.keep(p); err != nil {
			t.Fatal(err)
		}
	}
	return w, r
}

// stopStaking has the last n people stake nothing.
func (w *world) stopStaking(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.people[len(w.people)-n:] {
		p.stakes = false
	}
}

func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// wholeCycles waits for n cycles and what a look may be late.
func (w *world) wholeCycles(n int) {
	time.Sleep(time.Duration(n)*w.every + 4*w.every/slots)
	synctest.Wait()
}

func TestABadgeGoesAfterTheSecondNo(t *testing.T) {
	for every, cycles := range map[time.Duration]int{6 * time.Hour: 2, 10 * time.Minute: 7} {
		synctest.Test(t, func(t *testing.T) {
			w, r := begin(t, every, 4)
			defer r.end()
			w.wholeCycles(1)
			w.stopStaking(1)
			for cycle := range cycles {
				if n := w.wearing(); n != 4 {
					t.Errorf("every %v, cycle %d: %d wear the badge, want 4", every, cycle, n)
				}
				w.wholeCycles(1)
			}
			if n := w.wearing(); n != 3 {
				t.Errorf("every %v: %d wear the badge, want 3", every, n)
			}
			calls := len(w.calls)
			w.wholeCycles(3)
			if len(w.calls) != calls {
				t.Errorf("every %v: a badge that is gone is taken again: %v", every, w.calls[calls:])
			}
			w.change(func() { w.people[3].stakes = true })
			w.wholeCycles(1)
			if _, err := r.keep(w.people[3]); err != nil || w.wearing() != 4 {
				t.Errorf("every %v: who stakes again has no badge, %v", every, err)
			}
		})
	}
}

func TestTheOwnerIsToldInPrivateWhenTheBadgeWentAndWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 6*time.Hour, 3)
		defer r.end()
		w.stopStaking(1)
		w.wholeCycles(2)
		w.change(func() { w.people[0].disowned = time.Now() })
		w.wholeCycles(31 * 4)
		want := []string{"lapsed.stake", "lapsed.owner"}
		var told []string
		for _, n := range w.notices {
			told = append(told, n.Text.Key)
			if n.Title.Key != "lapsed.title" || n.Title.Args["badge"] != chat.Untrusted("@Staker") {
				t.Errorf("told %+v", n)
			}
		}
		if !slices.Equal(told, want) {
			t.Fatalf("told %q, want %q", told, want)
		}
		args := w.notices[0].Text.Args
		first, second := fmt.Sprint(args["first"]), fmt.Sprint(args["second"])
		if args["n"] != chat.Count(21) || len(second) != 5 || first == second {
			t.Errorf("told of no at %s and %s, %+v", first, second, args)
		}
	})
}

func TestNobodyLosesABadgeWhileTooManyWould(t *testing.T) {
	for _, test := range []struct{ people, stop, left int }{
		{200, 11, 200}, {200, 10, 190}, {300, 15, 285}, {300, 16, 300}, {12, 12, 12}, {10, 10, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, r := begin(t, 6*time.Hour, test.people)
			defer r.end()
			w.stopStaking(test.stop)
			w.wholeCycles(5)
			if n := w.wearing(); n != test.left {
				t.Errorf("%d of %d stop: %d wear the badge, want %d", test.stop, test.people, n, test.left)
			}
			held := test.left == test.people
			errors := w.log.Lines("level=ERROR")
			s, err := r.m.Status(t.Context(), "discord")
			if (errors == 1) != held || errors > 1 || (len(s.Held) == 1) != held || err != nil {
				t.Errorf("%d of %d stop: %d errors are logged, status %+v, %v", test.stop, test.people, errors, s, err)
			}
			if held && (len(s.Held) != 1 || s.Held[0] != Held{Platform: "discord", Losing: test.stop, Holders: test.people}) {
				t.Errorf("held %+v", s.Held)
			}
		})
	}
}

func TestReleaseLetsGoWhatIsHeldBackAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 6*time.Hour, 100)
		defer r.end()
		w.stopStaking(20)
		w.wholeCycles(3)
		operator := membersOf(r, r.m.Log)
		if n, err := operator.Release(t.Context()); n != 20 || err != nil {
			t.Errorf("released %d, %v", n, err)
		}
		w.change(func() {
			for _, p := range w.people[:40] {
				p.stakes = false
			}
		})
		w.wholeCycles(1)
		if n := w.wearing(); n != 80 {
			t.Errorf("%d wear the badge a cycle after the release, want 80", n)
		}
		w.wholeCycles(3)
		if n := w.wearing(); n != 80 {
			t.Errorf("%d wear the badge after others stopped, want 80", n)
		}
		w.change(func() {
			for _, p := range w.people[:38] {
				p.stakes = true
			}
		})
		w.wholeCycles(2)
		if n := w.wearing(); n != 78 {
			t.Errorf("%d wear the badge once few would lose it, want 78", n)
		}
	})
}

// The platform says no in one community. Others are not touched by that.
func TestARefusedCommunityIsLeftAloneForACycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 6*time.Hour, 40)
		defer r.end()
		w.stopStaking(9)
		w.change(func() { w.problem = chat.NotAllowed })
		w.wholeCycles(2) // The second "no" of all nine is in one cycle.
		if n := w.log.Lines("left alone for a cycle"); n != len(communities) || w.wearing() != 40 {
			t.Errorf("%d warnings and %d badges:\n%s", n, w.wearing(), &w.log)
		}
		w.change(func() { w.problem = "" })
		w.wholeCycles(2)
		if n := w.wearing(); n != 31 {
			t.Errorf("%d wear the badge once the bot may take it, want 31", n)
		}
	})
}

func TestFailingCallsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 10*time.Minute, 300)
		defer r.end()
		w.stopStaking(15)
		w.change(func() { w.problem, w.retryAfter, w.attempts = chat.BadgeFailed, 0, nil })
		w.wholeCycles(30)
		if n := len(w.attempts); n < 200 {
			t.Errorf("%d calls: the test sees nothing", n)
		}
		for i := range w.attempts {
			if i+maxFailures < len(w.attempts) && w.attempts[i+maxFailures].Sub(w.attempts[i]) < time.Hour {
				t.Fatalf("more than %d calls failed within %v", maxFailures, w.attempts[i+maxFailures].Sub(w.attempts[i]))
			}
		}
	})
}

func TestACommunityIsLeftInPeaceForAsLongAsItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 10*time.Minute, 300)
		defer r.end()
		w.stopStaking(15)
		w.change(func() { w.problem, w.attempts, w.asked = chat.BadgeFailed, nil, nil })
		w.wholeCycles(10)
		at := map[string]time.Time{}
		for i, a := range w.attempts {
			if gap := a.Sub(at[w.asked[i]]); gap < w.retryAfter {
				t.Errorf("two calls in a community within %v", gap)
			}
			at[w.asked[i]] = a
		}
		if len(at) != len(communities) {
			t.Errorf("called %v", at)
		}
	})
}

func TestCallsAreASecondApartInACommunity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Hour, 30)
		replicas := []*replica{w.start(), w.start()}
		done := make(chan struct{})
		for i, p := range w.people {
			go func() {
				_, _ = replicas[i%2].keep(p)
				done <- struct{}{}
			}()
		}
		for range w.people {
			<-done
		}
		at := map[string]time.Time{}
		for i, a := range w.attempts {
			community := w.asked[i]
			if gap := a.Sub(at[community]); gap < time.Second {
				t.Errorf("two calls in %s within %v", community, gap)
			}
			at[community] = a
		}
		for _, r := range replicas {
			r.end()
		}
	})
}

func TestWhoComesBackHasTheBadgeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, time.Hour, 3)
		defer r.end()
		for _, p := range w.people {
			w.change(func() { delete(p.wears, communities[0]) })
		}
		w.stopStaking(1)
		w.wholeCycles(4) // Nothing is given without a press or a command.
		if n := w.wearing(); n != 0 {
			t.Errorf("%d wear the badge before they are seen", n)
		}
		for _, p := range w.people {
			r.m.Returned(p.User, communities[0])
		}
		r.m.Returned(chat.User{Platform: "discord", ID: "5"}, communities[0])
		time.Sleep(time.Minute)
		if n := w.wearing(); n != 2 {
			t.Errorf("%d wear the badge, want the two who stake", n)
		}
	})
}

func TestAForgottenRowStaysUntilItsBadgesAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, time.Hour, 2)
		defer r.end()
		p := w.people[0]
		w.change(func() { w.problem = chat.MissingRight })
		if r.forgets(p) {
			t.Error("forgotten though the badge could not be taken")
		}
		if row, err := r.m.Kept(t.Context(), p.User); row != nil || err != nil {
			t.Errorf("a forgotten wallet is still used: %+v, %v", row, err)
		}
		w.wholeCycles(1)
		if all, _ := r.m.All(t.Context()); len(all) != 2 {
			t.Errorf("%d rows, want 2", len(all))
		}
		w.change(func() { w.problem = "" })
		w.wholeCycles(2)
		if all, _ := r.m.All(t.Context()); len(all) != 1 || w.wearing() != 1 {
			t.Errorf("%d rows and %d badges, want 1 and 1", len(all), w.wearing())
		}
		if changes, had, err := r.m.Forget(t.Context(), p.User); had || changes != nil || err != nil {
			t.Errorf("forgotten twice: %v, %t, %v", changes, had, err)
		}
	})
}

// Who presses "keep" and "forget" at once, or uses a command meanwhile, ends with a row and a
// badge, or with neither.
func TestPressesAtOnceLeaveNoBadgeWithoutARow(t *testing.T) {
	for delay := range 40 {
		synctest.Test(t, func(t *testing.T) {
			w, r := begin(t, time.Hour, 1)
			defer r.end()
			p := w.people[0]
			w.change(func() { p.forget, p.wears, w.giveTime = true, map[string]bool{}, 5*time.Second })
			go r.m.Returned(p.User, communities[0])
			go func() {
				time.Sleep(time.Duration(delay) * 100 * time.Millisecond)
				w.mu.Lock()
				stake := r.stakeOf(p)
				w.mu.Unlock()
				_, _ = r.m.Keep(t.Context(), p.User, p.wallet, stake.Value)
			}()
			time.Sleep(time.Duration(delay%7) * 300 * time.Millisecond)
			_, _, _ = r.m.Forget(t.Context(), p.User)
			time.Sleep(time.Minute)
			synctest.Wait()
			if row, err := r.m.Kept(t.Context(), p.User); err != nil || (row != nil) != p.wears[communities[0]] {
				t.Errorf("after %d: the row is %+v, and the badge %t, %v", delay, row, p.wears[communities[0]], err)
			}
		})
	}
}

func TestAnotherWalletReplacesTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, time.Hour, 2)
		defer r.end()
		a, b := w.people[0], w.people[1]
		kept, _ := r.m.Kept(t.Context(), a.User)
		b.stakes = false
		// A badge that one wallet earned does not stay with another that earns none.
		if _, err := r.m.Keep(t.Context(), a.User, b.wallet, r.stakeOf(b).Value); err != nil {
			t.Fatal(err)
		}
		row, err := r.m.Kept(t.Context(), a.User)
		if err != nil || row.Wallet != b.wallet || !row.LapsedAt.IsZero() || kept.Wallet != a.wallet {
			t.Errorf("kept %+v, %v", row, err)
		}
		c := chat.User{Platform: "telegram", ID: "5"}
		if _, err := r.m.Keep(t.Context(), c, b.wallet, r.stakeOf(b).Value); err != nil {
			t.Fatal(err)
		}
		if row, _ := r.m.Kept(t.Context(), c); row.LapsedAt.IsZero() || row.Stakes() {
			t.Errorf("who never staked counts as one who wears the badge: %+v", row)
		}
	})
}

// A process is killed at its n-th effect, for each n. Another one goes on, and the badges end
// up the same, by the same calls: those for one user may be made twice.
func TestAKillAnywhereEndsInTheSameBadges(t *testing.T) {
	run := func(t *testing.T, killAt int64) (calls []string, effects int64) {
		synctest.Test(t, func(t *testing.T) {
			w, r := begin(t, time.Hour, 6)
			w.stopStaking(2)
			first := w.effects.Load()
			w.change(func() {
				w.killed = killAt > 0
				w.onEffect = func(n int64) {
					if n == first+killAt {
						w.victim.Load().dead.Store(true)
					}
				}
			})
			w.victim.Store(r)
			for range 40 {
				if r.dead.Load() {
					r.end()
					r = w.start()
					w.victim.Store(r)
				}
				time.Sleep(w.every / 8)
				synctest.Wait()
			}
			if n := w.wearing(); n != 4 {
				t.Errorf("killed at effect %d: %d wear the badge, want 4", killAt, n)
			}
			r.end()
			calls, effects = w.calls, w.effects.Load()-first
		})
		return calls, effects
	}
	whole, effects := run(t, 0)
	if effects < 10 {
		t.Fatalf("%d effects, too few to kill at", effects)
	}
	for n := range effects {
		calls, _ := run(t, n+1)
		if !slices.Equal(unique(calls), unique(whole)) || len(calls) > len(whole)+len(communities) {
			t.Errorf("killed at effect %d: %v, want %v", n+1, calls, whole)
		}
	}
}

func unique(calls []string) []string {
	calls = slices.Clone(calls)
	slices.Sort(calls)
	return slices.Compact(calls)
}

func TestReplicasLookAtEachRowOnceACycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 6*time.Hour, 30)
		other := w.start()
		w.wholeCycles(1)
		before := make([]int64, len(w.people))
		for i, p := range w.people {
			before[i] = p.looks.Load()
		}
		time.Sleep(2 * w.every)
		synctest.Wait()
		for i, p := range w.people {
			if n := p.looks.Load() - before[i]; n != 2 {
				t.Errorf("%d looks at a row in two cycles", n)
			}
		}
		r.end()
		other.end()
		for key, c := range w.claims {
			if !c.answered {
				t.Errorf("%s is still claimed", key)
			}
		}
	})
}

// A look whose finding could not be saved is repeated soon.
func TestALookThatCouldNotBeSavedIsRepeatedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 6*time.Hour, 1)
		defer r.end()
		w.wholeCycles(1)
		w.change(func() { w.diskFull = true })
		for looks := w.people[0].looks.Load(); w.people[0].looks.Load() == looks; {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		w.change(func() { w.diskFull = false })
		time.Sleep(w.every / slots / 4)
		if row, err := r.m.Kept(t.Context(), w.people[0].User); err != nil || time.Since(row.LookedAt) > w.every/slots {
			t.Errorf("looked at %v ago, %v", time.Since(row.LookedAt), err)
		}
	})
}

func TestAWalletIsProvenAnewEvery30Days(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 6*time.Hour, 3)
		defer r.end()
		time.Sleep(29 * 24 * time.Hour)
		synctest.Wait()
		if w.accounts > 0 {
			t.Errorf("the partner was asked %d times within 29 days", w.accounts)
		}
		w.change(func() { w.partnerAway = true })
		time.Sleep(10 * 24 * time.Hour) // Nothing is known of the owners.
		w.change(func() { w.partnerAway, w.accounts = false, 0 })
		time.Sleep(25 * 24 * time.Hour)
		synctest.Wait()
		if w.accounts != 2*3 || w.wearing() != 3 {
			t.Errorf("the partner was asked %d times for 3 wallets, and %d wear the badge", w.accounts, w.wearing())
		}
	})
}

// onceAt returns a function that calls f the first time.
func onceAt(f func(*person)) func(*person) {
	var once sync.Once
	return func(p *person) { once.Do(func() { f(p) }) }
}

func TestTheEndOfTheProcessIsNoFinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 6*time.Hour, 1)
		w.wholeCycles(1)
		w.stopStaking(1)
		w.wholeCycles(1)
		reading := make(chan struct{})
		w.change(func() { w.readTime, w.onRead = time.Minute, sync.OnceFunc(func() { close(reading) }) })
		<-reading
		r.end()
		if row, err := r.m.Kept(t.Context(), w.people[0].User); err != nil || row.FirstNo.IsZero() {
			t.Errorf("the first no is forgotten: %+v, %v", row, err)
		}
	})
}

// While one member's badge is taken, the next one stakes and presses the button.
func TestWhoStakesInTimeIsSpared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 10*time.Minute, 40)
		defer r.end()
		for i, p := range w.people { // two of one slot
			if j := slices.IndexFunc(w.people[:i], func(q *person) bool { return shardOf(q.User)%slots == shardOf(p.User)%slots }); j >= 0 {
				w.people = []*person{w.people[j], p}
				break
			}
		}
		for id := range 40 {
			if u := (chat.User{Platform: "discord", ID: fmt.Sprint(700000000000000000 + id)}); u != w.people[0].User && u != w.people[1].User {
				_ = r.m.rows.change(t.Context(), shardOf(u), func(list []Row) []Row { return slices.Delete(list, indexOf(list, u), indexOf(list, u)+1) })
			}
		}
		w.stopStaking(2)
		var spared *person
		spare := onceAt(func(p *person) {
			spared = w.people[0]
			if spared == p {
				spared = w.people[1]
			}
			w.change(func() { spared.stakes = true })
			go r.keep(spared)
		})
		w.change(func() { w.unjudged, w.takeTime, w.onTake = true, time.Second, spare })
		w.wholeCycles(9)
		for _, call := range w.calls {
			if spared == nil || strings.HasPrefix(call, "take ") && strings.HasSuffix(call, spared.ID) {
				t.Errorf("taken from who staked in time: %q", w.calls)
			}
		}
	})
}

// A member stakes and presses the button while the call that takes their badge is under way.
func TestWhoStakesALittleLateHasTheBadgeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, time.Hour, 1)
		defer r.end()
		p := w.people[0]
		w.stopStaking(1)
		late := onceAt(func(*person) {
			w.change(func() { p.stakes = true })
			go r.keep(p)
		})
		w.change(func() { w.unjudged, w.takeTime, w.onTake = true, 10*time.Second, late })
		w.wholeCycles(4)
		if w.wearing() != 1 {
			t.Errorf("the badge is gone: %q", w.calls)
		}
	})
}

func TestALookDoesNotUndoAPress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 6*time.Hour, 2)
		defer r.end()
		a, b := w.people[0], w.people[1]
		swap := sync.OnceFunc(func() {
			w.mu.Lock()
			stake := r.stakeOf(b)
			w.mu.Unlock()
			_, _ = r.m.Keep(t.Context(), a.User, b.wallet, stake.Value)
			_, _ = r.m.Keep(t.Context(), b.User, a.wallet, stake.Value)
		})
		w.change(func() { w.readTime, w.onRead = 30*time.Second, swap })
		w.wholeCycles(1)
		for p, want := range map[*person]*person{a: b, b: a} {
			if row, err := r.m.Kept(t.Context(), p.User); err != nil || row.Wallet != want.wallet {
				t.Errorf("kept %+v, %v", row, err)
			}
		}
	})
}

func TestLostRowsTakeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, time.Hour, 20)
		w.stopStaking(5)
		w.wholeCycles(1)
		w.change(func() { clear(w.values) })
		r.end()
		r = w.start()
		defer r.end()
		w.wholeCycles(4)
		s, err := r.m.Status(t.Context(), "discord")
		if w.wearing() != 20 || err != nil || s.Rows != 0 || len(s.Worn) != 2 || s.Worn[0] != (Worn{Badge: "@Staker", Wearers: 20}) {
			t.Errorf("%d wear the badge, status %+v, %v", w.wearing(), s, err)
		}
	})
}

func TestStatusCountsLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, 6*time.Hour, 30)
		defer r.end()
		w.wholeCycles(2)
		s, err := r.m.Status(context.Background(), "discord")
		if err != nil || s.Rows != 30 || s.Looked != 30 || s.Unknown != 0 || s.Given != 59 {
			t.Errorf("status %+v, %v", s, err)
		}
		w.change(func() { w.nodeAway = true })
		w.wholeCycles(2)
		s, _ = r.m.Status(context.Background(), "discord")
		if s.Rows != 30 || s.Looked != 0 || s.Unknown < 30 {
			t.Errorf("with the node away: %+v", s)
		}
	})
}

func TestNobodyStandsInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := begin(t, time.Hour, 40)
		defer r.end()
		w.stopStaking(20)
		w.change(func() { w.problem = chat.RoleAbove })
		w.wholeCycles(4)
		for _, p := range w.people {
			if strings.Contains(w.log.String(), p.ID) {
				t.Errorf("the log holds a user: %s", &w.log)
			}
		}
	})
}
