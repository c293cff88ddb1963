package staking

import (
	"fmt"
	"math/big"
	"time"
)

// block is a block as the node or Multicall3 gives it, unchecked.
type block struct {
	number    *big.Int
	timestamp *big.Int // Unix time in seconds; nil if none is given
}

const (
	// maxTimestamp ends the year 9999, in Unix seconds. Chains that count in
	// smaller units are beyond it.
	maxTimestamp = 253_402_300_799
	// maxAhead is how far in the future a block may be. Proposers may be a few
	// seconds early, and this machine's clock may be somewhat slow; if it were
	// slower, a frozen node could not be told from a sound one.
	maxAhead = time.Minute
)

// time is when the block was made; zero if what is given is no possible time.
func (b block) time() time.Time {
	if b.timestamp == nil || b.timestamp.Sign() <= 0 || b.timestamp.Cmp(big.NewInt(maxTimestamp)) > 0 {
		return time.Time{}
	}
	return time.Unix(b.timestamp.Int64(), 0)
}

// String is the block and its age, for operators.
func (b block) String() string {
	at := b.time()
	if at.IsZero() {
		return fmt.Sprintf("newest block %d", b.number)
	}
	return fmt.Sprintf("newest block %d, %v old", b.number, max(0, time.Since(at)).Round(time.Second))
}

// recent fails if the block is older than MaxBlockAge, or its age cannot be
// known.
func (c *Client) recent(b block) error {
	if c.maxBlockAge == 0 {
		return nil
	}
	at := b.time()
	if at.IsZero() {
		return errNotTime
	}
	if age := time.Since(at); age > c.maxBlockAge {
		return behind(b.String())
	}
	if ahead := time.Until(at); ahead > maxAhead {
		return malformed(fmt.Sprintf("the newest block, %d, is %v in the future: the node's clock or this machine's is wrong",
			b.number, ahead.Round(time.Second)))
	}
	return nil
}
