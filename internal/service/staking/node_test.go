package staking

import (
	"bytes"
	"encoding/binary"
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
	trips     int      // HTTP requests
	tags      []string // the block of each eth_call
	// spoil, if it is set, answers each request, given the correct answer.
	spoil func(w http.ResponseWriter, right []byte)
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

// callTag matches an eth_call, and captures the block that it reads.
var callTag = regexp.MustCompile(`"data":"0x[0-9a-f]*"[^}]*},"([^"]*)"`)

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trips++
	request, _ := io.ReadAll(r.Body)
	for _, tag := range callTag.FindAllSubmatch(request, -1) {
		n.tags = append(n.tags, string(tag[1]))
	}
	r.Body = io.NopCloser(bytes.NewReader(request))
	right := httptest.NewRecorder()
	if n.noBatches && request[0] == '[' {
		writeJSON(right, refusal(-32600))
	} else {
		n.Node.ServeHTTP(right, r)
	}
	w.Header().Set("Content-Type", "application/json")
	if n.spoil != nil {
		n.spoil(w, right.Body.Bytes())
		return
	}
	w.Write(right.Body.Bytes())
}

// tripsOf returns how many HTTP requests f makes.
func (n *node) tripsOf(f func()) int {
	n.trips = 0
	f()
	return n.trips
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

// wantReason fails the test unless err is the service's error with this reason, and repeats neither
// keys, nor wallets, nor what the node wrote. It returns that error.
func wantReason(t *testing.T, err error, want core.Reason) *core.Error {
	t.Helper()
	wallet := ann.Hex()[2:]
	hidden := []string{"k3y", "/v3", "token=", wallet, strings.ToLower(wallet), "reverted:", "spoiled"}
	return resttest.WantReason(t, err, Service, want, hidden...)
}
