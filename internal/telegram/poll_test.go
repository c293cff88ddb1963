package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
	"herald/internal/transport"
)

func TestNothingIsAcknowledgedUnanswered(t *testing.T) {
	const n = 60
	simulated(t, func(t *testing.T, r *rig) {
		release := r.block(10_007)
		r.askers(n)
		r.run()
		r.sent(n - 1)
		time.Sleep(time.Second)
		if pending := r.api.Pending(); len(pending) != n-7 {
			t.Errorf("%d updates are still queued, want %d: those from the hanging one on", len(pending), n-7)
		}
		release()
		if !r.api.WaitAcknowledged(soon) || len(r.api.Sent()) != n {
			t.Errorf("%d answers to %d updates", len(r.api.Sent()), n)
		}
	})
}

// Whatever hangs, others are answered as if it were not there, but for a moment
// for those that stand behind the first 100. It is answered too, also at a stop.
func TestWhatHangsHidesNobodyElses(t *testing.T) {
	type test struct {
		hung, others int
		fault        telegramtest.Fault // of a message
		within       time.Duration
		way          func(*Config)
	}
	unpaced, none := ways["polling"], telegramtest.Fault{}
	inBubble(t, map[string]test{
		"one command":                     {1, 300, none, 2 * stalledAfter, unpaced},
		"one command, at Telegram's pace": {1, 300, none, 13 * time.Second, paced},
		"one message":                     {1, 300, telegramtest.TooMany(time.Minute), 2 * stalledAfter, unpaced},
		"more than a batch of commands":   {250, 50, none, 3*stuckAfter + time.Second, unpaced},
	}, func(t *testing.T, tt test) {
		r := setUp(t, tt.way)
		if tt.fault == none {
			r.block(people(tt.hung)...)
		}
		r.api.Fail("sendMessage", tt.fault)
		stop, start := r.run(), time.Now()
		r.askers(tt.hung + tt.others)
		sent := r.api.WaitSent(tt.others, time.Minute)
		if took := time.Since(start); len(sent) < tt.others || took > tt.within {
			t.Errorf("%d of %d others are answered, after %v", len(sent), tt.others, took)
		}
		if tt.fault != none {
			time.Sleep(2 * time.Minute)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if answers := perChat(r.sent(tt.hung + tt.others)); len(answers) != tt.hung+tt.others || len(r.api.Pending()) != 0 {
			t.Errorf("%d are answered after the stop, %d are queued", len(answers), len(r.api.Pending()))
		}
	})
}

func TestWhatIsInFlightIsBounded(t *testing.T) {
	const most = 20
	simulated(t, func(t *testing.T, r *rig) {
		r.adapter.inHand = make(chan struct{}, most)
		release := r.block(people(most)...)
		r.askers(most + 5)
		r.run()
		time.Sleep(time.Second)
		if n := len(r.handler.Requests()); n != most {
			t.Errorf("%d commands are in flight, want %d", n, most)
		}
		release()
		r.sent(most + 5)
	})
}

// While a command hangs others are answered at once, and polls become few where
// nobody asks.
func TestAnUpdateInFlightDelaysNoOtherAndIsPolledBesideWithoutHurry(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		r.block(10_000)
		r.run()
		r.askers(1)
		r.inFlight(1)
		for i := range 40 {
			pushed := time.Now()
			r.api.Push(inPrivate(ann, "/price"))
			if took := r.sent(i + 1)[i].At.Sub(pushed); took > 2*pollGap {
				t.Errorf("a command waits for %v", took)
			}
			time.Sleep(1900 * time.Microsecond)
		}
		for second, most := range []int{50, 10} {
			before := len(r.api.Offsets())
			time.Sleep(time.Second)
			if polls := len(r.api.Offsets()) - before; polls > most {
				t.Errorf("%d polls in second %d", polls, second+1)
			}
		}
	})
}

