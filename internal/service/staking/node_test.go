package staking

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/ops"
	"herald/internal/query"
	"herald/internal/secret"
	"herald/internal/service/rest/resttest"
	"herald/internal/service/staking/evmabi"
)

const (
	testChain  = 4242
	testMethod = services.StakingMethod
	testPend   = services.PendingMethod
	testTotal  = services.TotalMethod
	secretPath = "/v3/k3y-in-path"
	secretArgs = "?token=k3y-in-query"
)

var (
	ann           = common.HexToAddress("0x52908400098527886E0F7030069857D2E4169EE7")
	multicallAddr = services.MulticallAddress
	sandbox       = services.New().Chain.Handler.(services.Node)
	// sandboxStarted is when its chain began, without a reading of the monotonic clock.
	sandboxStarted = time.Now().Round(0)
)

// node is the demo's JSON-RPC node on loopback, with the test's own chain. It answers one request at a
// time; tests change it between requests. Its clock stands still, and so does its latest block.
type node struct {
	services.Node
	url string

	mu        sync.Mutex
	noBatches bool     // it refuses batches
	trips     int      // round trips: the HTTP requests that it received
	tags      []string // the block of each eth_call
	// respond, if it is set, answers each request. It is given the correct answer.
	respond func(w http.ResponseWriter, correct []byte)
}

// newNode starts a node until the test ends. Its latest block is at most 14 seconds old.
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

// onBatches returns a respond that answers single calls correctly. It passes the correct answers to a batch
// to respond, which writes what the node answers instead.
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

// errorAnswer returns the answer to the request id that holds only an error. An error about a whole batch
// has the id nil.
func errorAnswer(id any, code int) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "error": nodeError(code)}
}

// nodeError returns a JSON-RPC error object.
func nodeError(code int) map[string]any {
	return map[string]any{"code": code, "message": "spoiled"}
}

// contracts is a chain without an EVM: contracts written in Go.
type contracts = map[common.Address]services.Contract

// pool returns a pool that answers its two methods with fixed bytes. For nil bytes it reverts, with the
// call as the reason.
func pool(stake, pending []byte) services.Contract {
	return func(_ services.Node, _ uint64, input []byte) ([]byte, error) {
		output := stake
		if bytes.HasPrefix(input, evmabi.Selector(testPend)) {
			output = pending
		}
		if output == nil {
			return nil, services.Reverted(hexutil.Encode(input))
		}
		return output, nil
	}
}

// wordOf encodes a number.
func wordOf(n uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 24), n)
}

// tokensOf encodes an amount of n tokens, with 18 decimals.
func tokensOf(n int64) []byte {
	return evmabi.Uint256(new(big.Int).Mul(big.NewInt(n), big.NewInt(1e18)))
}

// withdrawalsOf encodes a list of withdrawals of whole tokens, which began in an early block.
func withdrawalsOf(tokens ...int64) []byte {
	var list []Withdrawal
	for _, n := range tokens {
		list = append(list, Withdrawal{Amount: decimal.NewFromInt(n), Block: big.NewInt(77)})
	}
	return encodeWithdrawals(list...)
}

func encodeWithdrawals(list ...Withdrawal) []byte {
	encoded := slices.Concat(wordOf(evmabi.Word), wordOf(uint64(len(list))))
	for _, w := range list {
		encoded = append(encoded, evmabi.Uint256(w.Amount.Shift(18).BigInt())...)
		encoded = append(encoded, evmabi.Uint256(w.Block)...)
	}
	return encoded
}

// poolAt returns the name and the address of the pool that deploy puts at index i.
func poolAt(i int) core.Pool {
	return core.Pool{
		Address: common.BigToAddress(big.NewInt(int64(0x9000 + i))),
		Name:    fmt.Sprintf("pool %d", i),
	}
}

// deploy returns a chain with Multicall3 and these pools, and the pools' addresses in the same order.
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

// newClient returns a client of a node. Its settings read withdrawals, and use Multicall3.
func newClient(t testing.TB, n *node, pools []core.Pool, change ...func(*Settings)) *Client {
	t.Helper()
	s := Settings{
		RPCURL:        secret.New(n.url),
		ChainID:       testChain,
		Pools:         pools,
		Method:        testMethod,
		PendingMethod: testPend,
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

// way is a way in which a client reads pools.
type way struct {
	name   string
	config func(*Settings)
	node   func(*node)
}

var ways = []way{
	{
		name:   "multicall",
		config: func(*Settings) {},
		node:   func(*node) {},
	},
	{
		name:   "batch",
		config: withoutMulticall,
		node:   func(*node) {},
	},
	{
		name:   "one by one",
		config: withoutMulticall,
		node:   func(n *node) { n.noBatches = true },
	},
}

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

// inEveryWay runs a test for each way of reading a new chain of stakers. The client has the changed settings.
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

// withoutMulticallOn returns a new chain of stakers and its client, which does not use Multicall3. The client
// reads by batch, or one by one if the node does not accept batches.
func withoutMulticallOn(t *testing.T) (*node, *Client) {
	t.Helper()
	chain, pools := stakers()
	n := newNode(t, chain)
	return n, newClient(t, n, pools, withoutMulticall)
}

// wantReason fails the test unless err is the service's error with this reason, and repeats neither
// keys, nor wallets, nor what the node wrote. It returns that error.
func wantReason(t *testing.T, err error, want core.Reason) *core.Error {
	t.Helper()
	wallet := ann.Hex()[2:]
	hidden := []string{"k3y", "/v3", "token=", wallet, strings.ToLower(wallet), "reverted:", "spoiled"}
	return resttest.WantReason(t, err, Service, want, hidden...)
}
