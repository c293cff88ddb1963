package telegram

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
	"herald/internal/transport"
)

// unreachable is what a server that is down answers: no message is sent.
func unreachable(*http.Request) (*http.Response, error) {
	return nil, &transport.Error{Host: "telegram", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
}

// A message that may be out is sent again twice at most, seconds apart; one that
// certainly is not, for minutes.
func TestAMessageIsRepeatedUntilItIsOutOrMayBeOut(t *testing.T) {
	soon, later, hour := telegramtest.TooMany(time.Second), telegramtest.TooMany(2*time.Minute), telegramtest.TooMany(time.Hour)
	unclear, page, reset, hang := telegramtest.Status(500), telegramtest.Page(http.StatusOK), telegramtest.ResetBefore(), telegramtest.Hang()
	type faults []telegramtest.Fault
	type test struct {
		faults  faults
		sent    int
		calls   int
		unclear int
		gaveUp  bool // answer_failed and send_given_up
	}
	inBubble(t, map[string]test{
		"429":                     {faults{soon}, 1, 2, 0, false},
		"429 twice":               {faults{later, later}, 1, 3, 0, false},
		"429 for an hour":         {faults{hour}, 0, 1, 0, true},
		"429 for too long in all": {faults{later, later, later}, 0, 3, 0, true},
		"500":                     {faults{unclear}, 1, 2, 1, false},
		"500, out":                {faults{unclear.CarriedOut()}, 2, 2, 1, false},
		"500 twice, out":          {faults{unclear.CarriedOut(), unclear.CarriedOut()}, 3, 3, 2, false},
		"500 to the end":          {faults{unclear, unclear, unclear}, 0, 3, 3, true},
		"500 to the end, out":     {faults{unclear.CarriedOut(), unclear.CarriedOut(), unclear.CarriedOut()}, 3, 3, 3, true},
		"a page and a reset":      {faults{page, reset}, 1, 3, 2, false},
		"a reset, out":            {faults{reset.CarriedOut()}, 2, 2, 1, false},
		"no answer":               {faults{hang}, 1, 2, 1, false},
		// Each failure keeps its own rule beside another.
		"500 beside 429":            {faults{unclear, later, unclear, soon}, 1, 5, 2, false},
		"500 to the end beside 429": {faults{unclear, soon, unclear, unclear}, 0, 4, 3, true},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.api.Fail("sendMessage", tt.faults...)
		r.run()
		r.askers(1)
		if !r.api.WaitAcknowledged(20 * time.Minute) {
			t.Fatal("the update is not acknowledged")
		}
		calls := r.api.Calls("sendMessage")
		if len(r.api.Sent()) != tt.sent || len(calls) != tt.calls {
			t.Errorf("%d messages and %d calls, want %d and %d", len(r.api.Sent()), len(calls), tt.sent, tt.calls)
		}
		for i := range calls[1:] {
			if gap := calls[i+1].At.Sub(calls[i].At); gap < time.Second || calls[i].Fault.Unclear() && gap < 2*time.Second {
				t.Errorf("call %d came %v after the one before", i+2, gap)
			}
		}
		failed := 0
		if tt.gaveUp {
			failed = 1
		}
		for event, want := range map[string]int{
			"send_repeated": tt.calls - 1, "send_unclear": tt.unclear, "rate_limited": len(tt.faults) - tt.unclear,
			"send_given_up": failed, "answer_failed": failed, "answered": 1 - failed,
		} {
			if n := r.events.of(event); n != want {
				t.Errorf("%s is counted %d times, want %d", event, n, want)
			}
		}
		if strings.Count(r.logs.String(), "was not delivered") != failed {
			t.Errorf("log:\n%s", r.logs)
		}
	})
}

// What Telegram will not take is given up at once, and logged with the cause.
func TestARefusedMessageIsGivenUp(t *testing.T) {
	inBubble(t, map[string]telegramtest.Fault{
		"the topic is closed":         {},
		"the bot may not write there": telegramtest.NoRights(),
		"forbidden":                   telegramtest.Status(403),
	}, func(t *testing.T, fault telegramtest.Fault) {
		r := setUp(t)
		r.api.Fail("sendMessage", fault)
		r.api.CloseTopic(group, 9)
		r.run()
		r.api.Push(inGroup(ann, "/price").In(9))
		if !r.api.WaitAcknowledged(soon) || r.events.of("send_refused") != 1 || len(r.api.Sent()) != 0 {
			t.Errorf("events %v; log:\n%s", r.events.n, r.logs)
		}
	})
}

// A message that cannot reach the server is sent once it can.
func TestAnOutageOfAnyLengthIsOutwaitedByAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length = deliveryLimit + time.Minute
		r := setUp(t)
		r.carry("sendMessage", time.Now().Add(length), unreachable)
		r.askers(1)
		r.run()
		start := time.Now()
		if sent := r.api.WaitSent(1, length+2*time.Minute); len(sent) != 1 || time.Since(start) < length {
			t.Errorf("%d messages after %v", len(sent), time.Since(start))
		}
	})
}

