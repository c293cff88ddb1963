package telegram

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/telegram/telegramtest"
)

func TestAnswersInPlaceAsAReplyInTheTopic(t *testing.T) {
	r := setUp(t, nil)
	stop := r.run()
	_, id := r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price").In(42))
	got := r.sent(1)[0]
	if got.Chat != group || got.Thread != 42 || got.ReplyTo != id || got.Text != "price" {
		t.Errorf("got %+v", got)
	}
	r.waitFor("ready", r.adapter.Ready)
	if !r.api.WaitAcknowledged(soon) {
		t.Error("the update is not acknowledged")
	}
	// A call is noted before it has its effect.
	r.waitFor("the menu", func() bool { return len(r.api.Menu()) > 0 })
	if len(r.api.Menu()) != 5 {
		t.Errorf("menu %+v", r.api.Menu())
	}
	if err := stop(); err != nil || r.adapter.Ready() {
		t.Errorf("Run: %v, ready %v", err, r.adapter.Ready())
	}
}

func TestPrivateAnswersNeverReachTheGroup(t *testing.T) {
	tests := []struct {
		name     string
		started  bool
		message  telegramtest.Message
		requests int
		private  int
		pointer  string
		opens    string
	}{
		{"to one who started the bot", true,
			telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/mylogins"), 1, 1, said(answeredPrivately), "https://t.me/herald_bot"},
		{"to one who did not", false,
			telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/mylogins"), 1, 0, said(pressStart), "https://t.me/herald_bot?start=mylogins"},
		{"with arguments, to one who did not", false,
			telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/exists 77"), 1, 0, said(pressStart), "https://t.me/herald_bot?start=start"},
		{"to an anonymous administrator", true, func() telegramtest.Message {
			m := telegramtest.Text(telegramtest.Group(group), telegramtest.User{ID: 1087968824, IsBot: true}, "/exists 77")
			m["sender_chat"] = telegramtest.Group(group)
			return m
		}(), 0, 0, said(stayedAnonymous), "https://t.me/herald_bot"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := setUp(t, nil)
			r.handler.Reply = secretReply
			if tt.started {
				r.api.Start(ann)
			}
			r.run()
			r.api.Push(tt.message)
			got := r.sent(tt.private + 1)
			if !r.api.WaitAcknowledged(soon) || len(r.api.Sent()) != tt.private+1 {
				t.Fatalf("sent %+v", r.api.Sent())
			}
			for i, m := range got[:tt.private] {
				if m.Chat != ann || !strings.Contains(m.Text, "confidential") {
					t.Errorf("message %d: %+v", i, m)
				}
			}
			pointer := got[tt.private]
			open := telegramtest.Button{Text: "Open private chat", URL: tt.opens}
			if pointer.Chat != group || pointer.Text != tt.pointer || !reflect.DeepEqual(pointer.Markup.Rows, [][]telegramtest.Button{{open}}) {
				t.Errorf("pointer %+v", pointer)
			}
			for _, call := range r.api.Calls("sendMessage") {
				if string(call.Params["chat_id"]) != "501" && bytes.Contains(call.Params["text"], []byte("confidential")) {
					t.Errorf("a group was sent the private answer: %s", call.Params["text"])
				}
			}
			if n := len(r.handler.Requests()); n != tt.requests {
				t.Errorf("%d requests handled, want %d", n, tt.requests)
			}
		})
	}
}

func TestPrivateAnswersStayWhereTheyWereAskedPrivately(t *testing.T) {
	r := setUp(t, nil)
	r.handler.Reply = secretReply
	r.run()
	r.api.Push(telegramtest.Text(telegramtest.Private(ann), telegramtest.Person(ann), "/start mylogins"))
	if got := r.sent(1)[0]; got.Chat != ann || !strings.Contains(got.Text, "confidential") {
		t.Errorf("got %+v", got)
	}
	if req := r.handler.Requests()[0]; !req.Direct || req.Command != "mylogins" || req.Role != chat.Member {
		t.Errorf("request %+v", req)
	}
}

func TestAsksTelegramWhoModerates(t *testing.T) {
	r := setUp(t, nil)
	r.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
		role, err := req.Role, error(nil)
		if role == chat.UnknownRole {
			role, err = r.adapter.Role(ctx, req.From, req.Chat)
		}
		return chat.Reply{Title: chat.Say(map[bool]string{true: "yes", false: "no"}[role == chat.Moderator && err == nil])}
	}
	r.api.Promote(group, 1, "creator")
	r.api.Promote(group, 2, "administrator")
	r.run()
	anonymous := telegramtest.Text(telegramtest.Group(group), telegramtest.User{ID: 1087968824, IsBot: true}, "/price")
	anonymous["sender_chat"] = telegramtest.Group(group)
	channel := telegramtest.Text(telegramtest.Group(group), telegramtest.User{ID: 136817688, IsBot: true}, "/price")
	channel["sender_chat"] = telegramtest.Chat{ID: -77, Type: "channel"}
	for i, tt := range []struct {
		message telegramtest.Message
		want    string
	}{
		{telegramtest.Text(telegramtest.Group(group), telegramtest.Person(1), "/price"), "yes"},
		{telegramtest.Text(telegramtest.Group(group), telegramtest.Person(2), "/price"), "yes"},
		{telegramtest.Text(telegramtest.Group(group), telegramtest.Person(3), "/price"), "no"},
		{telegramtest.Text(telegramtest.Private(1), telegramtest.Person(1), "/price"), "no"},
		{anonymous, "yes"},
		{channel, "no"},
	} {
		r.api.Push(tt.message)
		if got := r.sent(i + 1)[i].Text; got != tt.want {
			t.Errorf("message %d: %s, want %s", i, got, tt.want)
		}
	}
}

func TestAPanicIsCountedAndLoggedOnce(t *testing.T) {
	r := setUp(t, nil)
	r.handler.Reply = func(context.Context, chat.Request) chat.Reply { panic("broken") }
	r.run()
	r.askers(1)
	r.sent(1)
	if !r.api.WaitAcknowledged(soon) || r.events.of("panic") != 1 || strings.Count(r.logs.String(), "panic while") != 1 {
		t.Errorf("events %v; log:\n%s", r.events.n, r.logs)
	}
}

func TestShowsTypingOnceAnAnswerTakesLong(t *testing.T) {
	t.Parallel()
	r := setUp(t, nil)
	r.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
		if req.Command == "price" {
			r.api.WaitCalls("sendChatAction", 1, soon)
		}
		return chat.Reply{Title: chat.Say(req.Command)}
	}
	r.run()
	r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/help"))
	r.sent(1)
	if n := len(r.api.Calls("sendChatAction")); n != 0 {
		t.Errorf("typing was shown %d times for a quick answer", n)
	}
	r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price"))
	r.sent(2)
	if n := len(r.api.Calls("sendChatAction")); n != 1 {
		t.Errorf("typing was shown %d times", n)
	}
}

func TestAnAdapterDoesNotPrintItsSecrets(t *testing.T) {
	const secret = "wh00k-secret"
	r := setUp(t, func(c *Config) { c.WebhookSecret = config.NewSecret(secret) })
	s := &session{Adapter: r.adapter}
	for _, v := range []any{r.adapter, r.adapter.Config, r.adapter.api, s, *s} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			text := fmt.Sprintf(verb, v)
			r.noToken(text)
			if strings.Contains(text, secret) {
				t.Errorf("the webhook's secret stands in %s", text)
			}
		}
	}
}

func TestConnectedIsToldOnceWithTheBotsNameAndAgainAfterAnOutage(t *testing.T) {
	const told = "connected as @" + telegramtest.Username
	r := setUp(t, nil)
	r.run()
	r.askers(3)
	r.sent(3)
	if n := r.events.of(told); n != 1 {
		t.Errorf("told %d times", n)
	}
	r.api.Fail("getUpdates", telegramtest.Page(502))
	r.askers(1) // ends a poll under way, which began before it could fail
	r.waitFor("connected again", func() bool { return r.events.of(told) == 2 })
}
