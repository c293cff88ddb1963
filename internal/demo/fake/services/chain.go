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
	genesisBlock = 1_000_000
	blockTime    = 2 * time.Second
)

// Node is the JSON-RPC endpoint of the chain: single calls and batches
// (https://www.jsonrpc.org/specification). Blocks advance with time; the state is the same
// in all of them. It is not geth's rpc.Server, with which the linker keeps every method of
// every type: the program would have 27 MB instead of 17.
type Node struct {
	ChainID   uint64
	Contracts map[common.Address]Contract
	// Now is the node's clock, which decides the newest block.
	Now func() time.Time
	// Height returns the number that contracts read in a block, as on a rollup whose contracts
	// count another chain's blocks. If nil, they read the block's own number.
	Height func(block uint64) uint64

	started time.Time
}

// Contract answers one call at a block. Reverted makes its errors.
type Contract func(n Node, block uint64, input []byte) ([]byte, error)

func newNode(w World, started time.Time) Node {
	n := Node{ChainID: ChainID, Contracts: map[common.Address]Contract{}, Now: time.Now, started: started}
	n.Contracts[MulticallAddress] = multicall
	for _, pool := range w.Pools {
		n.Contracts[pool.Address] = newPool(w, pool.Address)
	}
	return n
}

// Block returns the number of the newest block.
func (n Node) Block() uint64 {
	return uint64(genesisBlock + int64(n.Now().Sub(n.started)/blockTime))
}

// timeOf returns a block's timestamp in Unix seconds.
func (n Node) timeOf(block uint64) uint64 {
	return uint64(n.started.Add(time.Duration(int64(block)-genesisBlock) * blockTime).Unix())
}

// heightOf returns the number that contracts read in a block.
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

// Reverted returns the error of a contract that gives up, with a reason or "".
func Reverted(reason string) error {
	return &rpcError{Code: 3, Message: strings.TrimSuffix("execution reverted: "+reason, ": ")}
}

// ServeHTTP answers a call or a batch.
func (n Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var calls []rpcCall
	batch := json.Unmarshal(body, &calls) == nil && len(calls) > 0
	if !batch {
		calls = make([]rpcCall, 1)
		_ = json.Unmarshal(body, &calls[0]) // one without a method is answered with an error
	}
	answers := make([]rpcAnswer, len(calls))
	for i, call := range calls {
		answers[i] = n.answer(call)
	}
	text, _ := json.Marshal(answers)
	if !batch {
		text = text[1 : len(text)-1]
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
		answer.Error = &rpcError{Code: -32602, Message: err.Error()}
	}
	return answer
}

func (n Node) result(call rpcCall) (any, error) {
	params := append(call.Params, nil, nil)
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
	return nil, &rpcError{Code: -32601, Message: "the method " + call.Method + " does not exist"}
}

// resolve returns the number of the block that "latest" or a number names. It fails for a
// block that is still to come.
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
		err = &rpcError{Code: -32000, Message: "header not found"}
	}
	return block, err
}

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

// returnNumber is EVM code that returns the number of its block: NUMBER, PUSH1 0, MSTORE,
// PUSH1 32, PUSH1 0, RETURN.
var returnNumber = hexutil.MustDecode("0x4360005260206000f3")

// create runs the code of a contract to be created. It knows returnNumber only.
func (n Node) create(block uint64, code []byte) (any, error) {
	if !bytes.Equal(code, returnNumber) {
		return nil, &rpcError{Code: -32000, Message: "invalid opcode"}
	}
	return hexutil.Bytes(word(n.heightOf(block))), nil
}

// execute calls a contract. An address without code returns nothing, as on a real chain.
func (n Node) execute(block uint64, to common.Address, input []byte) ([]byte, error) {
	if run := n.Contracts[to]; run != nil {
		return run(n, block, input)
	}
	return nil, nil
}

// contract returns a Contract with methods by signature, each called with its arguments
// alone. It reverts any other call.
func contract(methods map[string]Contract) Contract {
	bySelector := map[string]Contract{}
	for signature, method := range methods {
		bySelector[string(evmabi.Selector(signature))] = method
	}
	return func(n Node, block uint64, input []byte) ([]byte, error) {
		if method := bySelector[string(input[:min(4, len(input))])]; method != nil {
			return method(n, block, input[4:])
		}
		return nil, Reverted("")
	}
}

// newPool returns a pool that holds Staker's part of the World, and the total of all
// wallets. Of others it knows nothing.
func newPool(w World, at common.Address) Contract {
	stake, withdrawn := word(0), [][]byte{}
	for _, staked := range w.Staked {
		if staked.Pool.Address == at {
			stake = baseUnits(staked.Amount)
		}
	}
	for _, part := range w.withdrawals {
		if part.Pool.Address == at {
			withdrawn = append(withdrawn, baseUnits(part.Amount),
				word(uint64(genesisBlock+int64(part.after/blockTime)-ClaimBlocks)))
		}
	}
	// A list comes after its offset and its length.
	list := func(words [][]byte) []byte {
		return slices.Concat(word(evmabi.Word), word(uint64(len(words)/2)), bytes.Join(words, nil))
	}
	ofStaker := func(theirs, others []byte) Contract {
		return func(_ Node, _ uint64, who []byte) ([]byte, error) {
			if bytes.Equal(who, evmabi.Address(w.Staker)) {
				return theirs, nil
			}
			return others, nil
		}
	}
	return contract(map[string]Contract{
		StakingMethod: ofStaker(stake, word(0)),
		PendingMethod: ofStaker(list(withdrawn), list(nil)),
		TotalMethod:   func(Node, uint64, []byte) ([]byte, error) { return baseUnits(w.totals[at]), nil },
	})
}

// baseUnits encodes an amount of tokens.
func baseUnits(tokens decimal.Decimal) []byte { return evmabi.Uint256(tokens.Shift(decimals).BigInt()) }

func word(n uint64) []byte { return evmabi.Uint256(new(big.Int).SetUint64(n)) }

// multicall is the part of Multicall3 that reads state:
// https://www.multicall3.com/abi
var multicall = contract(map[string]Contract{
	"aggregate3((address,bool,bytes)[])": func(n Node, block uint64, input []byte) ([]byte, error) {
		calls, err := evmabi.DecodeList(input, 2)
		if err != nil {
			return nil, Reverted("")
		}
		results := make([]evmabi.Tuple, len(calls))
		for i, call := range calls {
			target, mayFail := common.BytesToAddress(call.Words[:evmabi.Word]), call.Words[2*evmabi.Word-1] == 1
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