// A server that does not wait is not asked as fast as it answers.
func TestAServerThatAnswersNothingAtOnceIsAskedWithPauses(t *testing.T) {
	inBubble(t, map[string]string{"nothing": `[]`, "what is no update": `[{},7]`}, func(t *testing.T, result string) {
		r := setUp(t)
		polls := r.carry("getUpdates", time.Time{}, func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Millisecond)
			return response(http.StatusOK, `{"ok":true,"result":`+result+`}`)
		})
		r.run()
		time.Sleep(time.Minute)
		if n := polls.calls.Load(); n < 60 || n > 5*60 || !r.adapter.Ready() {
			t.Errorf("%d polls in a minute, ready %v", n, r.adapter.Ready())
		}
	})
}

func TestATenMinuteOutageIsOutwaitedWithoutHurry(t *testing.T) {
	answer := func(status int, body string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return response(status, body) }
	}
	inBubble(t, map[string]func(*http.Request) (*http.Response, error){
		"a proxy's page":      answer(502, "<html></html>"),
		"a proxy's page, 200": answer(200, "<html></html>"),
		"a proxy's page, 401": answer(401, "<html></html>"),
		"another poller":      answer(409, `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`),
		"a broken connection": func(*http.Request) (*http.Response, error) { return nil, errors.New("broken") },
		"polls that all hang": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
		"429 without an end":  answer(429, `{"ok":false,"error_code":429,"parameters":{"retry_after":5}}`),
		"half an answer":      answer(200, `{"ok":true,"result":[{"upd`),
	}, func(t *testing.T, trouble func(*http.Request) (*http.Response, error)) {
		const length = 10 * time.Minute
		r := setUp(t)
		start := time.Now()
		polls := r.carry("getUpdates", time.Now().Add(length), func(req *http.Request) (*http.Response, error) {
			if time.Since(start) < time.Second {
				return r.api.RoundTrip(req) // It is connected at first.
			}
			return trouble(req)
		})
		r.run()
		r.waitFor("ready", r.adapter.Ready)
		time.Sleep(2 * time.Second)
		r.askers(1) // It ends the poll that waits.
		r.sent(1)
		r.askers(1)
		time.Sleep(length - 5*time.Second)
		if n := int(polls.calls.Load()); n < 8 || n > 70 || r.events.of("poll_failed") < n-5 {
			t.Errorf("%d calls, %d counted", n, r.events.of("poll_failed"))
		}
		if r.adapter.Ready() || strings.Count(r.logs.String(), "level=WARN") != 1 {
			t.Errorf("ready %v; log:\n%s", r.adapter.Ready(), r.logs)
		}
		time.Sleep(2 * time.Minute)
		if connected := r.events.of("connected as @" + telegramtest.Username); !r.adapter.Ready() ||
			connected != 2 || len(r.api.Sent()) != 2 {
			t.Errorf("ready %v, connected %d times, %d answers after the outage", r.adapter.Ready(), connected, len(r.api.Sent()))
		}
	})
}

func TestStartsBeforeTelegramDoes(t *testing.T) {
	inBubble(t, ways, func(t *testing.T, way func(*Config)) {
		r := setUp(t, way)
		for _, method := range []string{"getMe", "deleteWebhook", "setWebhook", "setMyCommands"} {
			r.api.Fail(method, telegramtest.Page(502), telegramtest.ResetBefore())
		}
		r.run()
		r.give(inPrivate(ann, "/price"))
		r.sent(1)
		time.Sleep(time.Minute)
		if len(r.api.Menu()) == 0 {
			t.Error("there is no menu")
		}
	})
}

