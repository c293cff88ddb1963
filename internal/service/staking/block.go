package staking

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

var (
	errNotBlock = malformed("the block number is impossible")
	errNotTime  = malformed("the newest block has no possible time: the node's clock or this machine's is wrong")
)

// quantity is a number in an answer of the node. Unlike hexutil.Big, it accepts leading zeros, which some nodes send.
type quantity big.Int

// toInt returns q as a *big.Int that shares its memory.
func (q *quantity) toInt() *big.Int { return (*big.Int)(q) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (q *quantity) UnmarshalText(text []byte) error {
	digits, hasPrefix := strings.CutPrefix(string(text), "0x")
	if !hasPrefix || digits == "" {
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

// withoutTransactions is the second parameter of eth_getBlockByNumber: the transactions' hashes are enough.
const withoutTransactions = false

// block is a block as the node or Multicall3 reports it. The fields with a JSON name are in the node's answer.
type block struct {
	chainID *big.Int
	// height is the block's number as contracts read it, or nil if the node does not report it. On some rollups,
	// contracts count the blocks of another chain:
	// https://docs.arbitrum.io/arbitrum-essentials/arbitrum-vs-ethereum/block-numbers-and-time
	height *big.Int
	// Number is the number in the block's header. It is nil if Multicall3 reports the block.
	Number *quantity `json:"number"`
	// Timestamp is the Unix time in seconds, which may be impossible. It is nil if none is reported.
	Timestamp *quantity `json:"timestamp"`
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

// maxAhead is how far in the future a block's time may be. Proposers may be early, and this machine's clock may be
// slow.
const maxAhead = time.Minute

// time returns the block's time, or zero if the timestamp is impossible.
func (b block) time() time.Time {
	if b.Timestamp == nil {
		return time.Time{}
	}
	at := b.Timestamp.toInt()
	latest := big.NewInt(time.Now().Add(maxAhead).Unix())
	if at.Sign() <= 0 || at.Cmp(latest) > 0 {
		return time.Time{}
	}
	return time.Unix(at.Int64(), 0)
}

// verify returns an error if b is a block of another chain, or if its age is unknown or above MaxBlockAge. If
// MaxBlockAge is 0, any age is allowed, including an unknown one.
func (c *Client) verify(b block) error {
	if !b.chainID.IsUint64() || b.chainID.Uint64() != c.settings.ChainID {
		// Only an operator can configure another node.
		return Service.Fail(core.Denied, &config.WrongError{
			Problem:  fmt.Sprintf("the node is of chain %d, but chain %d is configured", b.chainID, c.settings.ChainID),
			Settings: "EVM_CHAIN_ID and EVM_RPC_URL",
		})
	}
	if anyAge := c.settings.MaxBlockAge == 0; anyAge {
		return nil
	}
	if b.time().IsZero() {
		return errNotTime
	}
	age := time.Since(b.time()).Round(time.Second)
	if age > c.settings.MaxBlockAge {
		return Service.Fail(core.Behind, fmt.Errorf("newest block %v, %v old", b, age))
	}
	return nil
}

// blockMethods are methods of Multicall3 itself, which describe the block at which it is called.
var blockMethods = []string{"getChainId()", "getBlockNumber()", "getCurrentBlockTimestamp()"}

// blockOf returns the block that the results of blockMethods describe.
func blockOf(results []evmabi.Tuple) (block, error) {
	var numbers []*big.Int
	for _, result := range results {
		n, err := decodeUint256(result.Content)
		if err != nil {
			return block{}, errNoMulticall
		}
		numbers = append(numbers, n)
	}
	chainID, height, timestamp := numbers[0], numbers[1], numbers[2]
	if !height.IsUint64() {
		return block{}, errNotBlock
	}
	return block{chainID: chainID, height: height, Timestamp: (*quantity)(timestamp)}, nil
}
