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

func TestStakeTellsTheSameInEveryWay(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := deploy(
				pool(wordOf(0), withdrawalsOf()),
				pool(tokensOf(1500), withdrawalsOf(7, 5)),
				pool(wordOf(1), withdrawalsOf(0)),
				pool(nil, nil), // reverts
				nil,            // no code
				pool(append(wordOf(1), 0), append(withdrawalsOf(1), 0)), // too long
				pool(wordOf(1)[1:], withdrawalsOf(1)[1:]),               // too short
				pool(tokensOf(1)[:0], withdrawalsOf(3)),                 // empty
				pool(common.MaxHash[:], withdrawalsOf(2)),               // impossible
			)
			n := newNode(t, chain)
			way.node(n)
			stake, err := newClient(t, n, pools, way.config).Stakes.Fetch(t.Context(), ann)
			if err != nil {
				t.Fatal(err)
			}
			if way.name == "multicall" && n.trips != 1 {
				t.Errorf("%d round trips, want 1: the aggregate", n.trips)
			}
			if age := time.Since(stake.BlockTime); age < 10*time.Second || age > time.Minute {
				t.Errorf("the block is %v old", age)
			}
			if stake.Block != n.Block() || stake.Checked != 3 {
				t.Errorf("block %d, checked %d pools, want %d and 3", stake.Block, stake.Checked, n.Block())
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

func poolsOf(unread []core.UnreadPool) (pools []core.Pool) {
	for _, p := range unread {
		pools = append(pools, p.Pool)
	}
	return pools
}

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

func TestEachUnreadPoolIsToldOnceAReadingAndWhy(t *testing.T) {
	chain, pools := deploy(pool(tokensOf(1), withdrawalsOf()), pool(nil, nil), pool(wordOf(0), nil), nil)
	c := newClient(t, newNode(t, chain), pools)
	told := map[core.Pool]int{}
	c.unread = func(p core.Pool) { told[p]++ }
	stake, err := c.Stakes.Fetch(t.Context(), ann)
	unread := stake.Unread()
	if want := []core.Pool{
		pools[1],
		pools[3],
		pools[2],
	}; err != nil || !slices.Equal(poolsOf(unread), want) {
		t.Fatalf("unread %v, %v, want %v", unread, err, want)
	}
	for i, want := range []core.Reason{core.Rejected, core.Malformed, core.Rejected} {
		wantReason(t, unread[i].Err, want)
	}
	// Nor is it silent where there is no answer at all.
	chain[pools[0].Address], chain[pools[2].Address] = pool(nil, nil), pool(nil, nil)
	_, err = c.Stakes.Fetch(t.Context(), ann)
	wantReason(t, err, core.Rejected)
	if want := map[core.Pool]int{
		pools[0]: 1,
		pools[1]: 2,
		pools[2]: 2,
		pools[3]: 2,
	}; !maps.Equal(told, want) {
		t.Errorf("told %v, want %v; %v", told, want, err)
	}
}

func TestDecimalsAreExactAndWithdrawalsOptional(t *testing.T) {
	for decimals, want := range map[int]string{0: "12345", 2: "123.45", 18: "0.000000000000012345"} {
		chain, pools := deploy(pool(wordOf(12345), withdrawalsOf(9)))
		c := newClient(t, newNode(t, chain), pools, func(s *Settings) { s.Decimals, s.PendingMethod = decimals, "" })
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil || stake.Total().String() != want {
			t.Errorf("%d decimals: got %v, %v, want %s", decimals, stake.Total(), err, want)
		}
		if len(stake.Unbonding)+len(stake.UnbondingFailed) != 0 {
			t.Errorf("withdrawals were asked for: %+v", stake)
		}
	}
}

func TestAnAmountIsBelowMaxTokens(t *testing.T) {
	most := maxTokens.BigInt()
	for name, c := range map[string]struct {
		base *big.Int
		want error
	}{"most": {most, errImpossible}, "one less": {add(most, -1), nil}} {
		if got, err := (ethCall{data: evmabi.Uint256(c.base)}).tokens(0); err != c.want || err == nil && got.BigInt().Cmp(c.base) != 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestTheAgeOfABlockIsJudgedToTheSecond(t *testing.T) {
	const limit = 10 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		ago := func(d time.Duration) *big.Int { return big.NewInt(time.Now().Add(-d).Unix()) }
		for name, test := range map[string]struct {
			timestamp *big.Int
			want      core.Reason // "": no error
		}{
			"now": {
				timestamp: ago(0),
				want:      "",
			},
			"just young enough": {
				timestamp: ago(limit),
				want:      "",
			},
			"just too old": {
				timestamp: ago(limit + time.Second),
				want:      core.Behind,
			},
			"a little ahead": {
				timestamp: ago(-maxAhead),
				want:      "",
			},
			"too far ahead": {
				timestamp: ago(-maxAhead - time.Second),
				want:      core.Malformed,
			},
			"in nanoseconds": {
				timestamp: big.NewInt(time.Now().UnixNano()),
				want:      core.Malformed,
			},
			"beyond 64 bits": {
				timestamp: new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 64), ago(0)),
				want:      core.Malformed,
			},
			"zero": {
				timestamp: new(big.Int),
				want:      core.Malformed,
			},
			"none": {
				timestamp: nil,
				want:      core.Malformed,
			},
		} {
			b := block{chainID: new(big.Int), Number: new(quantity), Timestamp: (*quantity)(test.timestamp)}
			err := (&Client{settings: Settings{MaxBlockAge: limit}}).verify(b)
			if test.want == "" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if test.want != "" {
				wantReason(t, err, test.want)
			}
			if err := (&Client{}).verify(b); err != nil { // of any age
				t.Errorf("%s: of any age, and %v", name, err)
			}
		}
	})
}

