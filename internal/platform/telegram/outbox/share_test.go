package outbox

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/demo/fake/telegramtest"
)

// sharedAnswer returns an answer to a user in the group. Answers to other users may be sent with it as one message.
func sharedAnswer(user int64) Message {
	m := message(group, user, "shared")
	m.Sharing.Key = "shared"
	m.Sharing.Combined = func(messages int) Content { return Content{Text: fmt.Sprint("shared by ", messages)} }
	m.Deadline = time.Now().Add(20 * time.Second)
	return m
}

// sentTexts returns the texts of the messages that were sent.
func sentTexts(c *outboxTest) (texts []string) {
	for _, m := range c.api.Sent() {
		texts = append(texts, m.Text)
	}
	return texts
}

func TestEqualQuestionsShareTheMessageThatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		start := time.Now()
		for user := range int64(20) {
			c.post(sharedAnswer(user))
		}
		c.sends.Wait()
		// The first has a slot at once. The others wait for sameAnswerGap, and share one message.
		want := []string{"shared", "shared by 19"}
		if got := sentTexts(c); !slices.Equal(got, want) || time.Since(start) != sameAnswerGap {
			t.Errorf("sent are %q after %v, want %q after a second", got, time.Since(start), want)
		}
		if c.results[Delivered] != 20 || c.events["send_shared"] != 18 {
			t.Errorf("results %v, events %v", c.results, c.events)
		}
	})
}

func TestASenderWithoutASlotDelaysNobodyWhoAsksTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.sendToGroup(3, 1, 20*time.Second) // User 1 uses all slots of a sender.
		c.sends.Wait()
		c.post(sharedAnswer(1))
		start := time.Now()
		if r := c.Send(t.Context(), sharedAnswer(2)); r.Result != Delivered || time.Since(start) > 4*time.Second {
			t.Errorf("the answer to the other sender: %+v after %v", r, time.Since(start))
		}
	})
}

func TestASenderWithoutASlotJoinsAMessageThatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.sendToGroup(3, 1, 20*time.Second) // User 1 uses all slots of a sender.
		c.sends.Wait()
		c.post(sharedAnswer(2)) // It waits for the group's slot.
		start := time.Now()
		if r := c.Send(t.Context(), sharedAnswer(1)); r.Result != Delivered || time.Since(start) > 4*time.Second {
			t.Errorf("result %+v after %v", r, time.Since(start))
		}
	})
}

// Users who ask during a 429 share one message, even if it was attempted before.
func TestAMessageThatWasNotSentCanBeShared(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Fail("sendMessage", telegramtest.TooMany(10*time.Second))
		for user := range int64(20) {
			c.post(sharedAnswer(user))
			time.Sleep(400 * time.Millisecond)
		}
		c.sends.Wait()
		want := []string{"shared by 20"}
		if got := sentTexts(c); !slices.Equal(got, want) || c.results[Delivered] != 20 {
			t.Errorf("sent are %q, want %q; results %v", got, want, c.results)
		}
	})
}

func TestAMessageThatMayBeDeliveredIsNotShared(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Fail("sendMessage", telegramtest.Status(500).CarriedOut())
		c.post(sharedAnswer(1))
		c.post(sharedAnswer(2))
		c.sends.Wait()
		want := []string{"shared", "shared", "shared"} // The first one twice, and the second.
		if got := sentTexts(c); !slices.Equal(got, want) || c.results[Delivered] != 2 {
			t.Errorf("sent are %q, want %q; results %v", got, want, c.results)
		}
	})
}

// A 429 after an attempt with an unknown outcome opens the message again. A message that joins it then also counts the
// unknown attempt.
func TestUnknownOutcomesCountForThoseWhoJoinLater(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		unknown := telegramtest.Status(500)
		c.api.Fail("sendMessage", unknown, telegramtest.TooMany(10*time.Second), unknown, unknown)
		c.post(sharedAnswer(1))
		time.Sleep(3 * time.Second)
		c.post(sharedAnswer(2)) // It joins the first one, which waits for the end of the 429.
		c.sends.Wait()
		if c.results[OutcomeUnknown] != 2 || c.calls != 4 {
			t.Errorf("results %v after %d calls", c.results, c.calls)
		}
	})
}

