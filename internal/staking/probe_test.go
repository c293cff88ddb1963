package staking

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

func TestProbeNamesWhatIsNotDeployed(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	n.rpc.SetBatchLimits(1, 1<<20)
	c := newClient(t, n, pools)
	for name, c := range map[string]*Client{"through Multicall3": c, "without": newClient(t, n, pools, withoutMulticall)} {
		detail, err := c.Probe(t.Context())
		if err != nil || !strings.HasPrefix(detail, "newest block 1000, ") || !strings.HasSuffix(detail, "s old; 21 pools with code") {
			t.Errorf("%s: got %q, %v", name, detail, err)
		}
	}
	delete(chain, pools[3].Address)
	detail, err := c.Probe(t.Context())
	if err == nil || err.Error() != "no contract at "+pools[3].Address.Hex() || !strings.Contains(detail, "20 pools with code") {
		t.Errorf("a pool not deployed: got %q, %v", detail, err)
	}
	n.set(func() { n.chainID = 1 })
	_, err = c.Probe(t.Context())
	wantReason(t, err, core.Malformed)
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
			detail, err := newClient(t, n, pools, anyAge).Probe(t.Context())
			wrong, ok := errors.AsType[*core.SettingError](err)
			if !ok || !strings.Contains(wrong.Problem, multicallAddr.Hex()) || !strings.HasPrefix(wrong.Settings, "MULTICALL_ADDRESS") {
				t.Errorf("got %v", err)
			}
			if !strings.Contains(detail, "21 pools with code") {
				t.Errorf("the detail is %q", detail)
			}
			if _, err := newClient(t, n, pools, anyAge, withoutMulticall).Probe(t.Context()); err != nil {
				t.Errorf("with MULTICALL_ADDRESS=off: %v", err)
			}
		})
	}
}

func TestProbeFailsOnAMulticallWithoutCodeUnlessItIsTheDefault(t *testing.T) {
	chain, pools := stakers()
	delete(chain, multicallAddr)
	n := newNode(t, chain)
	detail, err := newClient(t, n, pools).Probe(t.Context())
	if err != nil || !strings.HasSuffix(detail, "21 pools with code; this chain has no Multicall3, so they are read by JSON-RPC batch") {
		t.Errorf("at the default address: %q, %v", detail, err)
	}
	elsewhere := common.HexToAddress("0x0000000000000000000000000000000000000abc")
	_, err = newClient(t, n, pools, func(s *Settings) { s.Multicall = &elsewhere }).Probe(t.Context())
	wrong, ok := errors.AsType[*core.SettingError](err)
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
	if _, err := newClient(t, newNode(t, chain), pools).Probe(t.Context()); err != nil {
		t.Error(err)
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
			detail, err := newClient(t, n, pools, way.config, anyAge).Probe(t.Context())
			if err != nil || !strings.Contains(detail, "newest block 1000, 1h0m") {
				t.Errorf("of any age: %q, %v", detail, err)
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
