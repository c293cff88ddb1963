package staking

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"herald/internal/core"
	"herald/internal/secret"
	"herald/internal/service/rest/resttest"
	"herald/internal/service/staking/evmabi"
)

const (
	testChain  = 4242
	testMethod = "currentStake(address)"
	testPend   = "pendingWithdrawals(address)"
	secretPath = "/v3/k3y-in-path"
	secretArgs = "?token=k3y-in-query"
)

var (
	ann           = common.HexToAddress("0x52908400098527886E0F7030069857D2E4169EE7")
	multicallAddr = common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11")
)

// header is a block's.
type header struct {
	Number    hexutil.Uint64 `json:"number"`
	Timestamp *hexutil.Big   `json:"timestamp"`
	chainID   uint64         // for contracts
}

// node is a JSON-RPC node on loopback, made of go-ethereum's own server. Its
// exported methods make the eth namespace. It answers one request at a
// time; tests change it between requests.
type node struct {
	chain contracts
	url   string
	rpc   *rpc.Server

	mu      sync.Mutex
	chainID uint64
	block   uint64
	time    func() *hexutil.Big // of every block, now
	trips   int
	tags    []string // the block of each eth_call
	// spoil, if set, answers each request, and is given the right answer.
	spoil func(w http.ResponseWriter, right []byte)
}

func newNode(t testing.TB, c contracts) *node {
	n := &node{chain: c, rpc: rpc.NewServer(), chainID: testChain, block: 1000, time: secondsAgo(12)}
	if err := n.rpc.RegisterName("eth", n); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	t.Cleanup(n.rpc.Stop)
	n.url = server.URL + secretPath + secretArgs
	return n
}

// secondsAgo is the time of blocks that are so old; negative: in the future.
func secondsAgo(n int64) func() *hexutil.Big {
	return func() *hexutil.Big { return (*hexutil.Big)(big.NewInt(time.Now().Unix() - n)) }
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trips++
	right := httptest.NewRecorder()
	n.rpc.ServeHTTP(right, r)
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

func (n *node) ChainId() hexutil.Uint64 { return hexutil.Uint64(n.chainID) }

func (n *node) GetBlockByNumber(block rpc.BlockNumber, _ bool) header {
	at := header{hexutil.Uint64(n.block), n.time(), n.chainID}
	if block >= 0 {
		at.Number = hexutil.Uint64(block)
	}
	return at
}

type callParams struct {
	To   common.Address `json:"to"`
	Data hexutil.Bytes  `json:"data"`
}

func (n *node) Call(params callParams, block rpc.BlockNumber) (hexutil.Bytes, error) {
	n.tags = append(n.tags, block.String())
	return n.chain.call(params.To, params.Data, n.GetBlockByNumber(block, false))
}

func (n *node) GetCode(address common.Address, _ rpc.BlockNumber) hexutil.Bytes {
	if n.chain[address] == nil {
		return nil
	}
	return []byte{0xfe}
}

// revert is how geth tells that a contract reverted; it repeats the call.
type revert struct{ text string }

func (r revert) Error() string  { return "execution reverted: " + r.text }
func (r revert) ErrorCode() int { return 3 }

type contract func(input []byte, at header) ([]byte, error)

// contracts is a chain without an EVM: contracts written in Go.
type contracts map[common.Address]contract

func (c contracts) call(to common.Address, input []byte, at header) ([]byte, error) {
	if run := c[to]; run != nil {
		return run(input, at)
	}
	return nil, nil
}

// multicall is Multicall3 on these contracts.
func (c contracts) multicall(input []byte, at header) ([]byte, error) {
	switch {
	case bytes.Equal(input, evmabi.Selector("getChainId()")):
		return wordOf(at.chainID), nil
	case bytes.Equal(input, evmabi.Selector("getBlockNumber()")):
		return wordOf(uint64(at.Number)), nil
	case bytes.Equal(input, evmabi.Selector("getCurrentBlockTimestamp()")):
		return evmabi.Uint256(at.Timestamp.ToInt()), nil
	case !bytes.HasPrefix(input, aggregate3):
		return nil, revert{}
	}
	calls, err := evmabi.DecodeList(input[len(aggregate3):], 2)
	if err != nil {
		return nil, err
	}
	results := make([]evmabi.Tuple, len(calls))
	for i, call := range calls {
		target, mayFail := common.BytesToAddress(call.Words[:evmabi.Word]), isWord(call.Words[evmabi.Word:], 1)
		output, err := c.call(target, call.Content, at)
		if err != nil && !mayFail {
			return nil, err
		}
		results[i] = evmabi.Tuple{Words: wordOf(1), Content: output}
		if err != nil {
			results[i].Words = wordOf(0)
		}
	}
	return evmabi.EncodeList(results), nil
}

// pool answers its two methods with fixed bytes; nil reverts.
func pool(stake, pending []byte) contract {
	return func(input []byte, _ header) ([]byte, error) {
		output := stake
		if bytes.HasPrefix(input, evmabi.Selector(testPend)) {
			output = pending
		}
		if output == nil {
			return nil, revert{hexutil.Encode(input)}
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
	encoded := slices.Concat(wordOf(evmabi.Word), wordOf(uint64(len(tokens))))
	for _, n := range tokens {
		encoded = slices.Concat(encoded, tokensOf(n), wordOf(77))
	}
	return encoded
}

func poolAt(i int) core.Pool {
	return core.Pool{Address: common.BigToAddress(big.NewInt(int64(0x9000 + i))), Name: fmt.Sprintf("pool %d", i)}
}

// deploy puts pools, in order, at their addresses, and Multicall3 at its own.
func deploy(pools ...contract) (contracts, []core.Pool) {
	chain := contracts{}
	chain[multicallAddr] = chain.multicall
	var at []core.Pool
	for i, p := range pools {
		at = append(at, poolAt(i))
		chain[poolAt(i).Address] = p
	}
	return chain, at
}

// emptyPools are n pools without a stake.
func emptyPools(n int) []contract {
	return slices.Repeat([]contract{pool(wordOf(0), withdrawalsOf())}, n)
}

// quiet implements core.Observer.
type quiet struct{}

func (quiet) Call(*core.Service, string, time.Duration) {}
func (quiet) Lookup(string, string, time.Duration)      {}

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
	cache := core.NewCache(core.CacheConfig{MaxItems: 10, CallTimeout: 10 * time.Second, Timeout: time.Minute, Observer: quiet{}})
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
	{"one by one", withoutMulticall, func(n *node) { n.rpc.SetBatchLimits(1, 1<<20) }},
}

// wantReason checks the error of a source: its type, its reason, and that it
// repeats neither keys, nor wallets, nor what the node wrote.
func wantReason(t *testing.T, err error, want core.Reason) *core.Error {
	t.Helper()
	wallet := ann.Hex()[2:]
	return resttest.WantReason(t, err, Service, want, "k3y", "/v3", "token=", wallet, strings.ToLower(wallet), "reverted:", "spoiled")
}
