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

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/query"
	"herald/internal/service/staking/evmabi"
)

// withClaimBlocks returns a change of newClient's settings.
func withClaimBlocks(n uint64) func(*Settings) {
	return func(s *Settings) { s.ClaimBlocks = &n }
}

// entry is a withdrawal of whole tokens. Its block is this many blocks after a latest block.
type entry struct{ tokens, after int64 }

// entriesAt encodes a list of withdrawals, relative to the latest block.
func entriesAt(latest uint64, entries ...entry) []byte {
	var list []Withdrawal
	for _, e := range entries {
		list = append(list, Withdrawal{
			Amount: whole(e.tokens),
			Block:  add(new(big.Int).SetUint64(latest), e.after),
		})
	}
	return encodeWithdrawals(list...)
}

// An amount that was unstaked in block b can be withdrawn in block b+delay. The fake makes a block every
// 2 seconds.
func TestWithdrawalsAreSplitByTheBlockThatWasRead(t *testing.T) {
	for _, delay := range []int64{0, 100, 50_000} {
		inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
			chain[poolAt(0).Address] = pool(wordOf(0), entriesAt(n.Block(),
				entry{tokens: 1000, after: -delay},
				entry{tokens: 80, after: 901 - delay},
				entry{tokens: 0, after: 1 - delay},
			))
			chain[poolAt(1).Address] = pool(wordOf(0), entriesAt(n.Block(),
				entry{tokens: 7, after: -1 - delay},
				entry{tokens: 20, after: 900 - delay},
			))
			chain[poolAt(2).Address] = pool(wordOf(0), entriesAt(n.Block(), entry{tokens: 500, after: 900 - delay}))
			chain[poolAt(20).Address] = pool(tokensOf(3), withdrawalsOf())
			stake, err := c.Stakes.Fetch(t.Context(), ann)
			if err != nil || !stake.Complete() {
				t.Fatalf("%v, unread %v", err, stake.Unread())
			}
			wantAmounts(t, "withdrawable", stake.Withdrawable, "pool 0: 1000", "pool 1: 7")
			wantAmounts(t, "unbonding", stake.Unbonding, "pool 0: 80", "pool 1: 20", "pool 2: 500")
			next := stake.NextWithdrawal
			wantAt := stake.BlockTime.Add(900 * 2 * time.Second)
			if !next.Amount.Equal(whole(520)) || !next.At.Equal(wantAt) {
				t.Errorf("the next withdrawal is %+v, want 520 at %v", next, wantAt)
			}
		}, withClaimBlocks(uint64(delay)))
	}
}

// withdrawalsIn sets the withdrawals in pool 4 of a chain of stakers, and returns ann's stake.
func withdrawalsIn(t *testing.T, change func(*Settings), list func(latest *big.Int) []Withdrawal) core.Stake {
	t.Helper()
	chain, pools := stakers()
	n := newNode(t, chain)
	latest := new(big.Int).SetUint64(n.Block())
	chain[poolAt(4).Address] = pool(tokensOf(2), encodeWithdrawals(list(latest)...))
	stake, err := newClient(t, n, pools, change).Stakes.Fetch(t.Context(), ann)
	if err != nil || stake.Checked != 21 || stake.Total().String() != "5" {
		t.Fatalf("%+v, %v; want 5 tokens in 21 pools", stake, err)
	}
	return stake
}

// wantUnreadWithdrawals fails the test unless the withdrawals in pool 4 are unread if unread is set,
// and those in pool 20 are read.
func wantUnreadWithdrawals(t *testing.T, name string, stake core.Stake, unread bool) {
	t.Helper()
	var want []core.Pool
	if unread {
		want = []core.Pool{poolAt(4)}
	}
	if !slices.Equal(poolsOf(stake.UnbondingFailed), want) {
		t.Errorf("%s: unread %v, want %v", name, stake.UnbondingFailed, want)
	}
	amounts := append(stake.Withdrawable, stake.Unbonding...)
	if !slices.ContainsFunc(amounts, func(a core.PoolAmount) bool {
		return a.Pool == poolAt(20) && a.Amount.Equal(whole(4))
	}) {
		t.Errorf("%s: the withdrawals of pool 20 are missing in %v", name, amounts)
	}
}

