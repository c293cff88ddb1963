package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"herald/internal/core"
	"herald/internal/sandbox"
)

// contracts are those that stand at other addresses than they should, nil for
// none at all.
type contracts map[common.Address]sandbox.Contract

// in is the node with these contracts.
func (c contracts) in(n sandbox.Node) sandbox.Node {
	n.Contracts = maps.Clone(n.Contracts)
	for at, other := range c {
		if n.Contracts[at] = other; other == nil {
			delete(n.Contracts, at)
		}
	}
	return n
}

var noMulticall = contracts{sandbox.MulticallAddress: nil}

// rearranged is the chain with other contracts at some addresses.
func rearranged(others func(sandbox.World) contracts) func(exchange) {
	return func(x exchange) {
		others(x.service.world).in(x.service.right.(sandbox.Node)).ServeHTTP(x.w, x.r)
	}
}

// instead is the chain with another Multicall3.
func instead(multicall sandbox.Contract) func(exchange) {
	return rearranged(func(sandbox.World) contracts { return contracts{sandbox.MulticallAddress: multicall} })
}

// emptyPool is one without a stake of anybody, stakedPool one with a stake.
func emptyPool(w sandbox.World) common.Address {
	used := map[common.Address]bool{}
	for _, amount := range slices.Concat(w.Staked, w.Unbonding) {
		used[amount.Pool.Address] = true
	}
	i := slices.IndexFunc(w.Pools, func(p core.Pool) bool { return !used[p.Address] })
	return w.Pools[i].Address
}

func stakedPool(w sandbox.World) common.Address { return w.Staked[1].Pool.Address }

func reverting(reason string) sandbox.Contract {
	return func(sandbox.Node, uint64, []byte) ([]byte, error) { return nil, sandbox.Reverted(reason) }
}

func answeringBytes(output []byte) sandbox.Contract {
	return func(sandbox.Node, uint64, []byte) ([]byte, error) { return output, nil }
}

