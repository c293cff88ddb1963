package staking

import (
	"encoding/json"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/query"
	"herald/internal/service/staking/evmabi"
)

// stakers returns a chain of 21 pools. Every wallet has a stake and a withdrawal in the last pool, and
// nothing in the others.
func stakers() (contracts, []core.Pool) {
	return deploy(append(emptyPools(20), pool(tokensOf(3), withdrawalsOf(4)))...)
}

// wantStaker fails the test unless the client reads what stakers returns.
func wantStaker(t *testing.T, c *Client) {
	t.Helper()
	stake, err := c.Stakes.Fetch(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	wantAmounts(t, "staked", stake.Staked, "pool 20: 3")
	wantAmounts(t, "unbonding", stake.Unbonding, "pool 20: 4")
	if stake.Checked != 21 {
		t.Errorf("checked %d pools, want 21", stake.Checked)
	}
}

// inEveryWay runs a test on a new chain of stakers for each way of reading it.
func inEveryWay(
	t *testing.T, test func(t *testing.T, chain contracts, n *node, c *Client), change ...func(*Settings),
) {
	t.Helper()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			way.node(n)
			test(t, chain, n, newClient(t, n, pools, append(change, way.config)...))
		})
	}
}

// withoutMulticallOn returns a client of a new chain of stakers. The client reads them by batch, or one by
// one if the node does not accept batches.
func withoutMulticallOn(t *testing.T) (*node, *Client) {
	t.Helper()
	chain, pools := stakers()
	n := newNode(t, chain)
	return n, newClient(t, n, pools, withoutMulticall)
}

// The chain gets a block with each request.
func TestEveryCallReadsTheBlockThatIsReported(t *testing.T) {
	for _, noBatches := range []bool{false, true} {
		n, c := withoutMulticallOn(t)
		n.noBatches = noBatches
		n.spoil = func(w http.ResponseWriter, right []byte) {
			n.setClock(n.Now().Add(2 * time.Second))
			w.Write(right)
		}
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		tags := slices.Compact(n.tags)
		if want := []string{hexutil.EncodeUint64(stake.Block)}; !slices.Equal(tags, want) {
			t.Errorf("no batches is %t: read the blocks %v, want %v", noBatches, tags, want)
		}
	}
}

func TestABatchIsUsedIfMulticallDoesNotWork(t *testing.T) {
	for name, multicall := range map[string]services.Contract{
		"no code":                nil,
		"reverts, as out of gas": pool(nil, nil),
		"another contract":       pool(wordOf(1), nil),
		"no results":             pool(append(wordOf(evmabi.Word), wordOf(0)...), nil),
		"its own methods fail": func(n services.Node, block uint64, input []byte) ([]byte, error) {
			n.Contracts = nil
			return sandbox.Contracts[multicallAddr](n, block, input)
		},
	} {
		chain, pools := stakers()
		chain[multicallAddr] = multicall
		n := newNode(t, chain)
		c := newClient(t, n, pools)
		// The first fetch calls the aggregate, the block and the batch, the second not the aggregate.
		first := n.tripsOf(func() { wantStaker(t, c) })
		second := n.tripsOf(func() { wantStaker(t, c) })
		if first != 3 || second != 2 {
			t.Errorf("%s: %d round trips and then %d, want 3 and 2", name, first, second)
		}
	}
}

func TestCachedFactsAreRefetchedAfterTheirTTL(t *testing.T) {
	for name, test := range map[string]struct {
		multicall services.Contract
		entries   []entry
		ask       func(*testing.T, *Client)
		ttl       time.Duration
		trips     [3]int // round trips of the first call, of one within the TTL, and of one after it
	}{
		"the pace": {
			multicall: sandbox.Contracts[multicallAddr],
			entries:   []entry{{500, 0}},
			ask:       func(t *testing.T, c *Client) { next(t, c) },
			ttl:       intervalTTL,
			trips:     [3]int{3, 1, 3},
		},
		"Multicall3 that fails": {
			multicall: nil,
			entries:   nil,
			ask:       func(t *testing.T, c *Client) { _, _ = c.Stakes.Fetch(t.Context(), ann) },
			ttl:       cooldown,
			trips:     [3]int{3, 2, 3},
		},
		"a ping": {
			multicall: sandbox.Contracts[multicallAddr],
			entries:   nil,
			ask:       func(t *testing.T, c *Client) { _, _ = c.Ping.Get(t.Context(), struct{}{}) },
			ttl:       15 * time.Second,
			trips:     [3]int{1, 0, 1},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, 50_000, test.entries...)
			m.Contracts[multicallAddr] = test.multicall
			var trips [3]int
			for i, wait := range []time.Duration{0, test.ttl - 1, 1} {
				time.Sleep(wait)
				trips[i] = m.tripsOf(func() { test.ask(t, c) })
			}
			if trips != test.trips {
				t.Errorf("%s: round trips %v, want %v", name, trips, test.trips)
			}
		})
	}
}