func TestImpossibleWithdrawalsAreUnreadOnlyInTheirPool(t *testing.T) {
	tooMuch := whole(1).Mul(maxTokens)
	for name, test := range map[string]struct {
		list          func(latest *big.Int) []Withdrawal
		unread        bool // if ClaimBlocks is set
		unreadIfUnset bool // if ClaimBlocks is not set, so that blocks do not matter
	}{
		"too far ahead": {
			list: func(latest *big.Int) []Withdrawal {
				return []Withdrawal{
					{Amount: whole(1), Block: latest},
					{Amount: whole(1), Block: add(latest, maxBlocksAhead+1)},
				}
			},
			unread: true,
		},
		"as far ahead as allowed": {
			list: func(latest *big.Int) []Withdrawal {
				return []Withdrawal{{Amount: whole(1), Block: add(latest, maxBlocksAhead)}}
			},
		},
		"a block beyond 64 bits": {
			list: func(*big.Int) []Withdrawal {
				return []Withdrawal{{Amount: whole(1), Block: common.MaxHash.Big()}}
			},
			unread: true,
		},
		"too much in total": {
			list: func(latest *big.Int) []Withdrawal {
				return []Withdrawal{
					{Amount: tooMuch.Sub(whole(1)), Block: latest},
					{Amount: whole(1), Block: latest},
				}
			},
			unread:        true,
			unreadIfUnset: true,
		},
		"as much as allowed": {
			list: func(latest *big.Int) []Withdrawal {
				return []Withdrawal{{Amount: tooMuch.Sub(whole(1)), Block: latest}}
			},
		},
	} {
		stake := withdrawalsIn(t, withClaimBlocks(0), test.list)
		wantUnreadWithdrawals(t, name+", ClaimBlocks set", stake, test.unread)

		stake = withdrawalsIn(t, func(*Settings) {}, test.list)
		wantUnreadWithdrawals(t, name+", ClaimBlocks not set", stake, test.unreadIfUnset)
	}
}

func whole(tokens int64) decimal.Decimal { return decimal.NewFromInt(tokens) }

func add(n *big.Int, more int64) *big.Int { return new(big.Int).Add(n, big.NewInt(more)) }

// fetchMany returns ann's stake if she has this many withdrawals in pool 4, of one token each.
func fetchMany(t *testing.T, chain contracts, c *Client, withdrawals int) core.Stake {
	t.Helper()
	tokens := slices.Repeat([]int64{1}, withdrawals)
	chain[poolAt(4).Address] = pool(tokensOf(2), withdrawalsOf(tokens...))
	stake, err := c.Stakes.Fetch(t.Context(), ann)
	if err != nil || stake.Checked != 21 || stake.Total().String() != "5" {
		t.Fatalf("%+v, %v", stake, err)
	}
	return stake
}

func TestThousandsOfWithdrawalsAreRead(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		stake := fetchMany(t, chain, c, 5000)
		if len(stake.Withdrawable) != 2 || len(stake.Unread()) != 0 {
			t.Errorf("withdrawable %v, unread %v", stake.Withdrawable, stake.Unread())
		}
	}, withClaimBlocks(0))
}

func TestWithdrawalsBeyondMaxBodyAreUnread(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		stake := fetchMany(t, chain, c, 10_000)
		if len(stake.Withdrawable) != 1 {
			t.Errorf("withdrawable %v, want those of one pool", stake.Withdrawable)
		}
		if unread := poolsOf(stake.Unread()); !slices.Equal(unread, c.settings.Pools[4:5]) {
			t.Errorf("unread %v, want pool 4", unread)
		}
	}, withClaimBlocks(0))
}

// inMemory is a node without a network, for simulated time. Its clock runs.
type inMemory struct {
	*node
	hangs   bool          // it never answers a batch
	takes   time.Duration // how long each answer takes
	headers []string      // the numbers of the headers that were requested

	inFlight, maxInFlight int // calls
}

var headerNumber = regexp.MustCompile(`"eth_getBlockByNumber","params":\["([^"]*)"`)

// RoundTrip implements http.RoundTripper.
func (m *inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	m.begin(body)
	defer m.end()
	if m.hangs && bytes.HasPrefix(body, []byte("[")) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	time.Sleep(m.takes)
	received := req.Clone(req.Context())
	received.Body = io.NopCloser(bytes.NewReader(body))
	response := httptest.NewRecorder()
	m.ServeHTTP(response, received)
	return response.Result(), nil
}

// begin counts a call, and notes the headers that it requests.
func (m *inMemory) begin(body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, match := range headerNumber.FindAllSubmatch(body, -1) {
		m.headers = append(m.headers, string(match[1]))
	}
	m.inFlight++
	m.maxInFlight = max(m.maxInFlight, m.inFlight)
}

func (m *inMemory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight--
}

