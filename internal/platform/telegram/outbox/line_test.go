package outbox

import (
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/demo/fake/telegramtest"
)

// A message that waits says so, once it does: its update is then acknowledged.
func TestWhatWaitsSaysSo(t *testing.T) {
	shared := func(before, edit int) func(*outboxTest, *Message) {
		return func(c *outboxTest, m *Message) {
			c.takes, m.Sharing.Key, m.EditID = time.Second, "x", edit
			for range before { // One is on its way, and another one waits.
				c.post(*m)
			}
		}
	}
	for name, before := range map[string]func(*outboxTest, *Message){
		"nothing":              func(*outboxTest, *Message) {},
		"for its chat's slot":  func(c *outboxTest, _ *Message) { c.send(8, person, 1, 0); c.all.Wait() },
		"behind another":       func(c *outboxTest, _ *Message) { c.send(9, person, 1, 0) },
		"for the end of a 429": func(c *outboxTest, _ *Message) { c.api.Fail("sendMessage", telegramtest.TooMany(time.Second)) },
		"for a shared message": shared(1, 0),
		"in a shared message":  shared(2, 0),
		"for a shared edit":    shared(1, 5),
		"in a shared edit":     shared(2, 5),
	} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.api.Start(person)
			m := message(person, 1, "x")
			before(c, &m)
			start := time.Now()
			var waits atomic.Bool
			m.Waits = func() {
				if time.Since(start) < time.Second {
					waits.Store(true)
				}
			}
			c.post(m)
			if waits.Load() != (name != "nothing") {
				t.Errorf("%s: says that it waits: %t", name, waits.Load())
			}
		})
	}
}

// The first who asked waits with the others whose message is sent instead.
func TestA429IsToldToTheFirstOfASharedMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for id := range int64(6) { // They take the slots of all chats for the next 0.17 s.
			c.send(1, 1000+id, id, 0)
		}
		c.api.Start(person)
		m, waits := message(person, 1, "x"), false
		m.Sharing.Key, m.Waits = "x", func() { waits = true }
		c.post(m)
		m.Waits = nil
		c.post(m)
		time.Sleep(175 * time.Millisecond)
		c.api.Fail("sendMessage", telegramtest.TooMany(time.Second))
		c.all.Wait()
		if !waits || c.results[Delivered] != 8 {
			t.Errorf("waits: %t; %v", waits, c.results)
		}
	})
}

