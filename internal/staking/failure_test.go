package staking

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/transport"
)

// spoilers answer every request with nonsense.
var spoilers = []struct {
	name string
	want core.Reason
	with http.HandlerFunc
}{
	{"HTML with status 200", core.Malformed, text(200, "<html>spoiled</html>")},
	{"no body", core.Malformed, text(200, "")},
	{"truncated JSON", core.Malformed, text(200, `{"jsonrpc":"2.0","id":1,"result":"0x1`)},
	{"null", core.Malformed, text(200, "null")},
	{"an empty list", core.Malformed, text(200, "[]")},
	{"text", core.Malformed, text(200, `"spoiled"`)},
	{"a foreign id", core.Malformed, text(200, `{"jsonrpc":"2.0","id":77777,"result":"0x1092"}`)},
	{"an error that is text", core.Malformed, text(200, `{"jsonrpc":"2.0","id":1,"error":"spoiled"}`)},
	{"an error without an id", core.Rejected, text(200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"spoiled"}}`)},
	{"a limit told with status 200", core.Limited, text(200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"spoiled"}}`)},
	{"a limit by its HTTP code", core.Limited, text(200, `{"jsonrpc":"2.0","id":null,"error":{"code":429,"message":"spoiled"}}`)},
	{"429", core.Limited, text(429, "spoiled")},
	{"401", core.Denied, text(401, "spoiled")},
	{"403", core.Denied, text(403, "spoiled")},
	{"402", core.Limited, text(402, "spoiled")},
	{"404", core.Rejected, text(404, "spoiled")},
	{"500", core.Unreachable, text(500, "spoiled")},
	{"503", core.Unreachable, text(503, "spoiled")},
	{"a redirect", core.Malformed, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/spoiled", http.StatusTemporaryRedirect)
	}},
	{"a broken connection", core.Unreachable, func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}},
	{"a broken body", core.Unreachable, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"spoiled`)
	}},
	{"1 GB", core.Malformed, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.CopyN(w, blanks{}, 1<<30)
	}},
	{"a gzip bomb", core.Malformed, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.CopyN(z, blanks{}, 4<<20)
		_ = z.Close()
	}},
}

type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestNonsenseIsNeverAnAnswer(t *testing.T) {
	for _, spoiler := range spoilers {
		for _, way := range ways {
			for _, known := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s by %s, chain known %t", spoiler.name, way.name, known), func(t *testing.T) {
					chain, pools := stakers()
					n := newNode(t, chain)
					way.node(n)
					c := newClient(t, n, pools, way.config)
					if known {
						wantStaker(t, c)
					}
					n.set(func() {
						n.around = func(w http.ResponseWriter, r *http.Request, _ http.Handler) { spoiler.with(w, r) }
					})
					trips := n.tripsOf(func() {
						_, err := c.Stakes.Ask(t.Context(), ann)
						wantReason(t, err, spoiler.want)
					})
					// A broken connection is dialled anew by net/http.
					if trips > 3 {
						t.Errorf("asked %d times", trips)
					}
				})
			}
		}
	}
}

// A node whose batches alone are nonsense.
func TestNonsenseForBatchesIsNeverAnAnswer(t *testing.T) {
	for _, spoiler := range spoilers {
		if spoiler.want == core.Rejected || spoiler.name == "an empty list" {
			continue // these are answered one by one
		}
		t.Run(spoiler.name, func(t *testing.T) {
			chain, pools := stakers()
			n := newNode(t, chain)
			n.around = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				body, _ := io.ReadAll(r.Body)
				if strings.HasPrefix(string(body), "[") {
					spoiler.with(w, r)
					return
				}
				writeRaw(w, record(r, body, next))
			}
			stake, err := newClient(t, n, pools, withoutMulticall).Stakes.Ask(t.Context(), ann)
			if err == nil {
				wantAmounts(t, "staked", stake.Staked, "pool 20: 3")
				return
			}
			wantReason(t, err, spoiler.want)
		})
	}
}

func TestANumberThatIsNullIsNoAnswer(t *testing.T) {
	for _, method := range []string{"eth_chainId", "eth_getBlockByNumber"} {
		chain, pools := stakers()
		n := newNode(t, chain)
		n.rpc.SetBatchLimits(1, 1<<20)
		n.around = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			body, _ := io.ReadAll(r.Body)
			var call map[string]any
			if json.Unmarshal(body, &call) == nil && call["method"] == method {
				writeJSON(w, map[string]any{"jsonrpc": "2.0", "id": call["id"], "result": nil})
				return
			}
			writeRaw(w, record(r, body, next))
		}
		_, err := newClient(t, n, pools, withoutMulticall).Stakes.Ask(t.Context(), ann)
		wantReason(t, err, core.Malformed)
	}
}

func TestRetryAfterIsHandedOn(t *testing.T) {
	for header, want := range map[string]time.Duration{"17": 17 * time.Second, "spoiled": 0, "": 0} {
		chain, pools := stakers()
		n := newNode(t, chain)
		n.around = func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, err := newClient(t, n, pools).Stakes.Ask(t.Context(), ann)
		if got := wantReason(t, err, core.Limited).RetryAfter; got != want {
			t.Errorf("%q: got %v, want %v", header, got, want)
		}
	}
}

// hang answers nothing until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestASlowNodeIsGivenUp(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			chain, pools := stakers()
			n := newNode(t, chain)
			way.node(n)
			n.around = hang
			c := newImpatient(t, n, pools, time.Second, way.config)
			_, err := c.Stakes.Ask(t.Context(), ann)
			wantReason(t, err, core.SlowAnswer)
		})
	}
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	arrived := make(chan struct{})
	n.around = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		close(arrived)
		hang(w, r, next)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := newClient(t, n, pools).Stakes.Ask(ctx, ann)
	wantReason(t, err, core.SlowAnswer)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it to be context.Canceled", err)
	}
}

func TestNobodyListeningIsUnreachable(t *testing.T) {
	chain, pools := stakers()
	n := newNode(t, chain)
	c := newClient(t, n, pools, func(s *Settings) { s.RPCURL = config.NewSecret("http://127.0.0.1:1" + secretPath + secretArgs) })
	_, err := c.Stakes.Ask(t.Context(), ann)
	wantReason(t, err, core.Unreachable)
	var broken *transport.Error
	if !errors.As(err, &broken) || broken.Host != "127.0.0.1:1" {
		t.Errorf("the error names no host: %v", err)
	}
}
