package telegram

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/platformtest"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/words"
)

// A message for one person leaves the group after half a minute, a question after two, and
// either at a stop.
func TestAnErrorLeavesItsGroup(t *testing.T) {
	refusal := &chat.Reply{Tone: chat.Warning, Title: chat.Say("Too many commands"), Audience: chat.SenderAlone}
	type test struct {
		message faketelegram.Message
		reply   *chat.Reply
		stays   bool
	}
	inBubble(t, map[string]test{
		"a refusal":            {inGroup(ann, "/price"), refusal, false},
		"in a topic":           {inGroup(ann, "/price").In(7), refusal, false},
		"not for the nameless": {as(group, inGroup(1, "/exists 77")), refusal, false},
		"in private":           {inPrivate(ann, "/price"), refusal, true},
		"an answer":            {inGroup(ann, "/price"), &chat.Reply{Title: chat.Say("x")}, true},
		"a pointer":            {inGroup(ann, "/mylogins"), &chat.Reply{Title: chat.Say("x")}, false},
		"could not be checked": {inGroup(ann, "/price"), &chat.Reply{Title: chat.Say("unchecked.title")}, true},
		"a question": {inGroup(ann, "/staked"), &chat.Reply{Title: chat.Say("Which?"), Audience: chat.SenderAlone,
			Ask: &chat.Ask{Command: "staked", Question: chat.Say("Which?")}}, false},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		newest := func() faketelegram.Sent { return r.api.Sent()[len(r.api.Sent())-1] }
		r.api.Start(ann)
		r.answer(tt.reply)
		r.carry("deleteMessage", noticeLasts+4*time.Minute, limited(60))
		stop := r.run()
		r.api.Push(tt.message)
		r.idle(atOnce)
		lasts := noticeLasts
		if tt.reply.Ask != nil {
			lasts = questionLasts
		}
		time.Sleep(lasts - time.Second)
		before := newest().Deleted || r.events.Of("deleteMessage") > 0
		time.Sleep(5 * time.Minute)
		if before || newest().Deleted == tt.stays {
			t.Errorf("deleted before %v: %t, in the end: %t", lasts, before, newest().Deleted)
		}
		tt.message["message_id"] = int64(999)
		r.api.Push(tt.message)
		r.idle(atOnce)
		start := time.Now()
		if err := stop(); err != nil || time.Since(start) > time.Second || newest().Deleted == tt.stays {
			t.Errorf("stopped after %v, %v: %+v", time.Since(start), err, newest())
		}
	})
}

// With CLEAN_CHAT a card goes when a newer one that answers the same question is out in
// the same chat and topic, and no other does.
func TestNewCardDeletesTheOldOne(t *testing.T) {
	price := func() faketelegram.Message { return inGroup(ann, "/price") }
	const failing, refused, edited = "could not be checked", "refused", "edited"
	for name, tt := range map[string]struct {
		messages []faketelegram.Message
		how      map[int]string
		want     string // the messages that stand in the end, by their numbers
	}{
		"the same command":       {[]faketelegram.Message{price(), price(), price()}, nil, "3"},
		"by another name":        {[]faketelegram.Message{inGroup(ann, "/help"), inGroup(ann, "/start")}, nil, "2"},
		"another period":         {[]faketelegram.Message{price(), inGroup(ann, "/price 7d")}, nil, "2"},
		"another wallet":         {[]faketelegram.Message{inGroup(ann, "/staked 0x1"), inGroup(ann, "/staked 0x2")}, nil, "1 2"},
		"the same wallet":        {[]faketelegram.Message{inGroup(ann, "/staked 0x1"), inGroup(ann, "/staked 0x2"), inGroup(ann, "/staked 0x1")}, nil, "2 3"},
		"a reply to one gone":    {[]faketelegram.Message{price(), price(), replying(price())}, nil, "3"},
		"switched off":           {[]faketelegram.Message{price(), price()}, nil, "1 2"},
		"another command":        {[]faketelegram.Message{price(), inGroup(ann, "/help")}, nil, "1 2"},
		"another topic":          {[]faketelegram.Message{price().In(7), price().In(8), price()}, nil, "1 2 3"},
		"the same topic":         {[]faketelegram.Message{price().In(7), price().In(7)}, nil, "2"},
		"another chat":           {[]faketelegram.Message{price(), writes(faketelegram.Group(-1002), ann, "/price")}, nil, "1 2"},
		"in private":             {[]faketelegram.Message{inPrivate(ann, "/price"), inPrivate(ann, "/price")}, nil, "1 2"},
		"no answer":              {[]faketelegram.Message{price(), price()}, map[int]string{2: failing}, "1 2"},
		"no answer, then one":    {[]faketelegram.Message{price(), price(), price(), price()}, map[int]string{2: failing, 3: failing}, "4"},
		"a card that is not out": {[]faketelegram.Message{price(), price()}, map[int]string{2: refused}, "1"},
		"an edit":                {[]faketelegram.Message{price(), inGroup(ann, "/help")}, map[int]string{2: edited}, "1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			simulated(t, func(t *testing.T, r *adapterTest) {
				n := 0
				r.handler.Reply = func(_ context.Context, req *chat.Request) (reply *chat.Reply) {
					reply = refreshed(fmt.Sprint(n), n)
					if tt.how[n] == failing {
						reply = &chat.Reply{Title: chat.Say("unchecked.title")}
					}
					if req.Command == "staked" {
						reply.About = fmt.Sprint(req.Args)
					}
					return reply
				}
				r.run()
				for i, m := range tt.messages {
					n = i + 1
					if tt.how[n] == refused {
						r.api.Fail("sendMessage", telegramtest.NoRights(), telegramtest.NoRights())
					}
					r.give(m)
					if tt.how[n] == edited {
						r.api.Press(ann, faketelegram.Group(group), r.api.Sent()[0].ID, "1 e 0 price")
						r.idle(time.Minute)
					}
					time.Sleep(time.Second)
				}
				var stand []string
				for i, m := range r.api.Sent() {
					if !m.Deleted {
						stand = append(stand, fmt.Sprint(i+1))
					}
				}
				if got := strings.Join(stand, " "); got != tt.want {
					t.Errorf("in the end %q stand, want %q", got, tt.want)
				}
			}, func(c *Config) { c.Settings.CleanChat = name != "switched off" })
		})
	}
}

