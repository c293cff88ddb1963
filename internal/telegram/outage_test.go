package telegram

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
	"herald/internal/transport"
)

// outage has one method of a Bot API in trouble until a time.
type outage struct {
	*telegramtest.Server
	method  string
	until   time.Time
	trouble func(*http.Request) (*http.Response, error)
	calls   atomic.Int64
}

func (o *outage) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.URL.Path, "/"+o.method) {
		o.calls.Add(1)
		if time.Now().Before(o.until) {
			return o.trouble(req)
		}
	}
	return o.Server.RoundTrip(req)
}

func TestATenMinuteOutageIsOutwaitedWithoutHurry(t *testing.T) {
	answer := func(status int, body string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
	}
	for name, trouble := range map[string]func(*http.Request) (*http.Response, error){
		"a proxy's page":       answer(502, "<html></html>"),
		"a proxy's page, 200":  answer(200, "<html></html>"),
		"another poller":       answer(409, `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`),
		"a broken connection":  func(*http.Request) (*http.Response, error) { return nil, errors.New("broken") },
		"polls that all hang":  func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
		"429 without an end":   answer(429, `{"ok":false,"error_code":429,"parameters":{"retry_after":5}}`),
		"half an answer":       answer(200, `{"ok":true,"result":[{"upd`),
		"an empty answer, 200": answer(200, ""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const length = 10 * time.Minute
				r := setUpInMemory(t, nil)
				o := &outage{Server: r.api, method: "getUpdates", until: time.Now().Add(length), trouble: trouble}
				r.carriedBy(o)
				r.askers(1)
				r.run()
				time.Sleep(length - time.Second)
				synctest.Wait()
				if n := int(o.calls.Load()); n < 8 || n > 60 || r.events.of("poll_failed") < n-1 {
					t.Errorf("%d calls, %d counted", n, r.events.of("poll_failed"))
				}
				if r.adapter.Ready() || strings.Count(r.logs.String(), "level=WARN") != 1 {
					t.Errorf("ready %v; log:\n%s", r.adapter.Ready(), r.logs)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if !r.adapter.Ready() || len(r.api.Sent()) != 1 {
					t.Errorf("ready %v, %d answers after the outage", r.adapter.Ready(), len(r.api.Sent()))
				}
			})
		})
	}
}

// A message that cannot reach the server is sent once it can.
func TestAnOutageOfAnyLengthIsOutwaitedByAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length = deliveryLimit + time.Minute
		r := setUpInMemory(t, nil)
		down := &transport.Error{Host: "telegram", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
		r.carriedBy(&outage{Server: r.api, method: "sendMessage", until: time.Now().Add(length),
			trouble: func(*http.Request) (*http.Response, error) { return nil, down }})
		r.askers(1)
		r.run()
		start := time.Now()
		sent := r.api.WaitSent(1, length+2*time.Minute)
		if len(sent) != 1 || time.Since(start) < length {
			t.Errorf("%d messages after %v", len(sent), time.Since(start))
		}
	})
}

func TestAnAnswerThatIsNotOutAtTheEndIsForTheNextProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		down := &transport.Error{Host: "telegram", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
		r.carriedBy(&outage{Server: r.api, method: "sendMessage", until: time.Now().Add(time.Hour),
			trouble: func(*http.Request) (*http.Response, error) { return nil, down }})
		r.askers(2)
		stop := r.run()
		r.waitFor("both in hand", func() bool { return len(r.handler.Requests()) == 2 })
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > chat.DrainTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if pending := r.api.Pending(); len(pending) != 2 {
			t.Fatalf("%d updates are queued, want both", len(pending))
		}
		next := r.again()
		next.carriedBy(r.api)
		next.run()
		if answers := perChat(r.sent(2)); len(answers) != 2 || !r.api.WaitAcknowledged(soon) {
			t.Errorf("answers by chat: %v", answers)
		}
	})
}