// withdrawing returns a client of a node in memory. An amount can be withdrawn delay blocks after it was
// unstaked. Every wallet has the withdrawals in pool 20. withdrawing sleeps, in simulated time, until the
// fake's chain has begun.
func withdrawing(t *testing.T, delay uint64, entries ...entry) (*inMemory, *Client) {
	t.Helper()
	time.Sleep(time.Until(sandboxStarted.Add(time.Minute)))
	chain, pools := stakers()
	m := &inMemory{node: &node{Node: sandbox, url: "http://chain.test"}}
	m.ChainID = testChain
	m.Contracts = chain
	m.Now = func() time.Time { return time.Now().Add(-time.Second) }
	chain[poolAt(20).Address] = pool(tokensOf(3), entriesAt(m.Block(), entries...))
	c := newClient(t, m.node, pools, withClaimBlocks(delay))
	var err error
	c.rpc, err = newRPCClient(m.url, &http.Client{Transport: m})
	if err != nil {
		t.Fatal(err)
	}
	return m, c
}

// nextOf returns ann's next withdrawal. It ends the test unless her stake is complete, with one stake and one
// withdrawal.
func nextOf(t *testing.T, c *Client) core.NextWithdrawal {
	t.Helper()
	stake, err := c.Stakes.Fetch(t.Context(), ann)
	if err != nil || !stake.Complete() {
		t.Fatalf("%+v, %v", stake, err)
	}
	if len(stake.Staked) != 1 || len(stake.Unbonding) != 1 || stake.NextWithdrawal.Amount.IsZero() {
		t.Fatalf("%+v", stake)
	}
	return stake.NextWithdrawal
}

// wantHeaders fails the test unless the headers of the latest block, and of the block that is this many
// blocks older, were requested.
func (m *inMemory) wantHeaders(t *testing.T, blocksBack uint64) {
	t.Helper()
	want := []string{
		hexutil.EncodeUint64(m.Block()),
		hexutil.EncodeUint64(m.Block() - blocksBack),
	}
	if !slices.Equal(m.headers, want) {
		t.Errorf("requested the headers %v, want %v", m.headers, want)
	}
}

func TestTheBlockIntervalIsMeasuredOverClaimBlocks(t *testing.T) {
	for delay, blocksBack := range map[uint64]uint64{
		5000: 5000,
		0:    intervalBlocks,
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, delay, entry{tokens: 500, after: 100 - int64(delay)})
			nextOf(t, c)
			m.wantHeaders(t, blocksBack)
		})
	}
}

func TestTheBlockIntervalIsNotMeasuredBeforeBlockOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := withdrawing(t, maxClaimBlocks)
		m.Contracts[poolAt(20).Address] = pool(tokensOf(3), entriesAt(0, entry{tokens: 500, after: 1}))
		nextOf(t, c)
		m.wantHeaders(t, m.Block()-1)
	})
}

// intervalSpoilers spoil the answer to the batch that measures the block interval: the headers of the
// latest block and of an older one. A nil function means that the node does not answer.
var intervalSpoilers = map[string]func(latest, older map[string]any){
	"pruned": func(_, older map[string]any) {
		older["result"] = nil
	},
	"an error": func(_, older map[string]any) {
		delete(older, "result")
		older["error"] = nodeError(-32000)
	},
	"another block": func(_, older map[string]any) {
		header := map[string]any{"number": "0x1", "timestamp": headerOf(older)["timestamp"]}
		older["result"] = header
	},
	"no time": func(_, older map[string]any) {
		delete(headerOf(older), "timestamp")
	},
	"a time of zero": func(_, older map[string]any) {
		headerOf(older)["timestamp"] = "0x0"
	},
	"equal times": func(latest, older map[string]any) {
		headerOf(older)["timestamp"] = headerOf(latest)["timestamp"]
	},
	"times that run backwards": func(latest, older map[string]any) {
		headerOf(older)["timestamp"] = secondsAfter(latest, 30)
	},
	"of another chain": func(latest, _ map[string]any) {
		headerOf(latest)["timestamp"] = secondsAfter(latest, -100)
	},
	"not the latest block": func(latest, older map[string]any) {
		headerOf(latest)["number"] = headerOf(older)["number"]
	},
	"no answer": nil,
}

func headerOf(answer map[string]any) map[string]any { return answer["result"].(map[string]any) }

// secondsAfter returns a timestamp that is this many seconds after that of the header in answer.
func secondsAfter(answer map[string]any, seconds int64) string {
	timestamp := hexutil.MustDecodeUint64(headerOf(answer)["timestamp"].(string))
	return hexutil.EncodeUint64(timestamp + uint64(seconds))
}

