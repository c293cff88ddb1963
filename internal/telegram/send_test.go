package telegram

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

func TestASendIsRepeatedOnlyWhenItIsCertainlyNotOut(t *testing.T) {
	tests := map[string]struct {
		faults []telegramtest.Fault
		sent   int
		calls  int
		event  string
	}{
		"429":              {[]telegramtest.Fault{telegramtest.TooMany(time.Second)}, 1, 2, "rate_limited"},
		"500":              {[]telegramtest.Fault{telegramtest.Status(500)}, 1, 2, "send_repeated"},
		"502, a page":      {[]telegramtest.Fault{telegramtest.Page(502), telegramtest.Page(503)}, 1, 3, "send_repeated"},
		"504, a page":      {[]telegramtest.Fault{telegramtest.Page(504)}, 0, 1, "send_unclear"},
		"200, a page":      {[]telegramtest.Fault{telegramtest.Page(http.StatusOK)}, 0, 1, "send_unclear"},
		"reset before":     {[]telegramtest.Fault{telegramtest.ResetBefore()}, 0, 1, "send_unclear"},
		"reset after":      {[]telegramtest.Fault{telegramtest.ResetAfter()}, 1, 1, "send_unclear"},
		"400":              {[]telegramtest.Fault{telegramtest.Status(400)}, 0, 1, "send_refused"},
		"403":              {[]telegramtest.Fault{telegramtest.Status(403)}, 0, 1, "send_refused"},
		"429 for too long": {[]telegramtest.Fault{telegramtest.TooMany(time.Hour)}, 0, 1, "send_given_up"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setUp(t, nil)
			r.api.Fail("sendMessage", tt.faults...)
			r.run()
			r.askers(1)
			if !r.api.WaitAcknowledged(soon) {
				t.Fatal("the update is not acknowledged")
			}
			if n := len(r.api.Sent()); n != tt.sent {
				t.Errorf("%d messages, want %d", n, tt.sent)
			}
			if n := len(r.api.Calls("sendMessage")); n != tt.calls {
				t.Errorf("%d calls, want %d", n, tt.calls)
			}
			if r.events.of(tt.event) == 0 {
				t.Errorf("%s is not counted: %v", tt.event, r.events.n)
			}
			if tt.sent == 0 && !strings.Contains(r.logs.String(), "was not delivered") {
				t.Error("nothing is logged")
			}
		})
	}
}

func TestA429IsWaitedOut(t *testing.T) {
	t.Parallel()
	r := setUp(t, nil)
	r.api.Fail("sendMessage", telegramtest.TooMany(2*time.Second))
	r.run()
	r.askers(1)
	r.sent(1)
	calls := r.api.Calls("sendMessage")
	if gap := calls[1].At.Sub(calls[0].At); gap < 2*time.Second || gap > 4*time.Second {
		t.Errorf("asked again after %v", gap)
	}
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
		return chat.Reply{Title: "x"}
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
	for name, fault := range map[string]telegramtest.Fault{
		"refused": telegramtest.Status(400), "reset": telegramtest.ResetBefore(), "unclear": telegramtest.Page(504),
	} {
		t.Run(name, func(t *testing.T) {
			r := setUp(t, nil)
			r.handler.Reply = secretReply
			r.api.Start(ann)
			r.api.Fail("sendMessage", fault)
			r.run()
			r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/mylogins"))
			if !r.api.WaitAcknowledged(soon) || len(r.api.Sent()) != 0 || len(r.api.Calls("sendMessage")) != 1 {
				t.Errorf("sent %+v", r.api.Sent())
			}
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
