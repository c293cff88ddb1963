package sandbox

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// rearranged is the chain with other contracts at some addresses, nil for
// none.
func rearranged(others map[common.Address]contract) func(exchange) {
	return altered(func(n *node) {
		n.contracts = maps.Clone(n.contracts)
		for at, other := range others {
			if n.contracts[at] = other; other == nil {
				delete(n.contracts, at)
			}
		}
	})
}

// edited is the chain without Multicall3, whose answers to a call or a batch
// are edited.
func edited(edit func([]rpcAnswer) []rpcAnswer) func(exchange) {
	return altered(func(n *node) {
		n.contracts = maps.Clone(n.contracts)
		delete(n.contracts, MulticallAddress)
		n.edit = func(answers []rpcAnswer) []rpcAnswer {
			if len(answers) < 2 {
				return answers
			}
			return edit(answers)
		}
	})
}

func reverting(reason string) contract {
	return func(node, uint64, []byte) ([]byte, error) { return nil, reverted(reason) }
}

func answeringBytes(output []byte) contract {
	return func(node, uint64, []byte) ([]byte, error) { return output, nil }
}

func chainFaults() []Fault {
	pool := func(i int) common.Address { return address(poolName(i)) }
	onePool := func(name string, i int, other contract) Fault {
		return Fault{Name: name, Effect: OnePoolUnread, serve: rearranged(map[common.Address]contract{pool(i): other})}
	}
	noMulticall := map[common.Address]contract{MulticallAddress: nil}
	everyPool := func(other contract) map[common.Address]contract {
		all := map[common.Address]contract{}
		for i := range poolCount {
			all[pool(i)] = other
		}
		return all
	}
	limit := &rpcError{Code: -32005, Message: "daily request count exceeded, request rate limited"}
	return []Fault{
		{Name: "another chain", serve: altered(func(n *node) { n.chainID = 1 })},
		{Name: "lagging an hour", Effect: Answerable, serve: altered(func(n *node) { n.behind = 1800 })},

		onePool("an empty pool reverts", emptyPool, reverting("paused")),
		onePool("a pool with a stake reverts", largePool, reverting("")),
		onePool("an empty pool without code", emptyPool, nil),
		onePool("a pool with a stake without code", largePool, nil),
		onePool("a pool answers half a word", emptyPool, answeringBytes(make([]byte, 16))),
		onePool("a pool answers the largest number", emptyPool, answeringBytes(bytes.Repeat([]byte{0xff}, 32))),
		{Name: "every pool reverts", serve: rearranged(everyPool(reverting("paused")))},
		{Name: "every pool without code", serve: rearranged(everyPool(nil))},

		{Name: "no multicall", Effect: Answerable, serve: rearranged(noMulticall)},
		{Name: "multicall reverts", Effect: Answerable,
			serve: rearranged(map[common.Address]contract{MulticallAddress: reverting("")})},
		{Name: "multicall answers no list", Effect: Answerable,
			serve: rearranged(map[common.Address]contract{MulticallAddress: answeringBytes(make([]byte, 32))})},
		{Name: "multicall answers too few", Effect: Answerable,
			serve: rearranged(map[common.Address]contract{MulticallAddress: shortened})},

		{Name: "batch answered by one error", Effect: Answerable, serve: altered(func(n *node) {
			n.contracts = maps.Clone(n.contracts)
			delete(n.contracts, MulticallAddress)
			n.lump = &rpcError{Code: -32600, Message: "batches are not supported"}
		})},
		{Name: "batch lacks an answer", Effect: Answerable,
			serve: edited(func(a []rpcAnswer) []rpcAnswer { return a[1:] })},
		{Name: "batch doubles an answer", Effect: Answerable,
			serve: edited(func(a []rpcAnswer) []rpcAnswer { return append(a, a[0]) })},
		{Name: "batch answers what was not asked", Effect: Answerable, serve: edited(func(a []rpcAnswer) []rpcAnswer {
			a[0].ID = json.RawMessage("987654321")
			return a
		})},
		{Name: "batch answers backwards", Effect: Answerable, serve: edited(backwards)},
		{Name: "batch answers without results", Effect: Answerable, serve: edited(func(a []rpcAnswer) []rpcAnswer {
			return eachAnswer(a, func(answer *rpcAnswer) { answer.Result = null })
		})},

		{Name: "200 with error -32005", serve: everyAnswer(func(a *rpcAnswer) { a.Result, a.Error = nil, limit })},
		{Name: "200 with result null", serve: everyAnswer(func(a *rpcAnswer) { a.Result = null })},
		{Name: "200 with result 0x", serve: everyAnswer(func(a *rpcAnswer) { a.Result = json.RawMessage(`"0x"`) })},
		{Name: "200 with a result that is no hex", serve: everyAnswer(func(a *rpcAnswer) { a.Result = json.RawMessage(`"0xzz"`) })},
		{Name: "200 with another's id", serve: everyAnswer(func(a *rpcAnswer) { a.ID = json.RawMessage("987654321") })},
	}
}

func everyAnswer(change func(*rpcAnswer)) func(exchange) {
	return altered(func(n *node) {
		n.edit = func(answers []rpcAnswer) []rpcAnswer { return eachAnswer(answers, change) }
	})
}

func eachAnswer(answers []rpcAnswer, change func(*rpcAnswer)) []rpcAnswer {
	for i := range answers {
		change(&answers[i])
	}
	return answers
}

func backwards(answers []rpcAnswer) []rpcAnswer {
	slices.Reverse(answers)
	return answers
}

// shortened is Multicall3 that forgets the last of its results.
func shortened(n node, block uint64, input []byte) ([]byte, error) {
	output, err := multicall(n, block, input)
	method, _, decodeErr := decode(multicallABI, input)
	if err != nil || decodeErr != nil || method.Name != "aggregate3" {
		return output, err
	}
	values, err := method.Outputs.Unpack(output)
	if err != nil {
		return nil, err
	}
	results := *abi.ConvertType(values[0], new([]multicallResult)).(*[]multicallResult)
	return method.Outputs.Pack(results[:max(len(results)-1, 0)])
}
