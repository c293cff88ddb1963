package staking

import (
	"math/big"

	"herald/internal/service/staking/evmabi"

	"github.com/shopspring/decimal"
)

// maxWithdrawals bounds the list of one wallet's withdrawals from one pool.
const maxWithdrawals = 1024

// maxTokens and more are no amount. No token counts as many, and a pool that
// answers so answers something else than a stake.
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
	if len(data) < 2*evmabi.Word || len(data) > (2+2*maxWithdrawals)*evmabi.Word {
		return nil, errShape
	}
	offset, length, elements := data[:evmabi.Word], data[evmabi.Word:2*evmabi.Word], data[2*evmabi.Word:]
	count := len(elements) / (2 * evmabi.Word)
	if !isWord(offset, evmabi.Word) || !isWord(length, count) || len(elements) != count*2*evmabi.Word {
		return nil, errShape
	}
	sum := new(big.Int)
	for ; len(elements) > 0; elements = elements[2*evmabi.Word:] {
		sum.Add(sum, new(big.Int).SetBytes(elements[:evmabi.Word]))
	}
	return sum, nil
}

func isWord(data []byte, want int) bool {
	return new(big.Int).SetBytes(data).Cmp(big.NewInt(int64(want))) == 0
}
