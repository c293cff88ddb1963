package telegram

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/transport"
)

// unreachable is what a server that is down answers: no message is sent.
func unreachable(*http.Request) (*http.Response, error) {
	return nil, &transport.Error{Host: "telegram", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
}

// A message that may be out is sent again twice at most, seconds apart; one that
// certainly is not, for minutes; and one that Telegram refuses is not.
func TestAMessageIsRepeatedUntilItIsOutOrMayBeOut(t *testing.T) {
	soon, later := faketelegram.TooMany(time.Second), faketelegram.TooMany(2*time.Minute)
	unknown, page, hang := faketelegram.Status(500), faketelegram.Page(http.StatusOK), faketelegram.Hang()
	type faults []faketelegram.Fault
	type test struct {
		faults  faults
		sent    int
		calls   int
		unknown int
		failed  int
	}
	inBubble(t, map[string]test{
		"429 twice":                 {faults{later, later}, 1, 3, 0, 0},
		"429 for too long in all":   {faults{later, later, later}, 0, 3, 0, 1},
		"500, out":                  {faults{unknown.CarriedOut()}, 2, 2, 1, 0},
		"500 to the end, out":       {faults{unknown.CarriedOut(), unknown.CarriedOut(), unknown.CarriedOut()}, 3, 3, 3, 1},
		"a page and no answer":      {faults{page, hang}, 1, 3, 2, 0},
		"500 to the end beside 429": {faults{unknown, soon, unknown, unknown}, 0, 4, 3, 1},
		"refused":                   {faults{faketelegram.NoRights()}, 0, 1, 0, 1},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.api.Fail("sendMessage", tt.faults...)
		r.run()
		r.ask(1)
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
		for event, want := range map[string]int{
			"send_repeated": tt.calls - 1, "send_outcome_unknown": tt.unknown, "answer_failed": tt.failed, "answered": 1 - tt.failed,
			"rate_limited": len(tt.faults) - tt.unknown - r.events.Of("send_refused"), "send_abandoned": tt.failed - r.events.Of("send_refused"),
		} {
			if n := r.events.Of(event); n != want {
				t.Errorf("%s is counted %d times, want %d", event, n, want)
			}
		}
		if strings.Count(r.logs.String(), "was not delivered") != tt.failed {
			t.Errorf("log:\n%s", r.logs)
		}
	})
}

// A message that cannot reach the server is sent once it can.
func TestAnOutageOfAnyLengthIsOutwaitedByAMessage(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		const length = 6 * time.Minute
		r.carry("sendMessage", length, unreachable)
		r.ask(1)
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
	type test struct {
		method string
		carry  roundTripper
	}
	inBubble(t, map[string]test{
		"a message certainly not out": {"sendMessage", unreachable},
		"a message perhaps out":       {"sendMessage", hangs},
		"an edit":                     {"editMessageText", unreachable},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.carry(tt.method, time.Hour, tt.carry)
		r.answer(refreshed("new", 2))
		stop := r.run()
		if tt.method == "editMessageText" {
			r.give(inPrivate(ann, "/price"))
			r.answer(refreshed("newer", 3))
			r.press(ann, "Refresh")
		} else {
			r.ask(1)
		}
		r.waitFor("the call", func() bool { return r.events.Of(tt.method) > 0 })
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > chat.DrainTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if len(r.api.Pending()) != 1 || !strings.Contains(r.logs.String(), "was not delivered") {
			t.Fatalf("%d updates are queued; log:\n%s", len(r.api.Pending()), r.logs)
		}
		next := r.again()
		next.run()
		r.api.WaitAcknowledged(soon)
		if m := r.sent(1)[0]; len(r.api.Pending()) != 0 || tt.method == "editMessageText" && m.Text != "newer" {
			t.Errorf("the message is %+v", m)
		}
	})
}
