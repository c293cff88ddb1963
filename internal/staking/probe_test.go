package staking

import (
	"errors"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"herald/internal/config"
	"herald/internal/core"
)

func TestProbeNamesWhatIsNotAsConfigured(t *testing.T) {
	inEveryWay(t, func(t *testing.T, chain contracts, n *node, c *Client) {
		multicall := MulticallOff
		if c.multicall != nil {
			multicall = MulticallWorks
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
			if chain[one.Address] = odd; odd == nil {
				delete(chain, one.Address)
			}
			found, err = c.Probe(t.Context())
			if err == nil || err.Error() != want+one.Address.Hex() || slices.Contains(found.Missing, one) != (odd == nil) {
				t.Errorf("got %+v, %v, want %s", found, err, want)
			}
			chain[one.Address] = sound
		}
		n.set(func() { n.time = secondsAgo(3600) })
		found, err = c.Probe(t.Context())
		wantReason(t, err, core.Behind)
		if age := time.Since(found.BlockTime); age < time.Hour || !strings.Contains(err.Error(), "newest block 1000, 1h0m") {
			t.Errorf("a frozen node: got %+v, %v", found, err)
		}
		n.set(func() { n.chainID = 1 })
		found, err = c.Probe(t.Context())
		wantReason(t, err, core.Malformed)
		if found.ChainID.Cmp(big.NewInt(1)) != 0 || found.Block != nil {
			t.Errorf("of another chain: got %+v", found)
		}
	})
}

func TestProbeTellsThatMulticallIsNone(t *testing.T) {
	one := aggregateResult{true, wordOf(1)}
	ones, _ := multicall3.Methods["aggregate3"].Outputs.Pack([]aggregateResult{one, one, one})
	at := func(timestamp *hexutil.Big) func(contracts) contract {
		return func(chain contracts) contract {
			return func(input []byte, at header) ([]byte, error) {
				at.Timestamp = timestamp
				return chain.multicall(input, at)
			}
		}
	}
	for name, other := range map[string]func(contracts) contract{
		"a pool":           func(contracts) contract { return emptyPools(1)[0] },
		"reverts":          func(contracts) contract { return func([]byte, header) ([]byte, error) { return nil, revert{} } },
		"nothing":          func(contracts) contract { return func([]byte, header) ([]byte, error) { return []byte{}, nil } },
		"ones":             func(contracts) contract { return func([]byte, header) ([]byte, error) { return ones, nil } },
		"of another chain": func(chain contracts) contract { return chain.multicallOf(1) },
		"of another time":  at(secondsAgo(3600)()),
		"without a time":   at(nil),
	} {
		chain, pools := stakers()
		chain[multicallAddr] = other(chain)
		found, err := newClient(t, newNode(t, chain), pools, anyAge).Probe(t.Context())
		wrong, ok := errors.AsType[*config.WrongError](err)
		if !ok || !strings.Contains(wrong.Problem, multicallAddr.Hex()) || !strings.HasPrefix(wrong.Settings, "MULTICALL_ADDRESS") {
			t.Errorf("%s: got %v", name, err)
		}
		if found.Deployed != 21 || found.Multicall != MulticallUnasked {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// A Multicall3 need not be where most chains have it, and a node may allow a call
// too little gas for all pools.
func TestProbeTakesAMulticallThatIsMissingByDefaultOrMayNotDoSoMuch(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	chain[multicallAddr] = func(input []byte, at header) ([]byte, error) {
		if len(input) > 5000 {
			return nil, revert{"out of gas"}
		}
		return chain.multicall(input, at)
	}
	if found, err := newClient(t, n, pools).Probe(t.Context()); err != nil || found.Multicall != MulticallWorks {
		t.Errorf("with little gas: %+v, %v", found, err)
	}
	delete(chain, multicallAddr)
	if found, err := newClient(t, n, pools).Probe(t.Context()); err != nil || found.Deployed != 21 || found.Multicall != MulticallMissing {
		t.Errorf("at the default address: %+v, %v", found, err)
	}
	elsewhere := common.HexToAddress("0x0000000000000000000000000000000000000abc")
	_, err := newClient(t, n, pools, func(s *Settings) { s.Multicall = &elsewhere }).Probe(t.Context())
	wrong, ok := errors.AsType[*config.WrongError](err)
	if !ok || wrong.Problem != "no contract at "+elsewhere.Hex() || !strings.HasPrefix(wrong.Settings, "MULTICALL_ADDRESS") {
		t.Errorf("at another address: %v", err)
	}
}

func TestProbeFailsIfAnAddressCannotBeLookedAt(t *testing.T) {
	n, c, _ := withoutMulticallOn(t)
	n.around = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "eth_getCode") {
			http.Error(w, "spoiled", http.StatusBadGateway)
			return
		}
		writeRaw(w, record(r, body, next))
	}
	_, err := c.Probe(t.Context())
	wantReason(t, err, core.Unreachable)
}
