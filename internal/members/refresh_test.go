package members

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

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
