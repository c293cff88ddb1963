package staking

import (
	"bytes"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/demo/fake/services"
)

func TestProbeReturnsTheLatestWithdrawalOfAWallet(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		chain[poolAt(3).Address] = pool(wordOf(0), entriesAt(0,
			entry{tokens: 1000, offset: 500},
			entry{tokens: 500, offset: 1_234_567},
		))
		chain[poolAt(4).Address] = pool(wordOf(0), entriesAt(0,
			entry{tokens: 0, offset: 2_000_000},
			entry{tokens: 9, offset: 700},
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
			"STAKING_PENDING_METHOD is not answered by ": poolWithout(testPending),
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
	n, c := stakersWithoutMulticall(t)
	n.respond = func(w http.ResponseWriter, correct []byte) {
		if bytes.Contains(correct, []byte(`"0x60806040"`)) { // a contract's code
			w.WriteHeader(http.StatusBadGateway)
		}
		w.Write(correct)
	}
	_, err := c.Probe(t.Context(), "")
	wantReason(t, err, core.Unreachable)
}
