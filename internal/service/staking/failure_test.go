package staking

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/secret"
	"herald/internal/service/rest/resttest"
)

func TestEveryFaultBecomesATypedErrorWithoutSecrets(t *testing.T) {
	_, pools := stakers()
	resttest.Check(t, func(ctx context.Context, baseURL string, timeout time.Duration) error {
		s := Settings{RPCURL: secret.New(baseURL + secretPath + secretArgs), Pools: pools, Method: testMethod, Multicall: &multicallAddr}
		c, err := New(s, core.NewCache(core.CacheConfig{CallTimeout: timeout}), func(core.Pool) {})
		if err != nil {
			return Service.Fail(core.Unreachable, err) // no URL
		}
		if text := fmt.Sprintf("%+v %#v", c, c); strings.Contains(text, "k3y") {
			t.Errorf("the client prints its key: %s", text)
		}
		_, err = c.Stakes.Fetch(ctx, ann)
		return err
	}, "k3y", "/v3", "token=", ann.Hex()[2:])
}

// spoilers are answers to any request that are no answers.
var spoilers = map[string]core.Reason{
	"":                                       core.Malformed,
	"null":                                   core.Malformed,
	"[]":                                     core.Malformed,
	`{"jsonrpc":"2.0","id":1,"result":"0x1`:  core.Malformed,
	`{"jsonrpc":"2.0","id":1,"result":null}`: core.Malformed, // of a block, where there is no Multicall3
	`{"jsonrpc":"2.0","id":77777,"result":"0x1092"}`:                          core.Malformed,
	`{"jsonrpc":"2.0","id":1,"error":"spoiled"}`:                              core.Malformed,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"spoiled"}}`: core.Rejected,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"spoiled"}}`: core.Limited,
	`{"jsonrpc":"2.0","id":null,"error":{"code":429,"message":"spoiled"}}`:    core.Limited,
}

func TestNonsenseIsNeverAnAnswer(t *testing.T) {
	for body, want := range spoilers {
		inEveryWay(t, func(t *testing.T, _ contracts, n *node, c *Client) {
			n.spoil = func(w http.ResponseWriter, _ []byte) { io.WriteString(w, body) }
			_, err := c.Stakes.Fetch(t.Context(), ann)
			wantReason(t, err, want)
			if n.trips > 2 {
				t.Errorf("%s: asked %d times", body, n.trips)
			}
		})
	}
}
