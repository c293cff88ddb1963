package staking

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/config"
	"herald/internal/core"
)

func isChain(f Found, id uint64) bool { return f.ChainID != nil && f.ChainID.Uint64() == id }

func isBlock(f Found, number uint64) bool { return f.Block != nil && f.Block.Uint64() == number }

func TestProbeNamesWhatIsNotDeployed(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	n.rpc.SetBatchLimits(1, 1<<20)
	c := newClient(t, n, pools)
	for name, c := range map[string]*Client{"through Multicall3": c, "without": newClient(t, n, pools, withoutMulticall)} {
		found, err := c.Probe(t.Context())
		if err != nil || !isChain(found, testChain) || !isBlock(found, 1000) || time.Since(found.BlockTime) > time.Minute || found.Deployed != 21 || found.Missing != nil {
			t.Errorf("%s: got %+v, %v", name, found, err)
		}
	}
	delete(chain, pools[3].Address)
	found, err := c.Probe(t.Context())
	if err == nil || err.Error() != "no contract at "+pools[3].Address.Hex() || found.Deployed != 20 || !slices.Equal(found.Missing, pools[3:4]) {
		t.Errorf("a pool not deployed: got %+v, %v", found, err)
	}
	n.set(func() { n.chainID = 1 })
	found, err = c.Probe(t.Context())
	wantReason(t, err, core.Malformed)
	if !isChain(found, 1) || found.Block != nil {
		t.Errorf("of another chain: got %+v", found)
	}
}

func TestProbeTellsThatMulticallIsNone(t *testing.T) {
	answers := func(output []byte) contract {
		return func([]byte, header) ([]byte, error) { return output, nil }
	}
	for name, other := range map[string]func(contracts) contract{
		"a pool":   func(contracts) contract { return emptyPools(1)[0] },
		"reverts":  func(contracts) contract { return func([]byte, header) ([]byte, error) { return nil, revert{} } },
		"nothing":  func(contracts) contract { return answers([]byte{}) },
		"one":      func(contracts) contract { return answers(wordOf(1)) },
		"no calls": func(contracts) contract { return answers(append(wordOf(word), wordOf(0)...)) },
		"any": func(contracts) contract {
			output, _ := multicall3.Methods["aggregate3"].Outputs.Pack(make([]aggregateResult, len(aboutBlock)))
			return answers(output)
		},
		"ones": func(contracts) contract {
			one := aggregateResult{true, wordOf(1)}
			output, _ := multicall3.Methods["aggregate3"].Outputs.Pack([]aggregateResult{one, one, one})
			return answers(output)
		},
		"of another chain": func(chain contracts) contract { return chain.multicallOf(1) },
		"of another time": func(chain contracts) contract {
			return func(input []byte, at header) ([]byte, error) {
				at.Timestamp = secondsAgo(3600)()
				return chain.multicall(input, at)
			}
		},
		"without a time": func(chain contracts) contract {
			return func(input []byte, at header) ([]byte, error) {
				at.Timestamp = nil
				return chain.multicall(input, at)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			chain, pools := stakers()
			chain[multicallAddr] = other(chain)
			n := newNode(t, chain)
			found, err := newClient(t, n, pools, anyAge).Probe(t.Context())
			wrong, ok := errors.AsType[*config.WrongError](err)
			if !ok || !strings.Contains(wrong.Problem, multicallAddr.Hex()) || !strings.HasPrefix(wrong.Settings, "MULTICALL_ADDRESS") {
				t.Errorf("got %v", err)
			}
			if found.Deployed != 21 || found.Multicall != MulticallUnasked {
				t.Errorf("found %+v", found)
			}
			if found, err := newClient(t, n, pools, anyAge, withoutMulticall).Probe(t.Context()); err != nil || found.Multicall != MulticallOff {
				t.Errorf("with MULTICALL_ADDRESS=off: %+v, %v", found, err)
			}
		})
	}
}

func TestProbeFailsOnAMulticallWithoutCodeUnlessItIsTheDefault(t *testing.T) {
	chain, pools := stakers()
	delete(chain, multicallAddr)
	n := newNode(t, chain)
	found, err := newClient(t, n, pools).Probe(t.Context())
	if err != nil || found.Deployed != 21 || found.Multicall != MulticallMissing {
		t.Errorf("at the default address: %+v, %v", found, err)
	}
	elsewhere := common.HexToAddress("0x0000000000000000000000000000000000000abc")
	_, err = newClient(t, n, pools, func(s *Settings) { s.Multicall = &elsewhere }).Probe(t.Context())
	wrong, ok := errors.AsType[*config.WrongError](err)
	if !ok || wrong.Problem != "no contract at "+elsewhere.Hex() || !strings.HasPrefix(wrong.Settings, "MULTICALL_ADDRESS") {
		t.Errorf("at another address: %v", err)
	}
}

// A node that allows a call too little gas for all pools has a Multicall3.
func TestProbeTakesAMulticallThatMayNotDoSoMuch(t *testing.T) {
	chain, pools := stakers()
	chain[multicallAddr] = func(input []byte, at header) ([]byte, error) {
		if len(input) > 5000 {
			return nil, revert{"out of gas"}
		}
		return chain.multicall(input, at)
	}
	if found, err := newClient(t, newNode(t, chain), pools).Probe(t.Context()); err != nil || found.Multicall != MulticallWorks {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestProbeFailsOnAFrozenNode(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			way.node(n)
			n.time = secondsAgo(3600)
			_, err := newClient(t, n, pools, way.config).Probe(t.Context())
			wantReason(t, err, core.Behind)
			if !strings.Contains(err.Error(), "newest block 1000, 1h0m") {
				t.Errorf("operators read %q", err)
			}
			found, err := newClient(t, n, pools, way.config, anyAge).Probe(t.Context())
			if age := time.Since(found.BlockTime); err != nil || !isBlock(found, 1000) || age < time.Hour || age > 61*time.Minute {
				t.Errorf("of any age: %+v, %v", found, err)
			}
		})
	}
}

func TestProbeNamesThePoolsThatDoNotAnswerTheMethods(t *testing.T) {
	for want, odd := range map[string]contract{
		"STAKING_METHOD is not answered by ":         pool(nil, withdrawalsOf()),
		"STAKING_PENDING_METHOD is not answered by ": pool(wordOf(0), nil),
	} {
		chain, pools := deploy(append(emptyPools(2), odd)...)
		_, err := newClient(t, newNode(t, chain), pools).Probe(t.Context())
		if err == nil || err.Error() != want+pools[2].Address.Hex() {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestProbeFailsIfAnAddressCannotBeLookedAt(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	n.around = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		n.mu.Lock()
		late := n.trips > 5
		n.mu.Unlock()
		if late {
			http.Error(w, "spoiled", http.StatusBadGateway)
			return
		}
		next.ServeHTTP(w, r)
	}
	_, err := newClient(t, n, pools).Probe(t.Context())
	wantReason(t, err, core.Unreachable)
}
