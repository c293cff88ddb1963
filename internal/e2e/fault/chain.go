package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/service/staking/evmabi"
)

// place puts a contract at an address, nil for none at all.
func place(n *services.Node, at common.Address, c services.Contract) {
	n.Contracts = maps.Clone(n.Contracts)
	if n.Contracts[at] = c; c == nil {
		delete(n.Contracts, at)
	}
}

// withoutMulticall is the chain that is asked by batches.
func (x exchange) withoutMulticall() services.Node {
	n := x.service.right.(services.Node)
	place(&n, services.MulticallAddress, nil)
	return n
}

// emptyPool is one without a stake of anybody, stakedPool one with a stake.
func emptyPool(w services.World) common.Address {
	used := map[common.Address]bool{}
	for _, amount := range slices.Concat(w.Staked, w.Unbonding) {
		used[amount.Pool.Address] = true
	}
	i := slices.IndexFunc(w.Pools, func(p core.Pool) bool { return !used[p.Address] })
	return w.Pools[i].Address
}

func stakedPool(w services.World) common.Address { return w.Staked[1].Pool.Address }

func reverting(reason string) services.Contract {
	return func(services.Node, uint64, []byte) ([]byte, error) { return nil, services.Reverted(reason) }
}

func answeringBytes(output []byte) services.Contract {
	return func(services.Node, uint64, []byte) ([]byte, error) { return output, nil }
}

func chainFaults() []Fault {
	node := func(alter func(*services.Node)) func(exchange) {
		return altered(func(n *services.Node, _ services.World) { alter(n) })
	}
	onePool := func(name string, pool func(services.World) common.Address, other services.Contract) Fault {
		return Fault{Name: name, Effect: OnePoolUnread,
			serve: altered(func(n *services.Node, w services.World) { place(n, pool(w), other) })}
	}
	everyPool := func(other services.Contract) func(exchange) {
		return altered(func(n *services.Node, w services.World) {
			for _, pool := range w.Pools {
				place(n, pool.Address, other)
			}
		})
	}
	multicall := func(name string, other services.Contract) Fault {
		return Fault{Name: name, Effect: Answerable, serve: node(func(n *services.Node) { place(n, services.MulticallAddress, other) })}
	}
	batch := func(name string, edit func([]rpcAnswer) []rpcAnswer) Fault {
		return Fault{Name: "batch " + name, Effect: Answerable, serve: func(x exchange) {
			x.editAnswers(x.withoutMulticall(), func(a []rpcAnswer) []rpcAnswer {
				if len(a) == 1 {
					return a
				}
				return edit(a)
			})
		}}
	}
	answers := func(name string, edit func(*rpcAnswer)) Fault {
		return Fault{Name: "200 with " + name, serve: func(x exchange) {
			x.editAnswers(x.service.right, func(a []rpcAnswer) []rpcAnswer {
				for i := range a {
					edit(&a[i])
				}
				return a
			})
		}}
	}
	another := json.RawMessage("987654321")
	const limited = `{"code":-32005,"message":"daily request count exceeded, request rate limited"}`
	frozen := time.Now().Add(-time.Hour)
	return []Fault{
		{Name: "another chain", serve: node(func(n *services.Node) { n.ChainID = 1 })},
		{Name: "lagging an hour", serve: node(func(n *services.Node) { n.Now = func() time.Time { return time.Now().Add(-time.Hour) } })},
		{Name: "frozen an hour ago", serve: node(func(n *services.Node) { n.Now = func() time.Time { return frozen } })},

		onePool("an empty pool reverts", emptyPool, reverting("paused")),
		onePool("a pool with a stake reverts", stakedPool, reverting("")),
		onePool("an empty pool without code", emptyPool, nil),
		onePool("a pool answers half a word", emptyPool, answeringBytes(make([]byte, 16))),
		onePool("a pool answers the largest number", emptyPool, answeringBytes(bytes.Repeat([]byte{0xff}, 32))),
		{Name: "every pool reverts", serve: everyPool(reverting("paused"))},
		{Name: "every pool without code", serve: everyPool(nil)},

		multicall("no multicall", nil),
		multicall("multicall reverts", reverting("")),
		{Name: "multicall answers too few", Effect: Answerable, serve: node(func(n *services.Node) {
			place(n, services.MulticallAddress, shortened(n.Contracts[services.MulticallAddress]))
		})},

		{Name: "batch answered by one error", Effect: Answerable, serve: func(x exchange) {
			if bytes.HasPrefix(x.body, []byte("[")) {
				answerJSON(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}`)(x)
				return
			}
			x.withoutMulticall().ServeHTTP(x.w, x.r)
		}},
		batch("lacks an answer", func(a []rpcAnswer) []rpcAnswer { return a[1:] }),
		batch("answers what was not asked", func(a []rpcAnswer) []rpcAnswer {
			a[0].ID = another
			return a
		}),
		batch("answers backwards", func(a []rpcAnswer) []rpcAnswer {
			slices.Reverse(a)
			return a
		}),
		batch("answers without results", func(a []rpcAnswer) []rpcAnswer {
			for i := range a {
				a[i].Result = json.RawMessage("null")
			}
			return a
		}),

		answers("error -32005", func(a *rpcAnswer) { a.Result, a.Error = nil, json.RawMessage(limited) }),
		answers("result null", func(a *rpcAnswer) { a.Result = json.RawMessage("null") }),
		answers("result 0x", func(a *rpcAnswer) { a.Result = json.RawMessage(`"0x"`) }),
		answers("a result that is no hex", func(a *rpcAnswer) { a.Result = json.RawMessage(`"0xzz"`) }),
		answers("another's id", func(a *rpcAnswer) { a.ID = another }),
	}
}

// rpcAnswer is the answer to one call.
type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// editAnswers answers as a node does, but for edited answers to a call or a batch.
func (x exchange) editAnswers(node http.Handler, edit func([]rpcAnswer) []rpcAnswer) {
	right := x.answerOf(node)
	body, batch := right.Body.Bytes(), bytes.HasPrefix(right.Body.Bytes(), []byte("["))
	if !batch {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	var answers []rpcAnswer
	if err := json.Unmarshal(body, &answers); err != nil {
		panic(err)
	}
	body = mustJSON(edit(answers))
	if !batch {
		body = body[1 : len(body)-1]
	}
	x.answer(right, right.Code, body)
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
func shortened(multicall services.Contract) services.Contract {
	aggregate3 := evmabi.Selector("aggregate3((address,bool,bytes)[])")
	return func(n services.Node, block uint64, input []byte) ([]byte, error) {
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
