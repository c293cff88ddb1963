package telegram

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/platform/platformtest"
)

func TestPrivateAnswersNeverReachTheGroup(t *testing.T) {
	type test struct {
		started bool
		message faketelegram.Message
		private int
		pointer notice
		opens   string
	}
	inReply := inGroup(ann, "/exists")
	inReply["reply_to_message"] = inGroup(ann+1, "hello")
	inBubble(t, map[string]test{
		"to one who started the bot":         {true, inGroup(ann, "/mylogins"), 1, answeredPrivately, "https://t.me/herald_bot"},
		"to one who did not":                 {false, inGroup(ann, "/mylogins"), 0, pressStart, "https://t.me/herald_bot?start=mylogins"},
		"with arguments, to one who did not": {false, inGroup(ann, "/exists 77"), 0, askThere, "https://t.me/herald_bot?start=start"},
		"in reply, to one who did not":       {false, inReply, 0, askThere, "https://t.me/herald_bot?start=start"},
		"to an anonymous administrator":      {true, as(group, inGroup(1, "/exists 77")), 0, stayedAnonymous, "https://t.me/herald_bot"},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.handler.Reply = secretReply
		if tt.started {
			r.api.Start(ann)
		}
		r.run()
		r.api.Push(tt.message)
		r.api.WaitAcknowledged(atOnce)
		got := r.sent(tt.private + 1)
		if tt.private > 0 && (got[0].Chat != ann || !strings.Contains(got[0].Text, "confidential")) {
			t.Errorf("answered by %+v", got[0])
		}
		pointer, open := got[tt.private], faketelegram.Button{Text: "Open private chat", URL: tt.opens}
		check(t, "chat of the notice", pointer.Chat, group)
		check(t, "notice", pointer.Text, said(tt.pointer))
		check(t, "buttons of the notice", fmt.Sprint(pointer.Markup.Rows), fmt.Sprint([][]faketelegram.Button{{open}}))
		for _, m := range got {
			if m.Silent != (m.Chat == group) {
				t.Errorf("a telephone rings, or does not, for %+v", m)
			}
		}
		r.hidesFromOthers()
		if n := len(r.handler.Requests()); n != 1 {
			t.Errorf("%d requests handled", n)
		}
	})
}

// A channel that asks again and again gets one notice a minute, and the chat's slots
// stay with its members.
func TestAnonymousSenderIsToldOnceAMinute(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = secretReply
		r.run()
		for range 60 {
			r.api.Push(as(-77, inGroup(1, "/exists 77")))
			time.Sleep(time.Second)
		}
		for _, m := range r.sent(1) {
			if m.Text != said(stayedAnonymous) || m.At.Sub(r.api.Sent()[0].At) > time.Second {
				t.Errorf("sent %+v", m)
			}
		}
		if n := len(r.handler.Requests()); n != 60 || r.handler.Requests()[0].LimitKey != "-77" {
			t.Errorf("%d requests reach the limits, the first %+v", n, r.handler.Requests()[0])
		}
		time.Sleep(2 * time.Second)
		r.api.Push(as(-77, inGroup(1, "/exists 77")))
		r.sent(2)
	})
}

func TestRoleComesFromTelegram(t *testing.T) {
	r := setUp(t)
	for user, status := range map[int64]string{1: "creator", 2: "administrator", 3: "member"} {
		r.api.Promote(group, user, status)
		role, err := r.adapter.Role(t.Context(), userOf(user), fmt.Sprint(group))
		if moderates := role == chat.Moderator; moderates != (status != "member") || err != nil {
			t.Errorf("%s moderates: %t, %v", status, moderates, err)
		}
	}
}

// A press shows nothing: its button has a spinner.
func TestTypingIsShownInItsTopic(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		r.give(inGroup(ann, "/price"))
		r.handler.Reply = func(context.Context, *chat.Request) *chat.Reply {
			time.Sleep(typingAfter + time.Second)
			return &chat.Reply{Title: chat.Say("x")}
		}
		r.api.Push(inGroup(ann, "/price").In(7))
		r.api.Push(inGroup(ann, "/price").In(8))
		r.api.Press(ann, faketelegram.Group(group), r.api.Sent()[0].ID, "1 e 0 price")
		r.idle(time.Minute)
		var topics []string
		for _, call := range r.api.Calls("sendChatAction") {
			topics = append(topics, string(call.Params["message_thread_id"]))
		}
		slices.Sort(topics)
		if want := []string{"7", "8"}; !slices.Equal(topics, want) {
			t.Errorf("typing is shown in the topics %q, want %q", topics, want)
		}
	})
}

