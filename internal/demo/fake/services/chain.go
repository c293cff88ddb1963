package services

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/shopspring/decimal"

	"herald/internal/service/staking/evmabi"
)

const (
	// firstBlock is the number of the latest block when the node starts.
	firstBlock = 1_000_000
	blockTime  = 2 * time.Second
)

// Node is the JSON-RPC endpoint of the chain, for single calls and batches (https://www.jsonrpc.org/specification).
// A new block appears every blockTime; the state is the same in all blocks. Node does not use geth's rpc.Server: with
// that, the linker keeps every method of every type, and the program has 27 MB instead of 17.
type Node struct {
	ChainID   uint64
	Contracts map[common.Address]Contract
	// Now is the node's clock. It decides which block is the latest.
	Now func() time.Time
	// Height returns the block number that contracts see in a block. Some rollups show their contracts the block
	// number of another chain. If Height is nil, contracts see the number of the block.
	Height func(block uint64) uint64

	started time.Time
}

// Contract executes one call at a block. Its errors are made by Reverted.
type Contract func(n Node, block uint64, input []byte) ([]byte, error)

func newNode(w World, started time.Time) Node {
	n := Node{ChainID: ChainID, Contracts: map[common.Address]Contract{}, Now: time.Now, started: started}
	n.Contracts[MulticallAddress] = multicall
	for _, pool := range w.Pools {
		n.Contracts[pool.Address] = newPool(w, pool.Address)
	}
	return n
}

// Block returns the number of the latest block.
func (n Node) Block() uint64 {
	return uint64(firstBlock + int64(n.Now().Sub(n.started)/blockTime))
}

// timeOf returns a block's timestamp in Unix seconds.
func (n Node) timeOf(block uint64) uint64 {
	return uint64(n.started.Add(time.Duration(int64(block)-firstBlock) * blockTime).Unix())
}

// heightOf returns the block number that contracts see in a block.
func (n Node) heightOf(block uint64) uint64 {
	if n.Height == nil {
		return block
	}
	return n.Height(block)
}

type rpcCall struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// Error codes of JSON-RPC and of Ethereum nodes.
const (
	codeReverted      = 3
	codeServerError   = -32000
	codeUnknownMethod = -32601
	codeInvalidParams = -32602
)

// Reverted returns the error of a contract that reverts a call. reason may be "".
func Reverted(reason string) error {
	return &rpcError{Code: codeReverted, Message: strings.TrimSuffix("execution reverted: "+reason, ": ")}
}

// ServeHTTP answers a call or a batch.
func (n Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var calls []rpcCall
	isBatch := json.Unmarshal(body, &calls) == nil && len(calls) > 0
	if !isBatch {
		calls = make([]rpcCall, 1)
		_ = json.Unmarshal(body, &calls[0]) // If it fails, the call has no method, and answer returns an error.
	}
	answers := make([]rpcAnswer, len(calls))
	for i, call := range calls {
		answers[i] = n.answer(call)
	}
	text, _ := json.Marshal(answers)
	if !isBatch {
		text = text[1 : len(text)-1] // without the list's brackets
	}
	writeJSON(w, http.StatusOK, string(text))
}

func (n Node) answer(call rpcCall) rpcAnswer {
	answer := rpcAnswer{Version: "2.0", ID: call.ID}
	result, err := n.result(call)
	if err == nil {
		answer.Result, err = json.Marshal(result)
	}
	if err != nil && !errors.As(err, &answer.Error) {
		answer.Error = &rpcError{Code: codeInvalidParams, Message: err.Error()}
	}
	return answer
}

func (n Node) result(call rpcCall) (any, error) {
	params := append(call.Params, nil, nil) // so that there are at least two
	switch call.Method {
	case "eth_chainId":
		return hexutil.Uint64(n.ChainID), nil
	case "eth_getBlockByNumber":
		block, err := n.resolve(params[0])
		return map[string]any{"number": hexutil.Uint64(block), "timestamp": hexutil.Uint64(n.timeOf(block))}, err
	case "eth_getCode":
		var at common.Address
		if json.Unmarshal(params[0], &at) != nil {
			return nil, errors.New("invalid argument 0: an address is needed")
		}
		if n.Contracts[at] == nil {
			return "0x", nil
		}
		return "0x60806040", nil
	case "eth_call":
		return n.call(params[0], params[1])
	}
	return nil, &rpcError{Code: codeUnknownMethod, Message: "the method " + call.Method + " does not exist"}
}

// resolve returns the number of the block that a parameter names, by its number or as "latest". It returns an error
// for a block that does not exist yet.
func (n Node) resolve(param json.RawMessage) (uint64, error) {
	var text string
	if json.Unmarshal(param, &text) != nil {
		return 0, errors.New("invalid block")
	}
	if text == "latest" {
		return n.Block(), nil
	}
	block, err := hexutil.DecodeUint64(text)
	if err == nil && block > n.Block() {
		err = &rpcError{Code: codeServerError, Message: "header not found"}
	}
	return block, err
}

