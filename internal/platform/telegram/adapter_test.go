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

func TestPrivateAnswerGoesToThePrivateChat(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = secretReply
		r.api.Start(ann)
		r.run()
		r.api.Push(inGroup(ann, "/mylogins"))
		r.api.WaitAcknowledged(atOnce)
		sent := r.waitSent(2)
		check(t, "chat of the answer", sent[0].Chat, ann)
		check(t, "the answer is silent", sent[0].Silent, false)
		if !strings.Contains(sent[0].Text, "confidential") {
			t.Errorf("answered by %+v", sent[0])
		}
		r.checkNotice(sent[1], answeredPrivately, "https://t.me/herald_bot")
	})
}

func TestPrivateAnswersNeverReachTheGroup(t *testing.T) {
	const start = "https://t.me/herald_bot?start="
	inReply := inGroup(ann, "/exists")
	inReply["reply_to_message"] = inGroup(ann+1, "hello")
	type test struct {
		command faketelegram.Message
		notice  notice // what the group reads
		opens   string // the link of the notice's button
	}
	// The bot may not write to ann, because she has not started it.
	inBubble(t, map[string]test{
		"without arguments": {
			command: inGroup(ann, "/mylogins"),
			notice:  pressStart,
			opens:   start + "mylogins",
		},
		"with arguments": {
			command: inGroup(ann, "/exists 77"),
			notice:  askThere,
			opens:   start + "start",
		},
		"in reply to another user": {
			command: inReply,
			notice:  askThere,
			opens:   start + "start",
		},
		"of an anonymous administrator": {
			command: onBehalfOf(group, inGroup(1, "/exists 77")),
			notice:  stayedAnonymous,
			opens:   "https://t.me/herald_bot",
		},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		r.handler.Reply = secretReply
		r.run()
		r.api.Push(tt.command)
		r.api.WaitAcknowledged(atOnce)
		r.checkNotice(r.one(), tt.notice, tt.opens)
	})
}

// checkNotice checks that m is the notice in the group, and that its button opens the link to the private chat. Nobody
// but ann must have read more.
func (r *adapterTest) checkNotice(m faketelegram.Sent, want notice, opens string) {
	r.Helper()
	button := faketelegram.Button{Text: "Open private chat", URL: opens}
	check(r, "chat of the notice", m.Chat, group)
	check(r, "the notice is silent", m.Silent, true)
	check(r, "notice", m.Text, said(want))
	check(r, "buttons of the notice", fmt.Sprint(m.Markup.Rows), fmt.Sprint([][]faketelegram.Button{{button}}))
	r.checkOthersSawNoSecret()
	check(r, "requests", len(r.handler.Requests()), 1)
}

// A channel that keeps asking must not use up the messages that Telegram allows for the chat.
func TestAnonymousSenderIsToldOnceAMinute(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = secretReply
		r.run()
		for range 60 {
			r.api.Push(onBehalfOf(-77, inGroup(1, "/exists 77")))
			time.Sleep(time.Second)
		}
		check(t, "notice", r.one().Text, said(stayedAnonymous))
		requests := r.handler.Requests()
		check(t, "requests that reach the limits", len(requests), 60)
		check(t, "key of the limits", requests[0].LimitKey, "-77")
		time.Sleep(2 * time.Second)
		r.api.Push(onBehalfOf(-77, inGroup(1, "/exists 77")))
		r.waitSent(2)
	})
}

func TestRoleComesFromTelegram(t *testing.T) {
	r := setUp(t)
	for user, status := range map[int64]string{1: "creator", 2: "administrator", 3: "member"} {
		r.api.Promote(group, user, status)
		role, err := r.adapter.Role(t.Context(), userOf(user), fmt.Sprint(group))
		if err != nil {
			t.Error(err)
		}
		check(t, "a "+status+" is a moderator", role == chat.Moderator, status != "member")
	}
}