// A quick answer shows no "typing…". Of 200 commands in one group the last is answered after
// 21 s, and they share it.
func TestCommandsOfAChatShareTyping(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		const commands, slot = 200, 100 * time.Millisecond
		r.handler.Reply = func(_ context.Context, req *chat.Request) *chat.Reply {
			id, _ := strconv.Atoi(req.From.ID)
			time.Sleep(time.Second + time.Duration(id-ann)*slot)
			return &chat.Reply{}
		}
		r.run()
		r.give(inGroup(ann, "/price"))
		check(t, "calls for a quick answer", len(r.api.Calls("sendChatAction")), 0)
		began := time.Now()
		for i := range int64(commands) {
			r.api.Push(inGroup(ann+i, "/price"))
		}
		r.idle(time.Minute)
		took := time.Since(began) - typingAfter
		time.Sleep(time.Minute)
		most := 1 + int(took/typingLasts)
		if n := len(r.api.Calls("sendChatAction")); n < most-1 || n > most {
			t.Errorf("typing is shown %d times in %v, want %d", n, took, most)
		}
	})
}

// A refusal that was said before is no message, and not even a pointer says that
// there was something. A press is answered all the same.
func TestRepeatedRefusalIsNotSent(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.Start(ann)
		r.answer(&chat.Reply{Tone: chat.Warning, Title: chat.Say("Too many commands"), Audience: chat.SenderAgain})
		r.run()
		for i, command := range []string{"price", "mylogins"} {
			_, id := r.api.Push(inGroup(ann, "/"+command))
			r.api.Press(ann, faketelegram.Group(group), id, "1 e 0 "+command)
			got := r.pressAnswers(i + 1)[i]
			check(t, "text", got.Text, "⚠️ Too many commands")
			check(t, "alert", got.Alert, false)
			check(t, "user", got.User, ann)
		}
		if !r.api.WaitAcknowledged(atOnce) || len(r.api.Sent()) != 0 || len(r.handler.Requests()) != 4 {
			t.Errorf("%d requests, sent %+v", len(r.handler.Requests()), r.api.Sent())
		}
	})
}

func TestAdapterKeepsTheContract(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			platformtest.TestAdapter(t, func(t *testing.T) platformtest.AdapterTest { return setUp(t, way).harness() })
		})
	}
}

func (r *adapterTest) harness() platformtest.AdapterTest {
	r.api.Start(ann)
	give := func() {}
	if r.adapter.Settings.WebhookURL != "" {
		var deliveries sync.WaitGroup
		r.Cleanup(deliveries.Wait)
		give = func() {
			r.waitFor("ready", r.adapter.Ready)
			for _, body := range r.api.Dequeue() {
				deliveries.Go(func() { r.delivers(body, http.StatusOK) })
			}
		}
	}
	return platformtest.AdapterTest{
		Adapter: r.adapter,
		Ask: func(_ *testing.T, command string, argument ...string) {
			r.api.Push(inGroup(ann, strings.Join(append([]string{"/" + command}, argument...), " ")))
			give()
		},
		Messages: func(t *testing.T, atLeast int) (all []platformtest.Message) {
			t.Helper()
			for _, m := range r.api.WaitSent(atLeast, atOnce) {
				all = append(all, platformtest.Message{Text: m.Text + labelsOf(m), Private: m.Chat == ann})
			}
			if len(all) < atLeast {
				t.Fatalf("%d messages, want %d: %+v; log:\n%s", len(all), atLeast, all, r.logs)
			}
			return all
		},
		Press: func(t *testing.T, label string, other bool) {
			t.Helper()
			who := int64(ann)
			if other {
				who++
			}
			r.press(who, label)
			give()
		},
		Faults: r.api.Violations,
		Args:   func(wallet string) chat.Args { return chat.Typed(wallet) },
	}
}
