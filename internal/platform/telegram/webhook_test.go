package telegram

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/claim"
	"herald/internal/config/configtest"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// unread fails the test if it is read.
type unread struct{ *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.Error("the body of a call without the secret is read")
	return 0, io.EOF
}

func TestTheWebhookIsSet(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		hook := r.api.Webhook()
		check(t, "url", hook.URL, webhookURL)
		check(t, "secret", hook.Secret, hookSecret)
		const kinds = "[message callback_query inline_query my_chat_member]"
		check(t, "allowed updates", fmt.Sprint(hook.AllowedUpdates), kinds)
	}, byWebhook)
}

// A 503 makes Telegram deliver the update again later.
func TestADeliveryIsTurnedAwayUnlessTheAdapterRuns(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		update := r.api.Update(inPrivate(ann, "/price"))
		r.checkPost(update, http.StatusServiceUnavailable)
		stop := r.run()
		if err := stop(); err != nil {
			t.Error(err)
		}
		r.checkPost(update, http.StatusServiceUnavailable)
		r.waitSent(0)
	}, byWebhook)
}

func TestADeliveryWithoutTheSecretIsNotRead(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		for _, key := range []string{"", hookSecret + "x", hookSecret[:5]} {
			check(t, "status for "+key, r.post(key, unread{t}), http.StatusUnauthorized)
		}
		check(t, "webhook_unauthorized", r.events.Of("webhook_unauthorized"), 3)
	}, byWebhook)
}

// Otherwise Telegram would deliver the update again and again.
func TestADeliveryThatCannotBeReadIsAcknowledged(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		update := r.api.Update(inPrivate(ann, "/price"))
		tooLarge := append(bytes.Repeat([]byte(" "), maxUpdate+1-len(update)), update...)
		r.checkPost([]byte("{"), http.StatusOK)
		r.checkPost([]byte(`{"update_id":3,"message":[]}`), http.StatusOK)
		r.checkPost(tooLarge, http.StatusOK)
		check(t, "update_undecodable", r.events.Of("update_undecodable"), 3)
		r.checkPost([]byte(`{"update_id":4,"poll":{}}`), http.StatusOK)
		check(t, "update_undecodable, with an unknown kind", r.events.Of("update_undecodable"), 3)
		r.waitSent(0)
	}, byWebhook)
}

func TestTheLargestUpdateIsAnswered(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		update := r.api.Update(inPrivate(ann, "/price"))
		largest := append(bytes.Repeat([]byte(" "), maxUpdate-len(update)), update...)
		r.checkPost(largest, http.StatusOK)
		r.waitSent(1)
	}, byWebhook)
}

func TestAWebhookWithoutASecretTakesNothing(t *testing.T) {
	r := setUp(t)
	if got := r.post("", unread{t}); got != http.StatusUnauthorized {
		t.Errorf("answered by %d", got)
	}
}

func TestDeliveriesRepeatedAtOnceAreAnsweredOnce(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		const times = 20
		release := r.block(ann)
		r.run()
		body := r.api.Update(inPrivate(ann, "/price"))
		var taken, turnedAway atomic.Int64
		for range times {
			go func() {
				if r.postUpdate(body) == http.StatusOK {
					taken.Add(1)
				} else {
					turnedAway.Add(1)
				}
			}()
		}
		time.Sleep(ackAfter + time.Millisecond)
		check(t, "acknowledged", taken.Load(), 1)
		check(t, "to be delivered again", turnedAway.Load(), times-1)
		r.checkPost(body, http.StatusOK)
		release()
		r.waitSent(1)
		synctest.Wait() // The answer is counted after the message.
		check(t, "commands handled", len(r.handler.Requests()), 1)
		check(t, "answers", r.events.Of("answered"), 1)
		check(t, "repeated deliveries", r.events.Of("update_repeated"), times)
	}, byWebhook)
}

// A command may take longer than a claim lasts. No replica answers it again, however often Telegram delivers it.
func TestALongCommandIsAnsweredByOneReplica(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		other := r.secondAdapter()
		release := r.block(ann)
		r.run()
		other.run()
		body := r.api.Update(inPrivate(ann, "/price"))
		go r.checkPost(body, http.StatusOK)
		r.waitRequested(1)
		other.checkPost(body, http.StatusServiceUnavailable) // The first may still fail.
		for range 20 {
			time.Sleep(claim.Lasts / 10)
			other.checkPost(body, http.StatusOK)
		}
		release()
		r.waitSent(1)
		check(t, "commands handled", len(r.handler.Requests()), 1)
	}, byWebhook)
}

