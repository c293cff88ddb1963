package outbox

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/demo/fake/telegramtest"
	"herald/internal/ratelimit"
)

func TestAGroupHasAtMostTwentyMessagesAMinute(t *testing.T) {
	for _, gap := range []time.Duration{0, 700 * time.Millisecond, 3 * time.Second} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			for user := range int64(150) {
				c.send(1, group, user, time.Hour)
				time.Sleep(gap)
			}
			for i := range 40 {
				c.post(notice([]string{"busy", "anonymous"}[i%2]))
				time.Sleep(11 * time.Second)
			}
			c.all.Wait()
			minute := maxWithin(c.sent[group], 61*time.Second)
			if minute > 20 || minute < 18 {
				t.Errorf("one each %v: %d messages in a minute", gap, minute)
			}
		})
	}
}

func TestThreeAnswersGoAtOnceAndThenOneEachFourSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		start := time.Now()
		for user := range int64(10) {
			c.send(1, group, user, time.Hour)
		}
		c.all.Wait()
		for i, at := range c.sent[group] {
			want := time.Duration(max(i-2, 0)) * 4 * time.Second
			after := at.Sub(start)
			if after < want || after > want+time.Second/4 {
				t.Errorf("answer %d goes after %v, want %v", i, after, want)
			}
		}
	})
}

// A crowd wants every slot of the group, for minutes.
func TestANoticeHasASlotOfItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for user := range int64(60) {
			c.send(1, group, user, time.Hour)
		}
		for range 3 {
			start := time.Now()
			r := c.Send(t.Context(), notice("busy"))
			if r.Result != Delivered || time.Since(start) > time.Second/4 {
				t.Errorf("result %v after %v", r.Result, time.Since(start))
			}
			time.Sleep(76 * time.Second)
		}
	})
}

func TestANoticeGoesOnceAMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for _, test := range []struct {
			after time.Duration
			want  Result
		}{
			{0, Delivered},
			{59 * time.Second, Dropped},
			{2 * time.Second, Delivered},
		} {
			time.Sleep(test.after)
			start := time.Now()
			r := c.Send(t.Context(), notice("busy"))
			if r.Result != test.want || time.Since(start) > 0 {
				t.Errorf("after %v more: %v within %v, want %v", test.after, r, time.Since(start), test.want)
			}
		}
	})
}

func TestAMessageOverItsSendersShareWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		start := time.Now()
		c.send(4, group, 1, 20*time.Second)
		c.all.Wait()
		if took := time.Since(start); took != 10*time.Second || c.results[Delivered] != 4 {
			t.Errorf("after %v: results %v", took, c.results)
		}
	})
}

func TestAMessageIsDroppedIfItsSendersSlotIsTooLate(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.send(3, group, 1, 20*time.Second)
		c.all.Wait()
		start := time.Now()
		c.send(1, group, 1, 9*time.Second)
		c.all.Wait()
		if took := time.Since(start); took != 0 || c.results[Dropped] != 1 {
			t.Errorf("after %v: results %v", took, c.results)
		}
	})
}

func TestWaitingForAShareDelaysNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.send(20, group, 1, 20*time.Second)
		time.Sleep(5 * time.Second)
		m := message(group, 2, "x")
		m.Deadline = time.Now().Add(time.Second)
		if r := c.Send(t.Context(), m); r.Result != Delivered {
			t.Errorf("the other one's answer: %+v", r)
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
		c.all.Wait()
		got := strings.Join(c.texts, " ")
		if got != "Ann Ann Ann Bob Eve Joe Ann Ann" {
			t.Errorf("in this order go %s; results %v", got, c.results)
		}
	})
}

// One who asks a lot while nobody else does leaves room in the same minute for those who come after them.
func TestASenderLeavesSlotsInTheMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.send(20, group, 1, 20*time.Second)
		c.all.Wait()
		before, start := c.results[Delivered], time.Now()
		for user := range int64(4) {
			c.send(1, group, 2+user, 20*time.Second)
		}
		c.all.Wait()
		took := time.Since(start)
		if before != 5 || c.results[Delivered] != before+4 || took > 8*time.Second {
			t.Errorf("%d are sent at first; then %v after %v", before, c.results, took)
		}
	})
}