// Of two cards at once, the one that is acknowledged late may be the upper one.
func TestTheLowerOfTwoCardsStays(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		calls := 0
		r.carry("sendMessage", time.Hour, func(req *http.Request) (*http.Response, error) {
			calls++
			defer time.Sleep(time.Duration(2-calls) * time.Second)
			return r.api.RoundTrip(req)
		})
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		r.sent(1)
		r.give(inGroup(ann+1, "/price 7d"))
		time.Sleep(time.Minute)
		sent := r.sent(2)
		check(t, "upper card deleted", sent[0].Deleted, true)
		check(t, "lower card deleted", sent[1].Deleted, false)
		check(t, "deleteMessage", r.events.Of("deleteMessage"), 1)
	}, func(c *Config) { c.Settings.CleanChat = true })
}

// replying makes m a reply to the first message of the bot, which is gone by then.
func replying(m faketelegram.Message) faketelegram.Message {
	m["reply_to_message"] = faketelegram.Message{"message_id": 2, "from": map[string]any{"id": faketelegram.BotID, "is_bot": true}}
	return m
}

// Several who ask the same at once may share a message, which is deleted by one call. The
// newest card stays.
func TestSharedMessageIsDeletedOnce(t *testing.T) {
	wrong := &chat.Reply{Tone: chat.Warning, Title: chat.Say("wrong"), Audience: chat.SenderAlone}
	inBubble(t, map[string]*chat.Reply{"an error": wrong, "a card": {Title: chat.Say("x")}}, func(t *testing.T, reply *chat.Reply) {
		r := setUp(t, paced, func(c *Config) { c.Settings.CleanChat = true })
		r.answer(reply)
		r.run()
		for i := range 20 {
			r.api.Push(inGroup(int64(ann+i), "/price"))
		}
		r.idle(time.Minute)
		r.give(inGroup(ann, "/price"))
		time.Sleep(time.Minute)
		sent, calls, stay := len(r.api.Sent()), r.events.Of("deleteMessage"), 0
		if reply.Tone == chat.Neutral {
			stay = 1
		}
		there := r.atGroup()
		check(t, "messages left", len(there), stay)
		check(t, "deleteMessage", calls, sent-stay)
		if sent > 5 {
			t.Errorf("%d messages for 21 people, want at most 5", sent)
		}
		if stay == 1 && there[0].ID != r.api.Sent()[sent-1].ID {
			t.Errorf("left is %+v, want the newest", there)
		}
	})
}