// If the replica that has an update dies, another one takes the update over.
func TestADeliveryIsAnsweredOnceADeadReplicasClaimHasExpired(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		body := r.api.Update(inPrivate(ann, "/price"))
		u, _ := r.adapter.read(body)
		r.adapter.hook.Load().claim(u) // by a replica that then dies
		r.checkPost(body, http.StatusServiceUnavailable)
		time.Sleep(claim.Lasts)
		r.checkPost(body, http.StatusOK)
		r.waitSent(1)
	}, byWebhook)
}

// A join request may wait for minutes. Until it is acknowledged, Telegram delivers no other update of that user.
func TestADeliveredJoinRequestIsAcknowledgedOnceItIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := joinTest(t, byWebhook)
		r.handler.Reply = lateJoinReply
		r.runJoins()
		r.api.RequestJoin(holdersChat, faketelegram.Person(7), false)
		body := r.api.Dequeue()[0]
		start := time.Now()
		for range 2 {
			r.checkPost(body, http.StatusOK)
		}
		check(t, "acknowledged after", time.Since(start), 0)
		check(t, "state in the end", r.settledRequest(7).State, faketelegram.JoinApproved)
		check(t, "requests handled", len(r.handler.Requests()), 1)
	})
}

func TestDeliveryIsAnsweredAfter503(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.adapter.inFlight = newInFlight(1, 10)
		release := r.block(ann)
		r.run()
		go r.postUpdate(r.api.Update(inPrivate(ann, "/price")))
		r.waitRequested(1)
		late := r.api.Update(inPrivate(ann+1, "/price"))
		r.checkPost(late, http.StatusServiceUnavailable)
		if r.events.Of("webhook_full") != 1 {
			t.Errorf("events %v", r.events)
		}
		release()
		r.waitSent(1)
		synctest.Wait()
		for range 2 {
			r.checkPost(late, http.StatusOK)
		}
		r.waitSent(2)
	}, byWebhook)
}

// A replica whose token is refused leaves the update to another one.
func TestDeliveryIsRetriedUntilAnswered(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		update := r.api.Update(inPrivate(ann, "/price"))
		r.api.Fail("sendMessage", telegramtest.Status(http.StatusUnauthorized))
		r.checkPost(update, http.StatusServiceUnavailable)
		other := r.secondAdapter()
		other.run()
		other.checkPost(update, http.StatusOK)
		r.waitSent(1)
	}, byWebhook)
}

func TestDeliveryWhoseAnswerIsRefusedIsDone(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		r.api.Fail("sendMessage", telegramtest.NoRights())
		update := r.api.Update(inPrivate(ann, "/price"))
		for range 2 {
			r.checkPost(update, http.StatusOK)
			r.waitSent(0)
		}
	}, byWebhook)
}

func TestPanicAcknowledgesTheDelivery(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		body := r.api.Update(inPrivate(ann, "/price"))
		for range 2 {
			r.checkPost(body, http.StatusOK)
		}
		r.waitSent(1)
		synctest.Wait() // The panic is counted after the message.
		check(t, "panics", r.events.Of("panic"), 1)
	}, byWebhook, func(c *Config) {
		count := c.Count
		c.Count = func(event string) {
			count(event)
			if event == "answered" {
				panic("outside the handler")
			}
		}
	})
}

// deliveries delivers updates to the webhook as Telegram does: at most maxDeliveries at a time, and one at a time for
// each chat.
type deliveries struct {
	r    *adapterTest
	busy chan struct{} // has an item for each delivery that is being made
	all  sync.WaitGroup
}

// deliver blocks until an update is acknowledged.
func (d *deliveries) deliver(update []byte) {
	d.busy <- struct{}{}
	defer func() { <-d.busy }()
	d.r.checkPost(update, http.StatusOK)
}

// start delivers the updates of one chat, one after another, and does not block.
func (d *deliveries) start(updates ...[]byte) {
	d.all.Go(func() {
		for _, update := range updates {
			d.deliver(update)
		}
	})
}

