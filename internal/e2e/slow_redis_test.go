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

// Two replicas share a Redis that is silent, or refuses. Every command is
// answered, about as soon as with a healthy one; and once Redis is back, the
// replicas count together again.
func TestASlowOrMissingRedisCostsACommandLittle(t *testing.T) {
	t.Parallel()
	// A call to Redis may take longer than by default, for a busy machine. maxCost is
	// less than half of what a dozen calls would cost each command.
	const callTime, maxCost = 500 * time.Millisecond, 3 * time.Second
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
	shared := func() bool { // the fourth command of one user is refused, though each replica had two
		user++
		for n := range 3 {
			if strings.Contains(ask(n).Wait().Text, "Too many commands") {
				return false
			}
		}
		return strings.Contains(ask(3).Wait().Text, "Too many commands")
	}
	e2etest.Eventually(t, "limits are shared", shared)
	healthy := measure()
	for name, trouble := range map[string]struct{ begin, end func() }{
		"silent":  {func() { silent.Store(true) }, func() { silent.Store(false) }},
		"refuses": {redis.Close, func() { _ = redis.Restart() }},
	} {
		trouble.begin()
		got := measure()
		trouble.end()
		if got > healthy+maxCost {
			t.Errorf("%s: the median is %v, and with a healthy Redis %v", name, got, healthy)
		}
		e2etest.Eventually(t, name+": limits are shared again", shared)
	}
}
