package staking

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/secret"
	"herald/internal/service/rest/resttest"
	"herald/internal/service/staking/evmabi"
)

// brokenPools returns a chain of nine pools. Pools 0 to 2 work. Pools 3 to 8 are broken in different ways.
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
			way.changeNode(n)
			stake, err := newClient(t, n, pools, way.changeSettings).Stakes.Fetch(t.Context(), ann)
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

// poolsOf returns the pools without the reasons why they are unread.
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

// countUnread returns a map that counts how often the client reports each pool as unread, from now on.
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

// nonsense has bodies that do not answer the request, with the reason of the error.
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