// Of the messages that share a delivery, the newest is sent. The first must learn of a 429 as well.
func TestA429IsToldToTheFirstOfASharedMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		for id := range int64(6) { // With the sixth, at 0.154 s, they use all slots until 0.192 s.
			c.sendElsewhere(id)
		}
		waits := false
		m := sharedAnswer(1)
		m.OnWait = func() { waits = true }
		c.post(m)
		c.post(sharedAnswer(2))
		time.Sleep(175 * time.Millisecond) // Between the two: the answer is attempted at 0.192 s.
		c.api.Fail("sendMessage", telegramtest.TooMany(time.Second))
		c.sends.Wait()
		if !waits || c.results[Delivered] != 8 {
			t.Errorf("waits: %t; %v", waits, c.results)
		}
	})
}

// edit returns an edit of a message in the private chat, with an answer that is this old.
func edit(id int, text string, age time.Duration) Message {
	m := message(person, 1, text)
	m.EditID = id
	m.Sharing = Sharing{
		Key:     MessageRef{Chat: person, MessageID: id},
		Subject: "price",
		AsOf:    chat.Version{Time: time.Now().Add(-age)},
	}
	return m
}

// Each case is a series of edits of one message, which come one after another while the first one is made.
func TestTheNewestEditIsMade(t *testing.T) {
	const minute = time.Minute
	for _, test := range []struct {
		name  string
		ages  []time.Duration // of the answers
		want  string          // the text in the end: an edit's index in the series
		calls int
	}{
		{name: "one", ages: []time.Duration{0}, want: "0", calls: 1},
		{name: "a newer one", ages: []time.Duration{minute, 0}, want: "1", calls: 2},
		{name: "an older one", ages: []time.Duration{0, minute}, want: "0", calls: 1},
		{name: "an older one waits last", ages: []time.Duration{3 * minute, 0, minute}, want: "1", calls: 2},
		{name: "a newer one waits last", ages: []time.Duration{3 * minute, minute, 0}, want: "2", calls: 2},
		{name: "one as old waits last", ages: []time.Duration{3 * minute, 0, 0}, want: "2", calls: 2},
	} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.api.Start(person)
			id := c.Send(t.Context(), message(person, 1, "x")).Sent.MessageID
			c.calls = 0
			c.callTakes = time.Second
			for i, age := range test.ages {
				c.post(edit(id, fmt.Sprint(i), age))
			}
			c.sends.Wait()
			got := c.api.Sent()[0].Text
			if got != test.want || c.calls != test.calls || c.results[Delivered] != len(test.ages) {
				t.Errorf("%s: edit %s is seen after %d calls, results %v", test.name, got, c.calls, c.results)
			}
		})
	}
}

func TestAnOlderEditIsMadeIfTheNewerOneFails(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Start(person)
		id := c.Send(t.Context(), message(person, 1, "x")).Sent.MessageID
		c.api.Fail("editMessageText", telegramtest.NoRights())
		c.callTakes = time.Second
		c.post(edit(id, "newer", 0))
		c.post(edit(id, "older", time.Minute))
		c.sends.Wait()
		if got := c.api.Sent()[0].Text; got != "older" || c.results[Refused] != 1 || c.results[Delivered] != 1 {
			t.Errorf("%q is seen, results %v", got, c.results)
		}
	})
}

func TestAPanicBlocksNoLaterMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		answer, edited := message(group, 1, "x"), message(group, 1, "edited")
		edited.EditID = c.Send(t.Context(), answer).Sent.MessageID
		answer.Sharing.Key, edited.Sharing.Key = "answer", "edit"
		works := c.Config
		c.api.Fail("editMessageText", telegramtest.NoRights())
		for _, test := range []struct {
			m        Message
			breakOff func()
		}{
			{edited, func() { c.Count = nil }},   // The refusal of the edit calls Count.
			{answer, func() { c.Limiter = nil }}, // The wait for the answer's slot calls Limiter.
		} {
			test.breakOff()
			c.sendRecovering(test.m)
			c.Config = works
			if r := c.Send(t.Context(), test.m); r.Result != Delivered {
				t.Errorf("%q after a panic: %+v", test.m.Content.Text, r)
			}
		}
	})
}

func TestAPanicOfCombinedMutesNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		m := sharedAnswer(1)
		m.Sharing.Combined = func(int) Content { panic("no content") }
		results := make([]Result, 3)
		for i := range results {
			c.sends.Go(func() { results[i] = c.sendRecovering(m).Result })
			synctest.Wait() // The first goes alone, and the others wait together.
		}
		c.sends.Wait()
		// The second leads and panics. The third has joined it, and is then sent alone.
		if want := []Result{Delivered, None, Delivered}; !slices.Equal(results, want) {
			t.Errorf("results %v, want %v", results, want)
		}
		if r := c.Send(t.Context(), m); r.Result != Delivered {
			t.Errorf("the next message: %+v", r)
		}
	})
}

func TestSentMessagesAreForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		// Messages without a Key, with a Key, and a Notice.
		c.sendInPrivate(20, time.Second)
		for range 5 {
			c.post(sharedAnswer(1))
		}
		c.post(notice("busy"))
		c.sends.Wait()
		time.Sleep(2 * time.Minute) // longer than any answer or notice delays the next one
		c.Outbox.mu.Lock()
		defer c.Outbox.mu.Unlock()
		if len(c.latest) != 0 {
			t.Errorf("%d keys are remembered", len(c.latest))
		}
	})
}

func TestPausesThatEndedAreForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		const ended, lasting, next = 1, 2, 3 // chats
		c.pause(ended, time.Second)
		c.pause(lasting, time.Hour)
		time.Sleep(afterPause + 2*time.Second)
		c.pause(next, time.Second)
		c.Outbox.mu.Lock()
		defer c.Outbox.mu.Unlock()
		if _, isRemembered := c.pausedUntil[ended]; isRemembered || len(c.pausedUntil) != 2 {
			t.Errorf("the pauses %v are remembered", c.pausedUntil)
		}
	})
}

// Otherwise an edit of a sender who floods would wait, and then overwrite a newer answer.
func TestAnEditDoesNotWaitForASlotOfItsSender(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		id := c.Send(t.Context(), message(group, 2, "x")).Sent.MessageID
		time.Sleep(time.Minute)
		c.sendToGroup(3, 1, 20*time.Second)
		c.sends.Wait()
		time.Sleep(4 * time.Second) // The group has a slot, and user 1 has none.
		m := edit(id, "edited", 0)
		m.To.Chat = group
		m.Deadline = time.Now().Add(20 * time.Second)
		start := time.Now()
		if r := c.Send(t.Context(), m); r.Result != Delivered || time.Since(start) > time.Second {
			t.Errorf("%+v after %v", r, time.Since(start))
		}
	})
}

func TestASharedMessageWaitsUntilTheLatestDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.sendToGroup(3, 1, 20*time.Second) // They take the group's slots for four seconds.
		c.sends.Wait()
		first := sharedAnswer(2)
		first.Deadline = time.Now().Add(5 * time.Second)
		c.post(first)
		c.post(sharedAnswer(3))
		other := c.replica() // It takes the next slot of the group.
		taken := message(group, 4, "of a replica")
		if r := other.Send(t.Context(), taken); r.Result != Delivered {
			t.Errorf("of a replica: %+v", r)
		}
		c.sends.Wait()
		if c.results[Delivered] != 3+2 {
			t.Errorf("results %v", c.results)
		}
	})
}

// The three answers wait for the end of a 429. Then they are combined, refused for their link, and sent without it,
// which meets another 429. Combined again, the content has the link again. It must be left out without another refusal.
func TestWhatIsRefusedStaysLeftOutIfTheContentIsCombinedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		withLink := sharedAnswer(1)
		withLink.Sharing.Combined = func(int) Content {
			return Content{Text: "x", Entities: []models.MessageEntity{
				{Type: models.MessageEntityTypeTextLink, Length: 1, URL: "https://example.org/"},
			}}
		}
		refused := telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: BUTTON_URL_INVALID"}
		pause := telegramtest.TooMany(5 * time.Second)
		c.api.Fail("sendMessage", pause, refused, pause)
		for user := range int64(3) {
			withLink.Sender = user
			c.post(withLink)
		}
		c.sends.Wait()
		calls := c.api.Calls("sendMessage")
		entities := string(calls[len(calls)-1].Params["entities"])
		if strings.Contains(entities, "example.org") || c.calls != 4 || c.results[Delivered] != 3 {
			t.Errorf("the last of %d calls has the entities %s; results %v", c.calls, entities, c.results)
		}
	})
}