func TestAPrivateChatHasNoLimitOfItsSender(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.send(21, person, 1, 20*time.Second)
		c.all.Wait()
		if c.results[Delivered] != 21 {
			t.Errorf("results %v", c.results)
		}
	})
}

func TestAMessageWithALateSlotIsDroppedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		start := time.Now()
		c.send(16, person, 1, 0)
		c.send(5, person, 1, 2*time.Second)
		if c.results[Dropped] != 5 || time.Since(start) != 0 {
			t.Errorf("%d are dropped after %v, want 5 at once", c.results[Dropped], time.Since(start))
		}
		c.send(1, person, 1, 12*time.Second)
		c.all.Wait()
		if took := time.Since(start); took != 9*time.Second || c.results[Delivered] != 17 {
			t.Errorf("%d are sent after %v", c.results[Delivered], took)
		}
	})
}

// A command may take until its deadline.
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
			c.send(1, group, 10+user, time.Hour)
		}
		c.all.Wait()
		c.send(3, group, 1, 3*time.Second)
		c.all.Wait()
		if c.results[Dropped] != 3 {
			t.Fatalf("results %v", c.results)
		}
		time.Sleep(12 * time.Second)
		c.send(3, group, 1, time.Second)
		c.post(notice("busy"))
		c.all.Wait()
		if c.results[Delivered] != 7+3+1 {
			t.Errorf("results %v", c.results)
		}
	})
}

// Messages that the global rate has delayed leave their chat no faster than others, also where two replicas share
// their slots.
func TestChatsTogetherKeepTheGlobalRate(t *testing.T) {
	for _, replicas := range []int64{1, 2} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.takes = 10 * time.Millisecond
			outboxes := []*Outbox{c.Outbox, c.replica()}
			for id := range int64(600) {
				c.Outbox = outboxes[id%replicas]
				c.send(1, 1000+id, id, 0)
				if id%30 == id/30%2 { // of one replica and the other
					c.send(1, group, id, 0)
					c.send(1, person, id, 0)
				}
			}
			start := time.Now()
			c.all.Wait()
			all := slices.Concat(slices.Collect(maps.Values(c.sent))...)
			inGroup := maxWithin(c.sent[group], time.Minute)
			inPrivate := maxWithin(c.sent[person], time.Second)
			total := maxWithin(all, time.Second)
			if inGroup > 20 || inPrivate > 9 || total > 30 {
				t.Errorf("%d a minute in the group, %d a second in a chat and %d in all", inGroup, inPrivate, total)
			}
			if took := time.Since(start); len(all) != 640 || took > 2*time.Minute {
				t.Errorf("%d are sent in %v", len(all), took)
			}
		})
	}
}

// The group's messages get their times while the global rate delays everything. The delay then ends.
func TestADelayByTheGlobalRateDoesNotBunchUpAChat(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for id := range int64(1500) { // A minute of messages.
			c.send(1, 1000+id, id, 0)
		}
		for user := range int64(15) {
			c.send(1, group, user, 0)
		}
		c.all.Wait()
		sent := c.sent[group]
		slices.SortFunc(sent, time.Time.Compare)
		if last := sent[14].Sub(sent[0]); last < 44*time.Second {
			t.Errorf("15 messages go within %v, want 3 at once and one each 4 seconds", last)
		}
	})
}

