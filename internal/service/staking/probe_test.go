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
		multicall := multicallOff
		if c.multicall != nil {
			multicall = multicallWorks
		}
		found, err := c.Probe(t.Context())
		if err != nil || found.ChainID.Int64() != testChain || found.Block.Int64() != 1000 || time.Since(found.BlockTime) > time.Minute ||
			found.Deployed != 21 || found.Missing != nil || found.Multicall != multicall {
			t.Errorf("got %+v, %v", found, err)
		}
		for want, odd := range map[string]contract{
			"STAKING_METHOD is not answered by ":         pool(nil, withdrawalsOf()),
			"STAKING_PENDING_METHOD is not answered by ": pool(wordOf(0), nil),
			"no contract at ":                            nil,
		} {
			one := c.pools[3]
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
		wantReason(t, err, core.Malformed)
		if found.ChainID.Cmp(big.NewInt(1)) != 0 || found.Block != nil {
			t.Errorf("of another chain: got %+v", found)
		}
	})
}

func TestProbeTellsThatMulticallIsNone(t *testing.T) {
	ones := evmabi.EncodeResults(slices.Repeat([]evmabi.Result{{Success: true, Data: wordOf(1)}}, 3))
	chain, pools := stakers()
	for name, other := range map[string]contract{
		"reverts": pool(nil, nil),
		"ones":    pool(ones, nil),
		"of another chain": func(input []byte, at header) ([]byte, error) {
			at.chainID = 1
			return chain.multicall(input, at)
		},
		"of another time": func(input []byte, at header) ([]byte, error) {
			at.Timestamp = secondsAgo(3600)()
			return chain.multicall(input, at)
		},
	} {
		chain[multicallAddr] = other
		found, err := newClient(t, newNode(t, chain), pools).Probe(t.Context())
		wrong, ok := errors.AsType[*config.WrongError](err)
		if !ok || !strings.Contains(wrong.Problem, multicallAddr.Hex()) || !strings.HasPrefix(wrong.Settings, "MULTICALL_ADDRESS") {
			t.Errorf("%s: got %v", name, err)
		}
		if found.Deployed != 21 || found.Multicall != "" {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// A Multicall3 need not be where most chains have it, and a node may allow a call
// too little gas for all pools.
func TestProbeTakesAMulticallThatIsMissingByDefaultOrMayNotDoSoMuch(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	few := func(input []byte, at header) ([]byte, error) {
		if len(input) > 5000 {
			return nil, revert{"out of gas"}
		}
		return chain.multicall(input, at)
	}
	for want, multicall := range map[string]contract{multicallWorks: few, multicallMissing: nil} {
		chain[multicallAddr] = multicall
		if found, err := newClient(t, n, pools).Probe(t.Context()); err != nil || found.Deployed != 21 || found.Multicall != want {
			t.Errorf("want %s: %+v, %v", want, found, err)
		}
	}
	elsewhere := common.HexToAddress("0x0000000000000000000000000000000000000abc")
	_, err := newClient(t, n, pools, func(s *Settings) { s.Multicall = &elsewhere }).Probe(t.Context())
	wrong, ok := errors.AsType[*config.WrongError](err)
	if !ok || wrong.Problem != "no contract at "+elsewhere.Hex() || !strings.HasPrefix(wrong.Settings, "MULTICALL_ADDRESS") {
		t.Errorf("at another address: %v", err)
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
