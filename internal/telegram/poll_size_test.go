package telegram

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/telegram/telegramtest"
	"herald/internal/transport"
)

// cutOff has a method's answers end with err after so many bytes.
func (r *rig) cutOff(method string, most int, err error) *carrier {
	c := &carrier{Server: r.api, method: method}
	c.carry = func(req *http.Request) (*http.Response, error) {
		resp, failed := r.api.RoundTrip(req)
		if failed != nil {
			return nil, failed
		}
		body, failed := io.ReadAll(resp.Body)
		if failed != nil {
			return nil, failed
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		if len(body) > most {
			resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:most]), failing{&transport.Error{Host: "telegram", Err: err}}))
		}
		return resp, nil
	}
	r.carriedBy(c)
	return c
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func large(bytes int) string { return fmt.Sprintf(`"poll":{"id":%q}`, strings.Repeat("x", bytes)) }

func TestABatchThatCannotBeReadIsAskedForInHalves(t *testing.T) {
	const most = 100 << 10
	for name, err := range map[string]error{"too large": transport.ErrBodyTooLarge, "broken off": io.ErrUnexpectedEOF} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				polls := r.cutOff("getUpdates", most, err)
				const n = 120
				for i := range n {
					r.api.PushRaw(large(most / (2 + i%20)))
					r.askers(1)
				}
				r.run()
				start := time.Now()
				r.sent(n)
				if !r.api.WaitAcknowledged(soon) || time.Since(start) > time.Second {
					t.Errorf("%d updates are left after %v and %d polls", len(r.api.Pending()), time.Since(start), polls.calls)
				}
				if r.events.of("poll_failed") == 0 || r.events.of("update_too_large") != 0 {
					t.Errorf("events %v", r.events.n)
				}
			})
		})
	}
}

func TestOneUpdateThatIsTooLargeIsSkipped(t *testing.T) {
	const most = 100 << 10
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.cutOff("getUpdates", most, transport.ErrBodyTooLarge)
		r.askers(7)
		r.api.PushRaw(large(most))
		r.askers(150)
		r.run()
		start := time.Now()
		r.sent(157)
		if !r.api.WaitAcknowledged(soon) || time.Since(start) > time.Second {
			t.Errorf("%d updates are left after %v", len(r.api.Pending()), time.Since(start))
		}
		if r.events.of("update_too_large") != 1 || strings.Count(r.logs.String(), "too large to be read") != 1 {
			t.Errorf("events %v; log:\n%s", r.events.n, r.logs)
		}
	})
}

// What breaks off may be whole the next time, so that nothing is skipped.
func TestOneUpdateThatBreaksOffIsKept(t *testing.T) {
	const most, outage = 100 << 10, time.Hour
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		c, over := r.cutOff("getUpdates", most, io.ErrUnexpectedEOF), time.Now().Add(outage)
		cut := c.carry
		c.carry = func(req *http.Request) (*http.Response, error) {
			if time.Now().After(over) {
				return r.api.RoundTrip(req)
			}
			return cut(req)
		}
		message := telegramtest.Text(telegramtest.Private(ann), telegramtest.Person(ann), "/price")
		message["caption"] = strings.Repeat("x", most)
		r.api.Push(message)
		r.run()
		if sent := r.api.WaitSent(1, outage+time.Minute); len(sent) != 1 {
			t.Errorf("%d answers", len(sent))
		}
	})
}
