package staking

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/query"
	"herald/internal/secret"
	"herald/internal/service/rest/resttest"
	"herald/internal/service/staking/evmabi"
)

// brokenPools returns a chain of nine pools. Pools 0 to 2 work. Pools 3 to 8 are broken in some way.
func brokenPools() (contracts, []core.Pool) {
	return deploy(
		pool(wordOf(0), withdrawalsOf()),
		pool(tokensOf(1500), withdrawalsOf(7, 5)),
		pool(wordOf(1), withdrawalsOf(0)),
		pool(nil, nil), // reverts
		nil,            // no code
		pool(append(wordOf(1), 0), append(withdrawalsOf(1), 0)), // too long
		pool(wordOf(1)[1:], withdrawalsOf(1)[1:]),               // too short
		pool(tokensOf(1)[:0], withdrawalsOf(3)),                 // an empty stake
		pool(common.MaxHash[:], withdrawalsOf(2)),               // an impossible stake
	)
}

func TestAStakeIsTheSameInEveryWay(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := brokenPools()
			n := newNode(t, chain)
			way.node(n)
			stake, err := newClient(t, n, pools, way.config).Stakes.Fetch(t.Context(), ann)
			if err != nil {
				t.Fatal(err)
			}
			if stake.Block != n.Block() || stake.Checked != 3 {
				t.Errorf("block %d, checked %d pools, want %d and 3", stake.Block, stake.Checked, n.Block())
			}
			if age := time.Since(stake.BlockTime); age < 10*time.Second || age > time.Minute {
				t.Errorf("the block is %v old", age)
			}
			wantAmounts(t, "staked", stake.Staked, "pool 1: 1500", "pool 2: 0.000000000000000001")
			wantAmounts(t, "unbonding", stake.Unbonding, "pool 1: 12", "pool 7: 3", "pool 8: 2")
			if want := pools[3:]; !slices.Equal(poolsOf(stake.Failed), want) {
				t.Errorf("failed %v, want %v", stake.Failed, want)
			}
			if want := pools[3:7]; !slices.Equal(poolsOf(stake.UnbondingFailed), want) {
				t.Errorf("unbonding failed %v, want %v", stake.UnbondingFailed, want)
			}
			if got := stake.Total().String(); got != "1500.000000000000000001" {
				t.Errorf("total %s", got)
			}
		})
	}
}

func TestMulticallReadsAStakeInOneRoundTrip(t *testing.T) {
	chain, pools := brokenPools()
	n := newNode(t, chain)
	c := newClient(t, n, pools)
	trips := n.tripsOf(func() { _, _ = c.Stakes.Fetch(t.Context(), ann) })
	if trips != 1 {
		t.Errorf("%d round trips, want 1: the aggregate", trips)
	}
}

func poolsOf(unread []core.UnreadPool) (pools []core.Pool) {
	for _, p := range unread {
		pools = append(pools, p.Pool)
	}
	return pools
}

// wantAmounts fails the test unless the amounts are want, written as in "pool 1: 1500".
func wantAmounts(t *testing.T, what string, got []core.PoolAmount, want ...string) {
	t.Helper()
	var texts []string
	for _, p := range got {
		texts = append(texts, p.Pool.Name+": "+p.Amount.String())
	}
	if !slices.Equal(texts, want) {
		t.Errorf("%s %q, want %q", what, texts, want)
	}
}

// countUnread counts how often the client reports each pool as unread, from now on.
func countUnread(c *Client) map[core.Pool]int {
	counts := map[core.Pool]int{}
	c.countUnread = func(p core.Pool) { counts[p]++ }
	return counts
}