func TestOnlyTheGlobalRateSaturates(t *testing.T) {
	for _, test := range []struct {
		name string
		send func(*outboxTest)
		want bool
	}{
		{"nothing", func(*outboxTest) {}, false},
		{"one chat", func(c *outboxTest) { c.send(50, person, 1, 0) }, false},
		{"a group", func(c *outboxTest) { c.send(50, group, 1, time.Hour) }, false},
		{"many chats", func(c *outboxTest) {
			for id := range int64(50) {
				c.send(1, 1000+id, id, 0)
			}
		}, true},
		{"a 429", func(c *outboxTest) {
			c.api.Fail("sendMessage", telegramtest.TooMany(time.Minute))
			for user := range int64(50) {
				c.send(1, group, user, time.Hour)
			}
		}, false},
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

// A 429 holds back everything to its chat until it is over, and nothing elsewhere. Messages are not dropped for that.
func TestA429HoldsBackItsChat(t *testing.T) {
	const wait = 30 * time.Second
	for _, paced := range []bool{true, false} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.Pacing = paced
			c.api.Fail("sendMessage", telegramtest.TooMany(wait))
			start := time.Now()
			c.send(12, person, 1, 20*time.Second) // Four are paced after the pause.
			time.Sleep(time.Second)
			calls := c.calls
			c.send(1, 99, 1, 20*time.Second)
			c.all.Wait()
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
			c.send(1, 1000+id, id, 0)
		}
		c.send(1, group, 1, 0)
		start := time.Now()
		time.Sleep(time.Second)
		c.pause(group, 10*time.Second)
		c.all.Wait()
		if after := c.sent[group][0].Sub(start); after < 11*time.Second {
			t.Errorf("it is sent after %v", after)
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

// Calls made at once may get 429s with different times. The longest counts.
func TestTheLongest429Counts(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.Pacing = false
		c.takes = time.Second
		c.api.Fail("sendMessage", telegramtest.TooMany(30*time.Second), telegramtest.TooMany(time.Second))
		start := time.Now()
		c.send(2, person, 1, 0)
		time.Sleep(3 * time.Second)
		c.send(1, person, 1, 0)
		c.all.Wait()
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
		c.all.Wait()
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
		c.send(8, person, 1, 0)
		time.Sleep(950 * time.Millisecond)
		c.send(1, person, 1, 0) // Its slot is due in 50 ms, before those of the next.
		for id := range int64(60) {
			c.send(1, 1000+id, id, 0)
		}
		start := time.Now()
		c.all.Wait()
		if after := c.sent[person][8].Sub(start); after > time.Second {
			t.Errorf("it is sent after %v", after)
		}
	})
}

func TestGroupsWithoutASlotDelayNoOtherChat(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for id := range int64(maxTaking) {
			c.send(3, group-id, 1, 0)
		}
		c.all.Wait()
		for id := range int64(maxTaking) {
			c.send(1, group-id, 1, 0)
		}
		start := time.Now()
		c.send(1, person, 1, 0)
		c.all.Wait()
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
			c.send(1, 1000+id, id, 0)
		}
		c.all.Wait()
		if took := time.Since(start); took > 11*time.Second {
			t.Errorf("260 messages took %v", took)
		}
	})
}

func TestReplicasShareTheSlotsOfAChat(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		outboxes := []*Outbox{c.Outbox, c.replica()}
		for user := range int64(40) {
			c.Outbox = outboxes[user%2]
			c.send(1, group, user, 0)
		}
		c.all.Wait()
		if minute := maxWithin(c.sent[group], 61*time.Second); minute > 20 || len(c.sent[group]) != 40 {
			t.Errorf("%d of 40 messages are sent, %d in a minute", len(c.sent[group]), minute)
		}
	})
}

// The update of a message that waits is acknowledged.
func TestAMessageThatWaitsSaysSo(t *testing.T) {
	// shared sends messages with the same Key before: one is in flight, and a second one waits.
	shared := func(before, edit int) func(*outboxTest, *Message) {
		return func(c *outboxTest, m *Message) {
			c.takes = time.Second
			m.Sharing.Key = "x"
			m.EditID = edit
			for range before {
				c.post(*m)
			}
		}
	}
	for name, before := range map[string]func(*outboxTest, *Message){
		"nothing": func(*outboxTest, *Message) {},
		"the global rate": func(c *outboxTest, _ *Message) {
			for id := range int64(20) {
				c.send(1, 1000+id, id, 0)
			}
		},
		"its chat's slot": func(c *outboxTest, _ *Message) {
			c.send(8, person, 1, 0)
			c.all.Wait()
		},
		"a later slot of its chat": func(c *outboxTest, _ *Message) { c.send(9, person, 1, 0) },
		"the end of a 429": func(c *outboxTest, _ *Message) {
			c.api.Fail("sendMessage", telegramtest.TooMany(time.Second))
		},
		"its turn behind a shared message": shared(1, 0),
		"a shared message":                 shared(2, 0),
		"its turn behind a shared edit":    shared(1, 5),
		"a shared edit":                    shared(2, 5),
	} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.api.Start(person)
			m := message(person, 1, "x")
			before(c, &m)
			said := false
			m.OnWait = func() { said = true }
			c.post(m)
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			want := name != "nothing" && name != "the global rate"
			if said != want {
				t.Errorf("%s: it says that it waits: %t", name, said)
			}
		})
	}
}
