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

// node is the demo's JSON-RPC node on loopback, with a chain of the test's own. It
// answers one request at a time; tests change it between requests. Its clock, and
// with it its newest block, stands still.
type node struct {
	services.Node
	url string

	mu        sync.Mutex
	noBatches bool // refuses batches
	trips     int
	tags      []string // the block of each eth_call
	// spoil, if set, answers each request, and is given the right answer.
	spoil func(w http.ResponseWriter, right []byte)
}

func newNode(t testing.TB, c contracts) *node {
	n := &node{Node: sandbox}
	n.ChainID, n.Contracts = testChain, c
	n.setClock(time.Now().Add(-12 * time.Second))
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	n.url = server.URL + secretPath + secretArgs
	return n
}

func (n *node) setClock(now time.Time) { n.Now = func() time.Time { return now } }

var callTag = regexp.MustCompile(`"data":"0x[0-9a-f]*"[^}]*},"([^"]*)"`)

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trips++
	asked, _ := io.ReadAll(r.Body)
	for _, tag := range callTag.FindAllSubmatch(asked, -1) {
		n.tags = append(n.tags, string(tag[1]))
	}
	r.Body = io.NopCloser(bytes.NewReader(asked))
	right := httptest.NewRecorder()
	if n.noBatches && asked[0] == '[' {
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

// tripsOf counts the HTTP requests that f makes.
func (n *node) tripsOf(f func()) int {
	n.trips = 0
	f()
	return n.trips
}

// contracts is a chain without an EVM: contracts written in Go.
type contracts = map[common.Address]services.Contract

// pool answers its two methods with fixed bytes; nil reverts and repeats the call.
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

func wordOf(n uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 24), n)
}

// tokensOf is n tokens of 18 decimals.
func tokensOf(n int64) []byte {
	return evmabi.Uint256(new(big.Int).Mul(big.NewInt(n), big.NewInt(1e18)))
}

// withdrawalsOf encodes a list of withdrawals of whole tokens.
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
		encoded = append(append(encoded, evmabi.Uint256(w.Amount.Shift(18).BigInt())...), evmabi.Uint256(w.Block)...)
	}
	return encoded
}

func poolAt(i int) core.Pool {
	return core.Pool{Address: common.BigToAddress(big.NewInt(int64(0x9000 + i))), Name: fmt.Sprintf("pool %d", i)}
}

// deploy puts pools, in order, at their addresses, and Multicall3 at its own.
func deploy(pools ...services.Contract) (contracts, []core.Pool) {
	chain := contracts{multicallAddr: sandbox.Contracts[multicallAddr]}
	var at []core.Pool
	for i, p := range pools {
		at = append(at, poolAt(i))
		chain[poolAt(i).Address] = p
	}
	return chain, at
}

// emptyPools are n pools without a stake.
func emptyPools(n int) []services.Contract {
	return slices.Repeat([]services.Contract{pool(wordOf(0), withdrawalsOf())}, n)
}

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
	cache := query.NewCache(query.CacheConfig{MaxItems: 10, CallTimeout: 10 * time.Second, Timeout: time.Minute, Observer: ops.NewMetrics()})
	t.Cleanup(cache.Close)
	c, err := New(s, cache, func(core.Pool) {})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func withoutMulticall(s *Settings) { s.Multicall = nil }

// ways are the three ways in which pools are read.
var ways = []struct {
	name   string
	config func(*Settings)
	node   func(*node)
}{
	{"multicall", func(*Settings) {}, func(*node) {}},
	{"batch", withoutMulticall, func(*node) {}},
	{"one by one", withoutMulticall, func(n *node) { n.noBatches = true }},
}

// wantReason checks the error of a source: its type, its reason, and that it
// repeats neither keys, nor wallets, nor what the node wrote.
func wantReason(t *testing.T, err error, want core.Reason) *core.Error {
	t.Helper()
	wallet := ann.Hex()[2:]
	return resttest.WantReason(t, err, Service, want, "k3y", "/v3", "token=", wallet, strings.ToLower(wallet), "reverted:", "spoiled")
}
