package outbox

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"herald/internal/demo/fake/telegramtest"
)

// crowd is several replicas that send what many users ask for, while Telegram fails at random.
type crowd struct {
	*outboxTest
	*rand.Rand
	outboxes []*Outbox
	posted   int
}

// act sends a message, or makes the next call fail.
func (c *crowd) act() {
	c.Outbox = c.outboxes[c.IntN(len(c.outboxes))]
	where := group - c.Int64N(2)
	user := 1 + c.Int64N(30)
	m := message(where, user, fmt.Sprint("answer ", c.posted))
	switch c.IntN(8) {
	case 0:
		faults := []telegramtest.Fault{
			telegramtest.TooMany(time.Duration(1+c.IntN(40)) * time.Second),
			telegramtest.Page(http.StatusBadGateway),
			telegramtest.NoRights(),
		}
		c.api.Fail("sendMessage", faults[c.IntN(len(faults))])
		return
	case 1:
		m.Notice = "busy"
	case 2:
		c.api.Start(user)
		m.To.Chat = user
	case 3, 4:
		m.Sharing.Key = [2]any{where, c.IntN(3)}
	case 5:
		m.Sender = 1 // who floods
	}
	if m.Notice == "" {
		m.Deadline = time.Now().Add(20 * time.Second)
	}
	c.posted++
	c.post(m)
}

// Whatever happens, each message gets a receipt in time, and no chat gets more than Telegram allows.
func TestEveryMessageGetsAReceiptWithinTheRates(t *testing.T) {
	for seed := range uint64(30) {
		inBubble(t, func(t *testing.T, test *outboxTest) {
			c := &crowd{outboxTest: test, Rand: rand.New(rand.NewPCG(seed, 0)), outboxes: []*Outbox{test.Outbox}}
			if c.IntN(2) == 0 {
				c.outboxes = append(c.outboxes, c.replica())
			}
			for range 300 {
				c.act()
				time.Sleep(time.Duration(c.IntN(600)) * time.Millisecond)
			}
			asked := time.Now()
			c.sends.Wait()
			if took := time.Since(asked); took > 3*time.Minute {
				t.Errorf("seed %d: the last message waits %v", seed, took)
			}
			if lost := c.results[None] + c.results[Retryable] + c.results[Lost]; lost > 0 {
				t.Errorf("seed %d: %d messages have no outcome: %v", seed, lost, c.results)
			}
			c.checkRates(t, seed)
		})
	}
}

// checkRates compares what Telegram accepted with the rates that it publishes.
func (c *crowd) checkRates(t *testing.T, seed uint64) {
	t.Helper()
	var all []time.Time
	chats := map[int64][]time.Time{}
	for _, m := range c.api.Sent() {
		all = append(all, m.At)
		chats[m.Chat] = append(chats[m.Chat], m.At)
	}
	if n := maxWithin(all, time.Second); n > 30 {
		t.Errorf("seed %d: %d messages within a second", seed, n)
	}
	for chat, times := range chats {
		window, most := 61*time.Second, 20
		if chat > 0 {
			window, most = time.Second, 9
		}
		if n := maxWithin(times, window); n > most {
			t.Errorf("seed %d: %d messages to %d within %v", seed, n, chat, window)
		}
	}
}
