package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

// While one edit of a message is under way the others wait as one, and what it
// shows in the end is the newest answer, whichever came last.
func TestEditsOfOneMessageAreMadeInOrder(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []chat.Reply
		want    string
		edits   int
	}{
		"newer ones":  {[]chat.Reply{refreshed("a", 2), refreshed("b", 3), refreshed("c", 4), refreshed("d", 5)}, "d", 2},
		"older ones":  {[]chat.Reply{refreshed("a", 5), refreshed("b", 4), refreshed("c", 3), refreshed("d", 2)}, "a", 1},
		"as they may": {[]chat.Reply{refreshed("a", 3), refreshed("b", 2), refreshed("c", 9), refreshed("d", 4)}, "c", 2},
		"the same":    {[]chat.Reply{refreshed("a", 3), refreshed("a", 3), refreshed("a", 3), refreshed("a", 3)}, "a", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := card(t, nil, tt.answers...)
				release := make(chan struct{})
				r.api.Fail("editMessageText", telegramtest.Held(release))
				for i := range tt.answers {
					r.press(int64(ann+i), "Refresh")
					r.waitFor("the press in hand", func() bool { return len(r.handler.Requests()) == 2+i })
					synctest.Wait()
				}
				close(release)
				r.told(len(tt.answers))
				if !r.api.WaitAcknowledged(soon) {
					t.Error("a press is not acknowledged")
				}
				if m := r.one(); m.Text != tt.want || m.Edits != tt.edits {
					t.Errorf("it says %q after %d edits, want %q after %d", m.Text, m.Edits, tt.want, tt.edits)
				}
			})
		})
	}
}

// Many who press at once have the message edited once or twice, and nothing of it
// is kept.
func TestManyPressesAtOnceAreFewEdits(t *testing.T) {
	for _, pacing := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const people = 100
			r := card(t, func(c *Config) { c.Pacing = pacing })
			release := make(chan struct{})
			r.api.Fail("editMessageText", telegramtest.Held(release))
			for i := range people {
				r.press(int64(1+i), "Refresh")
			}
			r.waitFor("all in hand", func() bool { return len(r.handler.Requests()) == 1+people })
			close(release)
			r.told(people)
			if !r.api.WaitAcknowledged(soon) {
				t.Error("a press is not acknowledged")
			}
			if m := r.one(); m.Text != fmt.Sprint("answer ", 1+people) || m.Edits > 3 || len(r.api.Calls("editMessageText")) != m.Edits {
				t.Errorf("it says %q after %d edits", m.Text, m.Edits)
			}
			r.adapter.edits.mu.Lock()
			defer r.adapter.edits.mu.Unlock()
			if n := len(r.adapter.edits.of); n != 0 {
				t.Errorf("%d messages are remembered", n)
			}
		})
	}
}

// Edits count towards a chat's rate, and where that is used up the pressers alone
// are told.
func TestEditsKeepTheRatesOfTheirChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, func(c *Config) { c.Pacing = true })
		var asked atomic.Int64
		r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
			n := int(asked.Add(1))
			return refreshed(fmt.Sprint("answer ", n), n)
		}
		r.run()
		const cards = 8
		for i := range cards {
			r.api.Push(asks(0, i, fmt.Sprint("/staked ", i)))
		}
		sent := r.api.WaitSent(cards, time.Minute)
		for range 10 {
			for i, m := range sent {
				r.api.Press(int64(100+i), chatOf(m), m.ID, dataOf(m, "Refresh"))
			}
		}
		presses := 10 * cards
		r.settled(time.Minute)
		var changes []telegramtest.Sent
		for _, method := range []string{"sendMessage", "editMessageText"} {
			for _, call := range r.api.Calls(method) {
				changes = append(changes, telegramtest.Sent{Chat: group, At: call.At})
			}
		}
		keepsRates(t, changes)
		busy := 0
		for _, n := range r.told(presses) {
			if strings.Contains(n.Text, "Busy") {
				busy++
			}
		}
		if busy == 0 || r.events.of("send_shed") != busy || len(r.api.Sent()) != cards || r.events.of("busy_said") != 0 {
			t.Errorf("%d are told that there is no room, events %v", busy, r.events.n)
		}
	})
}

// The spinner ends soon, and the edit is made when Telegram takes it.
func TestASpinnerDoesNotTurnUntilASlowEditIsOut(t *testing.T) {
	for name, tt := range map[string]struct {
		faults []telegramtest.Fault
		after  time.Duration
	}{
		"429":   {[]telegramtest.Fault{telegramtest.TooMany(time.Minute)}, time.Minute},
		"502":   {[]telegramtest.Fault{telegramtest.Page(502), telegramtest.Page(502)}, 7 * time.Second},
		"hangs": {[]telegramtest.Fault{telegramtest.Hang()}, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := card(t, nil)
				r.api.Fail("editMessageText", tt.faults...)
				r.press(ann, "Refresh")
				start := time.Now()
				r.told(1)
				if took := time.Since(start); took > spinnerLasts+time.Second || r.one().Edits != 0 || len(r.api.Pending()) != 1 {
					t.Errorf("the spinner ended after %v, %d edits, %d updates are queued", took, r.one().Edits, len(r.api.Pending()))
				}
				if !r.api.WaitAcknowledged(2*time.Minute) || r.one().Text != "answer 2" || time.Since(start) < tt.after {
					t.Errorf("after %v the message says %q", time.Since(start), r.one().Text)
				}
			})
		})
	}
}

func TestARefusedEditIsToldThePresser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := card(t, nil)
		r.api.Fail("editMessageText", telegramtest.NoRights())
		r.press(ann, "Refresh")
		if got := r.told(1)[0]; !strings.Contains(got.Text, "This button is too old") || !r.api.WaitAcknowledged(soon) {
			t.Errorf("told %+v", got)
		}
		if !strings.Contains(r.logs.String(), "was not delivered") || r.one().Edits != 0 {
			t.Errorf("log:\n%s", r.logs)
		}
	})
}

// A stop between the press and the edit loses nothing: the next process edits.
func TestAStopLeavesAnEditToTheNextProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		var asked atomic.Int64
		r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
			n := int(asked.Add(1))
			return refreshed(fmt.Sprint("answer ", n), n)
		}
		stop := r.run()
		r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price"))
		r.sent(1)
		r.api.Fail("editMessageText", slices.Repeat([]telegramtest.Fault{telegramtest.TooMany(time.Minute)}, 2)...)
		r.press(ann, "Refresh")
		r.waitFor("the call", func() bool { return len(r.api.Calls("editMessageText")) == 1 })
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > chat.DrainTime || len(r.api.Pending()) != 1 {
			t.Errorf("%v after %v, %d updates are queued", err, time.Since(start), len(r.api.Pending()))
		}
		r.api.Heal("editMessageText")
		r.againInMemory().run()
		if !r.api.WaitAcknowledged(soon) || r.one().Text != "answer 3" {
			t.Errorf("the message says %q", r.one().Text)
		}
	})
}
