package staking

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/query"
	"herald/internal/service/staking/evmabi"
)

// The number of round trips, which are HTTP requests, that it takes to read one wallet in a chain of stakers:
//
//	Multicall3   1       the aggregate, which also reads the chain's ID and the height
//	batch        2       the latest block's header, and the batch
//	one by one   2 + 44  the header, the refused batch, and each of its calls again
const (
	aggregateTrips = 1
	batchTrips     = 2
	oneByOneTrips  = batchTrips + singleCalls

	// singleCalls is the number of calls in a batch: the chain's ID, the height, the stake in each of the
	// 21 pools, and the withdrawals in each pool.
	singleCalls = 2 + 2*21

	// intervalTrips measure the block interval if Multicall3 is used: the aggregate, and a batch of two headers.
	intervalTrips = 2
)

// The indices of the calls in a batch.
const (
	chainIDIndex = 0
	heightIndex  = 1
	stakesIndex  = 2 // the first of 21
)

// Here a new block comes after each request.
func TestEveryCallReadsTheBlockThatIsReported(t *testing.T) {
	for name, noBatches := range map[string]bool{"batch": false, "one by one": true} {
		n, c := stakersWithoutMulticall(t)
		n.noBatches = noBatches
		n.respond = func(w http.ResponseWriter, correct []byte) {
			n.setClock(n.Now().Add(2 * time.Second))
			w.Write(correct)
		}
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		tags := slices.Compact(n.tags)
		if want := []string{hexutil.EncodeUint64(stake.Block)}; !slices.Equal(tags, want) {
			t.Errorf("%s: read the blocks %v, want %v", name, tags, want)
		}
	}
}

func TestABatchIsUsedIfMulticallDoesNotWork(t *testing.T) {
	for name, multicall := range map[string]services.Contract{
		"it has no code":         nil,
		"it reverts":             pool(nil, nil),
		"it is another contract": pool(wordOf(1), nil),
		"it returns no results":  pool(append(wordOf(evmabi.Word), wordOf(0)...), nil),
		"its own methods fail": func(n services.Node, block uint64, input []byte) ([]byte, error) {
			n.Contracts = nil
			return sandbox.Contracts[multicallAddr](n, block, input)
		},
	} {
		chain, pools := stakers()
		chain[multicallAddr] = multicall
		n := newNode(t, chain)
		c := newClient(t, n, pools)
		const firstWant = aggregateTrips + batchTrips
		if first := n.tripsOf(func() { wantStaker(t, c) }); first != firstWant {
			t.Errorf("%s: %d round trips, want %d", name, first, firstWant)
		}
		// Multicall3 is not tried again.
		if second := n.tripsOf(func() { wantStaker(t, c) }); second != batchTrips {
			t.Errorf("%s: then %d round trips, want %d", name, second, batchTrips)
		}
	}
}

func TestCachedFactsAreRefetchedAfterTheirTTL(t *testing.T) {
	for name, test := range map[string]struct {
		multicall services.Contract
		entries   []entry // the withdrawals
		fetch     func(*testing.T, *Client)
		ttl       time.Duration
		first     int // round trips of the first fetch, which caches the fact
		cached    int // round trips of a fetch within the TTL
	}{
		"the block interval": {
			multicall: sandbox.Contracts[multicallAddr],
			entries:   []entry{{tokens: 500, offset: 0}},
			fetch:     func(t *testing.T, c *Client) { fetchNext(t, c) },
			ttl:       intervalTTL,
			first:     aggregateTrips + intervalTrips,
			cached:    aggregateTrips,
		},
		"Multicall3 fails": {
			multicall: nil,
			entries:   nil,
			fetch:     func(t *testing.T, c *Client) { _, _ = c.Stakes.Fetch(t.Context(), ann) },
			ttl:       cooldown,
			first:     aggregateTrips + batchTrips,
			cached:    batchTrips,
		},
		"a ping": {
			multicall: sandbox.Contracts[multicallAddr],
			entries:   nil,
			fetch:     func(t *testing.T, c *Client) { _, _ = c.Ping.Get(t.Context(), struct{}{}) },
			ttl:       15 * time.Second,
			first:     aggregateTrips,
			cached:    0,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, 50_000, test.entries...)
			m.Contracts[multicallAddr] = test.multicall
			fetchAfter := func(wait time.Duration) (trips int) {
				time.Sleep(wait)
				return m.tripsOf(func() { test.fetch(t, c) })
			}
			got := []int{fetchAfter(0), fetchAfter(test.ttl - 1), fetchAfter(1)}
			if want := []int{test.first, test.cached, test.first}; !slices.Equal(got, want) {
				t.Errorf("%s: round trips %v, want %v", name, got, want)
			}
		})
	}
}

