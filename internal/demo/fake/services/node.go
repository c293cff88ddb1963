package services

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"herald/internal/service/staking/evmabi"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

const (
	genesisBlock = 1_000_000
	blockTime    = 2 * time.Second
)

// Node is the JSON-RPC endpoint of the chain: single calls and batches
// (https://www.jsonrpc.org/specification). Blocks advance with time, the state
// is the same in all of them.
type Node struct {
	ChainID   uint64
	Contracts map[common.Address]Contract
	// Now is its clock, by which blocks come.
	Now func() time.Time

	started time.Time
}

func newNode(w World, started time.Time) Node {
	n := Node{ChainID: ChainID, Contracts: map[common.Address]Contract{}, Now: time.Now, started: started}
	n.Contracts[MulticallAddress] = multicall
	for _, pool := range w.Pools {
		n.Contracts[pool.Address] = newPool(w, pool.Address)
	}
	return n
}

func (n Node) block() uint64 {
	return uint64(genesisBlock + int64(n.Now().Sub(n.started)/blockTime))
}

// blockTimestamp is in Unix seconds.
func (n Node) blockTimestamp(block uint64) uint64 {
	since := time.Duration(int64(block)-genesisBlock) * blockTime
	return uint64(n.started.Add(since).Unix())
}

type rpcCall struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
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
	Data    string `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

var null = json.RawMessage("null")

// ServeHTTP answers a call or a batch.
func (n Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	calls, batch, failure := readCalls(r)
	if failure != nil {
		writeAnswer(w, rpcAnswer{Version: "2.0", ID: null, Error: failure})
		return
	}
	var answers []rpcAnswer
	for _, call := range calls {
		answer := n.answer(call)
		if call.ID != nil {
			answers = append(answers, answer)
		}
	}
	switch {
	case len(answers) == 0:
		w.WriteHeader(http.StatusOK)
	case batch:
		writeAnswer(w, answers)
	default:
		writeAnswer(w, answers[0])
	}
}

// readCalls reads a call or, where batch is true, all of a batch.
func readCalls(r *http.Request) (calls []rpcCall, batch bool, failure *rpcError) {
	var body json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, false, &rpcError{Code: -32700, Message: "parse error"}
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		if err := json.Unmarshal(body, &calls); err != nil || len(calls) == 0 {
			return nil, false, &rpcError{Code: -32600, Message: "invalid request"}
		}
		return calls, true, nil
	}
	var call rpcCall
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, false, &rpcError{Code: -32600, Message: "invalid request"}
	}
	return []rpcCall{call}, false, nil
}

func writeAnswer(w http.ResponseWriter, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, "the answer cannot be written as JSON", http.StatusInternalServerError)
		return
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
	if call.Version != "2.0" {
		return nil, &rpcError{Code: -32600, Message: "invalid request"}
	}
	switch call.Method {
	case "eth_chainId":
		return hexutil.Uint64(n.ChainID), nil
	case "eth_getBlockByNumber":
		return n.header(call.Params)
	case "eth_getCode":
		return n.code(call.Params)
	case "eth_call":
		return n.call(call.Params)
	}
	return nil, &rpcError{Code: -32601, Message: "the method " + call.Method + " does not exist"}
}

// header is the little of a block that a reader of state needs.
func (n Node) header(params []json.RawMessage) (any, error) {
	block, err := n.resolve(params, 0)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"number":    hexutil.Uint64(block),
		"timestamp": hexutil.Uint64(n.blockTimestamp(block)),
		"hash":      evmabi.Keccak256(fmt.Sprintf("herald sandbox block %d", block)),
	}, nil
}

// resolve turns parameter i, "latest" or a number, into a block's number.
func (n Node) resolve(params []json.RawMessage, i int) (uint64, error) {
	var text string
	if len(params) <= i || json.Unmarshal(params[i], &text) != nil {
		return 0, errors.New("invalid block")
	}
	if text == "latest" {
		return n.block(), nil
	}
	block, err := hexutil.DecodeUint64(text)
	if err != nil {
		return 0, errors.New("invalid block number")
	}
	if block > n.block() {
		return 0, &rpcError{Code: -32000, Message: "header not found"}
	}
	return block, nil
}

func (n Node) code(params []json.RawMessage) (any, error) {
	var at common.Address
	if len(params) < 1 || json.Unmarshal(params[0], &at) != nil {
		return nil, errors.New("invalid argument 0: an address is needed")
	}
	if _, deployed := n.Contracts[at]; !deployed {
		return "0x", nil
	}
	return "0x60806040", nil
}

func (n Node) call(params []json.RawMessage) (any, error) {
	var message struct {
		To    *common.Address `json:"to"`
		Data  hexutil.Bytes   `json:"data"`
		Input hexutil.Bytes   `json:"input"`
	}
	if len(params) < 1 || json.Unmarshal(params[0], &message) != nil || message.To == nil {
		return nil, errors.New("invalid argument 0: a call to an address is needed")
	}
	block, err := n.resolve(params, 1)
	if err != nil {
		return nil, err
	}
	input := message.Input
	if input == nil {
		input = message.Data
	}
	output, err := n.execute(block, *message.To, input)
	if err != nil {
		return nil, err
	}
	return hexutil.Bytes(output), nil
}

// execute calls a contract. An address without code answers nothing and
// succeeds, as it does on a real chain.
func (n Node) execute(block uint64, to common.Address, input []byte) ([]byte, error) {
	run, deployed := n.Contracts[to]
	if !deployed {
		return nil, nil
	}
	return run(n, block, input)
}
