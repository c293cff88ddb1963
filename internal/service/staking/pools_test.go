package staking

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/service/staking/evmabi"
)

// contracts are the contracts of a chain, by address. They are written in Go, so the chain needs no EVM.
type contracts = map[common.Address]services.Contract

// pool returns a pool that answers its two methods with fixed bytes. If the bytes are nil, it reverts, with the input
// of the call as the reason.
func pool(stake, pending []byte) services.Contract {
	return func(_ services.Node, _ uint64, input []byte) ([]byte, error) {
		output := stake
		if bytes.HasPrefix(input, evmabi.Selector(testPending)) {
			output = pending
		}
		if output == nil {
			return nil, services.Reverted(hexutil.Encode(input))
		}
		return output, nil
	}
}

// poolWith returns a pool that answers these methods with fixed bytes, and reverts on any other.
func poolWith(answers map[string][]byte) services.Contract {
	return func(_ services.Node, _ uint64, input []byte) ([]byte, error) {
		for method, output := range answers {
			if bytes.HasPrefix(input, evmabi.Selector(method)) && output != nil {
				return output, nil
			}
		}
		return nil, services.Reverted("")
	}
}

// poolWithout returns a pool without a stake that answers every method but one.
func poolWithout(method string) services.Contract {
	answers := map[string][]byte{testMethod: wordOf(0), testPending: withdrawalsOf(), testTotal: wordOf(0)}
	delete(answers, method)
	return poolWith(answers)
}

// poolAt returns the pool that deploy puts at index i of its list.
func poolAt(i int) core.Pool {
	return core.Pool{
		Address: common.BigToAddress(big.NewInt(int64(0x9000 + i))),
		Name:    fmt.Sprintf("pool %d", i),
	}
}

// deploy returns a chain with Multicall3 and these pools, and the pools' names and addresses in the same order. A nil
// pool is an address without code.
func deploy(pools ...services.Contract) (contracts, []core.Pool) {
	chain := contracts{multicallAddr: sandbox.Contracts[multicallAddr]}
	var at []core.Pool
	for i, p := range pools {
		at = append(at, poolAt(i))
		chain[poolAt(i).Address] = p
	}
	return chain, at
}

// emptyPools returns n pools without a stake.
func emptyPools(n int) []services.Contract {
	return slices.Repeat([]services.Contract{pool(wordOf(0), withdrawalsOf())}, n)
}

// stakers returns a chain of 21 pools. Every wallet has a stake of 3 tokens and a withdrawal of 4 tokens in the last
// pool, pool 20, and nothing in the others.
func stakers() (contracts, []core.Pool) {
	return deploy(append(emptyPools(20), pool(tokensOf(3), withdrawalsOf(4)))...)
}

// wordOf encodes a number.
func wordOf(n uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 24), n)
}

// tokensOf encodes an amount of n tokens, with 18 decimals.
func tokensOf(n int64) []byte {
	return evmabi.Uint256(new(big.Int).Mul(big.NewInt(n), big.NewInt(1e18)))
}

// withdrawalsOf encodes a list of withdrawals of whole tokens, each from block 77.
func withdrawalsOf(tokens ...int64) []byte {
	var list []Withdrawal
	for _, n := range tokens {
		list = append(list, Withdrawal{Amount: decimal.NewFromInt(n), Block: big.NewInt(77)})
	}
	return encodeWithdrawals(list...)
}

// encodeWithdrawals encodes a list of withdrawals as a pool returns it.
func encodeWithdrawals(list ...Withdrawal) []byte {
	encoded := slices.Concat(wordOf(evmabi.Word), wordOf(uint64(len(list))))
	for _, w := range list {
		encoded = append(encoded, evmabi.Uint256(w.Amount.Shift(18).BigInt())...)
		encoded = append(encoded, evmabi.Uint256(w.Block)...)
	}
	return encoded
}

// entry is a withdrawal of whole tokens. Its block is the latest block plus offset.
type entry struct{ tokens, offset int64 }

// entriesAt encodes a list of entries at a latest block.
func entriesAt(latest uint64, entries ...entry) []byte {
	var list []Withdrawal
	for _, e := range entries {
		list = append(list, Withdrawal{
			Amount: whole(e.tokens),
			Block:  add(new(big.Int).SetUint64(latest), e.offset),
		})
	}
	return encodeWithdrawals(list...)
}

// whole returns an amount of whole tokens.
func whole(tokens int64) decimal.Decimal { return decimal.NewFromInt(tokens) }

func add(n *big.Int, more int64) *big.Int { return new(big.Int).Add(n, big.NewInt(more)) }
