package outbox

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/demo/fake/telegramtest"
	"herald/internal/ratelimit"
)

func TestWaitingForAShareDelaysNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.sendToGroup(20, 1, 20*time.Second)
		time.Sleep(5 * time.Second)
		m := message(group, 2, "x")
		m.Deadline = time.Now().Add(time.Second)
		if r := c.Send(t.Context(), m); r.Result != Delivered {
			t.Errorf("the answer to the other sender: %+v", r)
		}
	})
}

func TestASenderWhoFloodsDelaysOthersByASlot(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		post := func(user int64, text string) {
			m := message(group, user, text)
			m.Deadline = time.Now().Add(20 * time.Second)
			c.post(m)
		}
		for range 20 {
			post(1, "Ann")
		}
		for _, other := range []string{"Bob", "Eve", "Joe"} {
			post(int64(other[0]), other)
		}
		c.sends.Wait()
		got := strings.Join(c.texts, " ")
		if got != "Ann Ann Ann Bob Eve Joe Ann Ann" {
			t.Errorf("sent in the order %s; results %v", got, c.results)
		}
	})
}

func TestAMessageWithALateSlotIsDroppedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		start := time.Now()
		c.sendInPrivate(16, anyTime)
		c.sendInPrivate(5, 2*time.Second)
		if c.results[Dropped] != 5 || time.Since(start) != 0 {
			t.Errorf("%d are dropped after %v, want 5 at once", c.results[Dropped], time.Since(start))
		}
		c.sendInPrivate(1, 12*time.Second)
		c.sends.Wait()
		if took := time.Since(start); took != 9*time.Second || c.results[Delivered] != 17 {
			t.Errorf("%d are sent after %v", c.results[Delivered], took)
		}
	})
}

// A command may take until its deadline, and its answer then comes late.
func TestALateMessageIsSentIfItHasASlot(t *testing.T) {
	for _, to := range []int64{person, group} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.api.Start(person)
			m := message(to, person, "x")
			m.Deadline = time.Now().Add(-time.Second)
			if r := c.Send(t.Context(), m); r.Result != Delivered {
				t.Errorf("to %d: %+v", to, r)
			}
		})
	}
}

func TestADroppedMessageUsesNoSlot(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for user := range int64(7) {
			c.sendToGroup(1, 10+user, time.Hour)
		}
		c.sends.Wait()
		c.sendToGroup(3, 1, 3*time.Second)
		c.sends.Wait()
		if c.results[Dropped] != 3 {
			t.Fatalf("results %v", c.results)
		}
		time.Sleep(12 * time.Second)
		c.sendToGroup(3, 1, time.Second)
		c.post(notice("busy"))
		c.sends.Wait()
		if c.results[Delivered] != 7+3+1 {
			t.Errorf("results %v", c.results)
		}
	})
}

// The messages to the group get their planned times while the global limit delays all messages. Then the delay ends.
func TestADelayByTheGlobalRateDoesNotBunchUpAChat(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for id := range int64(1500) { // A minute of messages.
			c.sendElsewhere(id)
		}
		for user := range int64(15) {
			c.sendToGroup(1, user, anyTime)
		}
		c.sends.Wait()
		sent := c.sent[group]
		slices.SortFunc(sent, time.Time.Compare)
		if last := sent[14].Sub(sent[0]); last < 44*time.Second {
			t.Errorf("15 messages go within %v, want 3 at once and one each 4 seconds", last)
		}
	})
}

func TestOnlyTheGlobalRateSaturates(t *testing.T) {
	manyChats := func(c *outboxTest) {
		for id := range int64(50) {
			c.sendElsewhere(id)
		}
	}
	behind429 := func(c *outboxTest) {
		c.api.Fail("sendMessage", telegramtest.TooMany(time.Minute))
		for user := range int64(50) {
			c.sendToGroup(1, user, time.Hour)
		}
	}
	for _, test := range []struct {
		name string
		send func(*outboxTest)
		want bool
	}{
		{name: "nothing", send: func(*outboxTest) {}, want: false},
		{name: "one chat", send: func(c *outboxTest) { c.sendInPrivate(50, anyTime) }, want: false},
		{name: "a group", send: func(c *outboxTest) { c.sendToGroup(50, 1, time.Hour) }, want: false},
		{name: "many chats", send: manyChats, want: true},
		{name: "a 429", send: behind429, want: false},
	} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			test.send(c)
			time.Sleep(500 * time.Millisecond)
			if got := c.Saturated(); got != test.want {
				t.Errorf("%s: %t", test.name, got)
			}
		})
	}
}

