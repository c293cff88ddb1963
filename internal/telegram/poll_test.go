package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

func TestStoppedInTheMiddleEveryUpdateIsAnsweredOnce(t *testing.T) {
	t.Parallel()
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

// block makes the commands of some users hang until the test ends them, or the
// drain does.
func (r *rig) block(users ...string) (release func()) {
	held := make(chan struct{})
	r.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
		if slices.Contains(users, req.From.ID) {
			select {
			case <-held:
			case <-ctx.Done():
			}
		}
		return chat.Reply{Title: chat.Say("x")}
	}
	return sync.OnceFunc(func() { close(held) })
}

func TestNothingIsAcknowledgedUnanswered(t *testing.T) {
	const n = 60
	r := setUp(t, nil)
	release := r.block("10007")
	r.askers(n)
	r.run()
	r.sent(n - 1)
	r.api.WaitCalls("getUpdates", len(r.api.Offsets())+3, soon)
	if pending := r.api.Pending(); len(pending) != n-7 {
		t.Errorf("%d updates are still queued, want %d: those from the hanging one on", len(pending), n-7)
	}
	release()
	if !r.api.WaitAcknowledged(soon) || len(r.api.Sent()) != n {
		t.Errorf("%d answers to %d updates", len(r.api.Sent()), n)
	}
}

// The others are answered as if the hung command were not there, but for a
// moment for those that stand behind the first 100.
func TestOneHungCommandHidesNobodyElses(t *testing.T) {
	const others = 300
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.block("10000")
		stop, start := r.run(), time.Now()
		r.askers(1 + others)
		answers := perChat(r.sent(others))
		if took := time.Since(start); len(answers) != others || answers[10_000] != 0 || took > 2*stalledAfter {
			t.Errorf("%d of %d others are answered, after %v", len(answers), others, took)
		}
		if !r.api.WaitAcknowledged(soon) {
			t.Error("what is answered is not acknowledged")
		}
		// A stop ends the hung one, and it is answered.
		if err := stop(); err != nil {
			t.Error(err)
		}
		if answers := perChat(r.api.Sent()); len(answers) != 1+others || answers[10_000] != 1 {
			t.Errorf("%d of %d are answered after the stop", len(answers), 1+others)
		}
	})
}

// At Telegram's pace the rate of all chats, which no answer can hurry, fills the
// window too.
func TestOneHungCommandSlowsNobodyElsesAtTelegramsPace(t *testing.T) {
	const others = 300
	took := map[bool]time.Duration{}
	for _, hung := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := setUpInMemory(t, func(c *Config) { c.Pacing = true })
			if hung {
				r.block("10000")
			} else {
				r.block()
			}
			r.run()
			start := time.Now()
			r.askers(1 + others)
			if sent := r.api.WaitSent(others, time.Minute); len(sent) < others {
				t.Errorf("%d of %d others are answered", len(sent), others)
			}
			took[hung] = time.Since(start)
		})
	}
	if took[true] > took[false]+3*stalledAfter {
		t.Errorf("the others are answered after %v, and after %v where nothing hangs", took[true], took[false])
	}
}

// A service that hangs holds up its askers, and nobody who asks something else.
func TestAFullBatchOfHungCommandsHidesNobodyElses(t *testing.T) {
	const hung, others = 250, 50
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		var users []string
		for i := range hung {
			users = append(users, fmt.Sprint(10_000+i))
		}
		release := r.block(users...)
		r.run()
		start := time.Now()
		r.askers(hung + others)
		r.sent(others)
		if took := time.Since(start); took > 3*stuckAfter+time.Second {
			t.Errorf("the others are answered after %v", took)
		}
		release()
		if answers := perChat(r.sent(hung + others)); len(answers) != hung+others {
			t.Errorf("%d of %d are answered", len(answers), hung+others)
		}
	})
}

func TestWhatIsInHandIsBounded(t *testing.T) {
	const most = 20
	r := setUp(t, nil)
	r.adapter.inHand = make(chan struct{}, most)
	release := r.block("10000", "10001", "10002", "10003", "10004", "10005", "10006", "10007", "10008", "10009",
		"10010", "10011", "10012", "10013", "10014", "10015", "10016", "10017", "10018", "10019")
	r.askers(most + 5)
	r.run()
	r.waitFor("as many in hand as may be", func() bool { return len(r.handler.Requests()) == most })
	if r.api.WaitSent(1, 100*time.Millisecond); len(r.handler.Requests()) != most {
		t.Errorf("%d commands are in hand, want %d", len(r.handler.Requests()), most)
	}
	release()
	r.sent(most + 5)
}

func TestASlowCommandIsPolledBesideWithoutHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.block("10000")
		r.run()
		r.askers(1)
		r.waitFor("the command in hand", func() bool { return len(r.handler.Requests()) == 1 })
		for second, most := range []int{50, 10} {
			before := len(r.api.Offsets())
			time.Sleep(time.Second)
			if polls := len(r.api.Offsets()) - before; polls > most {
				t.Errorf("%d polls in second %d", polls, second+1)
			}
		}
	})
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
	err := second.adapter.Run(t.Context(), r.handler)
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
		return chat.Reply{Title: chat.Say("x")}
	}
	r.askers(1)
	if err := r.adapter.Run(t.Context(), r.handler); !errors.Is(err, errToken) {
		t.Errorf("Run: %v", err)
	}
}

func TestPollingComesBackFromTrouble(t *testing.T) {
	for name, fault := range map[string]telegramtest.Fault{
		"a page with status 200": telegramtest.Page(http.StatusOK),
		"a page with status 401": telegramtest.Page(http.StatusUnauthorized),
		"a page with status 502": telegramtest.Page(http.StatusBadGateway),
		"a broken connection":    telegramtest.ResetBefore(),
		"another poller":         telegramtest.Status(http.StatusConflict),
		"a 429":                  telegramtest.TooMany(time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setUp(t, nil)
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
	t.Parallel()
	r := setUp(t, nil)
	r.run()
	r.waitFor("ready", r.adapter.Ready)
	r.api.Fail("getUpdates", telegramtest.Page(502), telegramtest.Page(502))
	r.api.PushRaw(`"a_kind_of_tomorrow":{}`) // It ends the poll that waits.
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
	r.waitFor("the log to name the cause", func() bool { return strings.Contains(r.logs.String(), "a webhook is set for this token") })
	r.askers(1)
	r.sent(4)
}

func TestStartsBeforeTelegramDoes(t *testing.T) {
	t.Parallel()
	r := setUp(t, nil)
	r.api.Fail("getMe", telegramtest.Page(502), telegramtest.ResetBefore())
	r.api.Fail("deleteWebhook", telegramtest.Page(502))
	r.api.Fail("setMyCommands", telegramtest.Status(500), telegramtest.TooMany(time.Second))
	r.askers(1)
	r.run()
	r.sent(1)
	r.waitFor("the menu", func() bool { return len(r.api.Menu()) > 0 })
}
