package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// polled is the Bot API's getUpdates in memory: with trouble until a time, and
// then with one update.
type polled struct {
	until   time.Time
	trouble func(*http.Request) (*http.Response, error)
	calls   atomic.Int64
}

func (p *polled) RoundTrip(req *http.Request) (*http.Response, error) {
	p.calls.Add(1)
	if time.Now().Before(p.until) {
		return p.trouble(req)
	}
	asked, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(asked, []byte(`"offset":2`)) {
		select {
		case <-time.After(longPoll):
			return answered(200, `{"ok":true,"result":[]}`), nil
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	var q queue
	q.push(77, "private")
	return answered(200, fmt.Sprintf(`{"ok":true,"result":[%s]}`, q[0])), nil
}

func answered(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}
}

func TestATenMinuteOutageIsOutwaitedWithoutHurry(t *testing.T) {
	answer := func(status int, body string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return answered(status, body), nil }
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
				const outage = 10 * time.Minute
				s, api := paced(t)
				logs, events := &lockedBuffer{}, &tally{}
				s.Log, s.Count = slog.New(slog.NewTextHandler(logs, nil)), events.count
				server := &polled{until: time.Now().Add(outage), trouble: trouble}
				s.polls = &http.Client{Transport: server}
				s.api = inMemory(t, api)
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { s.poll(ctx); close(ended) }()
				<-time.After(outage - time.Second)
				synctest.Wait()
				if n := int(server.calls.Load()); n < 8 || n > 60 || events.of("poll_failed") < n-1 {
					t.Errorf("%d calls, %d counted", n, events.of("poll_failed"))
				}
				if s.Ready() || strings.Count(logs.String(), "level=WARN") != 1 {
					t.Errorf("ready %v; log:\n%s", s.Ready(), logs)
				}
				<-time.After(maxBackoff + pollSlack + time.Minute)
				synctest.Wait()
				if !s.Ready() {
					t.Error("not ready after the outage")
				}
				stop()
				<-ended
				if took, _ := api.of("77"); len(took) != 1 {
					t.Errorf("%d answers after the outage", len(took))
				}
			})
		})
	}
}