func TestEachUnreadPoolIsReportedOnceWithItsReason(t *testing.T) {
	chain, pools := deploy(
		pool(tokensOf(1), withdrawalsOf()),
		pool(nil, nil),
		pool(wordOf(0), nil),
		nil,
	)
	c := newClient(t, newNode(t, chain), pools)
	counts := countUnread(c)
	stake, err := c.Stakes.Fetch(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	unread := stake.Unread()
	if want := []core.Pool{pools[1], pools[3], pools[2]}; !slices.Equal(poolsOf(unread), want) {
		t.Fatalf("unread %v, want %v", unread, want)
	}
	for i, want := range []core.Reason{core.Rejected, core.Malformed, core.Rejected} {
		wantReason(t, unread[i].Err, want)
	}
	if want := map[core.Pool]int{pools[1]: 1, pools[2]: 1, pools[3]: 1}; !maps.Equal(counts, want) {
		t.Errorf("reported %v, want %v", counts, want)
	}
}

func TestUnreadPoolsAreReportedEvenIfTheStakeIsUnknown(t *testing.T) {
	chain, pools := deploy(pool(nil, nil), pool(nil, nil), nil)
	c := newClient(t, newNode(t, chain), pools)
	counts := countUnread(c)
	_, err := c.Stakes.Fetch(t.Context(), ann)
	wantReason(t, err, core.Rejected)
	if want := map[core.Pool]int{pools[0]: 1, pools[1]: 1, pools[2]: 1}; !maps.Equal(counts, want) {
		t.Errorf("reported %v, want %v", counts, want)
	}
}

func TestDecimalsAreExactAndWithdrawalsOptional(t *testing.T) {
	for decimals, want := range map[int]string{0: "12345", 2: "123.45", 18: "0.000000000000012345"} {
		chain, pools := deploy(pool(wordOf(12345), withdrawalsOf(9)))
		c := newClient(t, newNode(t, chain), pools, func(s *Settings) {
			s.Decimals = decimals
			s.PendingMethod = ""
		})
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil || stake.Total().String() != want {
			t.Errorf("%d decimals: got %v, %v, want %s", decimals, stake.Total(), err, want)
		}
		if len(stake.Unbonding)+len(stake.UnbondingFailed) != 0 {
			t.Errorf("withdrawals were read without their method: %+v", stake)
		}
	}
}

func TestAnAmountIsBelowMaxTokens(t *testing.T) {
	tooMuch := maxTokens.BigInt()
	if got, err := (ethCall{data: evmabi.Uint256(tooMuch)}).tokens(0); err != errImpossible {
		t.Errorf("maxTokens is read as %v, %v", got, err)
	}
	allowed := add(tooMuch, -1)
	got, err := (ethCall{data: evmabi.Uint256(allowed)}).tokens(0)
	if err != nil || got.BigInt().Cmp(allowed) != 0 {
		t.Errorf("one less than maxTokens is read as %v, %v", got, err)
	}
}

// verifyBlock verifies a block of this timestamp, which may be nil.
func verifyBlock(timestamp *big.Int, maxAge time.Duration) error {
	c := &Client{settings: Settings{MaxBlockAge: maxAge}}
	return c.verify(block{
		chainID:   new(big.Int),
		Number:    new(quantity),
		Timestamp: (*quantity)(timestamp),
	})
}

// timestampAgo returns the timestamp of a block of this age, in seconds.
func timestampAgo(age time.Duration) *big.Int { return big.NewInt(time.Now().Add(-age).Unix()) }

func TestTheAgeOfABlockIsLimitedToTheSecond(t *testing.T) {
	const maxAge = 10 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		for _, age := range []time.Duration{0, maxAge, -maxAhead} {
			if err := verifyBlock(timestampAgo(age), maxAge); err != nil {
				t.Errorf("a block of %v: %v", age, err)
			}
		}
		wantReason(t, verifyBlock(timestampAgo(maxAge+time.Second), maxAge), core.Behind)
	})
}

// implausibleTimes returns timestamps that no block has, by name.
func implausibleTimes() map[string]*big.Int {
	return map[string]*big.Int{
		"too far ahead":  timestampAgo(-maxAhead - time.Second),
		"in nanoseconds": big.NewInt(time.Now().UnixNano()),
		"beyond 64 bits": new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 64), timestampAgo(0)),
		"zero":           new(big.Int),
		"none":           nil,
	}
}

func TestABlockWithoutAPlausibleTimeIsMalformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, timestamp := range implausibleTimes() {
			t.Log(name)
			wantReason(t, verifyBlock(timestamp, 10*time.Minute), core.Malformed)
		}
	})
}

func TestWithoutMaxBlockAgeABlockMayHaveAnyTime(t *testing.T) {
	timestamps := implausibleTimes()
	timestamps["a day ago"] = timestampAgo(24 * time.Hour)
	for name, timestamp := range timestamps {
		if err := verifyBlock(timestamp, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnotherChainIsNeverAnAnswer(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		n.ChainID = 1
		_, err := c.Stakes.Fetch(t.Context(), ann)
		wantReason(t, err, core.Denied) // Members are told to ask an admin.
		const want = "the node is of chain 1, but chain 4242 is configured"
		if !strings.Contains(err.Error(), want) {
			t.Errorf("operators read %q, want %q", err, want)
		}
	})
}

// The other chain's block does not count as seen. The node changes to the other chain twice.
func TestANodeThatGetsTheRightChainNeedsNoRestart(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		for range 2 {
			n.ChainID = 1
			_, err := c.Stakes.Fetch(t.Context(), ann)
			wantReason(t, err, core.Denied)
			n.ChainID = testChain
			wantStaker(t, c)
		}
	})
}

