package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"herald/internal/e2e/e2etest"
)

const (
	// callTime is what a call to Redis may take: more than by default, for a busy
	// machine.
	callTime = 500 * time.Millisecond
	// mayCost is what a Redis that is slow or away may cost the median of commands.
	// A dozen calls each would cost twice that.
	mayCost = 3 * time.Second
)

// Two replicas share a Redis that is silent, or refuses. Every command is
// answered, about as soon as with a healthy one; and once that is back, the
// replicas count together again.
func TestASlowOrMissingRedisCostsACommandLittle(t *testing.T) {
	t.Parallel()
	redis, world, door := miniredis.RunT(t), e2etest.Sandbox(t), e2etest.Ways[1].Open(t)
	var silent atomic.Bool
	redis.Server().SetPreHook(func(*server.Peer, string, ...string) bool { return silent.Load() })
	var replicas []string
	for range 2 {
		replicas = append(replicas, door.Serve(world, fmt.Sprintf("REDIS_URL=redis://%v?read_timeout=%v", redis.Addr(), callTime),
			"PRICE_TTL=100ms", "RATE_LIMIT_USER=3").URL)
	}
	user := int64(10_000)
	ask := func(n int) *e2etest.Asked {
		door.Through(replicas[n%len(replicas)])
		return door.Ask(e2etest.Command{User: user, Name: "price"})
	}
	measure := func() time.Duration {
		var asked []*e2etest.Asked
		for n := range 12 {
			user++
			asked = append(asked, ask(n))
			if got := asked[n].Wait(); !strings.Contains(got.Text, e2etest.Price) {
				t.Errorf("answered %q", got.Text)
			}
		}
		return median(asked)
	}
	shared := func() bool {
		user++
		for n := range 4 {
			a := ask(n)
			if strings.Contains(a.Wait().Text, "Too many commands") {
				return n == 3 // of 3 that are allowed; each replica is asked twice
			}
		}
		return false
	}
	e2etest.Eventually(t, "limits are shared", shared)
	healthy := measure()
	for _, trouble := range []struct {
		name       string
		begin, end func()
	}{
		{"silent", func() { silent.Store(true) }, func() { silent.Store(false) }},
		{"refuses", redis.Close, func() { _ = redis.Restart() }},
	} {
		trouble.begin()
		got := measure()
		trouble.end()
		if got > healthy+mayCost {
			t.Errorf("%s: the median is %v, and with a healthy Redis %v", trouble.name, got, healthy)
		}
		e2etest.Eventually(t, trouble.name+": limits are shared again", shared)
	}
}
