package telegram

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

// A message that may be out is sent again twice at most; one that certainly is
// not, until it is.
func TestAMessageIsRepeatedUntilItIsOutOrMayBeOut(t *testing.T) {
	unclear := map[string]telegramtest.Fault{
		"500":        telegramtest.Status(500),
		"502":        telegramtest.Page(502),
		"503":        telegramtest.Page(503),
		"504":        telegramtest.Page(504),
		"a page":     telegramtest.Page(http.StatusOK),
		"a reset":    telegramtest.ResetBefore(),
		"no answer":  telegramtest.Hang(),
		"429, 1 s":   telegramtest.TooMany(time.Second),
		"429, 2 min": telegramtest.TooMany(2 * time.Minute),
		"429, 1 h":   telegramtest.TooMany(time.Hour),
		"400":        telegramtest.NoRights(),
		"403":        telegramtest.Status(403),
	}
	list := func(names ...string) (faults []telegramtest.Fault) {
		for _, name := range names {
			f, out := strings.CutSuffix(name, ", out")
			fault, known := unclear[f]
			if !known {
				t.Fatal(f)
			}
			if out {
				fault = fault.CarriedOut()
			}
			faults = append(faults, fault)
		}
		return faults
	}
	for _, tt := range []struct {
		faults []telegramtest.Fault
		sent   int
		calls  int
		events map[string]int
	}{
		{list("429, 1 s"), 1, 2, map[string]int{"rate_limited": 1, "send_repeated": 1}},
		{list("429, 2 min", "429, 2 min"), 1, 3, map[string]int{"rate_limited": 2, "send_repeated": 2}},
		{list("429, 1 h"), 0, 1, map[string]int{"rate_limited": 1, "send_given_up": 1}},
		{list("429, 2 min", "429, 2 min", "429, 2 min"), 0, 3, map[string]int{"rate_limited": 3, "send_repeated": 2, "send_given_up": 1}},
		{list("400"), 0, 1, map[string]int{"send_refused": 1}},
		{list("403"), 0, 1, map[string]int{"send_refused": 1}},

		{list("500"), 1, 2, map[string]int{"send_unclear": 1, "send_repeated": 1}},
		{list("500, out"), 2, 2, map[string]int{"send_unclear": 1, "send_repeated": 1}},
		{list("502, out", "503, out"), 3, 3, map[string]int{"send_unclear": 2, "send_repeated": 2}},
		{list("504", "504"), 1, 3, map[string]int{"send_unclear": 2, "send_repeated": 2}},
		{list("502", "502", "502"), 0, 3, map[string]int{"send_unclear": 3, "send_repeated": 2, "send_given_up": 1}},
		{list("502, out", "500, out", "503, out"), 3, 3, map[string]int{"send_unclear": 3, "send_repeated": 2, "send_given_up": 1}},
		{list("a page", "a reset"), 1, 3, map[string]int{"send_unclear": 2, "send_repeated": 2}},
		{list("a reset, out"), 2, 2, map[string]int{"send_unclear": 1, "send_repeated": 1}},
		{list("a reset", "a reset", "a reset"), 0, 3, map[string]int{"send_unclear": 3, "send_repeated": 2, "send_given_up": 1}},
		{list("no answer"), 1, 2, map[string]int{"send_unclear": 1, "send_repeated": 1}},

		// Each failure keeps its own rule beside another.
		{list("502", "429, 2 min", "502", "429, 1 s"), 1, 5, map[string]int{"send_unclear": 2, "rate_limited": 2, "send_repeated": 4}},
		{list("502", "429, 1 s", "502", "502"), 0, 4, map[string]int{"send_unclear": 3, "rate_limited": 1, "send_repeated": 3, "send_given_up": 1}},
		{list("502, out", "400"), 1, 2, map[string]int{"send_unclear": 1, "send_repeated": 1, "send_refused": 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := setUpInMemory(t, nil)
			r.api.Fail("sendMessage", tt.faults...)
			r.run()
			r.askers(1)
			if !r.api.WaitAcknowledged(20 * time.Minute) {
				t.Fatal("the update is not acknowledged")
			}
			calls := r.api.Calls("sendMessage")
			if len(r.api.Sent()) != tt.sent || len(calls) != tt.calls {
				t.Errorf("%+v: %d messages and %d calls, want %d and %d", tt.faults, len(r.api.Sent()), len(calls), tt.sent, tt.calls)
			}
			for _, event := range []string{"rate_limited", "send_repeated", "send_unclear", "send_given_up", "send_refused"} {
				if n := r.events.of(event); n != tt.events[event] {
					t.Errorf("%+v: %s is counted %d times, want %d", tt.faults, event, n, tt.events[event])
				}
			}
			for i := range calls[1:] {
				if gap := calls[i+1].At.Sub(calls[i].At); gap < time.Second || calls[i].Fault.Unclear() && gap < 2*time.Second {
					t.Errorf("%+v: call %d came %v after the one before", tt.faults, i+2, gap)
				}
			}
			outcome, failed := "answered", tt.calls == len(tt.faults)
			if failed {
				outcome = "answer_failed"
			}
			if failed != strings.Contains(r.logs.String(), "was not delivered") || r.events.of(outcome) != 1 ||
				r.events.of("answered")+r.events.of("answer_failed") != 1 {
				t.Errorf("%+v: want %s once, events %v, log:\n%s", tt.faults, outcome, r.events.n, r.logs)
			}
		})
	}
}