// A 429 holds back all messages to its chat until it is over, and no message to another chat. It drops no message.
func TestA429HoldsBackItsChat(t *testing.T) {
	const wait = 30 * time.Second
	for _, paced := range []bool{true, false} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.Pacing = paced
			c.api.Fail("sendMessage", telegramtest.TooMany(wait))
			start := time.Now()
			c.sendInPrivate(12, 20*time.Second) // After the pause, four of them wait for slots.
			time.Sleep(time.Second)
			calls := c.calls
			c.send(1, 99, 1, 20*time.Second)
			c.sends.Wait()
			first := slices.MinFunc(c.sent[person], time.Time.Compare).Sub(start)
			elsewhere := c.sent[99][0].Sub(start)
			if first < wait || elsewhere >= wait {
				t.Errorf("paced %t: sent after %v, and elsewhere after %v", paced, first, elsewhere)
			}
			if c.results[Delivered] != 13 || calls != 1 {
				t.Errorf("paced %t: %d calls meanwhile, results %v", paced, calls, c.results)
			}
		})
	}
}

func TestA429HoldsBackWhatWaitsForTheGlobalRate(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for id := range int64(60) { // More than two seconds of messages.
			c.sendElsewhere(id)
		}
		c.sendToGroup(1, 1, anyTime)
		start := time.Now()
		time.Sleep(time.Second)
		c.pause(group, 10*time.Second)
		c.sends.Wait()
		if after := c.sent[group][0].Sub(start); after < 11*time.Second {
			t.Errorf("the message is sent after %v", after)
		}
	})
}

func TestAMessageIsLostIfThe429OfAnotherIsTooLong(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.pause(group, time.Hour)
		start := time.Now()
		r := c.Send(t.Context(), message(group, 1, "x"))
		if r.Result != Lost || time.Since(start) > 0 || c.events["send_abandoned"] != 1 {
			t.Errorf("%+v after %v, events %v", r, time.Since(start), c.events)
		}
		r = c.Send(t.Context(), notice("lost"))
		if r.Result != Delivered || time.Since(start) != time.Hour {
			t.Errorf("the Notice: %+v after %v", r, time.Since(start))
		}
	})
}

// Calls that are made at the same time may get 429s with different waits.
func TestTheLongest429Counts(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.Pacing = false
		c.callTakes = time.Second
		c.api.Fail("sendMessage", telegramtest.TooMany(30*time.Second), telegramtest.TooMany(time.Second))
		start := time.Now()
		c.sendInPrivate(2, anyTime)
		time.Sleep(3 * time.Second)
		c.sendInPrivate(1, anyTime)
		c.sends.Wait()
		first := slices.MinFunc(c.sent[person], time.Time.Compare).Sub(start)
		if first < 30*time.Second || c.results[Delivered] != 3 {
			t.Errorf("the first is sent after %v, results %v", first, c.results)
		}
	})
}

func TestMessagesBehindA429WakeUpOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Fail("sendMessage", telegramtest.TooMany(25*time.Second))
		waits := 0
		for user := range int64(2000) {
			m := message(group, user, "x")
			m.Deadline = time.Now().Add(20 * time.Second)
			m.OnWait = func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				waits++
			}
			c.post(m)
		}
		c.sends.Wait()
		if waits > 2000+20 {
			t.Errorf("2,000 messages wait %d times", waits)
		}
		if c.results[Delivered]+c.results[Dropped] != 2000 || c.results[Delivered] < 9 {
			t.Errorf("results %v", c.results)
		}
	})
}

