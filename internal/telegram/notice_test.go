package telegram

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/telegram/telegramtest"
	"herald/internal/words"
)

// atGroup are the messages that stand in the group.
func (r *rig) atGroup() (there []telegramtest.Sent) {
	for _, m := range r.api.Sent() {
		if m.Chat == group && !m.Deleted {
			there = append(there, m)
		}
	}
	return there
}

func TestAPointerIsDeletedOnceItWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.handler.Reply = secretReply
		r.api.Start(ann)
		r.run()
		r.api.Push(writes(telegramtest.Group(group), ann, "/mylogins"))
		r.sent(2)
		time.Sleep(pointerLasts - time.Second)
		if len(r.atGroup()) != 1 {
			t.Error("the pointer is gone at once")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if sent := r.sent(2); len(r.atGroup()) != 0 || sent[0].Deleted {
			t.Errorf("the group shows %+v", r.atGroup())
		}
	})
}

// A stop does not wait for a pointer, and one that cannot be deleted troubles
// nobody.
func TestAPointerHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.handler.Reply = secretReply
		r.api.Start(ann)
		r.api.Fail("deleteMessage", telegramtest.Status(400))
		stop := r.run()
		r.api.Push(writes(telegramtest.Group(group), ann, "/mylogins"))
		r.sent(2)
		time.Sleep(pointerLasts + time.Second)
		r.api.Push(writes(telegramtest.Group(group), ann, "/mylogins"))
		r.sent(4)
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > time.Second || len(r.api.Pending()) != 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(pointerLasts + time.Second)
		synctest.Wait()
		if len(r.api.Calls("deleteMessage")) == 0 || strings.Contains(r.logs.String(), "deleteMessage") {
			t.Errorf("log:\n%s", r.logs)
		}
	})
}

// An invitation to start the bot stands until an answer has reached whom it
// invites: by the link, or whatever they ask in private or in the group.
func TestAnInvitationIsDeletedOnceAnAnswerIsOut(t *testing.T) {
	for name, ask := range map[string]func(*rig){
		"by the link": func(r *rig) { r.api.Push(writes(telegramtest.Private(ann), ann, "/start mylogins")) },
		"in private":  func(r *rig) { r.api.Push(writes(telegramtest.Private(ann), ann, "/price")) },
		"in the group": func(r *rig) {
			r.api.Start(ann)
			r.api.Push(writes(telegramtest.Group(group), ann, "/mylogins"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				r.handler.Reply = secretReply
				r.run()
				r.api.Push(writes(telegramtest.Group(group), ann, "/mylogins"))
				r.api.Push(writes(telegramtest.Group(group), ann+1, "/mylogins"))
				r.sent(2)
				time.Sleep(time.Hour)
				synctest.Wait()
				if len(r.atGroup()) != 2 {
					t.Fatalf("the group shows %+v", r.atGroup())
				}
				ask(r)
				r.api.WaitAcknowledged(soon)
				time.Sleep(pointerLasts + time.Second)
				synctest.Wait()
				if there := r.atGroup(); len(there) != 1 || r.events.of("private_unreachable") != 2 {
					t.Errorf("the group shows %+v", there)
				}
			})
		})
	}
}

func TestInvitationsAreBounded(t *testing.T) {
	var i invitations
	for user := range int64(3*maxInvitations + 1) {
		i.add(user, messageRef(user))
		if len(i.of) > maxInvitations {
			t.Fatalf("%d are remembered", len(i.of))
		}
	}
	if m, ok := i.take(3 * maxInvitations); !ok || m != messageRef(3*maxInvitations) {
		t.Errorf("the last is %+v, %v", m, ok)
	}
	if _, ok := i.take(3 * maxInvitations); ok {
		t.Error("it is taken twice")
	}
}

// Notices are for a group to read, in its language, and their button says what it
// opens.
func TestNothingOfAPrivateReplyIsInANotice(t *testing.T) {
	s := &session{Adapter: setUp(t, nil).adapter, work: chat.NewWork(t.Context(), nil, nil, nil)}
	s.me = testMe
	c := commandMessage{request: chat.Request{Command: "mylogins"}, linkable: true, asked: destination{chat: group, group: true, language: chat.English}}
	for n, url := range map[notice]string{answeredPrivately: "https://t.me/OurBot", stayedAnonymous: "https://t.me/OurBot", pressStart: "https://t.me/OurBot?start=mylogins"} {
		if got, want := marked(s.notice(n, c)), said(n)+"\n[Open private chat: "+url+"]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
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
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, func(c *Config) { c.Pacing = true })
		r.handler.Reply = secretReply
		r.api.Start(ann)
		r.serve(bilingual{r.handler})
		r.api.Push(writes(telegramtest.Group(group), ann, "/mylogins"))
		pointer := r.sent(2)[1]
		if want := words.Say(chat.Spanish, chat.Say("telegram.answered")); pointer.Text != want || want == said(answeredPrivately) {
			t.Errorf("the group is told %q, want %q", pointer.Text, want)
		}
		if label, want := pointer.Markup.Rows[0][0].Text, words.Say(chat.Spanish, chat.Say("telegram.open")); label != want {
			t.Errorf("the button says %q, want %q", label, want)
		}
		for data, key := range map[string]string{"0": "button.old.title", "1 e 0 mylogins": "telegram.answered"} {
			r.api.Press(ann, telegramtest.Group(group), pointer.ID, data)
			synctest.Wait()
			r.waitFor("the notice", func() bool { return len(r.api.Calls("answerCallbackQuery")) > 0 && len(r.api.Pending()) == 0 })
			notices := r.api.Notices()
			if got, want := notices[len(notices)-1].Text, words.Say(chat.Russian, chat.Say(key)); !strings.Contains(got, want) {
				t.Errorf("the presser is told %q, want %q", got, want)
			}
		}
		r.flood(60)
		r.settled(time.Minute)
		busy := words.Say(chat.Spanish, chat.Busy().Title)
		if !slices.ContainsFunc(r.api.Sent(), func(m telegramtest.Sent) bool { return strings.Contains(m.Text, busy) }) {
			t.Errorf("no message says %q", busy)
		}
	})
}