// spoilInterval spoils the answers of a node from now on.
func (m *inMemory) spoilInterval(spoil func(latest, older map[string]any)) {
	if spoil == nil {
		m.hangs = true
		return
	}
	m.respond = onBatches(func(w http.ResponseWriter, answers []map[string]any) {
		spoil(answers[0], answers[1])
		writeJSON(w, answers)
	})
}

func TestAnUnknownBlockIntervalOmitsOnlyTheNextWithdrawalsTime(t *testing.T) {
	for name, spoil := range intervalSpoilers {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, 50_000, entry{tokens: 500, after: 0})
			m.spoilInterval(spoil)
			began := time.Now()
			if at := nextOf(t, c).At; !at.IsZero() {
				t.Errorf("%s: the next withdrawal has the time %v", name, at)
			}
			if took := time.Since(began); took > maxIntervalWait {
				t.Errorf("%s: it took %v, want at most %v", name, took, maxIntervalWait)
			}
			if !c.Health().FailingSince.IsZero() {
				t.Errorf("%s: stakes fail: %+v", name, c.Health())
			}
		})
	}
}

func TestTheBlockIntervalIsMeasuredOnceTheNodeHasRecovered(t *testing.T) {
	for name, spoil := range intervalSpoilers {
		synctest.Test(t, func(t *testing.T) {
			m, c := withdrawing(t, 50_000, entry{tokens: 500, after: 0})
			m.spoilInterval(spoil)
			nextOf(t, c)
			if m.hangs {
				time.Sleep(time.Minute) // The call ends.
			}
			synctest.Wait()
			m.hangs = false
			m.respond = nil
			if nextOf(t, c).At.IsZero() {
				t.Errorf("%s: the next withdrawal still has no time", name)
			}
			if !c.Health().FailingSince.IsZero() {
				t.Errorf("%s: stakes fail: %+v", name, c.Health())
			}
		})
	}
}

// More wallets wait at once than there are permits for calls.
func TestWaitingForTheBlockIntervalCannotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := withdrawing(t, 50_000, entry{tokens: 500, after: 0})
		var fetches sync.WaitGroup
		for i := range 2 * query.MaxCalls {
			fetches.Go(func() {
				stake, err := c.Stakes.Get(t.Context(), walletNo(i))
				if err != nil || stake.Value.NextWithdrawal.At.IsZero() {
					t.Errorf("wallet %d: %+v, %v", i, stake.Value, err)
				}
			})
		}
		fetches.Wait()
	})
}

func TestAWithdrawalInAHundredYearsHasNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := withdrawing(t, 0, entry{tokens: 500, after: maxBlocksAhead})
		if at := nextOf(t, c).At; !at.IsZero() {
			t.Errorf("the next withdrawal is at %v", at)
		}
	})
}

func TestAWithdrawalHasNoTimeIfTheBlockHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := withdrawing(t, 0, entry{tokens: 500, after: 900})
		c.settings.MaxBlockAge = 0
		nextOf(t, c)
		m.Now = func() time.Time { return time.Now().Add(2 * maxAhead) }
		if at := nextOf(t, c).At; !at.IsZero() {
			t.Errorf("the next withdrawal is at %v", at)
		}
	})
}

// A pool whose total cannot be read is not counted as a pool without a stake.
func TestTheTotalNamesHowManyPoolsItCounts(t *testing.T) {
	withTotal := func(total []byte) services.Contract {
		return poolWith(map[string][]byte{testMethod: wordOf(0), testTotal: total})
	}
	for name, test := range map[string]struct {
		pools   []services.Contract
		want    string
		checked int
	}{
		"all": {
			pools:   []services.Contract{withTotal(tokensOf(5)), withTotal(wordOf(0)), withTotal(tokensOf(7))},
			want:    "12",
			checked: 3,
		},
		"impossible": {
			pools:   []services.Contract{withTotal(tokensOf(5)), withTotal(common.MaxHash[:])},
			want:    "5",
			checked: 1,
		},
		"reverts": {
			pools:   []services.Contract{withTotal(tokensOf(5)), withTotal(nil)},
			want:    "5",
			checked: 1,
		},
		"none": {
			pools:   []services.Contract{withTotal(nil), nil},
			want:    "0",
			checked: 0,
		},
	} {
		for _, way := range []func(*Settings){func(*Settings) {}, withoutMulticall} {
			chain, pools := deploy(test.pools...)
			c := newClient(t, newNode(t, chain), pools, way, totalMethod)
			unread := map[core.Pool]int{}
			c.countUnread = func(p core.Pool) { unread[p]++ }
			total, err := c.Total(time.Minute).Get(t.Context(), struct{}{})
			if err != nil || total.Value.Total().String() != test.want || total.Value.Checked != test.checked {
				t.Errorf("%s: %+v, %v; want %s of %d pools", name, total, err, test.want, test.checked)
			}
			if complete := test.checked == len(pools); total.Value.Complete() != complete {
				t.Errorf("%s: complete is %t, want %t", name, !complete, complete)
			}
			if len(unread) != len(pools)-test.checked {
				t.Errorf("%s: reported as unread: %v", name, unread)
			}
			if !c.Health().FailingSince.IsZero() {
				t.Errorf("%s: the service fails: %+v", name, c.Health())
			}
		}
	}
}

