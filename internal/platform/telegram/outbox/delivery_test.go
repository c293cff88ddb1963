package outbox

import (
	"context"
	"net/http"
	"testing"
	"time"

	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/telegram/botapi"
)

// answerTo returns the answer to an ephemeral message in the chat.
func answerTo(chat int64) Message {
	m := message(chat, person, "x")
	m.Ephemeral = botapi.NewEphemeralMessage(chat, person, 1, "")
	m.Deadline = time.Now().Add(15 * time.Second)
	return m
}

func TestAnEphemeralMessageIsGivenUpAtItsDeadline(t *testing.T) {
	for name, before := range map[string]func(*outboxTest){
		"behind a 429 of its own": func(c *outboxTest) {
			c.api.Fail("sendMessage", telegramtest.TooMany(119*time.Second))
		},
		"behind the 429 of another": func(c *outboxTest) {
			c.api.Fail("sendMessage", telegramtest.TooMany(119*time.Second))
			c.sendToGroup(2, 1, anyTime)
		},
		"behind others of its chat": func(c *outboxTest) { c.sendToGroup(30, 1, anyTime) },
	} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			before(c)
			start := time.Now()
			r := c.Send(t.Context(), answerTo(group))
			if r.Result == Delivered || time.Since(start) > 15*time.Second {
				t.Errorf("%s: %v after %v", name, r, time.Since(start))
			}
		})
	}
}

func TestAnEphemeralMessageIsDroppedAtOnceIfAPauseIsTooLong(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.pause(group, time.Minute)
		start := time.Now()
		if r := c.Send(t.Context(), answerTo(group)); r.Result != Dropped || time.Since(start) > 0 {
			t.Errorf("%v after %v", r, time.Since(start))
		}
	})
}

func TestMessageFollowsAMigratedGroup(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Migrate(-5, group)
		m := message(-5, 1, "x")
		m.To.ReplyTo = 3
		r := c.Send(t.Context(), m)
		if r.Result != Delivered || r.Sent.Chat != group || c.api.Sent()[0].ReplyTo != 0 {
			t.Errorf("%+v, sent %+v", r, c.api.Sent())
		}
	})
}

func TestANoticeIsRepeatedAndUsesOneSlot(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Fail("sendMessage", telegramtest.Page(http.StatusBadGateway))
		if r := c.Send(t.Context(), notice("busy")); r.Result != Delivered || c.calls != 2 {
			t.Errorf("result %v after %d calls, want Delivered after 2", r.Result, c.calls)
		}
	})
}

func TestARepetitionMayBeLate(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		c.api.Fail("sendMessage", telegramtest.Page(http.StatusBadGateway))
		c.sendToGroup(1, person, time.Second)
		c.sendToGroup(18, person+1, anyTime) // They take what the group has for a minute.
		c.sends.Wait()
		if c.results[Delivered] != 19 {
			t.Errorf("the results are %v, want all Delivered", c.results)
		}
	})
}

// The update of a message that was not sent is not acknowledged, and comes again.
func TestAMessageThatIsCutOffIsNotSent(t *testing.T) {
	for name, fault := range map[string]telegramtest.Fault{
		"an unknown outcome": telegramtest.Page(http.StatusBadGateway),
		"a 429":              telegramtest.TooMany(time.Minute),
		"a hanging call":     telegramtest.Hang(),
	} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			c.api.Fail("sendMessage", fault)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if r := c.Send(ctx, message(group, 1, "x")); r.Result != Retryable || r.Err == nil {
				t.Errorf("%s: %+v", name, r)
			}
		})
	}
}

// Each row is the number of attempts that fail with an unknown outcome, and what becomes of the message.
func TestAMessageIsRepeatedTwiceAfterUnknownOutcomes(t *testing.T) {
	for failures, want := range []Result{Delivered, Delivered, Delivered, OutcomeUnknown} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			for range failures {
				c.api.Fail("sendMessage", telegramtest.Page(http.StatusBadGateway))
			}
			r := c.Send(t.Context(), message(group, 1, "x"))
			if r.Result != want || r.UnknownAttempts != failures || c.events["send_outcome_unknown"] != failures {
				t.Errorf("after %d: %+v, events %v", failures, r, c.events)
			}
		})
	}
}

func TestAnAnswerThatExpiredAfterAnUnknownOutcomeIsDone(t *testing.T) {
	expired := refusal(t, http.StatusBadRequest, "Bad Request: query is too old")
	unknown := &botapi.Error{Kind: botapi.OutcomeUnknown}
	for _, test := range []struct {
		name string
		errs []error
		want error
	}{
		{name: "at once", errs: []error{expired}, want: expired},
		{name: "after an unknown outcome", errs: []error{unknown, expired}},
		{name: "unknown twice", errs: []error{unknown, unknown}, want: unknown},
	} {
		inBubble(t, func(t *testing.T, c *outboxTest) {
			calls := 0
			call := func(context.Context) error {
				calls++
				return test.errs[calls-1]
			}
			err := c.Answer(t.Context(), time.Now().Add(10*time.Second), call)
			if err != test.want || calls != len(test.errs) {
				t.Errorf("%s: %v after %d calls", test.name, err, calls)
			}
		})
	}
}

func TestAnAnswerIsRepeatedWithoutWhatIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, c *outboxTest) {
		noLink := refusal(t, http.StatusBadRequest, "Bad Request: BUTTON_URL_INVALID")
		contents := []*Content{{Text: "plain"}, new(full)}
		call := func(context.Context) error {
			if contents[1].parts()&linkPart != 0 {
				return noLink
			}
			return nil
		}
		err := c.Answer(t.Context(), time.Now().Add(10*time.Second), call, contents...)
		if err != nil || contents[1].parts() != formatPart {
			t.Errorf("%v; the content has the parts %b", err, contents[1].parts())
		}
	})
}
