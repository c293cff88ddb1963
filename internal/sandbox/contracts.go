package sandbox

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Contract answers one call at a block, or fails with what Reverted returns.
type Contract func(n Node, block uint64, input []byte) ([]byte, error)

var poolABI = mustABI(`[
	{"type":"function","name":"currentStake","stateMutability":"view",
	 "inputs":[{"name":"staker","type":"address"}],
	 "outputs":[{"name":"","type":"uint256"}]},
	{"type":"function","name":"pendingWithdrawals","stateMutability":"view",
	 "inputs":[{"name":"staker","type":"address"}],
	 "outputs":[{"name":"","type":"tuple[]","components":[
		{"name":"amount","type":"uint256"},{"name":"block","type":"uint256"}]}]}]`)

// multicallABI is the part of Multicall3 that reads state
// (https://www.multicall3.com/abi).
var multicallABI = mustABI(`[
	{"type":"function","name":"aggregate3","stateMutability":"payable",
	 "inputs":[{"name":"calls","type":"tuple[]","components":[
		{"name":"target","type":"address"},
		{"name":"allowFailure","type":"bool"},
		{"name":"callData","type":"bytes"}]}],
	 "outputs":[{"name":"returnData","type":"tuple[]","components":[
		{"name":"success","type":"bool"},
		{"name":"returnData","type":"bytes"}]}]},
	{"type":"function","name":"getBlockNumber","stateMutability":"view","inputs":[],
	 "outputs":[{"name":"blockNumber","type":"uint256"}]},
	{"type":"function","name":"getCurrentBlockTimestamp","stateMutability":"view","inputs":[],
	 "outputs":[{"name":"timestamp","type":"uint256"}]},
	{"type":"function","name":"getChainId","stateMutability":"view","inputs":[],
	 "outputs":[{"name":"chainid","type":"uint256"}]}]`)

func mustABI(text string) abi.ABI {
	parsed, err := abi.JSON(strings.NewReader(text))
	if err != nil {
		panic(fmt.Sprintf("sandbox: %v", err))
	}
	return parsed
}

// Reverted is the error of a contract that gave up, with its reason or "".
func Reverted(reason string) error {
	if reason == "" {
		return &rpcError{Code: 3, Message: "execution reverted", Data: "0x"}
	}
	return &rpcError{Code: 3, Message: "execution reverted: " + reason, Data: hexutil.Encode(revertData(reason))}
}

// revertData is Solidity's Error(string).
func revertData(reason string) []byte {
	text, _ := abi.NewType("string", "", nil)
	packed, _ := abi.Arguments{{Type: text}}.Pack(reason)
	return append(hexutil.MustDecode("0x08c379a0"), packed...)
}

// decode finds the method that input calls, and its arguments.
func decode(a abi.ABI, input []byte) (*abi.Method, []any, error) {
	method, err := a.MethodById(input)
	if err != nil {
		return nil, nil, Reverted("")
	}
	args, err := method.Inputs.Unpack(input[4:])
	if err != nil {
		return nil, nil, Reverted("")
	}
	return method, args, nil
}

// withdrawal is one entry of pendingWithdrawals.
type withdrawal struct {
	Amount *big.Int
	Block  *big.Int
}

// newPool is a pool that holds what the world says Staker has in it, and
// nothing of anybody else.
func newPool(w World, at common.Address) Contract {
	stake := new(big.Int)
	for _, staked := range w.Staked {
		if staked.Pool.Address == at {
			stake = baseUnits(staked.Amount)
		}
	}
	pending := []withdrawal{}
	for _, unbonding := range w.Unbonding {
		if unbonding.Pool.Address == at {
			pending = inTwoParts(baseUnits(unbonding.Amount))
		}
	}
	return func(_ Node, _ uint64, input []byte) ([]byte, error) {
		method, args, err := decode(poolABI, input)
		if err != nil {
			return nil, err
		}
		theirs := args[0] == w.Staker
		switch {
		case method.Name == "pendingWithdrawals" && theirs:
			return method.Outputs.Pack(pending)
		case method.Name == "pendingWithdrawals":
			return method.Outputs.Pack([]withdrawal{})
		case theirs:
			return method.Outputs.Pack(stake)
		}
		return method.Outputs.Pack(new(big.Int))
	}
}

// inTwoParts is a withdrawal that was asked for twice: what a wallet withdraws
// from a pool is the sum.
func inTwoParts(amount *big.Int) []withdrawal {
	third := new(big.Int).Div(amount, big.NewInt(3))
	return []withdrawal{
		{Amount: third, Block: big.NewInt(genesisBlock + 50_000)},
		{Amount: new(big.Int).Sub(amount, third), Block: big.NewInt(genesisBlock + 90_000)},
	}
}

// multicallCall and multicallResult are Call3 and Result of Multicall3.
type multicallCall struct {
	Target       common.Address
	AllowFailure bool
	CallData     []byte
}

type multicallResult struct {
	Success    bool
	ReturnData []byte
}

// multicall is Multicall3.
func multicall(n Node, block uint64, input []byte) ([]byte, error) {
	method, args, err := decode(multicallABI, input)
	if err != nil {
		return nil, err
	}
	switch method.Name {
	case "getBlockNumber":
		return method.Outputs.Pack(new(big.Int).SetUint64(block))
	case "getCurrentBlockTimestamp":
		return method.Outputs.Pack(new(big.Int).SetUint64(n.blockTimestamp(block)))
	case "getChainId":
		return method.Outputs.Pack(new(big.Int).SetUint64(n.ChainID))
	}
	var calls []multicallCall
	if err := method.Inputs.Copy(&calls, args); err != nil {
		return nil, Reverted("")
	}
	results, err := n.aggregate(block, calls)
	if err != nil {
		return nil, err
	}
	return method.Outputs.Pack(results)
}

func (n Node) aggregate(block uint64, calls []multicallCall) ([]multicallResult, error) {
	results := make([]multicallResult, len(calls))
	for i, call := range calls {
		if bytes.HasPrefix(call.CallData, multicallABI.Methods["aggregate3"].ID) {
			return nil, Reverted("nested aggregate3 is not simulated")
		}
		output, err := n.execute(block, call.Target, call.CallData)
		if err != nil && !call.AllowFailure {
			return nil, Reverted("Multicall3: call failed")
		}
		results[i] = multicallResult{Success: err == nil, ReturnData: output}
	}
	return results, nil
}