// onBatches returns a function that passes the correct answers to a batch to spoil, which writes what the
// node answers. Single calls are answered correctly.
func onBatches(spoil func(w http.ResponseWriter, answers []map[string]any)) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, right []byte) {
		var batch []map[string]any
		if json.Unmarshal(right, &batch) != nil {
			w.Write(right)
			return
		}
		spoil(w, batch)
	}
}

// writeJSON writes v as an answer.
func writeJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// refusal returns a JSON-RPC error that a node returns instead of a batch.
func refusal(code int) map[string]any {
	return map[string]any{
		"jsonrpc": "2.0",
		"id":      nil,
		"error":   map[string]any{"code": code, "message": "spoiled"},
	}
}

func TestElementsThatFailInABatchAreFailedPools(t *testing.T) {
	n, c := withoutMulticallOn(t)
	n.spoil = onBatches(func(w http.ResponseWriter, answers []map[string]any) {
		stakes := answers[2:] // after the chain's ID and the height
		delete(stakes[0], "result")
		stakes[0]["error"] = map[string]any{"code": -32005, "message": "spoiled"}
		stakes[1]["result"] = nil
		stakes[2]["result"] = "0xzz"
		stakes[3]["result"] = 12
		stakes[4]["result"] = "1"
		stakes[5]["error"] = nil // as in JSON-RPC 1.0, beside a result: not a failure
		slices.Reverse(answers)  // A node may answer in any order.
		writeJSON(w, answers)
	})
	stake, err := c.Stakes.Fetch(t.Context(), ann)
	if err != nil || n.trips != 2 {
		t.Errorf("%v after %d round trips, want 2", err, n.trips)
	}
	if !slices.Equal(poolsOf(stake.Failed), c.settings.Pools[:5]) || stake.Checked != 16 {
		t.Errorf("got %v, checked %d pools, want 16", stake.Failed, stake.Checked)
	}
	for _, f := range stake.Failed[1:] { // go-ethereum's errors about them may quote the node.
		if f.Err != errNotJSONRPC {
			t.Errorf("%s: %v", f.Pool.Name, f.Err)
		}
	}
}

func TestCallsOfABrokenBatchAreMadeOneByOne(t *testing.T) {
	// The block, the batch, the chain, the height, and 21 pools by two methods.
	const trips = 1 + 1 + 1 + 1 + 21*2
	for name, spoil := range map[string]func(http.ResponseWriter, []map[string]any){
		"one error": func(w http.ResponseWriter, _ []map[string]any) {
			writeJSON(w, refusal(-32600))
		},
		"status 400": func(w http.ResponseWriter, _ []map[string]any) {
			http.Error(w, "spoiled", http.StatusBadRequest)
		},
		"one missing": func(w http.ResponseWriter, a []map[string]any) {
			writeJSON(w, append(a[:5:5], a[6:]...))
		},
		"too large for geth": func(w http.ResponseWriter, a []map[string]any) {
			a[0] = map[string]any{"jsonrpc": "2.0", "id": a[0]["id"], "error": refusal(-32600)["error"]}
			writeJSON(w, a[:1])
		},
		"a null": func(w http.ResponseWriter, a []map[string]any) {
			a[4] = nil
			writeJSON(w, a)
		},
		"foreign id": func(w http.ResponseWriter, a []map[string]any) {
			a[3]["id"] = 999999
			a[3]["result"] = common.MaxHash
			writeJSON(w, a)
		},
		"one twice": func(w http.ResponseWriter, a []map[string]any) {
			other := map[string]any{"jsonrpc": "2.0", "id": a[2]["id"], "result": common.MaxHash}
			writeJSON(w, append([]map[string]any{other}, a...))
		},
	} {
		n, c := withoutMulticallOn(t)
		n.spoil = onBatches(spoil)
		if got := n.tripsOf(func() { wantStaker(t, c) }); got != trips {
			t.Errorf("%s: %d round trips, want %d", name, got, trips)
		}
	}
}