func TestUpdatesThatCannotBeReadAreSkipped(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		r.api.PushRaw(`"message":{"message_id":"seven"}`)
		r.api.PushRaw(`"message":[1,2]`)
		r.api.PushRaw(`"a_kind_of_tomorrow":{"x":1}`)
		r.askers(1)
		r.run()
		r.sent(1)
		if !r.api.WaitAcknowledged(soon) || r.events.of("update_undecodable") != 2 {
			t.Errorf("%d counted, %d pending", r.events.of("update_undecodable"), len(r.api.Pending()))
		}
	})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A batch that is too large, or breaks off, is asked for in halves. One update
// that alone is too large is skipped; one that breaks off may be whole the next
// time, and is kept.
func TestABatchThatCannotBeReadIsAskedForInHalves(t *testing.T) {
	const most, outage = 100 << 10, time.Hour
	type test struct {
		err          error
		sizes        []int
		skipped      int
		least, limit time.Duration
	}
	sizes := make([]int, 20)
	for i := range sizes {
		sizes[i] = most / (2 + i)
	}
	inBubble(t, map[string]test{
		"too large":              {transport.ErrBodyTooLarge, sizes, 0, 0, time.Second},
		"broken off":             {io.ErrUnexpectedEOF, sizes, 0, 0, time.Second},
		"one that is too large":  {transport.ErrBodyTooLarge, []int{most}, 1, 0, time.Second},
		"one that is broken off": {io.ErrUnexpectedEOF, []int{most}, 0, outage, outage + time.Minute},
	}, func(t *testing.T, tt test) {
		const askers = 60
		r := setUp(t)
		r.carry("getUpdates", time.Now().Add(outage), func(req *http.Request) (*http.Response, error) {
			resp, err := r.api.RoundTrip(req)
			if err != nil {
				return nil, err
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body = io.NopCloser(bytes.NewReader(body))
			if len(body) > most {
				resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:most]), failing{&transport.Error{Host: "telegram", Err: tt.err}}))
			}
			return resp, err
		})
		for _, size := range tt.sizes {
			r.api.PushRaw(fmt.Sprintf(`"poll":{"id":%q}`, strings.Repeat("x", size)))
			r.askers(askers / len(tt.sizes))
		}
		r.run()
		start := time.Now()
		r.api.WaitSent(askers, outage+time.Minute)
		if took := time.Since(start); !r.api.WaitAcknowledged(soon) || took < tt.least || took > tt.limit || len(r.api.Sent()) != askers {
			t.Errorf("%d updates are left after %v", len(r.api.Pending()), took)
		}
		if n := r.events.of("update_too_large"); n != tt.skipped || r.events.of("poll_failed") == 0 ||
			strings.Count(r.logs.String(), "too large to be read") != tt.skipped {
			t.Errorf("events %v; log:\n%s", r.events.n, r.logs)
		}
	})
}

func TestARefusedTokenEndsRun(t *testing.T) {
	inBubble(t, map[string]func(*rig){
		"at the start":  func(r *rig) { r.api.Revoke() },
		"while sending": func(r *rig) {},
	}, func(t *testing.T, before func(*rig)) {
		r := setUp(t)
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
			r.api.Revoke()
			return chat.Reply{Title: chat.Say("x")}
		}
		r.askers(1)
		before(r)
		if err := r.adapter.Run(t.Context(), r.handler); !errors.Is(err, errToken) || !strings.Contains(err.Error(), "TELEGRAM_BOT_TOKEN") {
			t.Errorf("Run: %v", err)
		}
		if _, err := r.adapter.Check(t.Context()); err == nil {
			t.Error("Check finds nothing wrong")
		}
	})
}

func TestPollingRemovesAWebhookAndKeepsWhatIsQueued(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		r.api.SetWebhook("https://old.example/hook")
		r.askers(3)
		r.run()
		r.sent(3)
		if r.api.Webhook().URL != "" {
			t.Error("the webhook still stands")
		}
		r.api.SetWebhook("https://other.example/hook")
		r.waitFor("the log to name the cause", func() bool { return strings.Contains(r.logs.String(), "a webhook is set for this token") })
		r.askers(1)
		r.sent(4)
	})
}
