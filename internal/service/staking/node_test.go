package staking

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/ops"
	"herald/internal/query"
	"herald/internal/secret"
	"herald/internal/service/rest/resttest"
)

const (
	testChain   = 4242
	testMethod  = services.StakingMethod
	testPending = services.PendingMethod
	testTotal   = services.TotalMethod
	secretPath  = "/v3/k3y-in-path"
	secretArgs  = "?token=k3y-in-query"
)

var (
	ann           = common.HexToAddress("0x52908400098527886E0F7030069857D2E4169EE7")
	multicallAddr = services.MulticallAddress
	// sandbox is the demo's node. Tests copy it, and replace its chain.
	sandbox = services.New().Chain.Handler.(services.Node)
	// sandboxStarted is when the chain of sandbox began. Round removes the reading of the monotonic clock, which cannot be
	// compared with simulated time.
	sandboxStarted = time.Now().Round(0)
)

// node is the demo's JSON-RPC node on loopback, with a chain of the test. It answers one request at a time; tests
// change it between requests. Its clock stands still, so its latest block stays the same.
type node struct {
	services.Node
	url string

	mu        sync.Mutex
	noBatches bool     // it refuses batches
	trips     int      // round trips: how many HTTP requests it has received
	tags      []string // the block at which each eth_call was made
	// respond, if it is set, answers each request. It is given the correct answer.
	respond func(w http.ResponseWriter, correct []byte)
}

// newNode starts a node, which runs until the test ends. Its latest block is at most 14 seconds old.
func newNode(t testing.TB, c contracts) *node {
	n := &node{Node: sandbox}
	n.ChainID = testChain
	n.Contracts = c
	n.setClock(time.Now().Add(-12 * time.Second))
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	n.url = server.URL + secretPath + secretArgs
	return n
}

func (n *node) setClock(now time.Time) { n.Now = func() time.Time { return now } }

// callTag matches the end of an eth_call's message, and captures the block that follows it. It does not match the
// data, which may be long.
var callTag = regexp.MustCompile(`},"([^"]*)"`)

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trips++
	request, _ := io.ReadAll(r.Body)
	for _, tag := range callTag.FindAllSubmatch(request, -1) {
		n.tags = append(n.tags, string(tag[1]))
	}
	r.Body = io.NopCloser(bytes.NewReader(request))
	correct := httptest.NewRecorder()
	if n.noBatches && request[0] == '[' {
		writeJSON(correct, errorAnswer(nil, -32600))
	} else {
		n.Node.ServeHTTP(correct, r)
	}
	w.Header().Set("Content-Type", "application/json")
	if n.respond != nil {
		n.respond(w, correct.Body.Bytes())
		return
	}
	w.Write(correct.Body.Bytes())
}

// tripsOf returns how many HTTP requests f makes.
func (n *node) tripsOf(f func()) int {
	n.trips = 0
	f()
	return n.trips
}

// onBatches returns a node.respond that answers single calls correctly. For a batch, it passes the correct answers to
// the given function, which writes what the node answers instead.
func onBatches(respond func(w http.ResponseWriter, answers []map[string]any)) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, correct []byte) {
		var answers []map[string]any
		isBatch := json.Unmarshal(correct, &answers) == nil
		if !isBatch {
			w.Write(correct)
			return
		}
		respond(w, answers)
	}
}

// writeJSON writes v as an answer.
func writeJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// errorAnswer returns an answer with an error to the request with this ID. An error about a whole batch has the ID nil.
func errorAnswer(id any, code int) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "error": nodeError(code)}
}

// nodeError returns a JSON-RPC error object.
func nodeError(code int) map[string]any {
	return map[string]any{"code": code, "message": "spoiled"}
}

// newClient returns a client of a node. Its settings read withdrawals, and use Multicall3.
func newClient(t testing.TB, n *node, pools []core.Pool, change ...func(*Settings)) *Client {
	t.Helper()
	s := Settings{
		RPCURL:        secret.New(n.url),
		ChainID:       testChain,
		Pools:         pools,
		Method:        testMethod,
		PendingMethod: testPending,
		Multicall:     &multicallAddr,
		MaxBlockAge:   10 * time.Minute,
		Decimals:      18,
		TTL:           time.Minute,
	}
	for _, f := range change {
		f(&s)
	}
	cache := query.NewCache(query.CacheConfig{
		MaxItems:    10,
		CallTimeout: 10 * time.Second,
		Timeout:     time.Minute,
		Observer:    ops.NewMetrics(),
	})
	t.Cleanup(cache.Close)
	c, err := New(s, cache, func(core.Pool) {})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// withoutMulticall is a change of newClient's settings.
func withoutMulticall(s *Settings) { s.Multicall = nil }

// withClaimBlocks returns a change of newClient's settings.
func withClaimBlocks(n uint64) func(*Settings) {
	return func(s *Settings) { s.ClaimBlocks = &n }
}

// way is one of the ways in which a client reads pools. The client's settings and the node must be changed for it.
type way struct {
	name           string
	changeSettings func(*Settings)
	changeNode     func(*node)
}

var ways = []way{
	{
		name:           "multicall",
		changeSettings: func(*Settings) {},
		changeNode:     func(*node) {},
	},
	{
		name:           "batch",
		changeSettings: withoutMulticall,
		changeNode:     func(*node) {},
	},
	{
		name:           "one by one",
		changeSettings: withoutMulticall,
		changeNode:     func(n *node) { n.noBatches = true },
	},
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

// inEveryWay runs a test once for each way of reading pools, each time with a new chain of stakers. change changes the
// client's settings.
func inEveryWay(
	t *testing.T, test func(t *testing.T, chain contracts, n *node, c *Client), change ...func(*Settings),
) {
	t.Helper()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			way.changeNode(n)
			test(t, chain, n, newClient(t, n, pools, append(change, way.changeSettings)...))
		})
	}
}

// stakersWithoutMulticall returns a node with a chain of stakers, and a client that does not use Multicall3. The client
// reads by batch, or one by one if the node refuses batches.
func stakersWithoutMulticall(t *testing.T) (*node, *Client) {
	t.Helper()
	chain, pools := stakers()
	n := newNode(t, chain)
	return n, newClient(t, n, pools, withoutMulticall)
}

// wantReason ends the test unless err is the service's error with this reason. It fails the test if the error contains
// a key, a wallet, or text of the node. It returns the error.
func wantReason(t *testing.T, err error, want core.Reason) *core.Error {
	t.Helper()
	wallet := ann.Hex()[2:]
	hidden := []string{"k3y", "/v3", "token=", wallet, strings.ToLower(wallet), "reverted:", "spoiled"}
	return resttest.WantReason(t, err, Service, want, hidden...)
}
