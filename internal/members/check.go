package members

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/query"
)

// A check reads the stake of a row's wallet. If the wallet was last proven to be the user's more than proofValidity
// ago, the check also asks the partner whether it still is.

const (
	// maxCheckTime limits how long the checks of a tick take. The rows that are left are due at the next tick.
	maxCheckTime = 4 * time.Minute
	// batchSize is how many rows are checked before they are saved. Reading so many stakes takes two calls to the chain.
	batchSize = 100
	// proofValidity is how long a proof is valid.
	proofValidity = 30 * 24 * time.Hour
	// maxProofs and maxProofTime limit the proofs of a tick, because each asks the partner twice. The rows beyond these
	// limits are checked without a proof.
	maxProofs    = 150
	maxProofTime = time.Minute
)

// checkDue checks rows in batches, and returns them as they are saved afterwards, without those that were deleted
// meanwhile. A row for which there is no time, or that cannot be saved, is returned as it was, and stays due. A row
// whose stake could not be read is checked again in the next cycle.
func (m *Members) checkDue(ctx context.Context, p *platform, due []Row) (after []Row) {
	ctx, cancel := context.WithTimeout(ctx, maxCheckTime)
	defer cancel()
	budget := &proofBudget{left: maxProofs}
	for batch := range slices.Chunk(due, batchSize) {
		var results []checkResult // stays empty if there is no time, or after a panic
		if ctx.Err() == nil {
			m.guard(func() { results = m.checkBatch(ctx, p, batch, budget) })
		}
		for i, r := range batch {
			saved := &r
			isChecked := i < len(results)
			if isChecked && ctx.Err() == nil {
				m.guard(func() { saved = m.saveCheck(ctx, p, r, results[i]) })
			}
			if saved != nil {
				after = append(after, *saved)
			}
		}
	}
	return after
}

// proofBudget is what is left of maxProofs at a tick, and how much of maxProofTime its proofs took.
type proofBudget struct {
	left int
	took time.Duration
}

// take takes a proof from the budget, and reports whether one was left.
func (b *proofBudget) take() bool {
	b.left--
	return b.left >= 0 && b.took < maxProofTime
}

// checkResult is a check of a row, and whether it proved the owner.
type checkResult struct {
	check
	// proven says that the partner was asked, and the wallet is the user's.
	proven bool
}

// checkBatch reads the stakes of rows, and proves the wallets whose proofs are old, as far as the budget allows.
func (m *Members) checkBatch(ctx context.Context, p *platform, batch []Row, budget *proofBudget) []checkResult {
	wallets := make([]common.Address, len(batch))
	for i, r := range batch {
		wallets[i] = r.Wallet
	}
	stakes := m.Stakes(ctx, wallets)
	results := make([]checkResult, len(batch))
	for i := range batch {
		results[i].check = check{stake: stakes[i].Value, failed: stakes[i].Err != nil}
	}
	for _, i := range p.toProve(batch, results) {
		if !budget.take() {
			break
		}
		begun := time.Now()
		results[i] = m.prove(ctx, batch[i], results[i].check)
		budget.took += time.Since(begun)
	}
	return results
}

// toProve returns the indexes of the rows whose wallets are to be proven, in this order: first those of users who are
// losing most badges. Among equals the order is random. Otherwise proofs that fail, and are due again at each check,
// could use up the budget each time.
func (p *platform) toProve(batch []Row, results []checkResult) (indexes []int) {
	for i, r := range batch {
		mayHaveBadge := len(r.Badges) > 0 || results[i].answerFor(decimal.Zero) == reached
		if mayHaveBadge && time.Since(r.ProvenAt.Time) >= proofValidity {
			indexes = append(indexes, i)
		}
	}
	rand.Shuffle(len(indexes), func(i, k int) { indexes[i], indexes[k] = indexes[k], indexes[i] })
	slices.SortStableFunc(indexes, func(a, b int) int {
		return cmp.Compare(p.countLosing(batch[b]), p.countLosing(batch[a]))
	})
	return indexes
}

// countLosing counts the badges that the user of a row is losing.
func (p *platform) countLosing(r Row) (n int) {
	for _, h := range r.Badges {
		if p.tiers.isLosing(r, h) {
			n++
		}
	}
	return n
}

// prove asks the partner whether the wallet is still the user's, and returns the check with the answer. If the partner
// does not answer, the check counts as failed, unless nothing is staked: then it does not matter whose the wallet is.
func (m *Members) prove(ctx context.Context, r Row, c check) checkResult {
	user, err := core.NewIdentity(string(r.User.Platform), r.User.ID)
	account, owner := query.Both(ctx, m.Accounts, user, m.Accounts, core.IdentityOf(r.Wallet))
	failed := cmp.Or(err, account.Err, owner.Err) != nil
	switch {
	case failed && c.answerFor(decimal.Zero) == missed:
		return checkResult{check: c}
	case failed:
		return checkResult{check: check{failed: true}}
	case account.Value.Registered() && account.Value.DID == owner.Value.DID:
		return checkResult{check: c, proven: true}
	}
	c.disowned = true
	return checkResult{check: c}
}

// saveCheck saves a row after a check, and returns it. If the row cannot be saved, saveCheck returns it as it was. If
// it was deleted meanwhile, saveCheck returns nil. If another wallet was saved meanwhile, the check is void, and
// saveCheck returns that row.
func (m *Members) saveCheck(ctx context.Context, p *platform, r Row, c checkResult) *Row {
	now := time.Now()
	updated, err := p.rows.update(ctx, r.User.ID, func(saved *Row) *Row {
		if saved == nil || saved.Wallet != r.Wallet {
			return saved
		}
		after := p.tiers.decide(*saved, c.check, now)
		after.Due = p.nextDue(now)
		if c.proven {
			after.ProvenAt = timeOf(now)
		}
		return &after
	})
	if err != nil {
		p.warnOfStore(ctx, err)
		return &r
	}
	if updated != nil && updated.Wallet == r.Wallet {
		m.countCheck(p, *updated, c.check)
	}
	return updated
}

// countCheck counts a check by what it found. after is the row after the check.
func (m *Members) countCheck(p *platform, after Row, c check) {
	isUnknown := func(amount decimal.Decimal) bool { return c.answerFor(amount) == unknown }
	switch {
	case p.countLosing(after) > 0 || c.answerFor(decimal.Zero) == missed:
		m.Count("check_below")
	case slices.ContainsFunc(p.tiers.amounts, isUnknown):
		m.Count("check_unknown")
	default:
		m.Count("check_reached")
	}
}
