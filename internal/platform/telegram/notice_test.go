package telegram

import (
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/words"
)

// atGroup are the messages that stand in the group.
func (r *rig) atGroup() (there []faketelegram.Sent) {
	for _, m := range r.api.Sent() {
		if m.Chat == group && !m.Deleted {
			there = append(there, m)
		}
	}
	return there
}

// A pointer goes once it was read, or at a stop, which does not wait.
func TestAPointerIsDeletedOnceItWasRead(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		r.handler.Reply = secretReply
		r.api.Start(ann)
		stop := r.run()
		r.api.Push(inGroup(ann, "/mylogins"))
		r.sent(2)
		r.api.Fail("deleteMessage", faketelegram.TooMany(time.Second))
		time.Sleep(noticeLasts - time.Second)
		before := len(r.atGroup())
		time.Sleep(4 * time.Second)
		if before != 1 || len(r.atGroup()) != 0 {
			t.Errorf("the group shows %+v; log:\n%s", r.atGroup(), r.logs)
		}
		r.api.Push(inGroup(ann, "/mylogins"))
		r.sent(4)
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > time.Second || len(r.atGroup()) != 0 {
			t.Errorf("%v after %v; the group shows %+v", err, time.Since(start), r.atGroup())
		}
	})
}

// An invitation to start the bot stands until an answer has reached whom it
// invites: by the link, or whatever they ask in private or in the group.
func TestAnInvitationIsDeletedOnceAnAnswerIsOut(t *testing.T) {
	inBubble(t, map[string]func(*rig){
		"in private": func(r *rig) { r.api.Push(inPrivate(ann, "/price")) },
		"in the group": func(r *rig) {
			r.api.Start(ann)
			r.api.Push(inGroup(ann, "/mylogins"))
		},
		"ephemerally": func(r *rig) { r.api.PushEphemeral(inGroup(ann, "/mylogins")) },
	}, func(t *testing.T, ask func(*rig)) {
		r := setUp(t)
		r.handler.Reply = secretReply
		r.run()
		r.api.Push(inGroup(ann, "/mylogins"))
		r.api.Push(inGroup(ann, "/exists"))
		r.api.Push(inGroup(ann+1, "/mylogins"))
		r.sent(3)
		time.Sleep(time.Hour)
		if there := r.atGroup(); len(there) != 3 || there[0].Text != said(pressStart) {
			t.Fatalf("the group shows %+v", there)
		}
		ask(r)
		r.api.WaitAcknowledged(soon)
		time.Sleep(noticeLasts + time.Second)
		there := slices.DeleteFunc(r.atGroup(), func(m faketelegram.Sent) bool { return m.Ephemeral != 0 })
		if len(there) != 1 || r.events.Of("private_unreachable") != 3 {
			t.Errorf("the group shows %+v", there)
		}
	})
}

// bilingual answers in Russian in private and in Spanish elsewhere.
type bilingual struct{ *chattest.Handler }

func (bilingual) Language(req chat.Request, private bool) chat.Language {
	if private || req.Direct {
		return chat.Russian
	}
	return chat.Spanish
}

func TestAGroupIsToldInItsLanguageAndAPersonInTheirs(t *testing.T) {
	simulated(t, func(t *testing.T, r *rig) {
		r.handler.Reply = secretReply
		r.api.Start(ann)
		r.serve(bilingual{r.handler})
		r.api.Push(inGroup(ann, "/mylogins"))
		pointer := r.sent(2)[1]
		want, label := words.Say(chat.Spanish, chat.Say("telegram.answered")), words.Say(chat.Spanish, chat.Say("button.private"))
		if pointer.Text != want || want == said(answeredPrivately) || pointer.Markup.Rows[0][0].Text != label {
			t.Errorf("the group is told %+v, want %q", pointer, want)
		}
		for i, press := range []struct{ data, key string }{{"0", "button.old.title"}, {"1 e 0 mylogins", "telegram.answered"}} {
			r.api.Press(ann, faketelegram.Group(group), pointer.ID, press.data)
			if got, want := r.told(i + 1)[i].Text, words.Say(chat.Russian, chat.Say(press.key)); !strings.Contains(got, want) {
				t.Errorf("the presser is told %q, want %q", got, want)
			}
		}
	})
}