func TestAnotherChainIsNeverAnAnswer(t *testing.T) {
	inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
		for range 2 { // at first, and swapped for the right one later
			n.ChainID = 1
			_, err := c.Stakes.Fetch(t.Context(), ann)
			wantReason(t, err, core.Denied) // which tells members to tell an admin
			if want := "the node is of chain 1, but chain 4242 is configured"; !strings.Contains(err.Error(), want) {
				t.Errorf("operators read %q, want %q", err, want)
			}
			// A node put right is taken without a restart: the other chain's block does
			// not count as seen.
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
			return Service.Fail(core.Unreachable, err) // no URL
		}
		if text := fmt.Sprintf("%+v %#v", c, c); strings.Contains(text, "k3y") {
			t.Errorf("the client prints its key: %s", text)
		}
		_, err = c.Stakes.Fetch(ctx, ann)
		return err
	}, "k3y", "/v3", "token=", ann.Hex()[2:])
}

// spoilers are answers to any request that are no answers.
var spoilers = map[string]core.Reason{
	"":                                       core.Malformed,
	"null":                                   core.Malformed,
	"[]":                                     core.Malformed,
	`{"jsonrpc":"2.0","id":1,"result":"0x1`:  core.Malformed,
	`{"jsonrpc":"2.0","id":1,"result":null}`: core.Malformed, // of a block, where there is no Multicall3
	`{"jsonrpc":"2.0","id":77777,"result":"0x1092"}`:                          core.Malformed,
	`{"jsonrpc":"2.0","id":1,"error":"spoiled"}`:                              core.Rejected,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"spoiled"}}`: core.Rejected,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"spoiled"}}`: core.Limited,
	`{"jsonrpc":"2.0","id":null,"error":{"code":429,"message":"spoiled"}}`:    core.Limited,
}

func TestNonsenseIsNeverAnAnswer(t *testing.T) {
	for body, want := range spoilers {
		inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
			n.spoil = func(w http.ResponseWriter, _ []byte) { io.WriteString(w, body) }
			_, err := c.Stakes.Fetch(t.Context(), ann)
			wantReason(t, err, want)
			if n.trips > 2 {
				t.Errorf("%s: asked %d times", body, n.trips)
			}
		})
	}
}

func TestProbeNamesWhatIsNotAsConfigured(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		way := "Multicall3 is off or does not work, so they are read by JSON-RPC batch"
		if c.settings.Multicall != nil {
			way = "Multicall3 reads them in one call"
		}
		found, err := c.Probe(t.Context(), "")
		if err != nil || found.ChainID.Int64() != testChain || found.Block != n.Block() || time.Since(found.BlockTime) > time.Minute ||
			found.Deployed != 21 || found.Missing != 0 || found.Way != way {
			t.Errorf("got %+v, %v", found, err)
		}
		c.settings.TotalMethod = testTotal
		for _, p := range c.settings.Pools {
			chain[p.Address] = poolWithout("")
		}
		for want, odd := range map[string]services.Contract{
			"STAKING_METHOD is not answered by ":         poolWithout(testMethod),
			"STAKING_PENDING_METHOD is not answered by ": poolWithout(testPend),
			"STAKING_TOTAL_METHOD is not answered by ":   poolWithout(testTotal),
			"no contract at ":                            nil,
		} {
			one := c.settings.Pools[3]
			sound := chain[one.Address]
			chain[one.Address] = odd
			found, err = c.Probe(t.Context(), "")
			if err == nil || err.Error() != want+one.Address.Hex() || (found.Missing == 1) != (odd == nil) {
				t.Errorf("got %+v, %v, want %s", found, err, want)
			}
			chain[one.Address] = sound
		}
		n.setClock(time.Now().Add(-time.Hour - 2*time.Second))
		found, err = c.Probe(t.Context(), "")
		wantReason(t, err, core.Behind)
		if age := time.Since(found.BlockTime); age < time.Hour || !strings.Contains(err.Error(), fmt.Sprintf("newest block %d, 1h0m", n.Block())) {
			t.Errorf("a frozen node: got %+v, %v", found, err)
		}
		n.ChainID = 1
		found, err = c.Probe(t.Context(), "")
		wantReason(t, err, core.Denied)
		if found.ChainID.Cmp(big.NewInt(1)) != 0 {
			t.Errorf("of another chain: got %+v", found)
		}
	})
}

func TestProbeFailsIfAnAddressCannotBeLookedAt(t *testing.T) {
	n, c := withoutMulticallOn(t)
	n.spoil = func(w http.ResponseWriter, right []byte) {
		if bytes.Contains(right, []byte(`"0x60806040"`)) { // a contract's code
			w.WriteHeader(http.StatusBadGateway)
		}
		w.Write(right)
	}
	_, err := c.Probe(t.Context(), "")
	wantReason(t, err, core.Unreachable)
}