// oneByOne returns a client of a node in memory that accepts neither Multicall3 nor batches. Each call
// takes this long.
func oneByOne(t *testing.T, takes time.Duration) (*inMemory, *Client) {
	t.Helper()
	m, c := withdrawing(t, 0)
	c.settings.Multicall = nil
	m.noBatches = true
	m.takes = takes
	return m, c
}

// The block and the batch take a second each. The chain and 21 pools by two methods are 43 calls, or 44
// with the height: two rounds of MaxCalls.
func TestCallsForOneWalletAreMadeInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := oneByOne(t, time.Second)
		began := time.Now()
		_, err := c.Stakes.Fetch(t.Context(), ann)
		if took := time.Since(began); err != nil || took != 4*time.Second {
			t.Errorf("it took %v, want 4s; %v", took, err)
		}
	})
}

// Otherwise they could exceed a node's limit for one HTTP/2 connection.
func TestCallsForManyWalletsAreLimitedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := oneByOne(t, time.Millisecond)
		var fetches sync.WaitGroup
		for i := range 2 * query.MaxCalls {
			fetches.Go(func() {
				if _, err := c.Stakes.Get(t.Context(), walletNo(i)); err != nil {
					t.Errorf("wallet %d: %v", i, err)
				}
			})
		}
		fetches.Wait()
		if m.maxInFlight != query.MaxCalls {
			t.Errorf("%d calls in flight, want %d", m.maxInFlight, query.MaxCalls)
		}
	})
}

func TestCallsOfALimitedBatchAreNotMadeOneByOne(t *testing.T) {
	for name, spoil := range map[string]func(w http.ResponseWriter, a []map[string]any){
		"the whole batch": func(w http.ResponseWriter, _ []map[string]any) {
			writeJSON(w, refusal(-32005))
		},
		"only the chain's ID": func(w http.ResponseWriter, a []map[string]any) {
			a[0] = map[string]any{"jsonrpc": "2.0", "id": a[0]["id"], "error": refusal(-32005)["error"]}
			writeJSON(w, a)
		},
	} {
		n, c := withoutMulticallOn(t)
		n.spoil = onBatches(spoil)
		_, err := c.Stakes.Fetch(t.Context(), ann)
		wantReason(t, err, core.Limited)
		if n.trips != 2 {
			t.Errorf("%s is limited: %d round trips, want 2", name, n.trips)
		}
	}
}

// lacksTheBlock makes the node answer the first call about its latest block with an error, given as
// JSON: it does not have that block.
func (n *node) lacksTheBlock(text string) {
	var missing any
	_ = json.Unmarshal([]byte(text), &missing)
	n.spoil = func(w http.ResponseWriter, right []byte) {
		var batch []map[string]any
		isBatch := json.Unmarshal(right, &batch) == nil
		isAggregate := !isBatch && len(n.tags) > 0
		switch {
		case isBatch && n.trips == 2:
			delete(batch[3], "result")
			batch[3]["error"] = missing
			writeJSON(w, batch)
		case isAggregate && n.trips == 1:
			writeJSON(w, map[string]any{"jsonrpc": "2.0", "id": 1, "error": missing})
		default:
			w.Write(right)
		}
	}
}

