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

const (
	// maxCheckTime is the longest time for the checks of a tick. The rows that are left are due at the next tick.
	maxCheckTime = 4 * time.Minute
	// checkBatch is how many addresses are checked before they are saved: two calls to the chain.
	checkBatch = 100
	// proofValidity is how long a proof is valid that a wallet is its user's.
	proofValidity = 30 * 24 * time.Hour
	// maxProofs and maxProofTime limit the proofs of a tick, because each asks the partner twice. The rows beyond these
	// limits are checked without a proof.
	maxProofs    = 150
	maxProofTime = time.Minute
)

// checkDue checks rows in batches, and returns them as saved. Rows for which there is no time, or that cannot be saved,
// are returned as they were, and stay due. A row whose wallet could not be read is checked again in the next cycle.
func (m *Members) checkDue(ctx context.Context, p *platform, due []Row) (after []Row) {
	ctx, cancel := context.WithTimeout(ctx, maxCheckTime)
	defer cancel()
	proofs := &proofs{left: maxProofs}
	for batch := range slices.Chunk(due, checkBatch) {
		var checks []checked
		if ctx.Err() == nil {
			m.guard(func() { checks = m.checkBatch(ctx, p, batch, proofs) })
		}
		for i, r := range batch {
			saved := &r
			isAnswered := i < len(checks) // After a panic, there are no answers.
			if ctx.Err() == nil && isAnswered {
				m.guard(func() { saved = m.saveCheck(ctx, p, r, checks[i]) })
			}
			if saved != nil {
				after = append(after, *saved)
			}
		}
	}
	return after
}

// proofs counts the proofs of a tick.
type proofs struct {
	left int
	took time.Duration
}

// next reports whether another proof may be asked for.
func (p *proofs) next() bool {
	p.left--
	return p.left >= 0 && p.took < maxProofTime
}

// checked is what the check of a row found.
type checked struct {
	check
	// proven says that the partner was asked, and the wallet is the user's.
	proven bool
}

// checkBatch reads the stakes of the wallets of rows, and proves some of the wallets anew.
func (m *Members) checkBatch(ctx context.Context, p *platform, batch []Row, proofs *proofs) []checked {
	wallets := make([]common.Address, len(batch))
	for i, r := range batch {
		wallets[i] = r.Wallet
	}
	stakes := m.Stakes(ctx, wallets)
	checks := make([]checked, len(batch))
	var unproven []int
	for i, r := range batch {
		checks[i].check = check{stake: stakes[i].Value, failed: stakes[i].Err != nil}
		isWorth := len(r.Badges) > 0 || checks[i].answerFor(decimal.Zero) == reached
		if isWorth && time.Since(r.ProvenAt.Time) >= proofValidity {
			unproven = append(unproven, i)
		}
	}
	// Users who are losing most badges come first. Among equals, the order is random: a proof that failed is due again at
	// once, and must not keep others from theirs.
	rand.Shuffle(len(unproven), func(i, k int) { unproven[i], unproven[k] = unproven[k], unproven[i] })
	slices.SortStableFunc(unproven, func(a, b int) int {
		return cmp.Compare(p.losses(batch[b]), p.losses(batch[a]))
	})
	for _, i := range unproven {
		if !proofs.next() {
			break
		}
		begun := time.Now()
		checks[i] = m.prove(ctx, batch[i], checks[i].check)
		proofs.took += time.Since(begun)
	}
	return checks
}

// losses counts the badges that the user of a row is losing.
func (p *platform) losses(r Row) (n int) {
	for _, h := range r.Badges {
		if p.tiers.isLosing(r, h) {
			n++
		}
	}
	return n
}

// prove asks the partner whether the wallet is still the user's, and returns the check with the answer. If the partner
// does not say, the check counts as failed, unless nothing is staked: that misses every amount for any owner.
func (m *Members) prove(ctx context.Context, r Row, c check) checked {
	user, err := core.NewIdentity(string(r.User.Platform), r.User.ID)
	account, owner := query.Both(ctx, m.Accounts, user, m.Accounts, core.IdentityOf(r.Wallet))
	failed := cmp.Or(err, account.Err, owner.Err) != nil
	switch {
	case failed && c.answerFor(decimal.Zero) == missed:
		return checked{check: c}
	case failed:
		return checked{check: check{failed: true}}
	case account.Value.Registered() && account.Value.DID == owner.Value.DID:
		return checked{check: c, proven: true}
	}
	c.disowned = true
	return checked{check: c}
}

// saveCheck saves a row after a check, unless another wallet was saved meanwhile, and returns it. It returns nil if the
// row was deleted meanwhile, and the row as it was if it cannot be saved.
func (m *Members) saveCheck(ctx context.Context, p *platform, r Row, c checked) *Row {
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

// countCheck counts a check of a row.
func (m *Members) countCheck(p *platform, after Row, c check) {
	isUnknown := func(amount decimal.Decimal) bool { return c.answerFor(amount) == unknown }
	switch {
	case p.losses(after) > 0 || c.answerFor(decimal.Zero) == missed:
		m.Count("check_below")
	case slices.ContainsFunc(p.tiers.amounts, isUnknown):
		m.Count("check_unknown")
	default:
		m.Count("check_reached")
	}
}
