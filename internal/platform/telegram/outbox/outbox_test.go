package outbox

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
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

// outboxTest sends messages by Outboxes, before a fake of Telegram that takes its time.
type outboxTest struct {
	*Outbox
	api     *telegramtest.Server
	limiter ratelimit.Limiter
	takes   time.Duration // a call
	all     sync.WaitGroup
	mu      sync.Mutex
	sent    map[int64][]time.Time // when each message went, by chat
	texts   []string              // in the order in which they went
	results map[Result]int
	calls   int
}

func (c *outboxTest) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	time.Sleep(c.takes)
	return c.api.RoundTrip(req)
}

// inBubble runs a test with the Outbox of one bot, in simulated time.
func inBubble(t *testing.T, test func(*testing.T, *outboxTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &outboxTest{api: telegramtest.NewInMemory(t), limiter: ratelimit.NewMemory(), sent: map[int64][]time.Time{}, results: map[Result]int{}}
		c.Outbox = c.replica()
		test(t, c)
		c.all.Wait()
	})
}

// replica is another Outbox with the same Limiter.
func (c *outboxTest) replica() *Outbox {
	api := botapi.New(botapi.Config{Token: secret.New(faketelegram.Token), URL: c.api.URL, Transport: c})
	return New(Config{
		API: api, Limiter: c.limiter, Pacing: true, Bot: "bot", Count: func(string) {}, Unauthorized: func() {},
		Migrated: func(int64, int64) {},
	})
}

func message(to, user int64, text string) Message {
	return Message{To: Destination{Chat: to}, Sender: user, Content: Content{Text: text}}
}

func TestAPanicBlocksNoLaterMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		answer, edit := message(group, 1, "x"), message(group, 1, "edited")
		edit.EditID = c.Send(t.Context(), answer).Sent.MessageID
		answer.Sharing.Key, edit.Sharing.Key = "answer", "edit"
		works := c.Config
		c.api.Fail("editMessageText", telegramtest.NoRights())
		c.Count = nil // It is called when the edit is refused.
		for _, m := range []Message{edit, answer} {
			c.sendPanicking(m)
			c.Config = works
			if r := c.Send(t.Context(), m); r.Result != Delivered {
				t.Errorf("%q after a panic: %+v", m.Content.Text, r)
			}
			c.Limiter = nil // It is called before the answer's slot.
		}
	})
}

// sendPanicking sends a message, and recovers a panic.
func (c *outboxTest) sendPanicking(m Message) {
	defer func() { _ = recover() }()
	c.Send(context.Background(), m)
}

// send sends n messages of one user, which wait no longer than patience
// (zero is for ever) because of its chat.
func (c *outboxTest) send(n int, to, user int64, patience time.Duration) {
	c.api.Start(to)
	m := message(to, user, "x")
	if patience > 0 {
		m.Deadline = time.Now().Add(patience)
	}
	for range n {
		c.post(m)
	}
}

func (c *outboxTest) post(m Message) {
	out := c.Outbox
	c.all.Go(func() {
		r := out.Send(context.Background(), m)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.results[r.Result]++
		if r.Result == Delivered {
			c.sent[m.To.Chat] = append(c.sent[m.To.Chat], time.Now())
			c.texts = append(c.texts, m.Content.Text)
		}
	})
	synctest.Wait() // In the order of the loop, as the tests count on it.
}

// maxWithin is the largest number of times within any span of a length.
func maxWithin(times []time.Time, length time.Duration) (best int) {
	for _, from := range times {
		n := 0
		for _, at := range times {
			if after := at.Sub(from); after >= 0 && after < length {
				n++
			}
		}
		best = max(best, n)
	}
	return best
}

