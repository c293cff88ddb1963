//go:build speed

package e2e

import (
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// One process is restarted or, by webhook, one of two leaves. The test prints the time without an
// answer, which is that of a few calls to the platform: each takes 0.1 s, as over a network.
func TestARestartIsShort(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		if way.OnDiscord && way.ByHTTP {
			continue // as by webhook
		}
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			fakes, platform, redis, b := fault.Start(t), way.Open(t), miniredis.RunT(t), newBalancer()
			at := slices.IndexFunc(platform.Settings(), func(s string) bool { return strings.Contains(s, "_API_URL=") })
			setting, api, _ := strings.Cut(platform.Settings()[at], "=")
			far := httptest.NewServer(&httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL.Scheme, r.Out.URL.Host = "http", strings.TrimPrefix(api, "http://")
				<-time.After(100 * time.Millisecond)
			}})
			t.Cleanup(far.Close)
			through := b.listen(t)
			start := func() *e2etest.Process {
				p := platform.Start(binary(t), fakes, append(e2etest.OnRedis(redis), setting+"="+far.URL)...)
				b.add(p)
				platform.Through(through)
				return p
			}
			leaving := start()
			if way.ByHTTP {
				start()
			}
			told := time.Now()
			leaving.Tell(syscall.SIGTERM)
			if !way.ByHTTP {
				leaving.Leaves()
				start()
			}
			platform.Ask(e2etest.Command{User: 1, Name: "price"}).Wait()
			silence := time.Since(told)
			t.Logf("without an answer for %.1f s", silence.Seconds())
			if silence > 5*time.Second {
				t.Error("that is more than a busy machine explains")
			}
		})
	}
}
