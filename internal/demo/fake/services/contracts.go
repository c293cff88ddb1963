package services

import (
	"bytes"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/service/staking/evmabi"
)

// Contract answers one call at a block, or fails with what Reverted returns.
type Contract func(n Node, block uint64, input []byte) ([]byte, error)

// methods are what a contract has, by their signatures. A call of another one
// gives up.
type methods map[string]Contract

// contract executes the method that a call names, with the call's arguments.
func contract(all methods) Contract {
	bySelector := map[string]Contract{}
	for signature, method := range all {
		bySelector[string(evmabi.Selector(signature))] = method
	}
	return func(n Node, block uint64, input []byte) ([]byte, error) {
		if method := bySelector[string(input[:min(4, len(input))])]; method != nil {
			return method(n, block, input[4:])
		}
		return nil, Reverted("")
	}
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
	return append(evmabi.Selector("Error(string)"), evmabi.Bytes([]byte(reason))...)
}

// withdrawal is one entry of pendingWithdrawals.
type withdrawal struct{ amount, block *big.Int }

// encodeWithdrawals is a (uint256 amount,uint256 block)[].
func encodeWithdrawals(all []withdrawal) []byte {
	encoded := append(evmabi.Uint256(big.NewInt(evmabi.Word)), evmabi.Uint256(big.NewInt(int64(len(all))))...)
	for _, w := range all {
		encoded = append(append(encoded, evmabi.Uint256(w.amount)...), evmabi.Uint256(w.block)...)
	}
	return encoded
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
	var pending []withdrawal
	for _, unbonding := range w.Unbonding {
		if unbonding.Pool.Address == at {
			pending = inTwoParts(baseUnits(unbonding.Amount))
		}
	}
	theirs := evmabi.Address(w.Staker)
	return contract(methods{
		"currentStake(address)": func(_ Node, _ uint64, of []byte) ([]byte, error) {
			if bytes.Equal(of, theirs) {
				return evmabi.Uint256(stake), nil
			}
			return evmabi.Uint256(new(big.Int)), nil
		},
		"pendingWithdrawals(address)": func(_ Node, _ uint64, of []byte) ([]byte, error) {
			if bytes.Equal(of, theirs) {
				return encodeWithdrawals(pending), nil
			}
			return encodeWithdrawals(nil), nil
		},
	})
}

// inTwoParts is a withdrawal that was asked for twice: what a wallet withdraws
// from a pool is the sum.
func inTwoParts(amount *big.Int) []withdrawal {
	third := new(big.Int).Div(amount, big.NewInt(3))
	return []withdrawal{
		{amount: third, block: big.NewInt(genesisBlock + 50_000)},
		{amount: new(big.Int).Sub(amount, third), block: big.NewInt(genesisBlock + 90_000)},
	}
}

const aggregate3 = "aggregate3((address,bool,bytes)[])"

// multicall is the part of Multicall3 that reads state
// (https://www.multicall3.com/abi).
var multicall = contract(methods{
	aggregate3: func(n Node, block uint64, input []byte) ([]byte, error) {
		calls, err := evmabi.DecodeCalls(input)
		if err != nil {
			return nil, Reverted("")
		}
		results, err := n.aggregate(block, calls)
		return evmabi.EncodeResults(results), err
	},
	"getBlockNumber()": func(_ Node, block uint64, _ []byte) ([]byte, error) { return uint64Word(block), nil },
	"getCurrentBlockTimestamp()": func(n Node, block uint64, _ []byte) ([]byte, error) {
		return uint64Word(n.blockTimestamp(block)), nil
	},
	"getChainId()": func(n Node, _ uint64, _ []byte) ([]byte, error) { return uint64Word(n.ChainID), nil },
})

func uint64Word(n uint64) []byte { return evmabi.Uint256(new(big.Int).SetUint64(n)) }

func (n Node) aggregate(block uint64, calls []evmabi.Call) ([]evmabi.Result, error) {
	results := make([]evmabi.Result, len(calls))
	for i, call := range calls {
		if bytes.HasPrefix(call.Data, evmabi.Selector(aggregate3)) {
			return nil, Reverted("nested aggregate3 is not simulated")
		}
		output, err := n.execute(block, call.Target, call.Data)
		if err != nil && !call.AllowFailure {
			return nil, Reverted("Multicall3: call failed")
		}
		results[i] = evmabi.Result{Success: err == nil, Data: output}
	}
	return results, nil
}
