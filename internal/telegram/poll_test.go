package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

// askers pushes one command each of n people in their private chats.
func (r *rig) askers(n int) {
	for i := range n {
		user := int64(10_000 + i)
		r.api.Push(telegramtest.Text(telegramtest.Private(user), telegramtest.Person(user), "/price"))
	}
}

// perChat counts the messages by chat.
func perChat(sent []telegramtest.Sent) map[int64]int {
	n := map[int64]int{}
	for _, m := range sent {
		n[m.Chat]++
	}
	return n
}

// again is an adapter that takes over at the same Telegram.
func (r *rig) again() *rig {
	next := *r
	c := r.adapter.Config
	var err error
	if next.adapter, err = New(c); err != nil {
		r.Fatal(err)
	}
	return &next
}

func TestStoppedInTheMiddleEveryUpdateIsAnsweredOnce(t *testing.T) {
	const n = 500
	r := setUp(t, nil)
	r.askers(n)
	stop := r.run()
	r.api.WaitSent(n/3, soon)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	first := len(r.api.Sent())
	if first == n {
		t.Fatal("the stop came too late to be in the middle")
	}
	r.again().run()
	for user, count := range perChat(r.sent(n)) {
		if count != 1 {
			t.Errorf("user %d got %d answers", user, count)
		}
	}
	if !r.api.WaitAcknowledged(soon) || len(r.api.Sent()) != n {
		t.Errorf("%d answers to %d updates", len(r.api.Sent()), n)
	}
}

func TestKilledNothingIsLostAndNothingAcknowledgedUnanswered(t *testing.T) {
	const n = 250
	r := setUp(t, nil)
	r.askers(n)
	// One update hangs at the head, as the process dies with it in hand.
	hung := make(chan struct{})
	r.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
		if req.From.ID == "10007" {
			select {
			case <-hung:
			case <-ctx.Done():
			}
		}
		return chat.Reply{Title: "x"}
	}
	r.run()
	r.waitFor("a full window behind the one that hangs", func() bool { return len(r.api.Sent()) >= windowSize+6 })
	if pending := r.api.Pending(); len(pending) != n-7 {
		t.Errorf("%d updates are still queued, want %d: those from the hanging one on", len(pending), n-7)
	}
	close(hung)
	if !r.api.WaitAcknowledged(soon) || len(r.api.Sent()) != n {
		t.Errorf("%d answers to %d updates", len(r.api.Sent()), n)
	}
}

func TestASlowCommandIsPolledBesideWithoutHurry(t *testing.T) {
	r := setUp(t, nil)
	release := make(chan struct{})
	r.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
		if req.From.ID == "10000" {
			<-release
		}
		return chat.Reply{Title: "x"}
	}
	r.run()
	r.askers(1)
	r.waitFor("the command in hand", func() bool { return len(r.handler.Requests()) == 1 })
	before, start := len(r.api.Offsets()), time.Now()
	r.api.Push(telegramtest.Text(telegramtest.Private(ann), telegramtest.Person(ann), "/price"))
	r.sent(1)
	r.api.WaitCalls("getUpdates", before+3, soon)
	polls, took := len(r.api.Offsets())-before, time.Since(start)
	if least := time.Duration(polls-2) * pollTick / 2; took < least {
		t.Errorf("%d polls in %v", polls, took)
	}
	close(release)
	r.sent(2)
}

func TestUpdatesThatCannotBeReadAreSkipped(t *testing.T) {
	r := setUp(t, nil)
	r.api.PushRaw(`"message":{"message_id":"seven"}`)
	r.api.PushRaw(`"message":[1,2]`)
	r.api.PushRaw(`"a_kind_of_tomorrow":{"x":1}`)
	r.askers(1)
	r.run()
	r.sent(1)
	if !r.api.WaitAcknowledged(soon) || r.events.of("update_undecodable") != 2 {
		t.Errorf("%d counted, %d pending", r.events.of("update_undecodable"), len(r.api.Pending()))
	}
}

func TestARefusedTokenEndsRun(t *testing.T) {
	r := setUp(t, nil)
	r.run()
	r.waitFor("ready", r.adapter.Ready)
	r.api.Revoke()
	second := r.again()
	err := second.adapter.Run(t.Context())
	if !errors.Is(err, errToken) || !strings.Contains(err.Error(), "TELEGRAM_BOT_TOKEN") {
		t.Errorf("at start: %v", err)
	}
	if _, err := second.adapter.Check(t.Context()); err == nil {
		t.Error("Check finds nothing wrong")
	}
}

