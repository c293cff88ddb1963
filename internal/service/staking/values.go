package staking

import (
	"fmt"
	"math/big"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// maxTokens bounds an amount: no token has so many, so a pool that answers with
// more answers something else than a stake.
var maxTokens = decimal.New(1, 30)

var (
	errNoData     = malformed("the answer is empty: no contract or no such method at the address")
	errShape      = malformed("the answer does not have the form of the method's result")
	errImpossible = malformed("the amount is impossible")
)

// answer is what one call gave: data, or an error.
type answer struct {
	data []byte
	err  error
}

// decoder reads an amount in base units.
type decoder func(data []byte) (*big.Int, error)

// tokens is the amount in an answer.
func (a answer) tokens(decode decoder, decimals int32) (decimal.Decimal, error) {
	switch {
	case a.err != nil:
		return decimal.Decimal{}, a.err
	case len(a.data) == 0:
		return decimal.Decimal{}, errNoData
	}
	base, err := decode(a.data)
	if err != nil {
		return decimal.Decimal{}, err
	}
	amount := decimal.NewFromBigInt(base, -decimals)
	if amount.GreaterThanOrEqual(maxTokens) {
		return decimal.Decimal{}, errImpossible
	}
	return amount, nil
}

// decodeUint256 reads data that is exactly one uint256.
func decodeUint256(data []byte) (*big.Int, error) {
	if len(data) != evmabi.Word {
		return nil, errShape
	}
	return new(big.Int).SetBytes(data), nil
}

// decodeWithdrawals sums the amounts of an encoded (uint256 amount,uint256
// block)[]: the offset of the list, which is 32, its length, and its elements.
// Anything before, between or after them is refused.
func decodeWithdrawals(data []byte) (*big.Int, error) {
	const size = 2 * evmabi.Word // of an element, and of what stands before them
	count := len(data)/size - 1
	if len(data)%size != 0 || count < 0 || !isWord(data[:evmabi.Word], evmabi.Word) || !isWord(data[evmabi.Word:size], count) {
		return nil, errShape
	}
	sum := new(big.Int)
	for i := range count {
		sum.Add(sum, new(big.Int).SetBytes(data[(i+1)*size:][:evmabi.Word]))
	}
	return sum, nil
}

func isWord(data []byte, want int) bool {
	return new(big.Int).SetBytes(data).Cmp(big.NewInt(int64(want))) == 0
}

// block is a block as the node or Multicall3 gives it, unchecked.
type block struct {
	number    uint64
	timestamp *big.Int // Unix time in seconds; nil if none is given
}

const (
	// maxTimestamp ends the year 9999, in Unix seconds. Chains that count in
	// smaller units are beyond it.
	maxTimestamp = 253_402_300_799
	// maxAhead is how far in the future a block may be: proposers may be a few
	// seconds early, and this machine's clock somewhat slow.
	maxAhead = time.Minute
)

// time is when the block was made, or zero if the timestamp is not possible.
func (b block) time() time.Time {
	if b.timestamp == nil || b.timestamp.Sign() <= 0 || b.timestamp.Cmp(big.NewInt(maxTimestamp)) > 0 {
		return time.Time{}
	}
	return time.Unix(b.timestamp.Int64(), 0)
}

// recent fails if the block is older than MaxBlockAge, or its age cannot be
// known.
func (c *Client) recent(b block) error {
	if c.settings.MaxBlockAge == 0 {
		return nil
	}
	at := b.time()
	if at.IsZero() {
		return errNotTime
	}
	switch age := time.Since(at).Round(time.Second); {
	case age > c.settings.MaxBlockAge:
		return Service.Fail(core.Behind, fmt.Errorf("newest block %d, %v old", b.number, age))
	case age < -maxAhead:
		return malformed(fmt.Sprintf("the newest block, %d, is %v in the future: the node's clock or this machine's is wrong", b.number, -age))
	}
	return nil
}
