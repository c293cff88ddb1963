package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
)

// Within the first batch, other commands are answered at once. Later ones are answered after hangsAfter and two pauses.
// The hanging commands are answered when the bot stops.
func TestHangingCommandsHideNoOthers(t *testing.T) {
	type test struct {
		hung   int
		others int
		within time.Duration
	}
	inBubble(t, map[string]test{
		"one command, before less than a batch": {hung: 1, others: 99, within: time.Second / 10},
		"one command, before more":              {hung: 1, others: 300, within: hangsAfter + 2*sameOffsetPause},
		"more than a batch of commands":         {hung: 150, others: 50, within: hangsAfter + 2*sameOffsetPause},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.block(people(tt.hung)...)
		stop := r.run()
		start := time.Now()
		all := tt.hung + tt.others
		r.pushPrices(all)
		sent := r.api.WaitSent(tt.others, time.Minute)
		if took := time.Since(start); len(sent) < tt.others || took > tt.within {
			t.Errorf("%d of %d others are answered, after %v", len(sent), tt.others, took)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		check(t, "answered after the stop", len(perChat(r.waitSent(all))), all)
		check(t, "left at Telegram", len(r.api.Pending()), 0)
	})
}

// The limit of commands in flight is one for all chats. Still, hanging commands of one chat do not delay another.
func TestHangingCommandsOfOneChatDelayNoOther(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		const hung = 150
		release := r.block(people(hung)...)
		r.run()
		for _, user := range people(hung) {
			r.api.Push(inGroup(user, "/price"))
		}
		asked := time.Now()
		r.api.Push(inPrivate(ann, "/price"))
		answer := r.waitSent(1)[0]
		if took := answer.At.Sub(asked); answer.Chat != ann || took > hangsAfter+2*sameOffsetPause {
			t.Errorf("the answer to %d comes after %v", answer.Chat, took)
		}
		release()
		r.waitSent(1 + hung)
	})
}

// Fewer updates than a batch hide no others, so Telegram keeps them until they are answered, whatever they wait for. In
// a full batch, the first updates are acknowledged early if they wait.
func TestFewUpdatesAreNotAcknowledgedUnanswered(t *testing.T) {
	type test struct {
		hung    int
		waiting int // for the end of a 429
		kept    int // at Telegram
	}
	inBubble(t, map[string]test{
		"one less than a batch": {hung: 40, waiting: 59, kept: 99},
		"a batch":               {hung: 40, waiting: 60, kept: 40},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.holdGroups(time.Minute, 0)
		release := r.block(people(tt.hung)...)
		r.run()
		for i := range int64(tt.waiting) {
			r.api.Push(inGroup(1+i, fmt.Sprint("/staked ", i)))
		}
		r.pushPrices(tt.hung)
		time.Sleep(10 * time.Second)
		check(t, "kept at Telegram", len(r.api.Pending()), tt.kept)
		release()
		r.waitIdle(10 * time.Minute)
		check(t, "answers", len(r.api.Sent()), tt.hung+tt.waiting)
	})
}

// A join request may wait for minutes. It is acknowledged as soon as it is accepted, even if no update hides another.
func TestAJoinRequestIsAcknowledgedOnceItIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := joinTest(t)
		r.handler.Reply = lateJoinReply
		r.runJoins()
		r.requestJoin(7, false)
		time.Sleep(2 * sameOffsetPause)
		check(t, "kept at Telegram", len(r.api.Pending()), 0)
		check(t, "answered", len(r.api.JoinRequests()[0].Answers), 0)
		check(t, "state in the end", r.settledRequest(7).State, faketelegram.JoinApproved)
	})
}

// Polling takes no more updates while too many are in flight.
func TestPollingKeepsTheLimitsInFlight(t *testing.T) {
	const maxRunning, maxHeld = 20, 30
	type test struct {
		hung    int // commands that hang
		waiting int // answers that wait for the end of a 429
		handled int // commands, while these hang and wait
	}
	inBubble(t, map[string]test{
		"too many hang":               {hung: 25, waiting: 0, handled: maxRunning},
		"too many wait":               {hung: 0, waiting: 35, handled: maxHeld},
		"too many hang and wait":      {hung: 15, waiting: 20, handled: maxHeld},
		"few enough hang and wait":    {hung: 18, waiting: 11, handled: 18 + 11},
		"those that wait do not hang": {hung: 15, waiting: 15, handled: maxHeld},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.adapter.inFlight = newInFlight(maxRunning, maxHeld)
		r.holdGroups(time.Minute, 0)
		release := r.block(people(tt.hung)...)
		r.run()
		for i := range int64(tt.waiting) {
			r.api.Push(inGroup(1+i, fmt.Sprint("/staked ", i)))
			time.Sleep(time.Millisecond)
		}
		r.pushPrices(tt.hung)
		time.Sleep(10 * time.Second)
		check(t, "commands handled", len(r.handler.Requests()), tt.handled)
		release()
		r.waitIdle(10 * time.Minute)
		check(t, "answers", len(r.api.Sent()), tt.hung+tt.waiting)
	})
}

