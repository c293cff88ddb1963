package staking

import (
	"math/big"

	"github.com/shopspring/decimal"
)

// maxWithdrawals bounds the list of one wallet's withdrawals from one pool.
const maxWithdrawals = 1024

// maxTokensExponent: 10^30 tokens and more are no amount. No token counts as
// many, and a pool that answers so answers something else than a stake.
const maxTokensExponent = 30

const word = 32 // bytes of a value in the ABI

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

// unit turns base units into tokens.
type unit struct {
	decimals int32
	limit    *big.Int // in base units; from it on amounts are impossible
}

func newUnit(decimals int32) unit {
	exponent := big.NewInt(maxTokensExponent + int64(decimals))
	return unit{decimals: decimals, limit: new(big.Int).Exp(big.NewInt(10), exponent, nil)}
}

// tokens takes the two results of an answer's method.
func (u unit) tokens(base *big.Int, err error) (decimal.Decimal, error) {
	switch {
	case err != nil:
		return decimal.Decimal{}, err
	case base.Cmp(u.limit) >= 0:
		return decimal.Decimal{}, errImpossible
	}
	return decimal.NewFromBigInt(base, -u.decimals), nil
}

// uint256 reads data that is exactly one uint256.
func (a answer) uint256() (*big.Int, error) {
	switch {
	case a.err != nil:
		return nil, a.err
	case len(a.data) == 0:
		return nil, errNoData
	case len(a.data) != word:
		return nil, errShape
	}
	return new(big.Int).SetBytes(a.data), nil
}

// withdrawals sums the amounts of an encoded (uint256 amount,uint256 block)[]:
// the offset of the list, which is 32, its length, and its elements. Anything
// before, between or after them is refused.
func (a answer) withdrawals() (*big.Int, error) {
	switch {
	case a.err != nil:
		return nil, a.err
	case len(a.data) == 0:
		return nil, errNoData
	case len(a.data) < 2*word || len(a.data) > (2+2*maxWithdrawals)*word:
		return nil, errShape
	}
	offset, length, elements := a.data[:word], a.data[word:2*word], a.data[2*word:]
	count := len(elements) / (2 * word)
	if !isWord(offset, word) || !isWord(length, count) || len(elements) != count*2*word {
		return nil, errShape
	}
	sum := new(big.Int)
	for ; len(elements) > 0; elements = elements[2*word:] {
		sum.Add(sum, new(big.Int).SetBytes(elements[:word]))
	}
	return sum, nil
}

func isWord(data []byte, want int) bool {
	return new(big.Int).SetBytes(data).Cmp(big.NewInt(int64(want))) == 0
}
