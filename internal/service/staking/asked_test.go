package staking

import (
	"errors"
	"net/http"
	"testing"

	"herald/internal/core"
	"herald/internal/demo/fake/transporttest"
)

// TestAFailureNamesTheRefusedMethod checks what `bot check` prints of a request: methods, and no part of the URL.
func TestAFailureNamesTheRefusedMethod(t *testing.T) {
	refuse := func(n *node) {
		n.respond = func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusUnauthorized) }
	}
	reverting, pools := deploy(pool(nil, nil))
	for name, test := range map[string]struct {
		config func(*Settings)
		change func(*node)
		want   string
	}{
		"Multicall3 is refused": {
			config: func(*Settings) {},
			change: refuse,
			want:   "eth_call",
		},
		"the newest block is refused": {
			config: withoutMulticall,
			change: refuse,
			want:   "eth_getBlockByNumber",
		},
		"pools revert in Multicall3": {
			config: func(*Settings) {},
			change: func(*node) {},
			want:   "eth_call",
		},
		"pools revert in a batch": {
			config: withoutMulticall,
			change: func(*node) {},
			want:   "eth_call",
		},
	} {
		n := newNode(t, reverting)
		test.change(n)
		_, err := newClient(t, n, pools, test.config).Stakes.Fetch(t.Context(), ann)
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