func TestAGroupHasAtMostTwentyMessagesAMinute(t *testing.T) {
	for _, gap := range []time.Duration{0, 700 * time.Millisecond, 3 * time.Second} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			for i := range int64(150) {
				c.send(1, group, i, time.Hour)
				time.Sleep(gap)
			}
			for i := range 40 {
				notice := message(group, 0, "notice")
				notice.Notice = []string{"busy", "anonymous"}[i%2]
				c.post(notice)
				time.Sleep(11 * time.Second)
			}
			c.all.Wait()
			if minute := maxWithin(c.sent[group], 61*time.Second); minute > 20 || minute < 18 {
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
			if after := at.Sub(start); after < want || after > want+time.Second/4 {
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
			notice, start := message(group, 0, "notice"), time.Now()
			notice.Notice = "busy"
			if r := c.Send(t.Context(), notice); r.Result != Delivered || time.Since(start) > time.Second/4 {
				t.Errorf("result %v after %v", r.Result, time.Since(start))
			}
			time.Sleep(76 * time.Second)
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

func TestWhoWaitsForTheirShareDelaysNobody(t *testing.T) {
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

// Messages that the rate of all has held up leave their chat no faster than others,
// also where two replicas share their slots.
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
			group, person, total := maxWithin(c.sent[group], time.Minute), maxWithin(c.sent[person], time.Second), maxWithin(all, time.Second)
			if took := time.Since(start); group > 20 || person > 9 || total > 30 || len(all) != 640 || took > 2*time.Minute {
				t.Errorf("%d a minute in the group, %d a second in a chat and %d in all; %d in %v", group, person, total, len(all), took)
			}
		})
	}
}

// One who asks a lot takes no more slots than others while those wait.
func TestSendersTakeTurns(t *testing.T) {
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

// One who asks a lot while nobody else does leaves room in the same minute for who comes
// after them.
func TestOneSenderLeavesSlotsInTheMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.send(20, group, 1, 20*time.Second)
		c.all.Wait()
		before, start := c.results[Delivered], time.Now()
		for user := range int64(4) {
			c.send(1, group, 2+user, 20*time.Second)
		}
		c.all.Wait()
		if took := time.Since(start); before != 5 || c.results[Delivered] != before+4 || took > 8*time.Second {
			t.Errorf("%d are sent at first; then %v after %v", before, c.results, took)
		}
		c.send(21, person, 1, 20*time.Second) // Their private chat is theirs alone.
		c.all.Wait()
		if c.results[Delivered] != 5+4+21 {
			t.Errorf("results %v", c.results)
		}
	})
}

func TestMessageWithALateSlotIsDropped(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		start := time.Now()
		c.send(16, person, 1, 0)
		c.send(5, person, 1, 2*time.Second)
		if c.results[Dropped] != 5 || time.Since(start) != 0 {
			t.Errorf("%d refused after %v, want 5 at once", c.results[Dropped], time.Since(start))
		}
		c.send(1, person, 1, 12*time.Second)
		c.all.Wait()
		if took := time.Since(start); took != 9*time.Second || c.results[Delivered] != 17 {
			t.Errorf("%d are sent after %v", c.results[Delivered], took)
		}
	})
}

// A notice goes before those that wait, and once a minute.
func TestNoticeGoesFirstAndOnceAMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.send(30, group, 1, 20*time.Second)
		for i, step := range []struct {
			after time.Duration
			want  Result
		}{{0, Delivered}, {59 * time.Second, Dropped}, {8 * time.Second, Delivered}} {
			time.Sleep(step.after)
			notice := message(group, int64(i), "notice") // whoever it is for
			notice.Notice = "busy"
			start := time.Now()
			if r := c.Send(t.Context(), notice); r.Result != step.want || time.Since(start) > 2*time.Second {
				t.Errorf("after %v more: %v within %v, want %v", step.after, r, time.Since(start), step.want)
			}
		}
	})
}

// A 429 holds back everything to its chat until it is over, and nothing elsewhere. What
// was held back is not dropped for that.
func TestA429HoldsBackItsChat(t *testing.T) {
	const wait = 30 * time.Second
	for _, paced := range []bool{true, false} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.Pacing = paced
			c.api.Fail("sendMessage", telegramtest.TooMany(wait))
			start := time.Now()
			c.send(12, person, 1, 20*time.Second) // Four are paced after the hold.
			time.Sleep(time.Second)
			calls := c.calls
			c.send(1, 99, 1, 20*time.Second)
			c.all.Wait()
			first, elsewhere := slices.MinFunc(c.sent[person], time.Time.Compare).Sub(start), c.sent[99][0].Sub(start)
			if first < wait {
				t.Errorf("paced %v: sent after %v, want %v at least", paced, first, wait)
			}
			if elsewhere >= wait {
				t.Errorf("paced %v: sent elsewhere after %v, want less than %v", paced, elsewhere, wait)
			}
			if c.results[Delivered] != 13 || calls != 1 {
				t.Errorf("paced %v: %d calls meanwhile, results %v", paced, calls, c.results)
			}
		})
	}
}