// totalMethod is a change of newClient's settings: pools answer the total, and no withdrawals.
func totalMethod(s *Settings) {
	s.TotalMethod = testTotal
	s.PendingMethod = ""
}

func TestTheTotalIsCached(t *testing.T) {
	sound := poolWith(map[string][]byte{testMethod: wordOf(0), testTotal: tokensOf(5)})
	for name, contracts := range map[string][]services.Contract{
		"complete":   {sound, sound},
		"incomplete": {sound, nil},
		"none":       {nil, nil},
	} {
		chain, pools := deploy(contracts...)
		n := newNode(t, chain)
		source := newClient(t, n, pools, totalMethod).Total(time.Minute)
		get := func() { _, _ = source.Get(t.Context(), struct{}{}) }
		get()
		if trips := n.tripsOf(get); trips != 0 {
			t.Errorf("%s: the second total took %d round trips", name, trips)
		}
	}
}

func TestThereIsNoTotalWithoutItsMethod(t *testing.T) {
	chain, pools := stakers()
	if newClient(t, newNode(t, chain), pools).Total(time.Minute) != nil {
		t.Error("there is a source without TotalMethod")
	}
}

func TestProbeReturnsTheLatestWithdrawalOfAWallet(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		chain[poolAt(3).Address] = pool(wordOf(0), entriesAt(0,
			entry{tokens: 1000, after: 500},
			entry{tokens: 500, after: 1_234_567},
		))
		chain[poolAt(4).Address] = pool(wordOf(0), entriesAt(0,
			entry{tokens: 0, after: 2_000_000},
			entry{tokens: 9, after: 700},
		))
		found, err := c.Probe(t.Context(), ann.Hex())
		if err != nil || found.Pending == nil {
			t.Fatalf("got %+v, %v", found, err)
		}
		if p := found.Pending; !p.Amount.Equal(whole(500)) || p.Block.Int64() != 1_234_567 {
			t.Errorf("the withdrawal is %+v, want 500 of block 1234567", p)
		}
		if found.ReadAt != n.Block() {
			t.Errorf("read at block %d, want %d", found.ReadAt, n.Block())
		}
	})
}

func TestProbeReturnsZeroIfAWalletWithdrawsNothing(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		chain[poolAt(20).Address] = pool(wordOf(0), withdrawalsOf())
		found, err := c.Probe(t.Context(), ann.Hex())
		if err != nil || found.Pending == nil || !found.Pending.Amount.IsZero() {
			t.Errorf("got %+v, %v", found, err)
		}
	})
}

func TestProbeNeedsAWalletAndTheMethodToReadAWithdrawal(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		if found, err := c.Probe(t.Context(), ""); err != nil || found.Pending != nil {
			t.Errorf("without a wallet: %+v, %v", found, err)
		}
		c.settings.PendingMethod = ""
		if found, err := c.Probe(t.Context(), ann.Hex()); err != nil || found.Pending != nil {
			t.Errorf("without the method: %+v, %v", found, err)
		}
	})
}

// poolWith returns a pool that answers these methods with fixed bytes, and reverts on any other.
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

// poolWithout returns a pool without a stake that answers every method but one.
func poolWithout(method string) services.Contract {
	answers := map[string][]byte{testMethod: wordOf(0), testPend: withdrawalsOf(), testTotal: wordOf(0)}
	delete(answers, method)
	return poolWith(answers)
}

func TestAPoolWithoutThePendingMethodIsReportedAsSuch(t *testing.T) {
	chain, pools := stakers()
	chain[poolAt(4).Address] = pool(tokensOf(2), []byte{})
	stake, err := newClient(t, newNode(t, chain), pools, withClaimBlocks(0)).Stakes.Fetch(t.Context(), ann)
	if err != nil || len(stake.UnbondingFailed) != 1 || stake.UnbondingFailed[0].Err != errNoData {
		t.Errorf("%+v, %v", stake.UnbondingFailed, err)
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
