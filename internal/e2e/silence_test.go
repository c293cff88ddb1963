//go:build speed

package e2e

import (
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// One process is restarted or, by webhook, one of two replicas leaves. The test prints how long the bot gives no
// answer. It should be as long as a few calls to the platform.
func TestARestartIsShort(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		if way.OnDiscord && way.ByHTTP {
			continue // On Discord by HTTP, the bot behaves as it does by webhook.
		}
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			fakes := fault.Start(t)
			platform := way.Open(t)
			b := newBalancer()
			settings := append(e2etest.OnRedis(miniredis.RunT(t)), distantAPI(t, platform))
			balanced := b.listen(t)
			start := func() *e2etest.Process {
				p := platform.Start(binary(t), fakes, settings...)
				b.add(p)
				platform.Through(balanced)
				return p
			}
			leaving := start()
			if way.ByHTTP {
				start()
			}
			signalled := time.Now()
			leaving.Tell(syscall.SIGTERM)
			if !way.ByHTTP {
				leaving.AwaitEnd()
				start()
			}
			platform.Ask(e2etest.Command{User: 1, Name: "price"}).Wait()
			silence := time.Since(signalled)
			t.Logf("without an answer for %.1f s", silence.Seconds())
			if silence > 5*time.Second {
				t.Errorf("silent for %v: more than a busy machine explains", silence)
			}
		})
	}
}

// distantAPI returns the setting of the platform's API, with the URL of a distant server in place of the fake's.
func distantAPI(t *testing.T, platform *e2etest.Platform) string {
	t.Helper()
	for _, setting := range platform.Settings() {
		name, api, _ := strings.Cut(setting, "=")
		if strings.HasSuffix(name, "_API_URL") {
			return name + "=" + distant(t, api)
		}
	}
	t.Fatal("the platform's settings have no API URL")
	return ""
}

// distant returns the URL of a server that forwards calls to a platform's API. It delays each by 0.1 s, as a
// network does.
func distant(t *testing.T, api string) string {
	t.Helper()
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = "http"
			r.Out.URL.Host = strings.TrimPrefix(api, "http://")
			time.Sleep(100 * time.Millisecond)
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}