// Calls made at once may get 429s with different times. The longest counts.
func TestLongest429Counts(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.Pacing, c.takes = false, time.Second
		c.api.Fail("sendMessage", telegramtest.TooMany(30*time.Second), telegramtest.TooMany(time.Second))
		start := time.Now()
		c.send(2, person, 1, 0)
		time.Sleep(3 * time.Second)
		c.send(1, person, 1, 0)
		c.all.Wait()
		if first := slices.MinFunc(c.sent[person], time.Time.Compare).Sub(start); first < 30*time.Second || c.results[Delivered] != 3 {
			t.Errorf("the first is sent after %v, results %v", first, c.results)
		}
	})
}

// ask sends a message that others may share, to the group. Its text is "shared".
func (c *outboxTest) ask(user int64) {
	m := message(group, user, "shared")
	m.Sharing.Key, m.Deadline = "shared", time.Now().Add(20*time.Second)
	c.post(m)
}

// A shared message goes in the earliest turn of those who share it.
func TestSharedMessageHasItsEarliestPosition(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.send(14, group, 1, 20*time.Second)
		c.ask(1)
		c.ask(2)
		start := time.Now()
		c.all.Wait()
		if at := slices.Index(c.texts, "shared"); at != 3 || c.results[Delivered] != 5+2 {
			t.Errorf("it goes as message %d of %v, results %v", at+1, time.Since(start), c.results)
		}
	})
}

// Whoever has no slot left is answered with the others who ask the same.
func TestASharedMessageUsesTheSlotOfAnySender(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.send(3, group, 1, 20*time.Second)
		c.all.Wait()
		start := time.Now()
		for user := range int64(20) {
			c.ask(1 + user)
		}
		c.all.Wait()
		if took := time.Since(start); took > 5*time.Second || c.results[Delivered] != 3+20 {
			t.Errorf("after %v: results %v", took, c.results)
		}
	})
}

// A shared message waits for as long as the last one who joined it would.
func TestASharedMessageHasItsLatestDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for user := range int64(9) {
			c.send(1, group, 10+user, time.Hour)
		}
		time.Sleep(time.Second)
		c.ask(1) // Its slot comes in 27 s, after its deadline.
		time.Sleep(10 * time.Second)
		c.ask(2)
		c.all.Wait()
		if c.results[Delivered] != 9+2 {
			t.Errorf("results %v", c.results)
		}
	})
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
		notice := message(group, 0, "notice")
		notice.Notice = "busy"
		c.post(notice)
		c.all.Wait()
		if c.results[Delivered] != 7+3+1 {
			t.Errorf("results %v", c.results)
		}
	})
}

// An ephemeral message is given up at its deadline, wherever it waits.
func TestEphemeralMessageKeepsItsDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Fail("sendMessage", telegramtest.TooMany(119*time.Second))
		c.send(2, group, 1, 0)
		start, m := time.Now(), message(group, person, "x")
		m.Ephemeral, m.Deadline = botapi.NewEphemeralMessage(group, person, 1, ""), start.Add(15*time.Second)
		if r := c.Send(t.Context(), m); r.Result == Delivered || time.Since(start) > 15*time.Second {
			t.Errorf("behind others: %v after %v", r, time.Since(start))
		}
		m.To.Chat, m.Deadline, start = group-1, time.Now().Add(15*time.Second), time.Now()
		c.pause(m.To.Chat, time.Minute)
		if r := c.Send(t.Context(), m); r.Result != Dropped || time.Since(start) > 0 {
			t.Errorf("in a chat that is held back: %v after %v", r, time.Since(start))
		}
	})
}