// A stop takes no longer than a drain may, and loses no answer that is not out:
// the next process gives it.
func TestAStopLeavesWhatIsNotOutToTheNextProcess(t *testing.T) {
	hang := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	tooMany := func(*http.Request) (*http.Response, error) {
		return response(http.StatusTooManyRequests, `{"ok":false,"error_code":429,"parameters":{"retry_after":60}}`)
	}
	type test struct {
		way, method string
		carry       func(*http.Request) (*http.Response, error)
	}
	inBubble(t, map[string]test{
		"a message certainly not out":      {"polling", "sendMessage", unreachable},
		"a message perhaps out":            {"polling", "sendMessage", hang},
		"an edit":                          {"polling", "editMessageText", unreachable},
		"a message, delivered":             {"webhook", "sendMessage", unreachable},
		"a message perhaps out, delivered": {"webhook", "sendMessage", hang},
		"a repetition that a 429 puts off": {"polling", "sendMessage", tooMany},
	}, func(t *testing.T, tt test) {
		r := setUp(t, ways[tt.way])
		broken := r.carry(tt.method, time.Now().Add(time.Hour), tt.carry)
		r.answer(refreshed("new", 2))
		stop := r.run()
		if tt.method == "editMessageText" {
			r.give(inPrivate(ann, "/price"))
			r.answer(refreshed("newer", 3))
		}
		body, status := []byte(nil), make(chan int, 1)
		switch {
		case tt.way == "webhook":
			body = r.api.Update(inPrivate(ann, "/price"))
			go func() { status <- r.deliver(body) }()
		case tt.method == "editMessageText":
			r.press(ann, "Refresh")
		default:
			r.askers(1)
		}
		r.waitFor("the call", func() bool { return broken.calls.Load() > 0 })
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > chat.DrainTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if len(r.api.Pending()) != 1 && tt.way == "polling" || !strings.Contains(r.logs.String(), "was not delivered") {
			t.Fatalf("%d updates are queued; log:\n%s", len(r.api.Pending()), r.logs)
		}
		next := r.again()
		next.run()
		if tt.way == "webhook" {
			if first, second := <-status, next.deliver(body); first != http.StatusServiceUnavailable || second != http.StatusOK {
				t.Errorf("answered by %d, and delivered again by %d", first, second)
			}
		}
		r.api.WaitAcknowledged(soon)
		if m := r.sent(1)[0]; len(r.api.Pending()) != 0 || tt.method == "editMessageText" && m.Text != "newer" {
			t.Errorf("the message is %+v", m)
		}
	})
}

func TestAnswersFollowAGroupThatMoved(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		r.api.Migrate(-5, -1005)
		r.run()
		r.api.Push(writes(telegramtest.Chat{ID: -5, Type: "group"}, ann, "/price"))
		if got := r.sent(1)[0]; got.Chat != -1005 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAnswersStandWhenTheQuestionIsGone(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		m := inGroup(ann, "/price")
		m["message_id"] = int64(900)
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
			r.api.Delete(group, 900)
			return chat.Reply{Title: chat.Say("x")}
		}
		r.run()
		r.api.Push(m)
		if got := r.sent(1)[0]; got.ReplyTo != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAFailedPrivateAnswerSaysNothingInTheGroup(t *testing.T) {
	reset, page := telegramtest.ResetBefore(), telegramtest.Page(504)
	inBubble(t, map[string][]telegramtest.Fault{
		"refused": {telegramtest.NoRights()}, "reset": {reset, reset, reset}, "unclear": {page, page, page},
	}, func(t *testing.T, faults []telegramtest.Fault) {
		r := setUp(t)
		r.handler.Reply = secretReply
		r.api.Start(ann)
		r.api.Fail("sendMessage", faults...)
		r.run()
		r.api.Push(inGroup(ann, "/mylogins"))
		if !r.api.WaitAcknowledged(time.Minute) || len(r.api.Sent()) != 0 || len(r.api.Calls("sendMessage")) != len(faults) {
			t.Errorf("sent %+v", r.api.Sent())
		}
	})
}

// The errors of the client hold no token, and so neither does a log (setUp looks).
func TestTroubleOfEveryKindKeepsTheTokenOutOfErrors(t *testing.T) {
	inBubble(t, map[string]telegramtest.Fault{
		"a page that repeats the path": telegramtest.Page(200), "with 404": telegramtest.Page(404),
		"with 500": telegramtest.Page(500), "a redirect": telegramtest.Page(302), "a reset": telegramtest.ResetBefore(),
	}, func(t *testing.T, fault telegramtest.Fault) {
		r := setUp(t)
		r.api.Fail("getMe", fault, fault)
		r.api.Fail("getUpdates", fault)
		r.api.Fail("sendMessage", fault)
		_, err := r.adapter.Check(t.Context())
		r.noToken(fmt.Sprint(err))
		r.run()
		r.askers(1)
		if !r.api.WaitAcknowledged(time.Minute) {
			t.Error("the update is not acknowledged")
		}
	})
}
