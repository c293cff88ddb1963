package members

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// proofCase is a check of user 1, whose ownership proof is old.
type proofCase struct {
	stake     int64  // -1 if it cannot be read
	holdsNone bool   // the user holds no badge; otherwise they hold 7001
	user      string // the DID of the user: empty if there is none, "away" if the partner does not answer
	owner     string // the DID of the wallet, in the same way
	want      string // what the check finds, as checkOnce returns it
}

// checkOnce makes the check of a case, with an ownership proof of this age. It returns what the check finds for the
// amount 0, and then "proven" or "disowned", such as "reached proven".
func (c proofCase) checkOnce(m *membersTest, age time.Duration) string {
	r := m.row(1, 0, "7001")
	if c.holdsNone {
		r = m.row(1, -1)
	}
	r.ProvenAt = timeOf(time.Now().Add(-age))
	m.stakesNow(1, c.stake)
	m.change(func() { m.dids = map[string]string{"1": c.user, r.Wallet.Hex(): c.owner} })
	found := m.checkBatch(m.Context(), m.platform, []Row{r}, &proofBudget{left: 1})[0]
	got := map[answer]string{unknown: "unknown", missed: "missed", reached: "reached"}[found.answerFor(decimal.Zero)]
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

// The wallet is another user's, but the partner is not asked yet.
func TestAYoungProofIsNotAskedForAgain(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		c := proofCase{stake: 5, user: "did:1", owner: "did:2"}
		m.equal("found", c.checkOnce(m, proofValidity-time.Second), "reached")
	})
}

func TestAnOldProofIsAskedForAgain(t *testing.T) {
	runProof(t, map[string]proofCase{
		"the wallet is the user's": {
			stake: 5,
			user:  "did:1",
			owner: "did:1",
			want:  "reached proven",
		},
		"the wallet is another user's": {
			stake: 5,
			user:  "did:1",
			owner: "did:2",
			want:  "missed disowned",
		},
		"neither user nor wallet is registered": {stake: 5, want: "missed disowned"},
		"the wallet is another user's, and the stake cannot be read": {
			stake: -1,
			user:  "did:1",
			owner: "did:2",
			want:  "unknown disowned",
		},
	})
}

func TestAnUnknownOwnerMakesTheCheckInconclusive(t *testing.T) {
	runProof(t, map[string]proofCase{
		"no answer about the user": {
			stake: 5,
			user:  "away",
			owner: "did:1",
			want:  "unknown",
		},
		"no answer about the wallet": {
			stake: 5,
			user:  "did:1",
			owner: "away",
			want:  "unknown",
		},
		"no answer, and nothing is staked": {user: "away", owner: "did:1", want: "missed"},
	})
}

func TestWithoutABadgeTheWalletIsProvenOnlyIfItHasAStake(t *testing.T) {
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

// The budget does not suffice for all owners. The users who are losing a badge come first, and then some of the others
// at random.
func TestABatchProvesAsManyOwnersAsItsBudgetAllows(t *testing.T) {
	const users = 9
	const losing = 2 // users 7 and 8
	const budget = 4 // proofs in each check of the batch
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
		// Two of the seven other users are proven each time. So the chance that one of them never is, (5/7)^200, is almost 0.
		for range 200 {
			var proven []int
			for id, result := range m.checkBatch(m.Context(), m.platform, rows, &proofBudget{left: budget}) {
				if result.proven {
					proven = append(proven, id)
					everProven[id] = true
				}
			}
			if len(proven) != budget || !slices.Equal(proven[budget-losing:], []int{7, 8}) {
				t.Fatalf("proven: users %v", proven)
			}
		}
		m.equal("users who were proven at least once", len(everProven), users)
	})
}
