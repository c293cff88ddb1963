package replicas

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/telegram/telegramtest"
)

// mostCalls is how many calls to Redis a command may make, one after the other:
// internal/state bounds each of them by it.
const mostCalls = 14

// A group of Telegram, where nothing is cached and messages are paced, takes the
// most calls.
func TestACommandAsksRedisNoMoreOftenThanItsTimeAllows(t *testing.T) {
	redis := startRedis(t)
	wire := newWire(t, redis.addr)
	fake, world := telegramtest.New(t), e2etest.Sandbox(t)
	bot := e2etest.ServeReady(t, world, slices.Concat(e2etest.Webhook(fake), e2etest.TTLs(time.Millisecond), []string{
		redis.url(wire.addr, patience), "TELEGRAM_PACING=on", "RATE_LIMIT_USER=20", "RATE_LIMIT_CHAT=120",
	})...)
	ask := func(person int64, command string) {
		t.Helper()
		update := fake.Update(telegramtest.Text(telegramtest.Group(-person), telegramtest.Person(person), command))
		status, err := fake.Deliver(t.Context(), bot.URL+e2etest.WebhookPath, update)
		if err != nil || status != http.StatusOK {
			t.Fatalf("delivery: %d, %v", status, err)
		}
	}
	ask(1, "/supply") // connects and loads the scripts
	for i, command := range []string{"/supply", "/price", "/price 24h", "/staked " + wallet(1), "/exists", "/verify " + wallet(2), "/mylogins", "/help"} {
		before := wire.carried()
		ask(int64(10+i), command)
		// The last one says that the update is answered, and nobody waits for it.
		calls := wire.carried() - before - 1
		t.Logf("%s: %d calls", command, calls)
		if calls > mostCalls || calls < 4 {
			t.Errorf("%s makes %d calls", command, calls)
		}
	}
}
