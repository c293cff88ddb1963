package staking

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
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
			if age := time.Since(stake.BlockTime); age < 12*time.Second || age > time.Minute {
				t.Errorf("the block is %v old", age)
			}
			if stake.Block != 1000 || stake.Checked != 3 || stake.Outcome() != core.Staker {
				t.Errorf("block %d, checked %d, outcome %v", stake.Block, stake.Checked, stake.Outcome())
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
	if want := []core.Pool{pools[1], pools[3], pools[2]}; err != nil || !slices.Equal(poolsOf(unread), want) {
		t.Fatalf("unread %v, %v, want %v", unread, err, want)
	}
	for i, want := range []core.Reason{core.Rejected, core.Malformed, core.Rejected} {
		wantReason(t, unread[i].Err, want)
	}
	// Nor is it silent where there is no answer at all.
	chain[pools[0].Address], chain[pools[2].Address] = pool(nil, nil), pool(nil, nil)
	_, err = c.Stakes.Fetch(t.Context(), ann)
	wantReason(t, err, core.Rejected)
	if want := map[core.Pool]int{pools[0]: 1, pools[1]: 2, pools[2]: 2, pools[3]: 2}; !maps.Equal(told, want) {
		t.Errorf("told %v, want %v; %v", told, want, err)
	}
}

func TestDecimalsAreExactAndWithdrawalsAskedForOnlyIfConfigured(t *testing.T) {
	for decimals, want := range map[int]string{0: "12345", 2: "123.45", 18: "0.000000000000012345"} {
		chain, pools := deploy(pool(wordOf(12345), withdrawalsOf(9)))
		c := newClient(t, newNode(t, chain), pools, func(s *Settings) { s.Decimals, s.PendingMethod = decimals, "" })
		stake, err := c.Stakes.Fetch(t.Context(), ann)
		if err != nil || stake.Total().String() != want || len(stake.Unbonding) != 0 || len(stake.UnbondingFailed) != 0 {
			t.Errorf("%d decimals: got %+v, %v, want %s", decimals, stake, err, want)
		}
	}
}