func TestSlotIsReservedShortlyAhead(t *testing.T) {
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
			t.Errorf("a slot that is due soon: sent after %v, want at most 1s", after)
		}
	})
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
		if after := c.sent[person][0].Sub(start); after > time.Second {
			t.Errorf("behind slots that are due later: sent after %v, want at most 1s", after)
		}
	})
}

// distant is a Limiter that a network lies before.
type distant struct {
	ratelimit.Limiter
	away time.Duration
}

func (d distant) Reserve(ctx context.Context, within time.Duration, limits ...ratelimit.Limit) (time.Duration, bool) {
	time.Sleep(d.away)
	return d.Limiter.Reserve(ctx, within, limits...)
}

func TestDistantLimiterKeepsTheGlobalRate(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.limiter = distant{c.limiter, 80 * time.Millisecond}
		c.Outbox = c.replica()
		start := time.Now()
		for id := range int64(260) {
			c.send(1, 1000+id, id, 0)
		}
		c.all.Wait()
		if time.Since(start) > 11*time.Second {
			t.Errorf("260 messages took %v", time.Since(start))
		}
	})
}

func TestSentMessagesAreForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.send(20, person, 1, time.Second)
		for range 5 {
			c.ask(1)
		}
		c.all.Wait()
		for chat, hold := range []time.Duration{time.Second, time.Hour} {
			c.pause(int64(chat), hold)
		}
		time.Sleep(afterPause + 2*time.Second)
		c.pause(9, time.Second)
		synctest.Wait()
		if len(c.latest) != 0 || len(c.pausedUntil) != 2 {
			t.Errorf("%d keys and the pauses %v are remembered", len(c.latest), c.pausedUntil)
		}
	})
}

func TestMessageFollowsAMigratedGroup(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Migrate(-5, group)
		if r := c.Send(t.Context(), message(-5, 1, "x")); r.Result != Delivered || r.Sent.Chat != group {
			t.Errorf("result %v in %d, want Delivered in %d", r.Result, r.Sent.Chat, group)
		}
	})
}

func TestANoticeIsRepeatedAndUsesOneSlot(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Fail("sendMessage", telegramtest.Page(http.StatusBadGateway))
		notice := message(group, 0, "notice")
		notice.Notice = "busy"
		if r := c.Send(t.Context(), notice); r.Result != Delivered || c.calls != 2 {
			t.Errorf("result %v after %d calls, want Delivered after 2", r.Result, c.calls)
		}
	})
}

func TestRepetitionMayBeLate(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Fail("sendMessage", telegramtest.Page(http.StatusBadGateway))
		c.send(1, group, person, time.Second)
		c.send(18, group, person+1, 0) // They take what the group has for a minute.
		c.all.Wait()
		if c.results[Delivered] != 19 {
			t.Errorf("the results are %v, want all Delivered", c.results)
		}
	})
}

func TestAnOlderEditIsMadeIfTheNewerOneFails(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Start(person)
		m := message(person, 1, "edited")
		m.EditID = c.Send(t.Context(), message(person, 1, "x")).Sent.MessageID
		c.api.Fail("editMessageText", telegramtest.NoRights())
		c.takes = time.Second
		for _, age := range []time.Duration{0, time.Minute} {
			m.Sharing = Sharing{Key: "message", Subject: "price", AsOf: chat.Version{Time: time.Now().Add(-age)}}
			c.post(m)
		}
		c.all.Wait()
		if c.calls != 3 || c.results[Refused] != 1 || c.results[Delivered] != 1 {
			t.Errorf("%d calls, results %v", c.calls, c.results)
		}
	})
}

func TestAPanicOfCombinedMutesNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Start(person)
		m := message(person, 1, "shared")
		m.Sharing = Sharing{Key: "shared", Combined: func(int) Content { panic("no content") }}
		for range 3 {
			c.all.Go(func() { c.sendPanicking(m) })
			synctest.Wait() // The first goes alone, and the others wait together.
		}
		c.all.Wait()
		if r := c.Send(t.Context(), m); r.Result != Delivered || c.calls != 2 {
			t.Errorf("result %v after %d calls, want Delivered after 2", r.Result, c.calls)
		}
	})
}