// A press shows no "typing…", because its button has a spinner.
func TestTypingIsShownInItsTopic(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.run()
		r.pushAndWait(inGroup(ann, "/price"))
		r.handler.Reply = func(context.Context, *chat.Request) *chat.Reply {
			time.Sleep(typingAfter + time.Second)
			return &chat.Reply{Title: chat.Say("x")}
		}
		r.api.Push(inGroup(ann, "/price").In(7))
		r.api.Push(inGroup(ann, "/price").In(8))
		r.api.Press(ann, faketelegram.Group(group), r.api.Sent()[0].ID, "1 e 0 price")
		r.waitIdle(time.Minute)
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

// A quick answer shows no "typing…". The answers to 200 commands in one group, which take up to 21 s, share it.
func TestCommandsOfAChatShareTyping(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		const commands, slot = 200, 100 * time.Millisecond
		r.handler.Reply = func(_ context.Context, req *chat.Request) *chat.Reply {
			id, _ := strconv.Atoi(req.From.ID)
			time.Sleep(time.Second + time.Duration(id-ann)*slot)
			return &chat.Reply{}
		}
		r.run()
		r.pushAndWait(inGroup(ann, "/price"))
		check(t, "calls for a quick answer", len(r.api.Calls("sendChatAction")), 0)
		start := time.Now()
		for i := range int64(commands) {
			r.api.Push(inGroup(ann+i, "/price"))
		}
		r.waitIdle(time.Minute)
		took := time.Since(start) - typingAfter
		time.Sleep(time.Minute)
		most := 1 + int(took/typingLasts)
		if n := len(r.api.Calls("sendChatAction")); n < most-1 || n > most {
			t.Errorf("typing is shown %d times in %v, want %d", n, took, most)
		}
	})
}

// A repeated refusal is not sent to the group or in private. Only a press is answered with it.
func TestRepeatedRefusalIsNotSent(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.Start(ann)
		r.answerAllWith(&chat.Reply{Tone: chat.Warning, Title: chat.Say("Too many commands"), Audience: chat.SenderAgain})
		r.run()
		for i, command := range []string{"price", "mylogins"} {
			_, id := r.api.Push(inGroup(ann, "/"+command))
			r.api.Press(ann, faketelegram.Group(group), id, "1 e 0 "+command)
			got := r.pressAnswers(i + 1)[i]
			check(t, "text", got.Text, "⚠️ Too many commands")
			check(t, "alert", got.Alert, false)
			check(t, "user", got.User, ann)
		}
		check(t, "acknowledged", r.api.WaitAcknowledged(atOnce), true)
		check(t, "messages", len(r.api.Sent()), 0)
		check(t, "requests", len(r.handler.Requests()), 4)
	})
}

func TestAdapterKeepsTheContract(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			harness := func(t *testing.T) platformtest.AdapterTest { return setUp(t, way).harness() }
			platformtest.TestAdapter(t, harness)
		})
	}
}

// harness lets the tests of every adapter use r.
func (r *adapterTest) harness() platformtest.AdapterTest {
	r.api.Start(ann)
	deliver := func() {}
	if r.adapter.Settings.WebhookURL != "" {
		var deliveries sync.WaitGroup
		r.Cleanup(deliveries.Wait)
		deliver = func() {
			for _, body := range r.api.Dequeue() {
				deliveries.Go(func() { r.checkPost(body, http.StatusOK) })
			}
		}
	}
	sender := faketelegram.Person(ann)
	sender.Language = "pt-br"
	ask := func(where faketelegram.Chat, command string, argument []string) {
		text := strings.Join(append([]string{"/" + command}, argument...), " ")
		r.api.Push(faketelegram.Text(where, sender, text))
		deliver()
	}
	return platformtest.AdapterTest{
		Adapter: r.adapter,
		Ask: func(_ *testing.T, command string, argument ...string) {
			ask(faketelegram.Group(group), command, argument)
		},
		Community: strconv.Itoa(group),
		AskDirect: func(_ *testing.T, command string, argument ...string) {
			ask(faketelegram.Private(ann), command, argument)
		},
		Locale: sender.Language,
		Messages: func() (all []platformtest.Message) {
			for _, m := range r.api.Sent() {
				all = append(all, platformtest.Message{Text: m.Text + labelsOf(m), Private: m.Chat == ann})
			}
			return all
		},
		Press: func(t *testing.T, label string, by platformtest.Presser) {
			t.Helper()
			user := int64(ann)
			if by == platformtest.Another {
				user++
			}
			r.press(user, label)
			deliver()
		},
		Faults: r.api.Violations,
		Args:   func(wallet string) chat.Args { return chat.Typed(wallet) },
	}
}