// Two calls within half a second may not send the same offset, and no call may drop an update.
func TestAnOffsetIsNotRepeated(t *testing.T) {
	for _, tt := range []struct{ offset, last, want int64 }{
		{offset: 0, last: 0, want: 0},
		{offset: 1, last: 1, want: 0},
		{offset: 2, last: 2, want: 1},
		{offset: 700, last: 600, want: 700},
		{offset: 700, last: 700, want: 699},
		{offset: 700, last: 699, want: 700},
	} {
		check(t, fmt.Sprint(tt.offset, " after ", tt.last), alternate(tt.offset, tt.last), tt.want)
	}
}

// While a command hangs, Telegram returns its update to each poll at once.
func TestAHangingCommandIsPolledWithPauses(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.block(ann)
		r.api.Push(inPrivate(ann, "/price"))
		r.run()
		r.checkPollsWithPauses()
	})
}

// The server returns at once, although the bot asks it to wait for an update.
func TestAServerThatDoesNotWaitIsPolledWithPauses(t *testing.T) {
	inBubble(t, map[string]string{
		"nothing at once": `[]`,
		"no update":       `[{},7]`,
	}, func(t *testing.T, result string) {
		r := setUp(t)
		r.divert("getUpdates", time.Hour, func(req *http.Request) (*http.Response, error) {
			time.Sleep(time.Millisecond)
			return fixedAnswer(http.StatusOK, `{"ok":true,"result":`+result+`}`)(req)
		})
		r.run()
		r.checkPollsWithPauses()
	})
}

// checkPollsWithPauses fails the test unless there are one to ten polls a second for a minute.
func (r *adapterTest) checkPollsWithPauses() {
	r.Helper()
	time.Sleep(time.Minute)
	if n := r.events.Of("getUpdates"); n < 60 || n > 11*60 {
		r.Errorf("%d polls in a minute", n)
	}
	check(r, "ready", r.adapter.Ready(), true)
}

// While there is no update, the polls alternate between two offsets. Neither of them drops the updates that follow.
func TestRepeatedPollsDropNoUpdate(t *testing.T) {
	inBubble(t, map[string]time.Duration{
		"an even number of polls": time.Second,
		"an odd number of polls":  time.Second + sameOffsetPause,
	}, func(t *testing.T, length time.Duration) {
		r := setUp(t)
		r.divert("getUpdates", length, fixedAnswer(http.StatusOK, `{"ok":true,"result":[]}`))
		r.pushPrices(3)
		r.run()
		r.waitSent(3)
	})
}

func TestTenMinuteOutage(t *testing.T) {
	const conflict = `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`
	inBubble(t, map[string]roundTripper{
		"a proxy's page, 401": fixedAnswer(401, "<html></html>"),
		"another poller":      fixedAnswer(409, conflict),
		"polls that all hang": hangs,
		"429 without an end":  limited(5),
	}, func(t *testing.T, trouble roundTripper) {
		const length = 10 * time.Minute
		r := setUp(t)
		start := time.Now()
		r.divert("getUpdates", length, func(req *http.Request) (*http.Response, error) {
			if time.Since(start) < time.Second {
				return r.api.RoundTrip(req) // It is connected at first.
			}
			return trouble(req)
		})
		r.run()
		r.waitFor("ready", r.adapter.Ready)
		time.Sleep(2 * time.Second)
		r.pushPrices(1) // It ends the poll that waits.
		r.waitSent(1)
		r.pushPrices(1)
		time.Sleep(length - 5*time.Second)
		calls, failed := r.events.Of("getUpdates"), r.events.Of("poll_failed")
		if calls < 8 || calls > 70 || failed < calls-5 {
			t.Errorf("%d calls, %d counted as failed", calls, failed)
		}
		check(t, "ready during the outage", r.adapter.Ready(), false)
		check(t, "there is a warning", strings.Contains(r.logs.String(), "level=WARN"), true)
		time.Sleep(2 * time.Minute)
		check(t, "ready", r.adapter.Ready(), true)
		check(t, "times connected", r.events.Of("connected as @"+faketelegram.Username), 2)
		check(t, "answers", len(r.api.Sent()), 2)
	})
}

func TestUpdatesThatCannotBeReadAreSkipped(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.PushRaw(`"message":{"message_id":"seven"}`)
		r.api.PushRaw(`"callback_query":{"id":"1","data":7}`)
		r.api.PushRaw(`"a_kind_of_tomorrow":{"x":1}`)
		r.pushPrices(1)
		r.run()
		r.waitSent(1)
		check(t, "acknowledged", r.api.WaitAcknowledged(atOnce), true)
		check(t, "undecodable", r.events.Of("update_undecodable"), 2)
	})
}