func TestEveryFaultBecomesATypedErrorWithoutSecrets(t *testing.T) {
	_, pools := stakers()
	resttest.Check(t, func(ctx context.Context, baseURL string, timeout time.Duration) error {
		s := Settings{
			RPCURL:    secret.New(baseURL + secretPath + secretArgs),
			Pools:     pools,
			Method:    testMethod,
			Multicall: &multicallAddr,
		}
		c, err := New(s, query.NewCache(query.CacheConfig{CallTimeout: timeout}), func(core.Pool) {})
		if err != nil {
			return Service.Fail(core.Unreachable, err) // baseURL is not a URL.
		}
		if text := fmt.Sprintf("%+v %#v", c, c); strings.Contains(text, "k3y") {
			t.Errorf("the client prints its key: %s", text)
		}
		_, err = c.Stakes.Fetch(ctx, ann)
		return err
	}, "k3y", "/v3", "token=", ann.Hex()[2:])
}

// nonsense lists bodies that answer no request, with the reason of the error.
var nonsense = map[string]core.Reason{
	"":                                       core.Malformed,
	"null":                                   core.Malformed,
	"[]":                                     core.Malformed,
	`{"jsonrpc":"2.0","id":1,"result":"0x1`:  core.Malformed,
	`{"jsonrpc":"2.0","id":1,"result":null}`: core.Malformed, // a block, if Multicall3 is not used
	`{"jsonrpc":"2.0","id":77777,"result":"0x1092"}`:                          core.Malformed,
	`{"jsonrpc":"2.0","id":1,"error":"spoiled"}`:                              core.Rejected,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"spoiled"}}`: core.Rejected,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"spoiled"}}`: core.Limited,
	`{"jsonrpc":"2.0","id":null,"error":{"code":429,"message":"spoiled"}}`:    core.Limited,
}

func TestNonsenseIsNeverAnAnswer(t *testing.T) {
	for body, want := range nonsense {
		inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
			n.respond = func(w http.ResponseWriter, _ []byte) { io.WriteString(w, body) }
			_, err := c.Stakes.Fetch(t.Context(), ann)
			wantReason(t, err, want)
			if n.trips > 2 {
				t.Errorf("%s: %d round trips, want at most 2", body, n.trips)
			}
		})
	}
}

func TestProbeDescribesTheChainAndHowItIsRead(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		way := "Multicall3 is off or does not work, so they are read by JSON-RPC batch"
		if c.settings.Multicall != nil {
			way = "Multicall3 reads them in one call"
		}
		found, err := c.Probe(t.Context(), "")
		if err != nil || found.Way != way {
			t.Errorf("%q, %v; want %q", found.Way, err, way)
		}
		if found.ChainID.Int64() != testChain || found.Block != n.Block() || time.Since(found.BlockTime) > time.Minute {
			t.Errorf("chain %v, block %d of %v", found.ChainID, found.Block, found.BlockTime)
		}
		if found.Deployed != 21 || found.Missing != 0 {
			t.Errorf("%d pools have code and %d have none, want 21 and 0", found.Deployed, found.Missing)
		}
	})
}

func TestProbeNamesAPoolThatDoesNotAnswerAMethod(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, _ *node, c *Client) {
		c.settings.TotalMethod = testTotal
		for _, p := range c.settings.Pools {
			chain[p.Address] = poolWithout("")
		}
		broken := c.settings.Pools[3].Address
		for problem, contract := range map[string]services.Contract{
			"STAKING_METHOD is not answered by ":         poolWithout(testMethod),
			"STAKING_PENDING_METHOD is not answered by ": poolWithout(testPend),
			"STAKING_TOTAL_METHOD is not answered by ":   poolWithout(testTotal),
			"no contract at ":                            nil,
		} {
			chain[broken] = contract
			found, err := c.Probe(t.Context(), "")
			if want := problem + broken.Hex(); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			if (found.Missing == 1) != (contract == nil) {
				t.Errorf("%s: %d pools have no code", problem, found.Missing)
			}
		}
	})
}

func TestProbeReportsAFrozenNode(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		n.setClock(time.Now().Add(-time.Hour - 2*time.Second))
		found, err := c.Probe(t.Context(), "")
		wantReason(t, err, core.Behind)
		if age := time.Since(found.BlockTime); age < time.Hour {
			t.Errorf("the block is %v old", age)
		}
		if want := fmt.Sprintf("newest block %d, 1h0m", n.Block()); !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	})
}

func TestProbeReportsAnotherChain(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		n.ChainID = 1
		found, err := c.Probe(t.Context(), "")
		wantReason(t, err, core.Denied)
		if found.ChainID.Cmp(big.NewInt(1)) != 0 {
			t.Errorf("the chain is %v, want 1", found.ChainID)
		}
	})
}

func TestProbeFailsIfAnAddressCannotBeLookedAt(t *testing.T) {
	n, c := withoutMulticallOn(t)
	n.respond = func(w http.ResponseWriter, correct []byte) {
		if bytes.Contains(correct, []byte(`"0x60806040"`)) { // a contract's code
			w.WriteHeader(http.StatusBadGateway)
		}
		w.Write(correct)
	}
	_, err := c.Probe(t.Context(), "")
	wantReason(t, err, core.Unreachable)
}