func TestCallsThatFailInABatchAreFailedPools(t *testing.T) {
	n, c := stakersWithoutMulticall(t)
	n.respond = onBatches(func(w http.ResponseWriter, answers []map[string]any) {
		stakes := answers[stakesIndex:]
		delete(stakes[0], "result")
		stakes[0]["error"] = nodeError(-32005)
		stakes[1]["result"] = nil
		stakes[2]["result"] = "0xzz"
		stakes[3]["result"] = 12
		stakes[4]["result"] = "1"
		stakes[5]["error"] = nil // as in JSON-RPC 1.0, beside a result: not a failure
		slices.Reverse(answers)  // A node may answer in any order.
		writeJSON(w, answers)
	})
	stake, err := c.Stakes.Fetch(t.Context(), ann)
	if err != nil || n.trips != batchTrips {
		t.Errorf("%v after %d round trips, want %d", err, n.trips, batchTrips)
	}
	if !slices.Equal(poolsOf(stake.Failed), c.settings.Pools[:5]) || stake.Checked != 16 {
		t.Errorf("failed %v, want the first 5 pools; checked %d pools, want 16", stake.Failed, stake.Checked)
	}
	// go-ethereum's errors about the malformed results may quote the node.
	for _, malformed := range stake.Failed[1:] {
		if malformed.Err != errNotJSONRPC {
			t.Errorf("%s: %v, want %v", malformed.Pool.Name, malformed.Err, errNotJSONRPC)
		}
	}
}

func TestCallsOfABrokenBatchAreMadeOneByOne(t *testing.T) {
	for name, respond := range map[string]func(w http.ResponseWriter, answers []map[string]any){
		"one error": func(w http.ResponseWriter, _ []map[string]any) {
			writeJSON(w, errorAnswer(nil, -32600))
		},
		"status 400": func(w http.ResponseWriter, _ []map[string]any) {
			http.Error(w, "spoiled", http.StatusBadRequest)
		},
		"one missing": func(w http.ResponseWriter, answers []map[string]any) {
			writeJSON(w, slices.Delete(answers, 5, 6))
		},
		// geth answers a batch that is too large with one element, an error with the first ID.
		"too large for geth": func(w http.ResponseWriter, answers []map[string]any) {
			writeJSON(w, []any{errorAnswer(answers[0]["id"], -32600)})
		},
		"a null": func(w http.ResponseWriter, answers []map[string]any) {
			answers[4] = nil
			writeJSON(w, answers)
		},
		"foreign id": func(w http.ResponseWriter, answers []map[string]any) {
			answers[3]["id"] = 999999
			answers[3]["result"] = common.MaxHash
			writeJSON(w, answers)
		},
		"one twice": func(w http.ResponseWriter, answers []map[string]any) {
			second := map[string]any{"jsonrpc": "2.0", "id": answers[2]["id"], "result": common.MaxHash}
			writeJSON(w, slices.Insert(answers, 0, second))
		},
	} {
		n, c := stakersWithoutMulticall(t)
		n.respond = onBatches(respond)
		if got := n.tripsOf(func() { wantStaker(t, c) }); got != oneByOneTrips {
			t.Errorf("%s: %d round trips, want %d", name, got, oneByOneTrips)
		}
	}
}

