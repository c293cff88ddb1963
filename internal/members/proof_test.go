package members

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// proofCase is a check of user 1, whose ownership proof is a month old.
type proofCase struct {
	stake     int64
	holdsNone bool   // no badge
	user      string // the DID of the user; empty: none; "away": unknown
	owner     string // the DID of the wallet, in the same way
	want      string // whether any stake is reached; and "proven" or "disowned"
}

// checkOnce checks a row whose ownership proof has an age, and returns what is found in the words of proofCase.want.
func (c proofCase) checkOnce(m *membersTest, age time.Duration) string {
	r := m.row(1, 0, "7001")
	if c.holdsNone {
		r = m.row(1, -1)
	}
	r.ProvenAt = timeOf(time.Now().Add(-age))
	m.stakesNow(1, c.stake)
	m.change(func() { m.dids = map[string]string{"1": c.user, r.Wallet.Hex(): c.owner} })
	found := m.checkBatch(m.Context(), m.platform, []Row{r}, &proofBudget{left: 1})[0]
	got := []string{"unknown", "missed", "reached"}[found.answerFor(decimal.Zero)]
	if found.proven {
		got += " proven"
	}
	if found.disowned {
		got += " disowned"
	}
	return got
}

func runProof(t *testing.T, table map[string]proofCase) {
	t.Helper()
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) { m.equal("found", c.checkOnce(m, proofValidity), c.want) })
		})
	}
}

func TestAYoungProofIsNotAskedForAgain(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		c := proofCase{stake: 5, user: "did:1", owner: "did:2"}
		m.equal("found", c.checkOnce(m, proofValidity-time.Second), "reached")
	})
}

func TestAnOldProofIsAskedForAgain(t *testing.T) {
	runProof(t, map[string]proofCase{
		"theirs": {
			stake: 5,
			user:  "did:1",
			owner: "did:1",
			want:  "reached proven",
		},
		"another's": {
			stake: 5,
			user:  "did:1",
			owner: "did:2",
			want:  "missed disowned",
		},
		"nobody's, of nobody": {stake: 5, want: "missed disowned"},
		"another's, and no block to count from": {
			stake: -1,
			user:  "did:1",
			owner: "did:2",
			want:  "unknown disowned",
		},
	})
}

func TestAnUnknownOwnerMakesTheCheckInconclusive(t *testing.T) {
	runProof(t, map[string]proofCase{
		"the user": {
			stake: 5,
			user:  "away",
			owner: "did:1",
			want:  "unknown",
		},
		"the wallet": {
			stake: 5,
			user:  "did:1",
			owner: "away",
			want:  "unknown",
		},
		"of a wallet that stakes nothing": {user: "away", owner: "did:1", want: "missed"},
	})
}

func TestWithoutABadgeOnlyANewStakeIsProven(t *testing.T) {
	runProof(t, map[string]proofCase{
		"no stake": {holdsNone: true, want: "missed"},
		"a stake": {
			stake:     5,
			holdsNone: true,
			user:      "did:1",
			owner:     "did:1",
			want:      "reached proven",
		},
	})
}

func TestAProofIsSaved(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		r := m.row(1, 0, "7001")
		r.ProvenAt = Time{}
		r.Due = Time{}
		m.put(r)
		m.run()
		m.equal("proven", time.Since(m.saved(1).ProvenAt.Time) < time.Minute, true)
	})
}

func TestAWalletThatIsAnothersLosesItsBadges(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		r := m.row(1, 0, "7001")
		r.ProvenAt = Time{}
		m.put(r)
		m.setWorn("9001", 1, "7001")
		m.change(func() { m.dids[wallet(1).Hex()] = "did:2" })
		m.run()
		time.Sleep(2*cycle + time.Hour)
		m.equal("worn", m.wornIn("9001"), "")
		m.equal("why", m.saved(1).Lost[0].Disowned, true)
	})
}

// A batch asks about few owners: first about those who are losing a badge, then about some of the others at random.
func TestABatchProvesAFewOwners(t *testing.T) {
	const users = 9
	const losing = 2 // the last ones
	const proofsEach = 4
	inBubble(t, func(m *membersTest) {
		var rows []Row
		for id := range users {
			r := m.row(id, 0, "7001")
			r.ProvenAt = Time{}
			m.stakesNow(id, 5)
			m.dids[r.Wallet.Hex()] = "did:x"
			m.dids[r.User.ID] = "did:x"
			if id >= users-losing {
				r.Badges[0].Low = MissedCheck{r.Block, underOf(m.platform.tiers, "7001")}
			}
			rows = append(rows, r)
		}
		everProven := map[int]bool{}
		for range 200 { // Each of the others is one of two of seven: (5/7)^200 is almost 0.
			var proven []int
			for i, c := range m.checkBatch(m.Context(), m.platform, rows, &proofBudget{left: proofsEach}) {
				if c.proven {
					proven = append(proven, i)
					everProven[i] = true
				}
			}
			if len(proven) != proofsEach || !slices.Equal(proven[proofsEach-losing:], []int{7, 8}) {
				t.Fatalf("asked about %v", proven)
			}
		}
		m.equal("asked about in the end", len(everProven), users)
	})
}
