package staking

import (
	"math/big"
	"slices"

	"github.com/shopspring/decimal"

	"herald/internal/service/staking/evmabi"
)

// maxTokens is more than the supply of any token. An amount of maxTokens or more is not a stake.
var maxTokens = decimal.New(1, 30)

var (
	errNoData     = malformed("the answer is empty: no contract or no such method at the address")
	errShape      = malformed("the answer does not have the form of the method's result")
	errImpossible = malformed("the amount is impossible")
)

// result returns the data that c has returned. It fails if c has failed or has returned nothing.
func (c ethCall) result() ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	if len(c.data) == 0 {
		return nil, errNoData
	}
	return c.data, nil
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

// decodeUint256 reads data as one uint256. It fails if data has another size.
func decodeUint256(data []byte) (*big.Int, error) {
	if len(data) != evmabi.Word {
		return nil, errShape
	}
	return new(big.Int).SetBytes(data), nil
}

// decodeWithdrawals decodes a (uint256 amount,uint256 block)[]. Its encoding is the list's offset, which is 32, its
// length, and its elements. decodeWithdrawals fails if there is anything before, between or after them. It does not
// check the numbers (see Client.withdrawals).
func decodeWithdrawals(data []byte, decimals int) ([]Withdrawal, error) {
	const headSize = 2 * evmabi.Word // the offset and the length
	const elementSize = 2 * evmabi.Word
	if len(data) < headSize || (len(data)-headSize)%elementSize != 0 {
		return nil, errShape
	}
	offset, length, elements := data[:evmabi.Word], data[evmabi.Word:headSize], data[headSize:]
	count := len(elements) / elementSize
	if !wordIs(offset, evmabi.Word) || !wordIs(length, count) {
		return nil, errShape
	}
	list := make([]Withdrawal, 0, count)
	for element := range slices.Chunk(elements, elementSize) {
		amount := new(big.Int).SetBytes(element[:evmabi.Word])
		list = append(list, Withdrawal{
			Amount: decimal.NewFromBigInt(amount, -int32(decimals)),
			Block:  new(big.Int).SetBytes(element[evmabi.Word:]),
		})
	}
	return list, nil
}

// wordIs reports whether word is n as a big-endian number.
func wordIs(word []byte, n int) bool {
	return new(big.Int).SetBytes(word).Cmp(big.NewInt(int64(n))) == 0
}