// Behind a load balancer, a node may not have the block yet that another node reported.
func TestACallIsMadeAgainIfTheNodeLacksTheBlock(t *testing.T) {
	for _, test := range []struct {
		multicall *common.Address
		trips     int
	}{
		{nil, 4},            // the block and the batch, twice
		{&multicallAddr, 2}, // the aggregate, twice
	} {
		for _, text := range missingStates() {
			chain, pools := stakers()
			n := newNode(t, chain)
			n.lacksTheBlock(text)
			c := newClient(t, n, pools, func(s *Settings) { s.Multicall = test.multicall })
			stake, err := c.Stakes.Get(t.Context(), ann)
			if err != nil || stake.Value.Checked != 21 {
				t.Errorf("%s: %+v, %v", text, stake.Value, err)
			}
			if n.trips != test.trips {
				t.Errorf("%s: %d round trips, want %d", text, n.trips, test.trips)
			}
		}
	}
}

func TestOnlyACompleteStakeIsCached(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	c := newClient(t, n, pools, withoutMulticall)
	get := func() query.Snapshot[core.Stake] {
		s, err := c.Stakes.Get(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sound := chain[pools[3].Address]
	chain[pools[3].Address] = pool(nil, nil)
	if s := get(); s.Value.Complete() || !s.FreshUntil.IsZero() {
		t.Errorf("a pool reverts, and the stake is complete or fresh: %+v", s)
	}
	chain[pools[3].Address] = sound
	if !get().Value.Complete() {
		t.Error("an incomplete stake was cached")
	}
	if trips := n.tripsOf(func() { get() }); trips != 0 {
		t.Errorf("a complete stake was fetched again, in %d round trips", trips)
	}
}

func TestAPingReadsEveryPool(t *testing.T) {
	_, c := withoutMulticallOn(t)
	pinged, err := c.Ping.Get(t.Context(), struct{}{})
	if err != nil || pinged.Value.Checked != 21 {
		t.Errorf("got %+v, %v", pinged, err)
	}
}

// FuzzWithdrawals compares with go-ethereum's decoder, which takes more forms.
func FuzzWithdrawals(f *testing.F) {
	f.Add(withdrawalsOf(1, 2, 3))
	f.Add([]byte{})
	f.Add(append(wordOf(2*evmabi.Word), wordOf(0)...)) // another offset
	f.Add(append(wordOf(evmabi.Word), common.MaxHash[:]...))
	list, err := abi.NewType("tuple[]", "", []abi.ArgumentMarshaling{
		{Name: "amount", Type: "uint256"}, {Name: "block", Type: "uint256"},
	})
	if err != nil {
		f.Fatal(err)
	}
	type withdrawal struct{ Amount, Block *big.Int }
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeWithdrawals(data, 0)
		if err != nil {
			return
		}
		values, err := abi.Arguments{{Type: list}}.Unpack(data)
		if err != nil {
			t.Fatalf("%x: taken here, refused by go-ethereum: %v", data, err)
		}
		want := *abi.ConvertType(values[0], new([]withdrawal)).(*[]withdrawal)
		if !slices.EqualFunc(got, want, func(g Withdrawal, w withdrawal) bool {
			return g.Amount.BigInt().Cmp(w.Amount) == 0 && g.Block.Cmp(w.Block) == 0
		}) {
			t.Fatalf("%x: %v, go-ethereum's %v", data, got, want)
		}
	})
}

func FuzzCheckAnswer(f *testing.F) {
	for _, seed := range []string{
		`[{"jsonrpc":"2.0","id":1,"result":"0x1"},{"jsonrpc":"2.0","id":2,"error":{"code":3}}]`,
		`[{"id":1,"result":"0x1"},{"id":1,"result":"0x2"}]`,
		`{"jsonrpc":"2.0","id":1,"result":null,"error":null}`,
		`{"id":null,"error":{"code":-32005,"message":"limit"}}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, inBatch bool) {
		sent, asked := single, []request{{ID: "1"}}
		if inBatch {
			sent, asked = batch, []request{{ID: "1"}, {ID: "2"}}
		}
		answers, err := checkAnswer(sent, asked, body)
		if err != nil {
			return
		}
		if sent == single && len(answers) != 1 {
			t.Fatalf("%q: %d answers to one call", body, len(answers))
		}
		for id := range answers {
			if !slices.ContainsFunc(asked, func(r request) bool { return r.ID == id }) {
				t.Fatalf("%q: an answer to %s, which was not asked", body, id)
			}
		}
	})
}
