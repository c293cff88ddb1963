package staking

import (
	"bytes"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/query"
	"herald/internal/service/staking/evmabi"
)

// claimBlocks is a change of newClient's settings.
func claimBlocks(n uint64) func(*Settings) { return func(s *Settings) { s.ClaimBlocks = &n } }

// entry is a withdrawal of whole tokens, with a block so far after the node's newest.
type entry struct{ tokens, after int64 }

// entriesAt encodes a list of withdrawals.
func entriesAt(newest uint64, entries ...entry) []byte {
	var list []Withdrawal
	for _, e := range entries {
		list = append(list, Withdrawal{Amount: whole(e.tokens), Block: add(new(big.Int).SetUint64(newest), e.after)})
	}
	return encodeWithdrawals(list...)
}

func TestWithdrawalsAreSplitByTheBlockThatWasRead(t *testing.T) {
	for _, claim := range []int64{0, 100, 50_000} {
		inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
			chain[poolAt(0).Address] = pool(wordOf(0), entriesAt(n.Block(), entry{1000, -claim}, entry{80, 901 - claim}, entry{0, 1 - claim}))
			chain[poolAt(1).Address] = pool(wordOf(0), entriesAt(n.Block(), entry{7, -1 - claim}, entry{20, 900 - claim}))
			chain[poolAt(2).Address] = pool(wordOf(0), entriesAt(n.Block(), entry{500, 900 - claim}))
			chain[poolAt(20).Address] = pool(tokensOf(3), withdrawalsOf())
			stake, err := c.Stakes.Fetch(t.Context(), ann)
			if err != nil || !stake.Complete() {
				t.Fatalf("%v, unread %v", err, stake.Unread())
			}
			wantAmounts(t, "claimable", stake.Withdrawable, "pool 0: 1000", "pool 1: 7")
			wantAmounts(t, "unbonding", stake.Unbonding, "pool 0: 80", "pool 1: 20", "pool 2: 500")
			if next, at := stake.NextWithdrawal, stake.BlockTime.Add(900*2*time.Second); !next.Amount.Equal(whole(520)) || !next.At.Equal(at) {
				t.Errorf("the next claim is %+v, want 520 at %v", next, at)
			}
		}, claimBlocks(uint64(claim)))
	}
}

// A pool's odd withdrawals are unread, and nothing else.
func TestOddWithdrawalsAreUnreadInTheirPoolAlone(t *testing.T) {
	enough := whole(1).Mul(maxTokens)
	for name, test := range map[string]struct {
		list       func(newest *big.Int) []Withdrawal
		odd, unset bool // whether it is odd with ClaimBlocks, and without
	}{
		"too far ahead": {func(newest *big.Int) []Withdrawal {
			return []Withdrawal{{Amount: whole(1), Block: newest}, {Amount: whole(1), Block: add(newest, maxBlocksAhead+1)}}
		}, true, false},
		"as far as can be": {func(newest *big.Int) []Withdrawal {
			return []Withdrawal{{Amount: whole(1), Block: add(newest, maxBlocksAhead)}}
		}, false, false},
		"beyond 64 bits": {func(*big.Int) []Withdrawal { return []Withdrawal{{Amount: whole(1), Block: common.MaxHash.Big()}} }, true, false},
		"too much in sum": {func(newest *big.Int) []Withdrawal {
			return []Withdrawal{{Amount: enough.Sub(whole(1)), Block: newest}, {Amount: whole(1), Block: newest}}
		}, true, true},
		"as much as can be": {func(newest *big.Int) []Withdrawal { return []Withdrawal{{Amount: enough.Sub(whole(1)), Block: newest}} }, false, false},
	} {
		for _, set := range []bool{true, false} {
			chain, pools := stakers()
			n := newNode(t, chain)
			chain[poolAt(4).Address] = pool(tokensOf(2), encodeWithdrawals(test.list(new(big.Int).SetUint64(n.Block()))...))
			c := newClient(t, n, pools, func(s *Settings) {
				if set {
					claimBlocks(0)(s)
				}
			})
			stake, err := c.Stakes.Fetch(t.Context(), ann)
			if err != nil || stake.Checked != 21 || stake.Total().String() != "5" {
				t.Fatalf("%s: %+v, %v", name, stake, err)
			}
			var want []core.Pool
			if set && test.odd || !set && test.unset {
				want = pools[4:5]
			}
			if !slices.Equal(poolsOf(stake.UnbondingFailed), want) {
				t.Errorf("%s, set %t: unread %v, want %v", name, set, stake.UnbondingFailed, want)
			}
			if amounts := append(stake.Withdrawable, stake.Unbonding...); !slices.ContainsFunc(amounts, func(a core.PoolAmount) bool { return a.Pool == pools[20] && a.Amount.Equal(whole(4)) }) {
				t.Errorf("%s, set %t: of the other pool %v", name, set, amounts)
			}
		}
	}
}

