package outbox

import (
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/demo/fake/telegramtest"
	"herald/internal/ratelimit"
)

func TestTheEarliestSlotBehindOthers(t *testing.T) {
	for _, row := range []struct {
		limit  ratelimit.Limit
		events int
		want   time.Duration
	}{
		{chatLimit, 7, 0},
		{chatLimit, 8, time.Second},
		{chatLimit, 10, 3 * time.Second},
		{answerLimit, 2, 0},
		{answerLimit, 3, 4 * time.Second},
		{answerLimit, 5, 12 * time.Second},
	} {
		if got := earliest(row.limit, row.events); max(got, 0) != row.want {
			t.Errorf("%d events in %s: %v, want %v", row.events, row.limit.Key, got, row.want)
		}
	}
}

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

// Each row names the senders of messages as they come, and the order in which these go. Some
// share a message, which goes in the earliest round of theirs. With | the first one goes.
func TestALineIsServedInRounds(t *testing.T) {
	for come, want := range map[string]string{
		"a": "a", "a a b": "a b a", "a a a b b c": "a b c a b a", "a b a b": "a b a b", "a a a bc": "a bc a a", "a b b b cb": "a b cb b b",
		"a b b b bc": "a b bc b b", "a a a ab": "a ab a a", "a b c ab": "a b c ab",
		"a b cb c": "a b cb c", "a a a | | b": "a b", "a a a b | c": "b c a a",
	} {
		var l line
		for _, senders := range strings.Fields(come) {
			if senders == "|" {
				l = l[1:]
				continue
			}
			d := &delivery{m: Message{Content: Content{Text: senders}}, position: position{sender: int64(senders[0])}}
			if len(l) > 0 {
				d.position.round = math.MaxInt
			}
			l = append(l, d)
			for _, sender := range senders {
				l.advance(d, int64(sender))
			}
		}
		var got []string
		for _, d := range l {
			got = append(got, d.m.Content.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: they go as %v, want %s", come, got, want)
		}
	}
}
