package delivery

import (
	"strings"
	"testing"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/telegram/telegramtest"
)

// most is the largest number of messages within any span of a length.
func most(sent []telegramtest.Sent, length time.Duration) (best int) {
	for i := range sent {
		n := 0
		for _, m := range sent[i:] {
			if m.At.Sub(sent[i].At) < length {
				n++
			}
		}
		best = max(best, n)
	}
	return best
}

// burst is how many messages a chat may get at once, before it gets one a
// second.
const burst = 3

// The limits of a minute are tested in simulated time beside the adapter; here
// all of it runs, for as long as a short COMMAND_TIMEOUT lets an answer wait.
func TestABurstInOneGroupKeepsTelegramsRates(t *testing.T) {
	t.Parallel()
	world := e2etest.Sandbox(t)
	fake := telegramtest.New(t)
	const commands = 200
	for i := range commands {
		fake.Push(telegramtest.Text(telegramtest.Group(e2etest.GroupID), telegramtest.Person(int64(1+i)), "/price"))
	}
	began := time.Now()
	bot := e2etest.ServeReady(t, world, append(e2etest.Polling(fake), "TELEGRAM_PACING=on", "COMMAND_TIMEOUT=4s")...)
	if !fake.WaitAcknowledged(e2etest.Patience) {
		t.Fatalf("%d updates are left", len(fake.Pending()))
	}
	// What is acknowledged may still wait for its turn.
	bot.Stop()
	if err := bot.Leave(); err != nil {
		t.Fatal(err)
	}
	sent := fake.Sent()
	// A busy machine delays some messages and not those after them.
	const jitter = 500 * time.Millisecond
	for seconds := range 5 {
		if n := most(sent, time.Duration(seconds+1)*time.Second-jitter); n > burst+seconds {
			t.Errorf("%d messages in %d s", n, seconds+1)
		}
	}
	if n := most(sent, time.Minute); n > 20 {
		t.Errorf("%d messages in a minute", n)
	}
	answers, busy := 0, 0
	for _, m := range sent {
		switch {
		case strings.Contains(m.Text, e2etest.Price):
			answers++
		case strings.Contains(strings.ToLower(m.Text), "busy"):
			busy++
		default:
			t.Errorf("sent %+v", m)
		}
	}
	took := time.Since(began)
	if busy != 1 || answers < 2 || took > 15*time.Second {
		t.Errorf("%d answers, %d times busy, in %v", answers, busy, took)
	}
	if calls := len(fake.Calls("sendMessage")); calls != len(sent) {
		t.Errorf("%d calls for %d messages", calls, len(sent))
	}
}