func whole(tokens int64) decimal.Decimal { return decimal.NewFromInt(tokens) }

func add(n *big.Int, more int64) *big.Int { return new(big.Int).Add(n, big.NewInt(more)) }

func TestThousandsOfWithdrawalsAreReadUpToMaxBody(t *testing.T) {
	for count, fits := range map[int]bool{5000: true, 10_000: false} {
		inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
			chain[poolAt(4).Address] = pool(tokensOf(2), withdrawalsOf(slices.Repeat([]int64{1}, count)...))
			stake, err := c.Stakes.Fetch(t.Context(), ann)
			if err != nil || stake.Checked != 21 || stake.Total().String() != "5" || len(stake.Withdrawable) != map[bool]int{true: 2, false: 1}[fits] {
				t.Fatalf("%d: %+v, %v", count, stake, err)
			}
			if unread := poolsOf(stake.Unread()); fits != (len(unread) == 0) || !fits && !slices.Equal(unread, c.settings.Pools[4:5]) {
				t.Errorf("%d: unread %v", count, unread)
			}
		}, claimBlocks(0))
	}
}

// inMemory is a node without a network, for simulated time. Its clock goes.
type inMemory struct {
	*node
	hangs   bool // never answers a batch
	takes   time.Duration
	headers []string // the numbers of the headers it was asked for

	atOnce, most int // calls
}

var headerNumber = regexp.MustCompile(`"eth_getBlockByNumber","params":\["([^"]*)"`)

// RoundTrip implements http.RoundTripper.
func (m *inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	for _, asked := range headerNumber.FindAllSubmatch(body, -1) {
		m.headers = append(m.headers, string(asked[1]))
	}
	m.atOnce++
	m.most = max(m.most, m.atOnce)
	m.mu.Unlock()
	defer func() { m.mu.Lock(); m.atOnce--; m.mu.Unlock() }()
	if m.hangs && bytes.HasPrefix(body, []byte("[")) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	time.Sleep(m.takes)
	rec, asked := httptest.NewRecorder(), req.Clone(req.Context())
	asked.Body = io.NopCloser(bytes.NewReader(body))
	m.ServeHTTP(rec, asked)
	return rec.Result(), nil
}

// withdrawing returns a client of a node in memory, with ann's withdrawals in a pool. Time
// goes on from when the stand-in's chain began.
func withdrawing(t *testing.T, claim uint64, entries ...entry) (*inMemory, *Client) {
	t.Helper()
	time.Sleep(time.Until(sandboxStarted.Add(time.Minute)))
	chain, pools := stakers()
	m := &inMemory{node: &node{Node: sandbox, url: "http://chain.test"}}
	m.ChainID, m.Contracts = testChain, chain
	m.Now = func() time.Time { return time.Now().Add(-time.Second) }
	chain[poolAt(20).Address] = pool(tokensOf(3), entriesAt(m.Block(), entries...))
	c := newClient(t, m.node, pools, claimBlocks(claim))
	var err error
	c.rpc, err = newRPCClient(m.url, &http.Client{Transport: m})
	if err != nil {
		t.Fatal(err)
	}
	return m, c
}

// next returns the next claim of ann, who can always be answered.
func next(t *testing.T, c *Client) core.NextWithdrawal {
	t.Helper()
	stake, err := c.Stakes.Fetch(t.Context(), ann)
	if err != nil || !stake.Complete() || len(stake.Staked) != 1 || len(stake.Unbonding) != 1 || stake.NextWithdrawal.Amount.IsZero() {
		t.Fatalf("%+v, %v", stake, err)
	}
	return stake.NextWithdrawal
}