// A stop between the repetitions loses no answer: the next process gives it.
func TestAStopLeavesAnUnclearAnswerToTheNextProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		broken := &outage{Server: r.api, method: "sendMessage", until: time.Now().Add(time.Hour),
			trouble: func(req *http.Request) (*http.Response, error) {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}}
		r.carriedBy(broken)
		r.askers(1)
		stop := r.run()
		r.waitFor("the call", func() bool { return broken.calls.Load() == 1 })
		if err := stop(); err != nil {
			t.Error(err)
		}
		if n := len(r.api.Pending()); n != 1 || !strings.Contains(r.logs.String(), "was not delivered") {
			t.Fatalf("%d updates are queued, want 1; log:\n%s", n, r.logs)
		}
		next := r.again()
		next.carriedBy(r.api)
		next.run()
		if r.sent(1); !r.api.WaitAcknowledged(soon) {
			t.Error("the update is not acknowledged")
		}
	})
}

// A repetition whose turn comes after the drain is for the next process too.
func TestAStopLeavesARepetitionWithoutATurnToTheNextProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, func(c *Config) { c.Pacing = true })
		r.api.Fail("sendMessage", telegramtest.Page(502))
		update, message := r.api.Push(asks(0, 0, "/price"))
		stop := r.run()
		r.waitFor("the call", func() bool { return len(r.api.Calls("sendMessage")) == 1 })
		r.flood(11) // Their turns are all that there are for half a minute.
		time.Sleep(3 * time.Second)
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > chat.DrainTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if !slices.Contains(r.api.Pending(), update) {
			t.Fatalf("the update is acknowledged; sent %+v", r.api.Sent())
		}
		// For all twelve there is a turn then, in whatever order they take theirs.
		r.adapter.CommandTimeout = 4 * time.Minute
		next := r.again()
		next.carriedBy(r.api)
		next.run()
		next.settled(5 * time.Minute)
		if !slices.ContainsFunc(r.api.Sent(), func(m telegramtest.Sent) bool { return m.ReplyTo == message }) {
			t.Errorf("it is never answered; sent %+v", r.api.Sent())
		}
	})
}

func TestADrainGivesAnUnclearAnswerItsRepetitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.api.Fail("sendMessage", telegramtest.Page(502), telegramtest.Page(502))
		r.askers(1)
		stop := r.run()
		r.waitFor("the call", func() bool { return len(r.api.Calls("sendMessage")) == 1 })
		if err := stop(); err != nil || len(r.api.Sent()) != 1 || len(r.api.Pending()) != 0 {
			t.Errorf("%v, %d messages, %d updates are queued", err, len(r.api.Sent()), len(r.api.Pending()))
		}
	})
}

func TestA429IsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.api.Fail("sendMessage", telegramtest.TooMany(2*time.Second))
		r.run()
		r.askers(1)
		r.sent(1)
		calls := r.api.Calls("sendMessage")
		if gap := calls[1].At.Sub(calls[0].At); gap < 2*time.Second || gap > 4*time.Second {
			t.Errorf("asked again after %v", gap)
		}
	})
}

func TestAnswersFollowAGroupThatMoved(t *testing.T) {
	r := setUp(t, nil)
	r.api.Migrate(-5, -1005)
	r.run()
	r.api.Push(telegramtest.Text(telegramtest.Chat{ID: -5, Type: "group"}, telegramtest.Person(ann), "/price"))
	if got := r.sent(1)[0]; got.Chat != -1005 {
		t.Errorf("got %+v", got)
	}
}

func TestAnswersStandWhenTheQuestionIsGone(t *testing.T) {
	r := setUp(t, nil)
	r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
		r.api.Delete(group, 900)
		return chat.Reply{Title: chat.Say("x")}
	}
	r.run()
	m := telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price")
	m["message_id"] = int64(900)
	r.api.Push(m)
	if got := r.sent(1)[0]; got.ReplyTo != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestAClosedTopicIsGivenUp(t *testing.T) {
	r := setUp(t, nil)
	r.api.CloseTopic(group, 9)
	r.run()
	r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price").In(9))
	if !r.api.WaitAcknowledged(soon) || r.events.of("send_refused") != 1 || !strings.Contains(r.logs.String(), "the topic is closed") {
		t.Errorf("events %v; log:\n%s", r.events.n, r.logs)
	}
}

func TestAFailedPrivateAnswerSaysNothingInTheGroup(t *testing.T) {
	reset, page := telegramtest.ResetBefore(), telegramtest.Page(504)
	for name, faults := range map[string][]telegramtest.Fault{
		"refused": {telegramtest.NoRights()}, "reset": {reset, reset, reset}, "unclear": {page, page, page},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				r.handler.Reply = secretReply
				r.api.Start(ann)
				r.api.Fail("sendMessage", faults...)
				r.run()
				r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/mylogins"))
				if !r.api.WaitAcknowledged(time.Minute) || len(r.api.Sent()) != 0 || len(r.api.Calls("sendMessage")) != len(faults) {
					t.Errorf("sent %+v", r.api.Sent())
				}
			})
		})
	}
}

func TestTroubleOfEveryKindKeepsTheTokenOutOfTheLog(t *testing.T) {
	for name, fault := range map[string]telegramtest.Fault{
		"a page that repeats the path": telegramtest.Page(200), "with 404": telegramtest.Page(404),
		"with 500": telegramtest.Page(500), "a redirect": telegramtest.Page(302), "a reset": telegramtest.ResetBefore(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setUp(t, nil)
			r.api.Fail("getMe", fault, fault)
			r.api.Fail("getUpdates", fault)
			r.api.Fail("sendMessage", fault)
			if _, err := r.adapter.Check(t.Context()); err == nil {
				t.Error("no error")
			} else {
				r.noToken(err.Error())
			}
			r.run()
			r.askers(1)
			r.waitFor("trouble with polling to pass", func() bool { return r.api.WaitAcknowledged(soon) })
		})
	}
}