func chainFaults() []Fault {
	onePool := func(name string, pool func(sandbox.World) common.Address, other sandbox.Contract) Fault {
		return Fault{Name: name, Effect: OnePoolUnread,
			serve: rearranged(func(w sandbox.World) contracts { return contracts{pool(w): other} })}
	}
	everyPool := func(other sandbox.Contract) func(exchange) {
		return rearranged(func(w sandbox.World) contracts {
			all := contracts{}
			for _, pool := range w.Pools {
				all[pool.Address] = other
			}
			return all
		})
	}
	frozen := time.Now().Add(-time.Hour)
	const limited = `{"code":-32005,"message":"daily request count exceeded, request rate limited"}`
	return []Fault{
		{Name: "another chain", serve: altered(func(n *sandbox.Node) { n.ChainID = 1 })},
		{Name: "lagging an hour", serve: altered(func(n *sandbox.Node) {
			n.Now = func() time.Time { return time.Now().Add(-time.Hour) }
		})},
		{Name: "frozen an hour ago", serve: altered(func(n *sandbox.Node) {
			n.Now = func() time.Time { return frozen }
		})},

		onePool("an empty pool reverts", emptyPool, reverting("paused")),
		onePool("a pool with a stake reverts", stakedPool, reverting("")),
		onePool("an empty pool without code", emptyPool, nil),
		onePool("a pool with a stake without code", stakedPool, nil),
		onePool("a pool answers half a word", emptyPool, answeringBytes(make([]byte, 16))),
		onePool("a pool answers the largest number", emptyPool, answeringBytes(bytes.Repeat([]byte{0xff}, 32))),
		{Name: "every pool reverts", serve: everyPool(reverting("paused"))},
		{Name: "every pool without code", serve: everyPool(nil)},

		{Name: "no multicall", Effect: Answerable, serve: instead(nil)},
		{Name: "multicall reverts", Effect: Answerable, serve: instead(reverting(""))},
		{Name: "multicall answers no list", Effect: Answerable, serve: instead(answeringBytes(make([]byte, 32)))},
		{Name: "multicall answers too few", Effect: Answerable, serve: altered(func(n *sandbox.Node) {
			*n = contracts{sandbox.MulticallAddress: shortened(n.Contracts[sandbox.MulticallAddress])}.in(*n)
		})},

		{Name: "batch answered by one error", Effect: Answerable, serve: func(x exchange) {
			if bytes.HasPrefix(x.body, []byte("[")) {
				answerJSON(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}`)(x)
				return
			}
			noMulticall.in(x.service.right.(sandbox.Node)).ServeHTTP(x.w, x.r)
		}},
		{Name: "batch lacks an answer", Effect: Answerable,
			serve: editedBatch(func(a []rpcAnswer) []rpcAnswer { return a[1:] })},
		{Name: "batch doubles an answer", Effect: Answerable,
			serve: editedBatch(func(a []rpcAnswer) []rpcAnswer { return append(a, a[0]) })},
		{Name: "batch answers what was not asked", Effect: Answerable, serve: editedBatch(func(a []rpcAnswer) []rpcAnswer {
			a[0].ID = json.RawMessage("987654321")
			return a
		})},
		{Name: "batch answers backwards", Effect: Answerable, serve: editedBatch(func(a []rpcAnswer) []rpcAnswer {
			slices.Reverse(a)
			return a
		})},
		{Name: "batch answers without results", Effect: Answerable, serve: editedBatch(func(a []rpcAnswer) []rpcAnswer {
			for i := range a {
				a[i].Result = json.RawMessage("null")
			}
			return a
		})},

		{Name: "200 with error -32005", serve: editedAnswers(func(a *rpcAnswer) { a.Result, a.Error = nil, json.RawMessage(limited) })},
		{Name: "200 with result null", serve: editedAnswers(func(a *rpcAnswer) { a.Result = json.RawMessage("null") })},
		{Name: "200 with result 0x", serve: editedAnswers(func(a *rpcAnswer) { a.Result = json.RawMessage(`"0x"`) })},
		{Name: "200 with a result that is no hex", serve: editedAnswers(func(a *rpcAnswer) { a.Result = json.RawMessage(`"0xzz"`) })},
		{Name: "200 with another's id", serve: editedAnswers(func(a *rpcAnswer) { a.ID = json.RawMessage("987654321") })},
	}
}

// rpcAnswer is the answer to one call.
type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// editedBatch is the chain without Multicall3, whose answers to a batch are
// edited.
func editedBatch(edit func([]rpcAnswer) []rpcAnswer) func(exchange) {
	return func(x exchange) {
		right := x.answerOf(noMulticall.in(x.service.right.(sandbox.Node)))
		body := right.Body.Bytes()
		var answers []rpcAnswer
		if json.Unmarshal(body, &answers) == nil && len(answers) > 1 {
			body = mustJSON(edit(answers))
		}
		x.answer(right, right.Code, body)
	}
}

// editedAnswers is the chain whose every answer is edited.
func editedAnswers(edit func(*rpcAnswer)) func(exchange) {
	return edited(func(_ exchange, body string) string {
		var batch []rpcAnswer
		if json.Unmarshal([]byte(body), &batch) == nil {
			for i := range batch {
				edit(&batch[i])
			}
			return string(mustJSON(batch))
		}
		var single rpcAnswer
		if err := json.Unmarshal([]byte(body), &single); err != nil {
			return body
		}
		edit(&single)
		return string(mustJSON(single))
	})
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// shortened is Multicall3 that forgets the last of its results. They stand in
// a list: an offset, then the length, then offsets from there on.
func shortened(multicall sandbox.Contract) sandbox.Contract {
	return func(n sandbox.Node, block uint64, input []byte) ([]byte, error) {
		output, err := multicall(n, block, input)
		if err != nil || !bytes.HasPrefix(input, aggregate3) {
			return output, err
		}
		if length := new(big.Int).SetBytes(output[32:64]); length.Sign() > 0 {
			length.Sub(length, common.Big1).FillBytes(output[32:64])
		}
		return output, nil
	}
}

// aggregate3 begins a call of Multicall3's method of that name.
var aggregate3 = crypto.Keccak256([]byte("aggregate3((address,bool,bytes)[])"))[:4]