// call handles eth_call: message is the call, and at names its block.
func (n Node) call(message, at json.RawMessage) (any, error) {
	var m struct {
		To   *common.Address `json:"to"`
		Data hexutil.Bytes   `json:"data"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil, errors.New("invalid argument 0: a call is needed")
	}
	block, err := n.resolve(at)
	if err != nil {
		return nil, err
	}
	if m.To == nil {
		return n.create(block, m.Data)
	}
	output, err := n.execute(block, *m.To, m.Data)
	return hexutil.Bytes(output), err
}

// returnNumber is EVM code that returns the block number that contracts see: NUMBER, PUSH1 0, MSTORE, PUSH1 32,
// PUSH1 0, RETURN.
var returnNumber = hexutil.MustDecode("0x4360005260206000f3")

// create executes the code that creates a contract. It supports only returnNumber.
func (n Node) create(block uint64, code []byte) (any, error) {
	if !bytes.Equal(code, returnNumber) {
		return nil, &rpcError{Code: codeServerError, Message: "invalid opcode"}
	}
	return hexutil.Bytes(word(n.heightOf(block))), nil
}

// execute calls a contract. As on a real chain, a call to an address without code returns no data and no error.
func (n Node) execute(block uint64, to common.Address, input []byte) ([]byte, error) {
	if run := n.Contracts[to]; run != nil {
		return run(n, block, input)
	}
	return nil, nil
}

// contract returns a Contract with methods, which are listed by their signatures. A method gets the input without the
// selector. The Contract reverts calls of other methods.
func contract(methods map[string]Contract) Contract {
	bySelector := map[string]Contract{}
	for signature, method := range methods {
		bySelector[string(evmabi.Selector(signature))] = method
	}
	return func(n Node, block uint64, input []byte) ([]byte, error) {
		const selectorLength = 4
		if len(input) < selectorLength {
			return nil, Reverted("")
		}
		method := bySelector[string(input[:selectorLength])]
		if method == nil {
			return nil, Reverted("")
		}
		return method(n, block, input[selectorLength:])
	}
}

// newPool returns the contract of a pool. It returns the stake and the withdrawals of the World's Staker, the World's
// total of all wallets, and zero for every other wallet.
func newPool(w World, pool common.Address) Contract {
	stake := word(0)
	for _, staked := range w.Staked {
		if staked.Pool.Address == pool {
			stake = baseUnits(staked.Amount)
		}
	}
	var withdrawals [][]byte // the amount and the block of each
	for _, withdrawal := range w.withdrawals {
		if withdrawal.Pool.Address == pool {
			claimable := firstBlock + int64(withdrawal.after/blockTime)
			withdrawals = append(withdrawals, baseUnits(withdrawal.Amount), word(uint64(claimable-ClaimBlocks)))
		}
	}
	byWallet := func(stakers, others []byte) Contract {
		return func(_ Node, _ uint64, wallet []byte) ([]byte, error) {
			if bytes.Equal(wallet, evmabi.Address(w.Staker)) {
				return stakers, nil
			}
			return others, nil
		}
	}
	return contract(map[string]Contract{
		StakingMethod: byWallet(stake, word(0)),
		PendingMethod: byWallet(listOfPairs(withdrawals), listOfPairs(nil)),
		TotalMethod:   func(Node, uint64, []byte) ([]byte, error) { return baseUnits(w.totals[pool]), nil },
	})
}

// listOfPairs encodes a list of pairs of words: its offset, its length and the words.
func listOfPairs(words [][]byte) []byte {
	return slices.Concat(word(evmabi.Word), word(uint64(len(words)/2)), bytes.Join(words, nil))
}

// baseUnits encodes an amount of tokens.
func baseUnits(tokens decimal.Decimal) []byte { return evmabi.Uint256(tokens.Shift(decimals).BigInt()) }

// word encodes a number.
func word(n uint64) []byte { return evmabi.Uint256(new(big.Int).SetUint64(n)) }

// multicall is the part of Multicall3 that reads state: https://www.multicall3.com/abi
var multicall = contract(map[string]Contract{
	"aggregate3((address,bool,bytes)[])": func(n Node, block uint64, input []byte) ([]byte, error) {
		calls, err := evmabi.DecodeList(input, 2)
		if err != nil {
			return nil, Reverted("")
		}
		results := make([]evmabi.Tuple, len(calls))
		for i, call := range calls {
			target := common.BytesToAddress(call.Words[:evmabi.Word])
			mayFail := call.Words[2*evmabi.Word-1] == 1
			output, err := n.execute(block, target, call.Content)
			if err != nil && !mayFail {
				return nil, Reverted("Multicall3: call failed")
			}
			results[i] = evmabi.Tuple{Words: word(1), Content: output}
			if err != nil {
				results[i].Words = word(0)
			}
		}
		return evmabi.EncodeList(results), nil
	},
	"getBlockNumber()": func(n Node, block uint64, _ []byte) ([]byte, error) {
		return word(n.heightOf(block)), nil
	},
	"getCurrentBlockTimestamp()": func(n Node, block uint64, _ []byte) ([]byte, error) {
		return word(n.timeOf(block)), nil
	},
	"getChainId()": func(n Node, _ uint64, _ []byte) ([]byte, error) { return word(n.ChainID), nil },
})