// Other users do not wait for a crowd in one group, or for a service that hangs.
func TestSlowAnswersHoldBackNoDelivery(t *testing.T) {
	type test struct {
		hung   int                    // users in private chats whose commands hang
		crowd  []faketelegram.Message // in one group
		within time.Duration          // The last user is answered within this time.
	}
	inBubble(t, map[string]test{
		"a crowd in one group": {
			crowd:  differentCommands(30),
			within: time.Second,
		},
		"a service that hangs": {
			hung:   300,
			within: 4 * ackAfter,
		},
		"both": {
			hung:   100,
			crowd:  differentCommands(15),
			within: 3 * time.Second,
		},
	}, func(t *testing.T, tt test) {
		r := setUp(t, byWebhook, paced)
		release := r.block(people(tt.hung)...)
		r.run()
		d := &deliveries{r: r, busy: make(chan struct{}, maxDeliveries)}
		for _, user := range people(tt.hung) {
			d.start(r.api.Update(inPrivate(user, "/price")))
		}
		var groupUpdates [][]byte
		for _, m := range tt.crowd {
			groupUpdates = append(groupUpdates, r.api.Update(m))
		}
		d.start(groupUpdates...)
		synctest.Wait() // The deliveries have begun.

		start := time.Now()
		d.deliver(r.api.Update(inPrivate(ann, "/price")))
		if took := time.Since(start); took > tt.within {
			t.Errorf("the last delivery is acknowledged after %v, want at most %v", took, tt.within)
		}
		d.all.Wait()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("the deliveries took %v, want at most 10s", took)
		}
		release()
		r.waitIdle(time.Minute)
		// Until the deadline, the group has slots for 8 of the crowd, and one for the notice.
		toGroup := min(len(tt.crowd), 8+1)
		check(t, "messages", len(r.api.Sent()), 1+tt.hung+toGroup)
	})
}

// Another process that polls or sets a webhook replaces this bot's webhook or its secret. Telegram reports a failed
// delivery for a long time, so one from before the start does not count.
func TestLostWebhookIsSetAgain(t *testing.T) {
	for name, lose := range map[string]func(*adapterTest){
		"deleted":     func(r *adapterTest) { r.api.SetWebhook("") },
		"another URL": func(r *adapterTest) { r.api.SetWebhook("https://other.example/hook") },
		"another secret, as another replica was told": func(r *adapterTest) {
			r.api.Delivered(http.StatusUnauthorized)
		},
		"another secret": func(r *adapterTest) {
			r.api.SetWebhook(webhookURL)
			r.api.Delivered(r.post(r.api.Webhook().Secret, unread{r.T}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Telegram's clock may differ from ours.
			inBubble(t, map[string]time.Duration{
				"same clock":   0,
				"clock ahead":  2 * time.Hour,
				"clock behind": -2 * time.Hour,
			}, func(t *testing.T, ahead time.Duration) {
				r := setUp(t, byWebhook)
				r.api.SetAhead(ahead)
				r.api.Delivered(http.StatusUnauthorized)
				r.run()
				for losses := range 2 {
					time.Sleep(time.Hour)
					// After each loss, one call is refused and the next succeeds.
					check(t, "calls that set the webhook", r.events.Of("setWebhook"), 1+2*losses)
					lose(r)
					r.checkSetsWebhookAgain()
				}
				check(t, "webhook_replaced", r.events.Of("webhook_replaced"), 2)
				check(t, "lines of the log", strings.Count(r.logs.String(), "which is set again"), 2)
			})
		})
	}
}

// checkSetsWebhookAgain fails the test unless the adapter notices within a minute that its webhook is lost. The first
// call that sets the webhook is refused, and meanwhile the adapter is not ready.
func (r *adapterTest) checkSetsWebhookAgain() {
	r.Helper()
	r.api.Fail("setWebhook", telegramtest.TooMany(watchEvery+time.Second))
	time.Sleep(watchEvery)
	synctest.Wait()
	check(r, "ready without a webhook", r.adapter.Ready(), false)
	time.Sleep(watchEvery + 3*time.Second)
	check(r, "url", r.api.Webhook().URL, webhookURL)
	check(r, "secret", r.api.Webhook().Secret, hookSecret)
	check(r, "ready", r.adapter.Ready(), true)
}

// Only a 401 shows that another process has replaced the webhook or its secret.
func TestAFailedDeliveryReplacesNoWebhook(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		time.Sleep(time.Hour)
		r.api.Delivered(http.StatusBadGateway)
		time.Sleep(time.Hour)
		check(t, "setWebhook", r.events.Of("setWebhook"), 1)
	}, byWebhook)
}

