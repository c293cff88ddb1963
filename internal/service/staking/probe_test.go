package staking

import (
	"bytes"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/service/staking/evmabi"
)

func TestProbeNamesWhatIsNotAsConfigured(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		way := "Multicall3 is off, so they are read by JSON-RPC batch"
		if c.settings.Multicall != nil {
			way = "Multicall3 reads them in one call"
		}
		found, err := c.Probe(t.Context())
		if err != nil || found.ChainID.Int64() != testChain || found.Block != 1000 || time.Since(found.BlockTime) > time.Minute ||
			found.Deployed != 21 || found.Missing != nil || found.Way != way {
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
			if err == nil || err.Error() != want+one.Address.Hex() || slices.Contains(found.Missing, one) != (odd == nil) {
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
		if found.ChainID.Cmp(big.NewInt(1)) != 0 || found.Block != 0 {
			t.Errorf("of another chain: got %+v", found)
		}
	})
}

// Multicall3 need not be where most chains have it; at an address that somebody
// chose it must work.
func TestProbeSaysWhetherMulticallWorks(t *testing.T) {
	ones := evmabi.EncodeResults(slices.Repeat([]evmabi.Result{{Success: true, Data: wordOf(1)}}, 3))
	elsewhere := common.HexToAddress("0x0000000000000000000000000000000000000abc")
	for name, other := range map[string]contract{"none": nil, "reverts": pool(nil, nil), "ones": pool(ones, nil)} {
		chain, pools := stakers()
		chain[multicallAddr], chain[elsewhere] = other, other
		found, err := newClient(t, newNode(t, chain), pools).Probe(t.Context())
		if err != nil || found.Way != "Multicall3 does not work here, so they are read by JSON-RPC batch" {
			t.Errorf("%s, by default: %+v, %v", name, found, err)
		}
		_, err = newClient(t, newNode(t, chain), pools, func(s *Settings) { s.Multicall = &elsewhere }).Probe(t.Context())
		wrong, ok := errors.AsType[*config.WrongError](err)
		if !ok || wrong.Problem != "no Multicall3 works at "+elsewhere.Hex() || !strings.HasPrefix(wrong.Settings, "MULTICALL_ADDRESS") {
			t.Errorf("%s, chosen: %v", name, err)
		}
	}
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
