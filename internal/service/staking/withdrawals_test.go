package staking

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

// A withdrawal from block b can be made from block b+delay on. So with the offset -delay, it can be made at the latest
// block, and with the offset 900-delay, it can be made 900 blocks later. The fake makes a block every 2 seconds.
func TestWithdrawalsAreSplitByTheBlockThatWasRead(t *testing.T) {
	for _, delay := range []int64{0, 100, 50_000} {
		inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
			chain[poolAt(0).Address] = pool(wordOf(0), entriesAt(n.Block(),
				entry{tokens: 1000, offset: -delay},
				entry{tokens: 80, offset: 901 - delay},
				entry{tokens: 0, offset: 1 - delay},
			))
			chain[poolAt(1).Address] = pool(wordOf(0), entriesAt(n.Block(),
				entry{tokens: 7, offset: -1 - delay},
				entry{tokens: 20, offset: 900 - delay},
			))
			chain[poolAt(2).Address] = pool(wordOf(0), entriesAt(n.Block(), entry{tokens: 500, offset: 900 - delay}))
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

// fetchStakeWith returns ann's stake in a chain of stakers that has this list of withdrawals in pool 4. Its other
// withdrawal is in pool 20.
func fetchStakeWith(t *testing.T, change func(*Settings), list func(latest *big.Int) []Withdrawal) core.Stake {
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

// wantUnread fails the test unless the withdrawals of exactly these pools are unread, and the withdrawal in pool 20 is
// read.
func wantUnread(t *testing.T, name string, stake core.Stake, unread ...core.Pool) {
	t.Helper()
	if !slices.Equal(poolsOf(stake.UnbondingFailed), unread) {
		t.Errorf("%s: unread %v, want %v", name, stake.UnbondingFailed, unread)
	}
	amounts := append(stake.Withdrawable, stake.Unbonding...)
	if !slices.ContainsFunc(amounts, func(a core.PoolAmount) bool {
		return a.Pool == poolAt(20) && a.Amount.Equal(whole(4))
	}) {
		t.Errorf("%s: the withdrawal in pool 20 is missing in %v", name, amounts)
	}
}

// The blocks of withdrawals matter only if ClaimBlocks is set.
func TestImpossibleWithdrawalsAreUnreadOnlyInTheirPool(t *testing.T) {
	pool4 := []core.Pool{poolAt(4)}
	for name, test := range map[string]struct {
		list        func(latest *big.Int) []Withdrawal // in pool 4
		unread      []core.Pool                        // if ClaimBlocks is set
		unreadUnset []core.Pool                        // if ClaimBlocks is not set
	}{
		"too far ahead": {
			list: func(latest *big.Int) []Withdrawal {
				return []Withdrawal{
					{Amount: whole(1), Block: latest},
					{Amount: whole(1), Block: add(latest, maxBlocksAhead+1)},
				}
			},
			unread: pool4,
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
			unread: pool4,
		},
		"too much in total": {
			list: func(latest *big.Int) []Withdrawal {
				return []Withdrawal{
					{Amount: maxTokens.Sub(whole(1)), Block: latest},
					{Amount: whole(1), Block: latest},
				}
			},
			unread:      pool4,
			unreadUnset: pool4,
		},
		"as much as allowed": {
			list: func(latest *big.Int) []Withdrawal {
				return []Withdrawal{{Amount: maxTokens.Sub(whole(1)), Block: latest}}
			},
		},
	} {
		stake := fetchStakeWith(t, withClaimBlocks(0), test.list)
		wantUnread(t, name+", ClaimBlocks set", stake, test.unread...)

		stake = fetchStakeWith(t, func(*Settings) {}, test.list)
		wantUnread(t, name+", ClaimBlocks not set", stake, test.unreadUnset...)
	}
}

// fetchMany returns ann's stake if she has this number of withdrawals in pool 4, of one token each.
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

func TestAPoolWithoutThePendingMethodHasNoData(t *testing.T) {
	chain, pools := stakers()
	chain[poolAt(4).Address] = pool(tokensOf(2), []byte{})
	stake, err := newClient(t, newNode(t, chain), pools, withClaimBlocks(0)).Stakes.Fetch(t.Context(), ann)
	if err != nil || len(stake.UnbondingFailed) != 1 || stake.UnbondingFailed[0].Err != errNoData {
		t.Errorf("%+v, %v", stake.UnbondingFailed, err)
	}
}

func TestAListOfWithdrawalsInAnotherFormIsRefused(t *testing.T) {
	for name, data := range map[string][]byte{
		"nothing":                     {},
		"another offset":              append(wordOf(2*evmabi.Word), wordOf(0)...),
		"more withdrawals than bytes": append(wordOf(evmabi.Word), common.MaxHash[:]...),
		"a byte too many":             append(withdrawalsOf(1, 2, 3), 0),
	} {
		if got, err := decodeWithdrawals(data, 0); err == nil {
			t.Errorf("%s: decoded as %v", name, got)
		}
	}
}
