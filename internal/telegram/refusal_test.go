package telegram

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

// TestARefusalThatWasSaidBeforeIsNoMessage has it in a group, publicly and
// privately, where not even a pointer says that there was something, and in a
// private chat.
func TestARefusalThatWasSaidBeforeIsNoMessage(t *testing.T) {
	r := setUp(t, nil)
	r.api.Start(ann)
	r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
		return chat.Reply{Title: chat.Say(req.Command), SaidBefore: req.Command != "help"}
	}
	r.run()
	for _, where := range []telegramtest.Chat{telegramtest.Group(group), telegramtest.Private(ann)} {
		for _, command := range []string{"/price", "/mylogins", "/exists 5"} {
			r.api.Push(telegramtest.Text(where, telegramtest.Person(ann), command))
		}
	}
	r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/help"))
	if !r.api.WaitAcknowledged(soon) {
		t.Error("a refusal that was said before is not acknowledged")
	}
	if got := r.sent(1); !strings.Contains(got[0].Text, "help") {
		t.Errorf("sent %+v", got)
	}
	if n := len(r.handler.Requests()); n != 7 {
		t.Errorf("%d requests, want 7", n)
	}
}

// A press is answered even by a refusal that was said before, which the presser
// alone sees, whether what they asked is public or private.
func TestAPressWhoseRefusalWasSaidBeforeIsToldThePresser(t *testing.T) {
	for _, data := range []string{"1 e 0 price", "1 n 0 price", "1 e 0 mylogins"} {
		synctest.Test(t, func(t *testing.T) {
			r := card(t, nil, chat.Reply{Tone: chat.Warning, Title: chat.Say("Too many commands"), ToAsker: true, SaidBefore: true})
			m := r.one()
			r.api.Start(ann)
			r.api.Press(ann, chatOf(m), m.ID, data)
			if got := r.told(1)[0]; got.Text != "⚠️ Too many commands" || got.Alert || got.User != ann {
				t.Errorf("%s: told %+v", data, got)
			}
			if m := r.one(); m.Edits != 0 || !r.api.WaitAcknowledged(soon) {
				t.Errorf("%s: the message is %+v", data, m)
			}
		})
	}
}
