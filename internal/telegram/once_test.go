package telegram

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

func TestDeliveriesRepeatedAtOnceAreAnsweredOnce(t *testing.T) {
	const updates, times = 10, 20
	r, address := hooked(t)
	r.run()
	r.waitFor("ready", r.adapter.Ready)
	var all sync.WaitGroup
	var bodies [][]byte
	for i := range updates {
		body := r.update(int64(10_000 + i))
		bodies = append(bodies, body)
		for range times {
			all.Go(func() {
				status, err := r.api.Deliver(r.Context(), address, body)
				if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
					t.Errorf("status %d, %v", status, err)
				}
			})
		}
	}
	all.Wait()
	for _, body := range bodies {
		if status := r.deliver(address, body); status != http.StatusOK {
			t.Errorf("delivered again: %d", status)
		}
	}
	for chat, n := range perChat(r.sent(updates)) {
		if n != 1 {
			t.Errorf("chat %d has %d answers", chat, n)
		}
	}
	if n := len(r.handler.Requests()); n != updates {
		t.Errorf("%d requests were handled", n)
	}
}

func TestWhatIsTurnedAwayWhenFullIsAnsweredLater(t *testing.T) {
	const most = 100
	r, address := hooked(t)
	r.adapter.inHand = make(chan struct{}, most)
	release := make(chan struct{})
	r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
		<-release
		return chat.Reply{Title: chat.Say("x")}
	}
	r.run()
	r.waitFor("ready", r.adapter.Ready)
	var all sync.WaitGroup
	for i := range most {
		body := r.update(int64(20_000 + i))
		all.Go(func() {
			if status, err := r.api.Deliver(r.Context(), address, body); err != nil || status != http.StatusOK {
				t.Errorf("one of those in hand: %d, %v", status, err)
			}
		})
	}
	r.waitFor("as many in hand as may be", func() bool { return len(r.handler.Requests()) == most })
	if n := r.adapter.InHand(); n != most {
		t.Errorf("%d in hand, want %d", n, most)
	}
	late := r.update(ann)
	for range 3 {
		if status := r.deliver(address, late); status != http.StatusServiceUnavailable {
			t.Errorf("one too many: %d", status)
		}
	}
	if r.events.of("webhook_full") != 3 {
		t.Errorf("events %v", r.events.n)
	}
	close(release)
	all.Wait()
	for range 2 {
		if status := r.deliver(address, late); status != http.StatusOK {
			t.Errorf("delivered again: %d", status)
		}
	}
	if n := perChat(r.sent(most + 1))[ann]; n != 1 {
		t.Errorf("%d answers", n)
	}
}

// Whatever becomes of its sendMessage, an update that is delivered again until
// it is taken has one answer, and a second one only if it was unclear whether
// the first was out.
func TestADeliveryIsAnsweredOnceWhereThatCanBeTold(t *testing.T) {
	for name, tt := range map[string]struct {
		faults []telegramtest.Fault
		sent   int
		least  time.Duration
	}{
		"429":                    {[]telegramtest.Fault{telegramtest.TooMany(time.Second)}, 1, time.Second},
		"429 twice":              {[]telegramtest.Fault{telegramtest.TooMany(time.Second), telegramtest.TooMany(time.Second)}, 1, 2 * time.Second},
		"429 for too long":       {[]telegramtest.Fault{telegramtest.TooMany(time.Hour)}, 1, 0},
		"502":                    {[]telegramtest.Fault{telegramtest.Page(502)}, 1, 0},
		"reset before it is out": {[]telegramtest.Fault{telegramtest.ResetBefore()}, 1, 0},
		"reset once it is out":   {[]telegramtest.Fault{telegramtest.ResetAfter()}, 2, 0},
		"502 once it is out":     {[]telegramtest.Fault{telegramtest.Page(502).CarriedOut()}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, address := hooked(t)
			r.run()
			r.waitFor("ready", r.adapter.Ready)
			r.api.Fail("sendMessage", tt.faults...)
			body, began := r.update(ann), time.Now()
			r.waitFor("200", func() bool { return r.deliver(address, body) == http.StatusOK })
			if took := time.Since(began); took < tt.least {
				t.Errorf("answered after %v", took)
			}
			for range 3 {
				if status := r.deliver(address, body); status != http.StatusOK {
					t.Errorf("delivered again: %d", status)
				}
			}
			if n := len(r.api.Sent()); n != tt.sent {
				t.Errorf("%d answers, want %d", n, tt.sent)
			}
		})
	}
}
