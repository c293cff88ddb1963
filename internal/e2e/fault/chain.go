package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
)

// with returns the node with other contracts at some addresses; nil is no code.
func with(n services.Node, other services.Contract, at ...common.Address) services.Node {
	n.Contracts = maps.Clone(n.Contracts)
	for _, address := range at {
		n.Contracts[address] = other
	}
	return n
}

// withoutMulticall is the chain that has to be asked by batches.
func (x exchange) withoutMulticall() services.Node {
	return with(x.service.right.(services.Node), nil, services.MulticallAddress)
}

// staked, unused and every are pools: one with a stake, one without anybody's, and
// all.
func staked(w services.World) []common.Address { return []common.Address{w.Staked[1].Pool.Address} }

func unused(w services.World) []common.Address {
	used := slices.Concat(w.Staked, w.Unbonding)
	i := slices.IndexFunc(w.Pools, func(p core.Pool) bool {
		return !slices.ContainsFunc(used, func(a core.PoolAmount) bool { return a.Pool == p })
	})
	return []common.Address{w.Pools[i].Address}
}

func every(w services.World) (all []common.Address) {
	for _, pool := range w.Pools {
		all = append(all, pool.Address)
	}
	return all
}

func multicall(services.World) []common.Address { return []common.Address{services.MulticallAddress} }

func reverting(reason string) services.Contract {
	return func(services.Node, uint64, []byte) ([]byte, error) { return nil, services.Reverted(reason) }
}

func returning(output []byte) services.Contract {
	return func(services.Node, uint64, []byte) ([]byte, error) { return output, nil }
}

func chainFaults() []Fault {
	contracts := func(name string, effect Effect, at func(services.World) []common.Address, other services.Contract) Fault {
		replace := func(n *services.Node, w services.World) { *n = with(*n, other, at(w)...) }
		return Fault{Name: name, Effect: effect, serve: altered(replace)}
	}
	node := func(name string, alter func(*services.Node)) Fault {
		return Fault{Name: name, serve: altered(func(n *services.Node, _ services.World) { alter(n) })}
	}
	answers := func(name string, edit func(*rpcAnswer)) Fault {
		return Fault{Name: "200 with " + name, serve: func(x exchange) {
			x.editAnswers(x.service.right, func(a []rpcAnswer) {
				for i := range a {
					edit(&a[i])
				}
			})
		}}
	}
	another, null := json.RawMessage("987654321"), json.RawMessage("null")
	frozen := time.Now().Add(-time.Hour)
	return []Fault{
		node("another chain", func(n *services.Node) { n.ChainID = 1 }),
		node("lagging an hour", func(n *services.Node) { n.Now = func() time.Time { return time.Now().Add(-time.Hour) } }),
		node("frozen an hour ago", func(n *services.Node) { n.Now = func() time.Time { return frozen } }),

		contracts("an empty pool reverts", OnePoolUnread, unused, reverting("paused")),
		contracts("a pool with a stake reverts", OnePoolUnread, staked, reverting("")),
		contracts("an empty pool without code", OnePoolUnread, unused, nil),
		contracts("a pool answers half a word", OnePoolUnread, unused, returning(make([]byte, 16))),
		contracts("every pool reverts", Unanswerable, every, reverting("paused")),
		contracts("every pool without code", Unanswerable, every, nil),
		contracts("no multicall", Answerable, multicall, nil),
		contracts("multicall reverts", Answerable, multicall, reverting("")),

		{Name: "batch answered by one error", Effect: Answerable, serve: func(x exchange) {
			if bytes.HasPrefix(x.body, []byte("[")) {
				answerJSON(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}`)(x)
				return
			}
			x.withoutMulticall().ServeHTTP(x.w, x.r)
		}},
		answers("error -32005", func(a *rpcAnswer) {
			a.Result, a.Error = nil, json.RawMessage(`{"code":-32005,"message":"daily request count exceeded, request rate limited"}`)
		}),
		answers("result null", func(a *rpcAnswer) { a.Result = null }),
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
func (x exchange) editAnswers(node http.Handler, edit func([]rpcAnswer)) {
	right := x.from(node)
	body, batch := right.Body.Bytes(), bytes.HasPrefix(right.Body.Bytes(), []byte("["))
	if !batch {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	var answers []rpcAnswer
	if err := json.Unmarshal(body, &answers); err != nil {
		panic(err)
	}
	edit(answers)
	body = mustJSON(answers)
	if !batch {
		body = body[1 : len(body)-1]
	}
	x.pass(right, right.Code, body)
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