func TestThePaceIsMeasuredOverTheClaimBlocks(t *testing.T) {
	for claim, over := range map[uint64]uint64{5000: 5000, 0: intervalBlocks, maxClaimBlocks: 0} {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, claim, entry{500, 100 - int64(claim)})
			if claim == maxClaimBlocks { // At most to block 1.
				m.Contracts[poolAt(20).Address] = pool(tokensOf(3), entriesAt(0, entry{500, 1}))
				over = m.Block() - 1
			}
			next(t, c)
			if want := []string{hexutil.EncodeUint64(m.Block()), hexutil.EncodeUint64(m.Block() - over)}; !slices.Equal(m.headers, want) {
				t.Errorf("%d: asked for the headers %v, want %v", claim, m.headers, want)
			}
		})
	}
}

func TestAnUnknownPaceLeavesTheRest(t *testing.T) {
	header := func(number, timestamp any) map[string]any {
		return map[string]any{"number": number, "timestamp": timestamp}
	}
	older := func(a []map[string]any) map[string]any { return a[1]["result"].(map[string]any) }
	newest := func(a []map[string]any) map[string]any { return a[0]["result"].(map[string]any) }
	later := func(header map[string]any, seconds int64) string {
		return hexutil.EncodeUint64(hexutil.MustDecodeUint64(header["timestamp"].(string)) + uint64(seconds))
	}
	for name, spoil := range map[string]func(a []map[string]any){
		"pruned":               func(a []map[string]any) { a[1]["result"] = nil },
		"an error":             func(a []map[string]any) { delete(a[1], "result"); a[1]["error"] = refusal(-32000)["error"] },
		"another block":        func(a []map[string]any) { a[1]["result"] = header("0x1", older(a)["timestamp"]) },
		"no time":              func(a []map[string]any) { delete(older(a), "timestamp") },
		"a time of zero":       func(a []map[string]any) { older(a)["timestamp"] = "0x0" },
		"times that stand":     func(a []map[string]any) { older(a)["timestamp"] = newest(a)["timestamp"] },
		"times that go back":   func(a []map[string]any) { older(a)["timestamp"] = later(newest(a), 30) },
		"of another chain":     func(a []map[string]any) { newest(a)["timestamp"] = later(newest(a), -100) },
		"not the newest block": func(a []map[string]any) { newest(a)["number"] = older(a)["number"] },
		"no answer":            nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, 50_000, entry{500, 0})
			m.hangs = spoil == nil
			m.spoil = onBatches(func(w http.ResponseWriter, a []map[string]any) { spoil(a); writeJSON(w, a) })
			began := time.Now()
			if at := next(t, c).At; !at.IsZero() {
				t.Errorf("%s: and yet %v", name, at)
			}
			if took := time.Since(began); took > maxIntervalWait {
				t.Errorf("%s: it took %v", name, took)
			}
			if m.hangs {
				time.Sleep(time.Minute) // The call ends.
			}
			synctest.Wait()
			m.hangs, m.spoil = false, nil
			if next(t, c).At.IsZero() {
				t.Errorf("%s: never known again", name)
			}
			if !c.Health().FailingSince.IsZero() {
				t.Errorf("%s: stakes fail: %+v", name, c.Health())
			}
		})
	}
}

// More wallets at once than there are permits for calls.
func TestWhoWaitsForThePaceBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := withdrawing(t, 50_000, entry{500, 0})
		var asking sync.WaitGroup
		for i := range 2 * query.MaxCalls {
			asking.Go(func() {
				if stake, err := c.Stakes.Get(t.Context(), walletNo(i)); err != nil || stake.Value.NextWithdrawal.At.IsZero() {
					t.Errorf("wallet %d: %+v, %v", i, stake.Value, err)
				}
			})
		}
		asking.Wait()
	})
}

func TestAClaimInAHundredYearsOrAfterAnImpossibleBlockHasNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := withdrawing(t, 0, entry{500, maxBlocksAhead})
		if at := next(t, c).At; !at.IsZero() {
			t.Errorf("it is told for %v", at)
		}
		m, c := withdrawing(t, 0, entry{500, 900})
		c.settings.MaxBlockAge = 0
		next(t, c)
		m.Now = func() time.Time { return time.Now().Add(2 * maxAhead) }
		if at := next(t, c).At; !at.IsZero() {
			t.Errorf("the next claim is at %v, after a block of an impossible time", at)
		}
	})
}