// postAsStrangers posts without the secret, once a second for a time.
func (r *adapterTest) postAsStrangers(length time.Duration) {
	r.Helper()
	for range int(length / time.Second) {
		time.Sleep(time.Second)
		r.post("", unread{r.T})
	}
}

func TestStrangersNeitherStopTheBotNorHideALoss(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		const minutes = 60
		for range minutes {
			r.postAsStrangers(time.Minute)
			check(t, "ready", r.adapter.Ready(), true)
		}
		check(t, "setWebhook", r.events.Of("setWebhook"), 1)
		check(t, "lines of the log", r.logs.Lines("set again"), 0)
		if calls := r.events.Of("getWebhookInfo"); calls > minutes {
			t.Errorf("%d calls of getWebhookInfo in %d minutes", calls, minutes)
		}
		r.api.SetWebhook("")
		r.postAsStrangers(2*time.Minute + time.Second)
		check(t, "secret", r.api.Webhook().Secret, hookSecret)
		check(t, "ready in the end", r.adapter.Ready(), true)
	}, byWebhook)
}

// Telegram hangs up, and the bot must stop. Still, the command in flight is answered.
func TestDeliveryIsAnsweredAfterHangUp(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		release := r.block(ann)
		stop := r.run()
		ctx, hangUp := context.WithCancel(t.Context())
		body := bytes.NewReader(r.api.Update(inPrivate(ann, "/price")))
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", body)
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", hookSecret)
		go r.adapter.ServeHTTP(httptest.NewRecorder(), req)
		r.waitRequested(1)
		hangUp()
		time.AfterFunc(time.Second, release)
		if err := stop(); err != nil {
			t.Error(err)
		}
		r.waitSent(1)
	}, byWebhook)
}

// A 429 shows that Telegram is reachable. A proxy that asks /readyz must then continue to deliver updates.
func TestWebhookStaysReadyAt429(t *testing.T) {
	type test struct {
		trouble roundTripper
		ready   bool
	}
	inBubble(t, map[string]test{
		"429":         {trouble: limited(30), ready: true},
		"unreachable": {trouble: unreachable},
	}, func(t *testing.T, tt test) {
		r := setUp(t, byWebhook)
		r.divert("getWebhookInfo", 5*time.Minute, tt.trouble)
		r.run()
		time.Sleep(watchEvery + time.Second)
		check(t, "ready after a minute", r.adapter.Ready(), tt.ready)
		time.Sleep(6 * time.Minute)
		check(t, "ready in the end", r.adapter.Ready(), true)
	})
}

func TestAWebhookNeedsATokenAndASecret(t *testing.T) {
	const webhook = "TELEGRAM_WEBHOOK_URL=https://bot.example.org/telegram"
	table := new(Settings).Table()
	const problem = "is needed by TELEGRAM_WEBHOOK_URL but not set"
	withoutSecret := configtest.Try(table, "TELEGRAM_BOT_TOKEN=1:a", webhook)
	configtest.OneMistake(t, table, withoutSecret, "TELEGRAM_WEBHOOK_SECRET", problem)
	withoutToken := configtest.Try(table, "TELEGRAM_WEBHOOK_SECRET=a", webhook)
	configtest.OneMistake(t, table, withoutToken, "TELEGRAM_BOT_TOKEN", problem)
}

func TestWebhookPathComesFromItsURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://bot.example.org":             "/",
		"https://bot.example.org/":            "/",
		"https://bot.example.org:8443/a/t.b_": "/a/t.b_",
	} {
		var s Settings
		configtest.Fill(t, s.Table(), "TELEGRAM_BOT_TOKEN=1:a", "TELEGRAM_WEBHOOK_SECRET=a", "TELEGRAM_WEBHOOK_URL="+url)
		if s.WebhookPath != want {
			t.Errorf("%s: the path is %q, want %q", url, s.WebhookPath, want)
		}
	}
}
