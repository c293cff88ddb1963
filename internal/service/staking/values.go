package staking

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/shopspring/decimal"

	"herald/internal/config"
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
	if len(data)%size != 0 || count < 0 || !isWord(data[:evmabi.Word], evmabi.Word) || !isWord(data[evmabi.Word:size], count) {
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

// quantity is a number in an answer of the node. In contrast to hexutil.Big it accepts leading
// zeros, which some nodes send.
type quantity big.Int

// toInt returns the number itself.
func (q *quantity) toInt() *big.Int { return (*big.Int)(q) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (q *quantity) UnmarshalText(text []byte) error {
	digits, hexadecimal := strings.CutPrefix(string(text), "0x")
	if !hexadecimal || digits == "" {
		return errNotJSONRPC
	}
	n, err := hexutil.DecodeBig("0x" + cmp.Or(strings.TrimLeft(digits, "0"), "0"))
	if err != nil {
		return errNotJSONRPC
	}
	q.toInt().Set(n)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (q *quantity) MarshalText() ([]byte, error) { return []byte(hexutil.EncodeBig(q.toInt())), nil }

// block is a block as the node or Multicall3 reports it.
type block struct {
	chainID *big.Int
	// height is the block's number as contracts read it. On some rollups it counts the blocks of
	// another chain:
	// https://docs.arbitrum.io/arbitrum-essentials/arbitrum-vs-ethereum/block-numbers-and-time
	// It is nil if the node does not tell it.
	height    *big.Int
	Number    *quantity `json:"number"`    // as the node numbers it; nil if Multicall3 reports the block
	Timestamp *quantity `json:"timestamp"` // Unix time in seconds, unchecked; nil if none is given
}

// knownHeight returns the height, or 0 if it is unknown.
func (b block) knownHeight() uint64 {
	if b.height == nil {
		return 0
	}
	return b.height.Uint64()
}

// String returns the block's number for errors.
func (b block) String() string {
	if b.Number != nil {
		return b.Number.toInt().String()
	}
	return b.height.String()
}

// maxAhead is how far in the future a block may be: proposers may be early, and this
// machine's clock may be slow.
const maxAhead = time.Minute

// time returns the block's time, or zero if the timestamp is impossible.
func (b block) time() time.Time {
	if b.Timestamp == nil {
		return time.Time{}
	}
	at, latest := b.Timestamp.toInt(), big.NewInt(time.Now().Add(maxAhead).Unix())
	if at.Sign() <= 0 || at.Cmp(latest) > 0 {
		return time.Time{}
	}
	return time.Unix(at.Int64(), 0)
}

// verify fails if b is of another chain, or if its age is unknown or above MaxBlockAge.
func (c *Client) verify(b block) error {
	if !b.chainID.IsUint64() || b.chainID.Uint64() != c.settings.ChainID {
		// Only an admin can point the bot at another node.
		return Service.Fail(core.Denied, &config.WrongError{
			Problem:  fmt.Sprintf("the node is of chain %d, but chain %d is configured", b.chainID, c.settings.ChainID),
			Settings: "EVM_CHAIN_ID and EVM_RPC_URL",
		})
	}
	switch age := time.Since(b.time()).Round(time.Second); {
	case c.settings.MaxBlockAge == 0:
		return nil
	case b.time().IsZero():
		return errNotTime
	case age > c.settings.MaxBlockAge:
		return Service.Fail(core.Behind, fmt.Errorf("newest block %v, %v old", b, age))
	}
	return nil
}
