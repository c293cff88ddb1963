package staking

import (
	"errors"
	"math/big"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// maxTokens bounds an amount, in tokens. No token has so many, so a larger answer is not a
// stake.
var maxTokens = decimal.New(1, 30)

var (
	errNoData     = malformed("the answer is empty: no contract or no such method at the address")
	errShape      = malformed("the answer does not have the form of the method's result")
	errImpossible = malformed("the amount is impossible")
	errReverted   = Service.Fail(core.Rejected, errors.New("the pool reverted the call"))
	// errImpossibleBlock is about a Withdrawal.
	errImpossibleBlock = malformed("the block of a withdrawal is impossible")
)

// result returns the data of a call. It fails if the call did, or if there is no data.
func (c ethCall) result() ([]byte, error) {
	if c.err == nil && len(c.data) == 0 {
		return nil, errNoData
	}
	return c.data, c.err
}

// tokens returns the call's result, a uint256, as an amount in tokens.
func (c ethCall) tokens(decimals int) (decimal.Decimal, error) {
	data, err := c.result()
	if err != nil {
		return decimal.Decimal{}, err
	}
	base, err := decodeUint256(data)
	if err != nil {
		return decimal.Decimal{}, err
	}
	amount := decimal.NewFromBigInt(base, -int32(decimals))
	if amount.GreaterThanOrEqual(maxTokens) {
		return decimal.Decimal{}, errImpossible
	}
	return amount, nil
}

// decodeUint256 reads one uint256. It refuses anything before or after it.
func decodeUint256(data []byte) (*big.Int, error) {
	if len(data) != evmabi.Word {
		return nil, errShape
	}
	return new(big.Int).SetBytes(data), nil
}

// decodeWithdrawals returns the elements of an encoded (uint256 amount,uint256 block)[]:
// the list's offset, which is 32, its length, and its elements. It refuses anything before,
// between or after them. maxBody bounds the list.
func decodeWithdrawals(data []byte, decimals int) ([]Withdrawal, error) {
	const size = 2 * evmabi.Word // of an element, and of offset and length together
	count := len(data)/size - 1
	if len(data)%size != 0 || count < 0 || !isWord(data[:evmabi.Word], evmabi.Word) ||
		!isWord(data[evmabi.Word:size], count) {
		return nil, errShape
	}
	list := make([]Withdrawal, count)
	for i := range list {
		element := data[(i+1)*size:][:size]
		base := new(big.Int).SetBytes(element[:evmabi.Word])
		list[i] = Withdrawal{
			Amount: decimal.NewFromBigInt(base, -int32(decimals)), Block: new(big.Int).SetBytes(element[evmabi.Word:]),
		}
	}
	return list, nil
}

func isWord(data []byte, want int) bool {
	return new(big.Int).SetBytes(data).Cmp(big.NewInt(int64(want))) == 0
}
