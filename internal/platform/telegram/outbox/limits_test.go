package outbox

import (
	"maps"
	"slices"
	"testing"
	"time"
)

func TestAGroupHasAtMostTwentyMessagesAMinute(t *testing.T) {
	for _, gap := range []time.Duration{0, 700 * time.Millisecond, 3 * time.Second} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			for user := range int64(150) {
				c.sendToGroup(1, user, time.Hour) // one message of each user, who waits for an hour
				time.Sleep(gap)
			}
			for range 20 { // Each kind of notice may be sent once a minute.
				c.post(notice("busy"))
				time.Sleep(11 * time.Second)
				c.post(notice("anonymous"))
				time.Sleep(11 * time.Second)
			}
			c.sends.Wait()
			const minute = 61 * time.Second // as long as a minute of Telegram's clock may be
			if n := maxWithin(c.sent[group], minute); n > 20 || n < 18 {
				t.Errorf("one each %v: %d messages in a minute", gap, n)
			}
		})
	}
}

func TestThreeAnswersGoAtOnceAndThenOneEachFourSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		start := time.Now()
		for user := range int64(10) {
			c.sendToGroup(1, user, time.Hour)
		}
		c.sends.Wait()
		for i, at := range c.sent[group] {
			want := time.Duration(max(i-2, 0)) * 4 * time.Second
			after := at.Sub(start)
			if after < want || after > want+time.Second/4 {
				t.Errorf("answer %d goes after %v, want %v", i, after, want)
			}
		}
	})
}

// The answers to a crowd want every slot of the group, for minutes.
func TestANoticeHasASlotOfItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for user := range int64(60) {
			c.sendToGroup(1, user, time.Hour)
		}
		for range 3 {
			start := time.Now()
			r := c.Send(t.Context(), notice("busy"))
			if r.Result != Delivered || time.Since(start) > time.Second/4 {
				t.Errorf("result %v after %v", r.Result, time.Since(start))
			}
			time.Sleep(76 * time.Second) // After this time, a notice has a slot again: see limits.go.
		}
	})
}

func TestANoticeGoesOnceAMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for _, test := range []struct {
			pause time.Duration // before the Notice
			want  Result
		}{
			{pause: 0, want: Delivered},
			{pause: 59 * time.Second, want: Dropped},
			{pause: 2 * time.Second, want: Delivered},
		} {
			time.Sleep(test.pause)
			start := time.Now()
			r := c.Send(t.Context(), notice("busy"))
			if r.Result != test.want || time.Since(start) > 0 {
				t.Errorf("after %v more: %v within %v, want %v", test.pause, r, time.Since(start), test.want)
			}
		}
	})
}

// A sender has three slots at once, and then one every ten seconds.
func TestAMessageOverItsSendersShareWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		start := time.Now()
		c.sendToGroup(4, 1, 20*time.Second)
		c.sends.Wait()
		if took := time.Since(start); took != 10*time.Second || c.results[Delivered] != 4 {
			t.Errorf("after %v: results %v", took, c.results)
		}
	})
}

func TestAMessageIsDroppedIfItsSendersSlotIsTooLate(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.sendToGroup(3, 1, 20*time.Second)
		c.sends.Wait()
		start := time.Now()
		c.sendToGroup(1, 1, 9*time.Second)
		c.sends.Wait()
		if took := time.Since(start); took != 0 || c.results[Dropped] != 1 {
			t.Errorf("after %v: results %v", took, c.results)
		}
	})
}

// A sender who asks a lot while nobody else does leaves slots in the same minute to others who come later.
func TestASenderLeavesSlotsInTheMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.sendToGroup(20, 1, 20*time.Second)
		c.sends.Wait()
		before, start := c.results[Delivered], time.Now()
		for user := range int64(4) {
			c.sendToGroup(1, 2+user, 20*time.Second)
		}
		c.sends.Wait()
		took := time.Since(start)
		if before != 5 || c.results[Delivered] != before+4 || took > 8*time.Second {
			t.Errorf("%d are sent at first; then %v after %v", before, c.results, took)
		}
	})
}

func TestAPrivateChatHasNoLimitOfItsSender(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.sendInPrivate(21, 20*time.Second)
		c.sends.Wait()
		if c.results[Delivered] != 21 {
			t.Errorf("results %v", c.results)
		}
	})
}

// Messages that the global limit has delayed keep the limits of their chat as well, even if two replicas share the
// slots.
func TestChatsTogetherKeepTheGlobalRate(t *testing.T) {
	for _, replicas := range []int64{1, 2} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.callTakes = 10 * time.Millisecond
			outboxes := []*Outbox{c.Outbox, c.replica()}
			for round := range int64(20) {
				for i := range int64(30) {
					c.Outbox = outboxes[i%replicas]
					c.sendElsewhere(30*round + i)
				}
				c.Outbox = outboxes[round%replicas]
				c.sendToGroup(1, round, anyTime)
				c.sendInPrivate(1, anyTime)
			}
			start := time.Now()
			c.sends.Wait()
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

func TestReplicasShareTheSlotsOfAChat(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		outboxes := []*Outbox{c.Outbox, c.replica()}
		for user := range int64(40) {
			c.Outbox = outboxes[user%2]
			c.sendToGroup(1, user, anyTime)
		}
		c.sends.Wait()
		if minute := maxWithin(c.sent[group], 61*time.Second); minute > 20 || len(c.sent[group]) != 40 {
			t.Errorf("%d of 40 messages are sent, %d in a minute", len(c.sent[group]), minute)
		}
	})
}