// A message may be gone, or the bot may have lost its rights.
func TestRefusedDeletionIsNotLogged(t *testing.T) {
	inBubble(t, map[string]telegramtest.Fault{
		"gone":      {Status: http.StatusBadRequest, Description: "Bad Request: message to delete not found"},
		"too old":   {Status: http.StatusBadRequest, Description: "Bad Request: message can't be deleted"},
		"no rights": {Status: http.StatusForbidden, Description: "Forbidden: bot is not a member of the supergroup chat"},
	}, func(t *testing.T, refusal telegramtest.Fault) {
		r := setUp(t, func(c *Config) { c.Settings.CleanChat = true })
		r.run()
		r.api.Fail("deleteMessage", refusal)
		for range 3 {
			r.give(inGroup(ann, "/price"))
		}
		time.Sleep(10 * time.Minute)
		if calls := r.events.Of("deleteMessage"); calls != 2 || strings.Contains(r.logs.String(), "delete") {
			t.Errorf("%d calls for 2 cards; log:\n%s", calls, r.logs)
		}
	})
}

// atGroup are the messages that stand in the group.
func (r *adapterTest) atGroup() (there []faketelegram.Sent) {
	for _, m := range r.api.Sent() {
		if m.Chat == group && !m.Deleted {
			there = append(there, m)
		}
	}
	return there
}

// An invitation to start the bot stays until an answer has reached its user: by the link,
// in private or in the group.
func TestAnInvitationIsDeletedOnceAnAnswerIsOut(t *testing.T) {
	inBubble(t, map[string]func(*adapterTest){
		"in private": func(r *adapterTest) { r.api.Push(inPrivate(ann, "/price")) },
		"in the group": func(r *adapterTest) {
			r.api.Start(ann)
			r.api.Push(inGroup(ann, "/mylogins"))
		},
		"ephemerally": func(r *adapterTest) { r.api.PushEphemeral(inGroup(ann, "/mylogins")) },
	}, func(t *testing.T, ask func(*adapterTest)) {
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
		r.api.WaitAcknowledged(atOnce)
		time.Sleep(noticeLasts + time.Second)
		there := slices.DeleteFunc(r.atGroup(), func(m faketelegram.Sent) bool { return m.Ephemeral != 0 })
		if len(there) != 1 || r.events.Of("private_unreachable") != 3 {
			t.Errorf("the group shows %+v", there)
		}
	})
}

// bilingual answers in Russian in private and in Spanish elsewhere.
type bilingual struct{ *platformtest.Handler }

func (bilingual) Language(req *chat.Request, visibility chat.Visibility) chat.Language {
	if visibility == chat.Private || req.Direct {
		return chat.Russian
	}
	return chat.Spanish
}

func TestNoticesAreInTheReadersLanguage(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = secretReply
		r.api.Start(ann)
		r.serve(bilingual{r.handler})
		r.api.Push(inGroup(ann, "/mylogins"))
		pointer := r.sent(2)[1]
		want, label := words.Say(chat.Spanish, chat.Say("telegram.answered")), words.Say(chat.Spanish, chat.Say("button.private"))
		check(t, "notice", pointer.Text, want)
		check(t, "button", pointer.Markup.Rows[0][0].Text, label)
		for i, press := range []struct{ data, key string }{{"0", "button.old.title"}, {"1 e 0 mylogins", "telegram.answered"}} {
			r.api.Press(ann, faketelegram.Group(group), pointer.ID, press.data)
			if got, want := r.pressAnswers(i + 1)[i].Text, words.Say(chat.Russian, chat.Say(press.key)); !strings.Contains(got, want) {
				t.Errorf("the presser is told %q, want %q", got, want)
			}
		}
	})
}

func TestSharedFailureIsStoredOnce(t *testing.T) {
	s, card := session{toDelete: toDelete{}}, func(id int) outbox.MessageRef { return outbox.MessageRef{MessageID: id} }
	s.replaceCard(cardKey{}, card(1), true)
	for range maxEach {
		s.replaceCard(cardKey{}, card(2), true)
	}
	if got, want := s.replaceCard(cardKey{}, card(3), false), []outbox.MessageRef{card(1), card(2)}; !slices.Equal(got, want) {
		t.Errorf("deletes %v, want %v", got, want)
	}
}

func TestMessagesToDeleteAreBounded(t *testing.T) {
	d := toDelete{}
	var messages []outbox.MessageRef
	for id := range maxEach + 1 {
		messages = append(messages, outbox.MessageRef{MessageID: id})
	}
	for key := range maxKeys {
		d.put(key, messages)
	}
	if got := d[0]; len(got) != maxEach || got[0].MessageID != 1 {
		t.Errorf("%d messages from %+v on, want the newest %d", len(got), got[0], maxEach)
	}
	if len(d) != maxKeys {
		t.Errorf("%d keys, want %d", len(d), maxKeys)
	}
	d.put("another", messages)
	if len(d) != 1 {
		t.Errorf("%d keys when there is no room for another, want 1", len(d))
	}
}
