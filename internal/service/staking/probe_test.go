package staking

import (
	"bytes"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/core"
)

func TestProbeNamesWhatIsNotAsConfigured(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		way := "Multicall3 is off or does not work, so they are read by JSON-RPC batch"
		if c.settings.Multicall != nil {
			way = "Multicall3 reads them in one call"
		}
		found, err := c.Probe(t.Context())
		if err != nil || found.ChainID.Int64() != testChain || found.Block != 1000 || time.Since(found.BlockTime) > time.Minute ||
			found.Deployed != 21 || found.Missing != 0 || found.Way != way {
			t.Errorf("got %+v, %v", found, err)
		}
		for want, odd := range map[string]contract{
			"STAKING_METHOD is not answered by ":         pool(nil, withdrawalsOf()),
			"STAKING_PENDING_METHOD is not answered by ": pool(wordOf(0), nil),
			"no contract at ":                            nil,
		} {
			one := c.settings.Pools[3]
			sound := chain[one.Address]
			chain[one.Address] = odd
			found, err = c.Probe(t.Context())
			if err == nil || err.Error() != want+one.Address.Hex() || (found.Missing == 1) != (odd == nil) {
				t.Errorf("got %+v, %v, want %s", found, err, want)
			}
			chain[one.Address] = sound
		}
		n.time = secondsAgo(3600)
		found, err = c.Probe(t.Context())
		wantReason(t, err, core.Behind)
		if age := time.Since(found.BlockTime); age < time.Hour || !strings.Contains(err.Error(), "newest block 1000, 1h0m") {
			t.Errorf("a frozen node: got %+v, %v", found, err)
		}
		n.chainID = 1
		found, err = c.Probe(t.Context())
		wantReason(t, err, core.Denied)
		if found.ChainID.Cmp(big.NewInt(1)) != 0 {
			t.Errorf("of another chain: got %+v", found)
		}
	})
}

func TestProbeFailsIfAnAddressCannotBeLookedAt(t *testing.T) {
	n, c := withoutMulticallOn(t)
	n.spoil = func(w http.ResponseWriter, right []byte) {
		if bytes.Contains(right, []byte(`"0xfe"`)) { // a contract's code
			w.WriteHeader(http.StatusBadGateway)
		}
		w.Write(right)
	}
	_, err := c.Probe(t.Context())
	wantReason(t, err, core.Unreachable)
}
