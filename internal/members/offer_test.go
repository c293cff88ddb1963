package members

import (
	"context"
	"testing"
	"time"

	"herald/internal/chat"
)

// offered returns the badges that Offer returns in a community for user 1, who stakes 1,000 tokens.
func (m *membersTest) offered(here string) string {
	m.Helper()
	return names(m.Offer(m.Context(), user(1), here, stakeOf(1000, time.Now())), badgeID)
}

func TestAnOfferIsWhatAPressWouldGive(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.equal("roles", m.offered("9001"), "7001 7002 7003")
		m.change(func() { m.oneEach = true })
		m.equal("tags", m.offered("9001"), "7002 7003")
	})
}

// The saved wallet earns only 7001. The card is about a wallet that stakes more.
func TestAnOfferIsOfTheWalletOnTheCard(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.row(1, 0))
		m.equal("offered", m.offered("9001"), "7001 7002 7003")
	})
}

func TestAnOfferLeavesOutACommunityThatTheUserIsNotIn(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.leaves("9002")
		m.equal("in a private chat", m.offered(""), "7001 7002")
		m.equal("where they were just let in", m.offered("9002"), "7001 7002 7003")
	})
}

func TestOffersAskEachCommunityOnceAMinute(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.offered("9001")
		m.offered("9001")
		m.equal("questions", m.asked, 2)
	})
}

func TestAnErrorMeansThatTheUserIsAbsentIfTheyCannotHaveABadge(t *testing.T) {
	for _, c := range []struct {
		problem   chat.BadgeProblem
		elsewhere bool // whether the user is absent from another community than that of the request
		here      bool // whether they are absent from the community of the request
	}{
		{problem: chat.NotAMember, elsewhere: true, here: false},
		{problem: chat.CannotHave, elsewhere: true, here: true},
		{problem: chat.CommunityGone, elsewhere: true, here: true},
		{problem: chat.BadgeFailed, elsewhere: false, here: false},
		{problem: chat.MissingRight, elsewhere: false, here: false},
	} {
		err := failure(c.problem)
		if got := isAbsent(err, false); got != c.elsewhere {
			t.Errorf("%s elsewhere: absent %t", c.problem, got)
		}
		if got := isAbsent(err, true); got != c.here {
			t.Errorf("%s here: absent %t", c.problem, got)
		}
	}
	if isAbsent(errFault, false) {
		t.Error("a platform that does not answer counts as absent")
	}
}

// hanging is a platform on which Worn does not answer in server 9001.
type hanging struct{ *fake }

// Worn blocks in server 9001 until ctx is done.
func (h hanging) Worn(ctx context.Context, community, user string) ([]string, error) {
	if community == "9001" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.fake.Worn(ctx, community, user)
}

func TestVerifyGivesBackWhileAnotherServerHangs(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.useAdapter(hanging{m.fake})
		m.put(m.row(1, 0, "7001"))
		began := time.Now()
		changes, err := m.Refresh(m.Context(), user(1), "", wallet(1), stakeOf(5, began))
		m.equal("error", err, nil)
		m.equal("given", changed(changes), "+7003")
		m.equal("it took", time.Since(began), settleTime)
	})
}

// A community that does not answer counts as one that the user is in.
func TestAnOfferIncludesAServerThatHangs(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.useAdapter(hanging{m.fake})
		m.put(m.row(1, 0, "7001"))
		began := time.Now()
		offer := m.Offer(m.Context(), user(1), "", stakeOf(5, began))
		m.equal("offered", names(offer, badgeID), "7001 7003")
		m.equal("it took", time.Since(began), offerTime)
	})
}