func TestASlotThatIsDueSoonIsNotLost(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.sendInPrivate(8, anyTime)
		time.Sleep(950 * time.Millisecond)
		c.sendInPrivate(1, anyTime) // Its slot is due in 50 ms, before the slots of the following messages.
		for id := range int64(60) {
			c.sendElsewhere(id)
		}
		start := time.Now()
		c.sends.Wait()
		if after := c.sent[person][8].Sub(start); after > time.Second {
			t.Errorf("it is sent after %v", after)
		}
	})
}

func TestGroupsWithoutASlotDelayNoOtherChat(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for id := range int64(maxTaking) {
			c.send(3, group-id, 1, anyTime)
		}
		c.sends.Wait()
		for id := range int64(maxTaking) {
			c.send(1, group-id, 1, anyTime)
		}
		start := time.Now()
		c.sendInPrivate(1, anyTime)
		c.sends.Wait()
		if after := c.sent[person][0].Sub(start); after > time.Second/4 {
			t.Errorf("a private message is sent after %v", after)
		}
	})
}

// distant is a Limiter behind a slow network.
type distant struct {
	ratelimit.Limiter
	away time.Duration
}

func (d distant) Reserve(
	ctx context.Context, within time.Duration, limits ...ratelimit.Limit,
) (time.Duration, bool) {
	time.Sleep(d.away)
	return d.Limiter.Reserve(ctx, within, limits...)
}

func TestADistantLimiterKeepsTheGlobalRate(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.limiter = distant{c.limiter, 80 * time.Millisecond}
		c.Outbox = c.replica()
		start := time.Now()
		for id := range int64(260) {
			c.sendElsewhere(id)
		}
		c.sends.Wait()
		if took := time.Since(start); took > 11*time.Second {
			t.Errorf("260 messages took %v", took)
		}
	})
}

// waitCase is what happens before a message is sent, and whether the message then calls OnWait.
type waitCase struct {
	name   string
	before func(*outboxTest, *Message)
	waits  bool
}

// afterShared sends messages with the same Key before: the first is in flight, and a second one waits.
func afterShared(messages, editID int) func(*outboxTest, *Message) {
	return func(c *outboxTest, m *Message) {
		c.callTakes = time.Second
		m.Sharing.Key = "x"
		m.EditID = editID
		for range messages {
			c.post(*m)
		}
	}
}

// afterOthers sends messages to the same chat before.
func afterOthers(messages int) func(*outboxTest, *Message) {
	return func(c *outboxTest, _ *Message) { c.sendInPrivate(messages, anyTime) }
}

func afterManyChats(c *outboxTest, _ *Message) {
	for id := range int64(20) {
		c.sendElsewhere(id)
	}
}

// The update of a message that waits is acknowledged.
func TestAMessageThatWaitsSaysSo(t *testing.T) {
	for _, test := range []waitCase{
		{name: "nothing", before: func(*outboxTest, *Message) {}, waits: false},
		{name: "the global rate", before: afterManyChats, waits: false},
		{name: "its chat's slot", before: afterOthers(8), waits: true},
		{name: "a later slot of its chat", before: afterOthers(9), waits: true},
		{
			name:   "the end of a 429",
			before: func(c *outboxTest, _ *Message) { c.api.Fail("sendMessage", telegramtest.TooMany(time.Second)) },
			waits:  true,
		},
		{name: "its turn behind a shared message", before: afterShared(1, 0), waits: true},
		{name: "a shared message", before: afterShared(2, 0), waits: true},
		{name: "its turn behind a shared edit", before: afterShared(1, 5), waits: true},
		{name: "a shared edit", before: afterShared(2, 5), waits: true},
	} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.api.Start(person)
			m := message(person, 1, "x")
			test.before(c, &m)
			waits := false
			m.OnWait = func() { waits = true }
			c.post(m)
			c.mu.Lock()
			defer c.mu.Unlock()
			if waits != test.waits {
				t.Errorf("%s: it says that it waits: %t", test.name, waits)
			}
		})
	}
}