// Where the library has a union of types, Telegram may send a new variant. Its update is answered like the others.
func TestVariantsOfTomorrowHideNothing(t *testing.T) {
	const tomorrow = `{"type":"of tomorrow","status":"of tomorrow","source":"of tomorrow"}`
	const price = `"message":{"message_id":7,"date":1,"from":{"id":501},"chat":{"id":501,"type":"private"},` +
		`"text":"/price","entities":[{"type":"bot_command","offset":0,"length":6}],`
	simulated(t, func(t *testing.T, r *adapterTest) {
		unions := []string{
			`"paid_media":{"paid_media":[` + tomorrow + `]}`,
			`"chat_background_set":{"type":` + tomorrow + `}`,
			`"rich_message":{"blocks":[` + tomorrow + `]}`,
			`"pinned_message":` + tomorrow,
		}
		for _, member := range unions {
			r.api.PushRaw(price + member + `}`)
		}
		r.api.PushRaw(price + `"forward_origin":` + tomorrow + `}`) // is not answered, like any forward
		r.api.PushRaw(`"my_chat_member":{"chat":{"id":-1,"type":"group"},"from":{"id":1},"date":1,` +
			`"old_chat_member":` + tomorrow + `,"new_chat_member":` + tomorrow + `}`)
		r.pushPrices(1)
		r.api.Start(ann)
		r.run()
		check(t, "answers", len(r.waitIdle(time.Minute)), len(unions)+1)
		check(t, "undecodable", r.events.Of("update_undecodable"), 0)
	})
}

// A batch may hold elements without an ID, which cannot be acknowledged. The others are answered
// once.
func TestElementsWithoutAnIDHideNoUpdate(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.divert("getUpdates", time.Hour, func(req *http.Request) (*http.Response, error) {
			resp, err := r.api.RoundTrip(req)
			if err != nil {
				return nil, err
			}
			body, _ := io.ReadAll(resp.Body)
			const without = `"result":[null,{},7,{"update_id":"x"},{"message":{}},{`
			body = bytes.Replace(body, []byte(`"result":[{`), []byte(without), 1)
			resp.Body = io.NopCloser(bytes.NewReader(body))
			return resp, nil
		})
		r.pushPrices(3)
		r.run()
		r.waitSent(3)
		time.Sleep(time.Minute)
		check(t, "answers", len(r.api.Sent()), 3)
		check(t, "queued", len(r.api.Pending()), 0)
	})
}

func TestARefusedTokenEndsRun(t *testing.T) {
	inBubble(t, map[string]func(*adapterTest){
		"at the start":  func(r *adapterTest) { r.api.Revoke() },
		"while sending": func(r *adapterTest) {},
	}, func(t *testing.T, before func(*adapterTest)) {
		r := setUp(t)
		r.handler.Reply = func(context.Context, *chat.Request) *chat.Reply {
			r.api.Revoke()
			return &chat.Reply{Title: chat.Say("x")}
		}
		r.pushPrices(1)
		before(r)
		err := r.adapter.Run(t.Context(), r.handler)
		if !errors.Is(err, errToken) || !strings.Contains(err.Error(), "TELEGRAM_BOT_TOKEN") {
			t.Errorf("Run: %v", err)
		}
		if _, _, err := r.adapter.Check(t.Context(), nil); err == nil {
			t.Error("Check finds nothing wrong")
		}
	})
}

// Each of two processes that poll ends the other's poll, again and again.
func TestTwoPollersAnnounceOnceAMinute(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		other := r.secondAdapter()
		r.run()
		other.run()
		time.Sleep(10 * time.Minute)
		const cause = "another process polls with this token"
		check(t, "the log names the cause", strings.Contains(r.logs.String(), cause), true)
		if n := r.events.Of("connected as @" + faketelegram.Username); n < 2 || n > 22 {
			t.Errorf("%d times connected in 10 minutes", n)
		}
		r.pushPrices(1)
		r.waitSent(1)
	})
}

// A webhook that is set at the start is left from an earlier run.
func TestPollingDeletesAWebhookAtTheStart(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.SetWebhook("https://old.example/hook")
		r.pushPrices(3)
		r.run()
		r.waitSent(3)
		check(t, "url", r.api.Webhook().URL, "")
	})
}

// A webhook that is set later belongs to another process, which would not notice that it is gone.
func TestPollingWaitsUntilAnothersWebhookIsGone(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		time.Sleep(time.Second)
		deletions := len(r.api.Calls("deleteWebhook"))
		r.api.SetWebhook("https://other.example/hook")
		const cause = "a webhook is set for this token"
		r.waitFor("the log to name the cause", func() bool { return strings.Contains(r.logs.String(), cause) })
		r.pushPrices(1)
		time.Sleep(time.Minute)
		check(t, "url", r.api.Webhook().URL, "https://other.example/hook")
		check(t, "ready during the outage", r.adapter.Ready(), false)
		check(t, "calls of deleteWebhook", len(r.api.Calls("deleteWebhook")), deletions)
		r.api.SetWebhook("")
		time.Sleep(time.Minute)
		r.waitSent(1)
		check(t, "ready in the end", r.adapter.Ready(), true)
	})
}
