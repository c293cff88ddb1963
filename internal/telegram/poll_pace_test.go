package telegram

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

// carrier changes how one method's calls are carried.
type carrier struct {
	*telegramtest.Server
	method string
	carry  func(*http.Request) (*http.Response, error)
	calls  int // of method; it is called by one goroutine
}

func (c *carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(req.URL.Path, "/"+c.method) {
		return c.Server.RoundTrip(req)
	}
	c.calls++
	return c.carry(req)
}

func jsonAnswer(body string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}
}

// delays pushes one command after the other and returns how long each waited
// for its answer, in ascending order.
func (r *rig) delays(firstUser int64, n int, every time.Duration) (all []time.Duration) {
	r.Helper()
	pushed := map[int64]time.Time{}
	already := len(r.api.Sent())
	for i := range n {
		user := firstUser + int64(i)
		pushed[user] = time.Now()
		r.api.Push(telegramtest.Text(telegramtest.Private(user), telegramtest.Person(user), "/price"))
		time.Sleep(every)
	}
	for _, sent := range r.sent(already + n)[already:] {
		all = append(all, sent.At.Sub(pushed[sent.Chat]))
	}
	slices.Sort(all)
	return all
}

func TestAnUpdateInHandDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.block("10000")
		r.run()
		r.askers(1)
		r.waitFor("the command in hand", func() bool { return len(r.handler.Requests()) == 1 })
		for _, every := range []time.Duration{1900 * time.Microsecond, 19 * time.Millisecond} {
			delays := r.delays(int64(every), 40, every)
			if median, late := delays[20], delays[39]; median > pollGap || late > 2*pollGap {
				t.Errorf("one each %v: the median delay is %v, the longest %v", every, median, late)
			}
		}
	})
}

// Each batch takes about as long as one command, since the next one is asked
// for as soon as half of it is answered.
func TestFullBatchesFollowAtOnce(t *testing.T) {
	for name, took := range map[string]time.Duration{"quick commands": 5 * time.Millisecond, "slow commands": 80 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			const batches = 20
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
					time.Sleep(took)
					return chat.Reply{Title: chat.Say("x")}
				}
				r.askers(batches * batchSize)
				start := time.Now()
				r.run()
				r.sent(batches * batchSize)
				if got, want := time.Since(start), batches*took; got > want+want/2 {
					t.Errorf("%v for %d batches, want about %v", got, batches, want)
				}
			})
		})
	}
}

// One chat to which nothing can be sent for a while holds up no other.
func TestOneChatThatHasToWaitHidesNobodyElses(t *testing.T) {
	const others = 300
	for name, fault := range map[string]telegramtest.Fault{
		"a 429": telegramtest.TooMany(time.Minute), "a 5xx": telegramtest.Page(http.StatusBadGateway),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				r.api.Fail("sendMessage", fault, fault, fault)
				r.run()
				start := time.Now()
				r.askers(others + 1)
				r.api.WaitSent(others-2, time.Hour)
				if took := time.Since(start); took > 2*stalledAfter {
					t.Errorf("the others are answered after %v", took)
				}
				r.api.WaitSent(others+1, time.Hour)
				if answers := perChat(r.sent(others + 1)); len(answers) != others+1 {
					t.Errorf("%d of %d are answered", len(answers), others+1)
				}
			})
		})
	}
}

// A server that does not wait is not asked as fast as it answers.
func TestAServerThatAnswersNothingAtOnceIsAskedWithPauses(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": `{"ok":true,"result":[]}`, "what is no update": `{"ok":true,"result":[{},7]}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				polls := &carrier{Server: r.api, method: "getUpdates", carry: func(*http.Request) (*http.Response, error) {
					time.Sleep(time.Millisecond)
					return jsonAnswer(body), nil
				}}
				r.carriedBy(polls)
				r.run()
				time.Sleep(time.Minute)
				synctest.Wait()
				if polls.calls < 60 || polls.calls > 70 {
					t.Errorf("%d polls in a minute", polls.calls)
				}
				if !r.adapter.Ready() {
					t.Error("not ready")
				}
			})
		})
	}
}

func TestAServerThatWaitsShortlyIsAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		polls := &carrier{Server: r.api, method: "getUpdates", carry: func(req *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req = req.Clone(req.Context())
			req.Body = io.NopCloser(bytes.NewReader(bytes.Replace(body, []byte(`"timeout":50`), []byte(`"timeout":1`), 1)))
			return r.api.RoundTrip(req)
		}}
		r.carriedBy(polls)
		r.run()
		r.waitFor("ready", r.adapter.Ready)
		if delays := r.delays(20_000, 30, 1700*time.Millisecond); delays[29] > 0 {
			t.Errorf("a command waits for %v", delays[29])
		}
		if polls.calls > 120 {
			t.Errorf("%d polls in 51 s", polls.calls)
		}
	})
}
