package staking

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"herald/internal/core"
	"herald/internal/demo/fake/transporttest"
	"herald/internal/query"
)

// `bot check` prints the method of a request that failed, but no part of the URL.
func TestAFailureNamesTheRefusedMethod(t *testing.T) {
	refuse := func(n *node) {
		n.respond = func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusUnauthorized) }
	}
	reverting, pools := deploy(pool(nil, nil))
	for name, test := range map[string]struct {
		changeSettings func(*Settings)
		changeNode     func(*node)
		want           string
	}{
		"Multicall3 is refused": {
			changeSettings: func(*Settings) {},
			changeNode:     refuse,
			want:           "eth_call",
		},
		"the newest block is refused": {
			changeSettings: withoutMulticall,
			changeNode:     refuse,
			want:           "eth_getBlockByNumber",
		},
		"the only pool reverts in Multicall3": {
			changeSettings: func(*Settings) {},
			changeNode:     func(*node) {},
			want:           "eth_call",
		},
		"the only pool reverts in a batch": {
			changeSettings: withoutMulticall,
			changeNode:     func(*node) {},
			want:           "eth_call",
		},
	} {
		n := newNode(t, reverting)
		test.changeNode(n)
		_, err := newClient(t, n, pools, test.changeSettings).Stakes.Fetch(t.Context(), ann)
		if failed, ok := errors.AsType[*core.Error](err); !ok || failed.Asked != test.want {
			t.Errorf("%s: %v asked %q, want %q", name, err, failed.Asked, test.want)
		}
	}
}

func TestAFailureNamesTheMethodsOfARefusedBatch(t *testing.T) {
	n := newNode(t, contracts{})
	n.respond = func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusUnauthorized) }
	calls := []rpcCall{
		{method: "eth_chainId"},
		{method: "eth_call"},
		{method: "eth_call"},
	}
	err := newClient(t, n, nil).sendAll(t.Context(), calls)
	if got := during("read", err).Asked; got != "a batch of eth_chainId, eth_call" {
		t.Errorf("asked %q", got)
	}
}

func TestAFailureNamesNoMethodThatWasNotSent(t *testing.T) {
	n := newNode(t, contracts{})
	n.url = transporttest.RefusedURL
	_, pools := deploy(pool(nil, nil))
	_, err := newClient(t, n, pools).Stakes.Fetch(t.Context(), ann)
	if failed := wantReason(t, err, core.Unreachable); failed.Asked != "" {
		t.Errorf("asked %q", failed.Asked)
	}
}

func TestAFailureNamesNoMethodThatWaitedForAPlace(t *testing.T) {
	n := newNode(t, contracts{})
	c := newClient(t, n, nil)
	for range query.MaxCalls {
		c.rpc.inFlight <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for form, err := range map[string]error{
		"one call": c.rpc.call(ctx, new(string), "eth_chainId"),
		"a batch":  c.rpc.callBatch(ctx, []rpcCall{{method: "eth_chainId"}}),
	} {
		if got := during("read", err).Asked; got != "" {
			t.Errorf("%s: asked %q", form, got)
		}
	}
}
