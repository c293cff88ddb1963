package outbox

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/ratelimit"
	"herald/internal/secret"
)

const (
	group  = -1001
	person = 501
)

// outboxTest sends messages by Outboxes to a fake of Telegram, and records what becomes of them.
type outboxTest struct {
	*Outbox
	api     *telegramtest.Server
	limiter ratelimit.Limiter
	// callTakes is how long each call of Telegram takes.
	callTakes time.Duration
	// sends counts the messages of post that are being sent.
	sends sync.WaitGroup

	mu      sync.Mutex
	sent    map[int64][]time.Time // when the messages were delivered, by chat
	texts   []string              // in the order of delivery
	results map[Result]int
	calls   int
	events  map[string]int
}

// RoundTrip counts the calls, and delays each by callTakes.
func (c *outboxTest) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	time.Sleep(c.callTakes)
	return c.api.RoundTrip(req)
}

// inBubble runs a test with the Outbox of one bot, in simulated time.
func inBubble(t *testing.T, test func(*testing.T, *outboxTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &outboxTest{
			api:     telegramtest.NewInMemory(t),
			limiter: ratelimit.NewMemory(),
			sent:    map[int64][]time.Time{},
			results: map[Result]int{},
			events:  map[string]int{},
		}
		c.Outbox = c.replica()
		test(t, c)
		c.sends.Wait()
	})
}

// replica returns another Outbox with the same Limiter.
func (c *outboxTest) replica() *Outbox {
	return New(Config{
		API:          botapi.New(botapi.Config{Token: secret.New(faketelegram.Token), URL: c.api.URL, Transport: c}),
		Limiter:      c.limiter,
		Pacing:       true,
		Bot:          "bot",
		Count:        c.count,
		Unauthorized: func() {},
		Migrated:     func(int64, int64) {},
	})
}

func (c *outboxTest) count(event string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events[event]++
}

func message(to, user int64, text string) Message {
	return Message{To: Destination{Chat: to}, Sender: user, Content: Content{Text: text}}
}

// notice returns a Notice to the group.
func notice(name string) Message {
	m := message(group, 0, "notice")
	m.Notice = name
	return m
}

// sendToGroup sends n equal messages for a user in the group. Each has a deadline after patience.
func (c *outboxTest) sendToGroup(n int, user int64, patience time.Duration) {
	c.send(n, group, user, patience)
}

// sendInPrivate sends n equal messages to the private chat of person.
func (c *outboxTest) sendInPrivate(n int, patience time.Duration) {
	c.send(n, person, person, patience)
}

// sendElsewhere sends one message without a deadline to a chat that has no others. Each ID is another chat.
func (c *outboxTest) sendElsewhere(id int64) { c.send(1, 1000+id, id, anyTime) }

// anyTime is the patience for a message without a deadline.
const anyTime = 0

// send sends n equal messages for a user to a chat. Each has a deadline after patience.
func (c *outboxTest) send(n int, to, user int64, patience time.Duration) {
	c.api.Start(to)
	m := message(to, user, "x")
	if patience != anyTime {
		m.Deadline = time.Now().Add(patience)
	}
	for range n {
		c.post(m)
	}
}

// post sends a message, and returns once it waits or has ended, so that messages come in the order of the calls.
func (c *outboxTest) post(m Message) {
	out := c.Outbox
	c.sends.Go(func() {
		r := out.Send(context.Background(), m)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.results[r.Result]++
		if r.Result == Delivered {
			c.sent[m.To.Chat] = append(c.sent[m.To.Chat], time.Now())
			c.texts = append(c.texts, m.Content.Text)
		}
	})
	synctest.Wait()
}

// sendRecovering sends a message, and recovers a panic.
func (c *outboxTest) sendRecovering(m Message) (r Receipt) {
	defer func() { _ = recover() }()
	return c.Send(context.Background(), m)
}

// maxWithin returns the maximum number of the times that lie within one span of this length.
func maxWithin(times []time.Time, length time.Duration) (most int) {
	for _, from := range times {
		n := 0
		for _, at := range times {
			after := at.Sub(from)
			if after >= 0 && after < length {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