// Whose total is unread is not taken for one that has no stake.
func TestTheTotalIsOfEveryPoolOrIncomplete(t *testing.T) {
	withTotal := func(total []byte) services.Contract {
		return poolWith(map[string][]byte{testMethod: wordOf(0), testTotal: total})
	}
	for name, test := range map[string]struct {
		pools   []services.Contract
		want    string
		checked int
	}{
		"all":        {[]services.Contract{withTotal(tokensOf(5)), withTotal(wordOf(0)), withTotal(tokensOf(7))}, "12", 3},
		"impossible": {[]services.Contract{withTotal(tokensOf(5)), withTotal(common.MaxHash[:])}, "5", 1},
		"reverts":    {[]services.Contract{withTotal(tokensOf(5)), withTotal(nil)}, "5", 1},
		"none":       {[]services.Contract{withTotal(nil), nil}, "0", 0},
	} {
		for _, way := range []func(*Settings){func(*Settings) {}, withoutMulticall} {
			chain, pools := deploy(test.pools...)
			n := newNode(t, chain)
			c := newClient(t, n, pools, way, func(s *Settings) { s.TotalMethod, s.PendingMethod = testTotal, "" })
			told := map[core.Pool]int{}
			c.countUnread = func(p core.Pool) { told[p]++ }
			total, err := c.Total(time.Minute).Get(t.Context(), struct{}{})
			if err != nil || total.Value.Total().String() != test.want || total.Value.Checked != test.checked || total.Value.Complete() != (test.checked == len(pools)) {
				t.Errorf("%s: %+v, %v", name, total, err)
			}
			if trips := n.tripsOf(func() { _, _ = c.Total(time.Minute).Get(t.Context(), struct{}{}) }); trips != 0 {
				t.Errorf("%s: not cached", name)
			}
			if !c.Health().FailingSince.IsZero() || len(told) != len(pools)-test.checked {
				t.Errorf("%s: the service fails: %+v; told %v", name, c.Health(), told)
			}
			c.settings.TotalMethod = ""
			if c.Total(time.Minute) != nil {
				t.Errorf("%s: there is a source without the method", name)
			}
		}
	}
}

func TestProbeTellsTheLatestWithdrawalOfAWallet(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		chain[poolAt(3).Address] = pool(wordOf(0), entriesAt(0, entry{1000, 500}, entry{500, 1_234_567}))
		chain[poolAt(4).Address] = pool(wordOf(0), entriesAt(0, entry{0, 2_000_000}, entry{9, 700}))
		found, err := c.Probe(t.Context(), ann.Hex())
		if p := found.Pending; err != nil || p == nil || !p.Amount.Equal(whole(500)) || p.Block.Int64() != 1_234_567 || found.ReadAt != n.Block() {
			t.Errorf("got %+v, %v", found, err)
		}
		for _, p := range []int{3, 4, 20} {
			chain[poolAt(p).Address] = pool(wordOf(0), withdrawalsOf())
		}
		if found, err = c.Probe(t.Context(), ann.Hex()); err != nil || found.Pending == nil || !found.Pending.Amount.IsZero() {
			t.Errorf("of nothing: %+v, %v", found, err)
		}
		if found, err = c.Probe(t.Context(), ""); err != nil || found.Pending != nil {
			t.Errorf("of nobody: %+v, %v", found, err)
		}
		c.settings.PendingMethod = ""
		if found, err = c.Probe(t.Context(), ann.Hex()); err != nil || found.Pending != nil {
			t.Errorf("without the testTotal: %+v, %v", found, err)
		}
	})
}

// poolWith answers methods with fixed bytes, and reverts others.
func poolWith(answers map[string][]byte) services.Contract {
	return func(_ services.Node, _ uint64, input []byte) ([]byte, error) {
		for method, output := range answers {
			if bytes.HasPrefix(input, evmabi.Selector(method)) && output != nil {
				return output, nil
			}
		}
		return nil, services.Reverted("")
	}
}

// without is a pool with no stake that answers every method but one.
func without(method string) services.Contract {
	answers := map[string][]byte{testMethod: wordOf(0), testPend: withdrawalsOf(), testTotal: wordOf(0)}
	delete(answers, method)
	return poolWith(answers)
}

func TestAPoolWithoutThePendingMethodIsNamedAsSuch(t *testing.T) {
	chain, pools := stakers()
	chain[poolAt(4).Address] = pool(tokensOf(2), []byte{})
	stake, err := newClient(t, newNode(t, chain), pools, claimBlocks(0)).Stakes.Fetch(t.Context(), ann)
	if err != nil || len(stake.UnbondingFailed) != 1 || stake.UnbondingFailed[0].Err != errNoData {
		t.Errorf("%+v, %v", stake.UnbondingFailed, err)
	}
}