func TestATokenRevokedWhileSendingEndsRun(t *testing.T) {
	r := setUp(t, nil)
	r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
		r.api.Revoke()
		return chat.Reply{Title: "x"}
	}
	r.askers(1)
	if err := r.adapter.Run(t.Context()); !errors.Is(err, errToken) {
		t.Errorf("Run: %v", err)
	}
}

func TestPollingComesBackFromTrouble(t *testing.T) {
	for name, fault := range map[string]telegramtest.Fault{
		"a page with status 200": telegramtest.Page(http.StatusOK),
		"a page with status 401": telegramtest.Page(http.StatusUnauthorized),
		"a page with status 502": telegramtest.Page(http.StatusBadGateway),
		"a broken connection":    telegramtest.ResetBefore(),
		"a poll that hangs":      telegramtest.Hang(),
		"another poller":         telegramtest.Status(http.StatusConflict),
		"a 429":                  telegramtest.TooMany(time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setUp(t, nil)
			r.adapter.pollSlack = 300 * time.Millisecond
			r.api.Fail("getUpdates", fault, fault)
			r.askers(1)
			r.run()
			r.waitFor("a failure", func() bool { return r.events.of("poll_failed") > 0 })
			r.sent(1)
			r.waitFor("ready", r.adapter.Ready)
		})
	}
}

func TestReadyEndsWithTheConnection(t *testing.T) {
	r := setUp(t, nil)
	r.adapter.longPoll, r.adapter.pollSlack = time.Second, 200*time.Millisecond
	r.run()
	r.waitFor("ready", r.adapter.Ready)
	r.api.Fail("getUpdates", telegramtest.Page(502), telegramtest.Page(502))
	r.waitFor("not ready", func() bool { return !r.adapter.Ready() })
	r.waitFor("ready again", r.adapter.Ready)
}

func TestPollingRemovesAWebhookAndKeepsWhatIsQueued(t *testing.T) {
	r := setUp(t, nil)
	r.api.SetWebhook("https://old.example/hook")
	r.askers(3)
	r.run()
	r.sent(3)
	if r.api.Webhook().URL != "" {
		t.Error("the webhook still stands")
	}
	r.api.SetWebhook("https://other.example/hook")
	r.waitFor("the log to say what to do", func() bool { return strings.Contains(r.logs.String(), "a webhook is set for this token") })
}

func TestStartsBeforeTelegramDoes(t *testing.T) {
	r := setUp(t, nil)
	r.api.Fail("getMe", telegramtest.Page(502), telegramtest.ResetBefore())
	r.api.Fail("deleteWebhook", telegramtest.Page(502))
	r.api.Fail("setMyCommands", telegramtest.Status(500), telegramtest.TooMany(time.Second))
	r.askers(1)
	r.run()
	r.sent(1)
	r.waitFor("the menu", func() bool { return len(r.api.Menu()) > 0 })
}

func TestWindowAcknowledgesOnlyWhatIsAnswered(t *testing.T) {
	w := newWindow()
	for id := int64(5); id < 9; id++ {
		w.begin(id)
	}
	steps := []struct {
		end  int64
		want string
	}{{6, "5 true"}, {8, "5 true"}, {5, "7 true"}, {7, "9 false"}}
	for _, s := range steps {
		w.end(s.end, true)
		offset, busy := w.offset()
		if got := fmt.Sprint(offset, busy); got != s.want {
			t.Errorf("after %d: %s, want %s", s.end, got, s.want)
		}
	}
	w.forget()
	if offset, _ := w.offset(); offset != 0 {
		t.Errorf("the place is still %d", offset)
	}
	if j := w.begin(3); j == nil {
		t.Error("an update with a lower number is refused")
	}
	w.end(3, false)
	if offset, busy := w.offset(); offset != 3 || !busy {
		t.Errorf("an unanswered update is passed by: %d, %v", offset, busy)
	}
}

func FuzzDecodeBatch(f *testing.F) {
	f.Add([]byte(`{"ok":true,"result":[{"update_id":1},7,null]}`))
	f.Add([]byte(`{"ok":false,"error_code":429,"parameters":{"retry_after":-1}}`))
	f.Add([]byte(`<html></html>`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		batch, err := decodeBatch(bytes.NewReader(raw))
		if err != nil && kindOf(err) == neverSent {
			t.Errorf("an answer counts as never sent: %v", err)
		}
		for _, u := range batch {
			_, _ = decode(u)
		}
	})
}