// oneByOne returns a node in memory that refuses batches, and its client, which does not use Multicall3. Each answer
// takes this time.
func oneByOne(t *testing.T, answerTakes time.Duration) (*inMemory, *Client) {
	t.Helper()
	m, c := withdrawing(t, 0)
	c.settings.Multicall = nil
	m.noBatches = true
	m.answerTakes = answerTakes
	return m, c
}

// The header and the refused batch take a second each. Then come the 44 calls of the batch. At most
// query.MaxCalls (32) run at once, so they take two seconds.
func TestCallsForOneWalletAreMadeInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := oneByOne(t, time.Second)
		began := time.Now()
		_, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("it took %v, want 4s", took)
		}
	})
}

// Without a common limit, the calls could exceed a node's limit for one HTTP/2 connection.
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
	for name, respond := range map[string]func(w http.ResponseWriter, answers []map[string]any){
		"the whole batch": func(w http.ResponseWriter, _ []map[string]any) {
			writeJSON(w, errorAnswer(nil, -32005))
		},
		"only the chain's ID": func(w http.ResponseWriter, answers []map[string]any) {
			answers[chainIDIndex] = errorAnswer(answers[chainIDIndex]["id"], -32005)
			writeJSON(w, answers)
		},
	} {
		n, c := stakersWithoutMulticall(t)
		n.respond = onBatches(respond)
		_, err := c.Stakes.Fetch(t.Context(), ann)
		wantReason(t, err, core.Limited)
		if n.trips != batchTrips {
			t.Errorf("%s is limited: %d round trips, want %d", name, n.trips, batchTrips)
		}
	}
}

// failInFirstBatch makes the node answer the call of the second pool's stake with this error object, in its first
// batch.
func (n *node) failInFirstBatch(object string) {
	n.respond = onBatches(func(w http.ResponseWriter, answers []map[string]any) {
		isFirst := n.trips == batchTrips
		if isFirst {
			call := answers[stakesIndex+1]
			delete(call, "result")
			call["error"] = json.RawMessage(object)
		}
		writeJSON(w, answers)
	})
}

// failFirstCall makes the node answer its first request with this error object.
func (n *node) failFirstCall(object string) {
	n.respond = func(w http.ResponseWriter, correct []byte) {
		isFirst := n.trips == 1
		if isFirst {
			failWith(http.StatusOK, object)(w, correct)
			return
		}
		w.Write(correct)
	}
}

// Behind a load balancer, one node may report a block that another node does not have yet.
func TestABatchIsReadAgainIfTheNodeLacksTheBlock(t *testing.T) {
	t.Parallel() // The client waits before it retries.
	for _, missing := range missingStates() {
		n, c := stakersWithoutMulticall(t)
		n.failInFirstBatch(missing)
		wantStakerAfter(t, n, c, missing, 2*batchTrips)
	}
}

func TestAnAggregateIsReadAgainIfTheNodeLacksTheBlock(t *testing.T) {
	t.Parallel() // The client waits before it retries.
	for _, missing := range missingStates() {
		chain, pools := stakers()
		n := newNode(t, chain)
		n.failFirstCall(missing)
		wantStakerAfter(t, n, newClient(t, n, pools), missing, 2*aggregateTrips)
	}
}

// wantStakerAfter fails the test unless the client reads all pools in this number of round trips, although the node
// failed first with this error object.
func wantStakerAfter(t *testing.T, n *node, c *Client, object string, trips int) {
	t.Helper()
	stake, err := c.Stakes.Get(t.Context(), ann)
	if err != nil || stake.Value.Checked != 21 {
		t.Errorf("%s: %+v, %v", object, stake.Value, err)
	}
	if n.trips != trips {
		t.Errorf("%s: %d round trips, want %d", object, n.trips, trips)
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
	_, c := stakersWithoutMulticall(t)
	pinged, err := c.Ping.Get(t.Context(), struct{}{})
	if err != nil || pinged.Value.Checked != 21 {
		t.Errorf("got %+v, %v", pinged, err)
	}
}
