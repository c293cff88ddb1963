package telegram

import (
	"context"
	"fmt"
	"maps"
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

// privateReply is a reply for its sender alone, such as a refusal.
func privateReply(title string) *chat.Reply {
	return &chat.Reply{Tone: chat.Warning, Title: chat.Say(title), Audience: chat.SenderAlone}
}

// questionReply asks its sender for an argument of /staked.
func questionReply() *chat.Reply {
	question := chat.Say("Which?")
	return &chat.Reply{
		Title:    question,
		Audience: chat.SenderAlone,
		Ask:      &chat.Ask{Command: "staked", Question: question},
	}
}

// newest returns the message that the adapter sent last.
func (r *adapterTest) newest() faketelegram.Sent {
	sent := r.api.Sent()
	return sent[len(sent)-1]
}

// cleanupCase is a command, the reply to it, and whether the bot's message about it is deleted in the end.
type cleanupCase struct {
	command faketelegram.Message
	reply   *chat.Reply
	deleted bool
}

// In a group, a message for one person is deleted after half a minute, and a question after two.
var cleanupCases = map[string]cleanupCase{
	"a refusal": {
		command: inGroup(ann, "/price"),
		reply:   privateReply("Too many commands"),
		deleted: true,
	},
	"a refusal in a topic": {
		command: inGroup(ann, "/price").In(7),
		reply:   privateReply("Too many commands"),
		deleted: true,
	},
	"a refusal to an anonymous administrator": {
		command: onBehalfOf(group, inGroup(1, "/exists 77")),
		reply:   privateReply("Too many commands"),
		deleted: true,
	},
	"a refusal in private": {
		command: inPrivate(ann, "/price"),
		reply:   privateReply("Too many commands"),
	},
	"an answer": {
		command: inGroup(ann, "/price"),
		reply:   &chat.Reply{Title: chat.Say("x")},
	},
	"the notice about a private answer": {
		command: inGroup(ann, "/mylogins"),
		reply:   &chat.Reply{Title: chat.Say("x")},
		deleted: true,
	},
	"an answer that could not be checked": {
		command: inGroup(ann, "/price"),
		reply:   &chat.Reply{Title: chat.Say("unchecked.title")},
	},
	"a question": {
		command: inGroup(ann, "/staked"),
		reply:   questionReply(),
		deleted: true,
	},
}

func TestAMessageForOnePersonIsDeletedFromItsGroup(t *testing.T) {
	inBubble(t, cleanupCases, func(t *testing.T, tt cleanupCase) {
		r := setUp(t)
		r.api.Start(ann)
		r.answerAllWith(tt.reply)
		r.divert("deleteMessage", noticeLasts+4*time.Minute, limited(60))
		r.run()
		r.api.Push(maps.Clone(tt.command))
		r.waitIdle(atOnce)
		lasts := noticeLasts
		if tt.reply.Ask != nil {
			lasts = questionLasts
		}
		time.Sleep(lasts - time.Second)
		check(t, "deleted too early", r.newest().Deleted, false)
		check(t, "deletions too early", r.events.Of("deleteMessage"), 0)
		time.Sleep(5 * time.Minute)
		check(t, "deleted in the end", r.newest().Deleted, tt.deleted)
	})
}

func TestAStopDeletesMessagesForOnePersonAtOnce(t *testing.T) {
	inBubble(t, cleanupCases, func(t *testing.T, tt cleanupCase) {
		r := setUp(t)
		r.api.Start(ann)
		r.answerAllWith(tt.reply)
		stop := r.run()
		r.api.Push(maps.Clone(tt.command))
		r.waitIdle(atOnce)
		start := time.Now()
		err := stop()
		if took := time.Since(start); err != nil || took > time.Second {
			t.Errorf("stopped after %v, %v", took, err)
		}
		check(t, "deleted", r.newest().Deleted, tt.deleted)
	})
}

// outcome says what happens after a command.
type outcome string

const (
	answeredOK  outcome = ""
	unchecked   outcome = "the answer could not be checked"
	notSent     outcome = "Telegram refuses the answer"
	thenRefresh outcome = "the answer is sent, and the first card is refreshed"
)

// asked is a command and its outcome.
type asked struct {
	faketelegram.Message
	outcome outcome
}

func withCleanChat(c *Config) { c.Settings.CleanChat = true }

// remaining sends the commands one after another, and returns the numbers of the answers that are not deleted, such as
// "2 3".
func (r *adapterTest) remaining(commands ...asked) string {
	r.Helper()
	var current asked
	answers := 0
	r.handler.Reply = func(_ context.Context, req *chat.Request) *chat.Reply {
		answers++
		if current.outcome == unchecked {
			return &chat.Reply{Title: chat.Say("unchecked.title")}
		}
		reply := refreshed(fmt.Sprint(answers), answers)
		if req.Command == "staked" {
			reply.About = fmt.Sprint(req.Args)
		}
		return reply
	}
	r.run()
	for _, current = range commands {
		if current.outcome == notSent {
			r.api.Fail("sendMessage", telegramtest.NoRights(), telegramtest.NoRights())
		}
		r.pushAndWait(current.Message)
		if current.outcome == thenRefresh {
			r.api.Press(ann, faketelegram.Group(group), r.api.Sent()[0].ID, "1 e 0 price")
			r.waitIdle(time.Minute)
		}
		time.Sleep(time.Second)
	}
	var numbers []string
	for i, m := range r.api.Sent() {
		if !m.Deleted {
			numbers = append(numbers, fmt.Sprint(i+1))
		}
	}
	return strings.Join(numbers, " ")
}

// cardCase is a series of commands, and the numbers of the answers that are not deleted in the end.
type cardCase struct {
	commands []asked
	want     string
}

// checkCards runs each of the cases with CLEAN_CHAT.
func checkCards(t *testing.T, cases map[string]cardCase) {
	t.Helper()
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			simulated(t, func(t *testing.T, r *adapterTest) {
				check(t, "cards", r.remaining(tt.commands...), tt.want)
			}, withCleanChat)
		})
	}
}

// inTheGroup returns commands of ann's in the group.
func inTheGroup(texts ...string) (commands []asked) {
	for _, text := range texts {
		commands = append(commands, asked{Message: inGroup(ann, text)})
	}
	return commands
}

func TestNewCardDeletesTheOldOne(t *testing.T) {
	inTopic := func() asked { return asked{Message: inGroup(ann, "/price").In(7)} }
	toDeletedCard := asked{Message: replying(inGroup(ann, "/price"))}
	checkCards(t, map[string]cardCase{
		"the same command":          {inTheGroup("/price", "/price", "/price"), "3"},
		"by another name":           {inTheGroup("/help", "/start"), "2"},
		"another period":            {inTheGroup("/price", "/price 7d"), "2"},
		"the same wallet":           {inTheGroup("/staked 0x1", "/staked 0x2", "/staked 0x1"), "2 3"},
		"a reply to a deleted card": {append(inTheGroup("/price", "/price"), toDeletedCard), "3"},
		"the same topic":            {[]asked{inTopic(), inTopic()}, "2"},
	})
}

func TestNewCardLeavesOtherCards(t *testing.T) {
	price := func() faketelegram.Message { return inGroup(ann, "/price") }
	inAnotherGroup := asked{Message: writes(faketelegram.Group(-1002), ann, "/price")}
	inPrivateChat := func() asked { return asked{Message: inPrivate(ann, "/price")} }
	checkCards(t, map[string]cardCase{
		"another wallet":  {inTheGroup("/staked 0x1", "/staked 0x2"), "1 2"},
		"another command": {inTheGroup("/price", "/help"), "1 2"},
		"another topic":   {[]asked{{Message: price().In(7)}, {Message: price().In(8)}, {Message: price()}}, "1 2 3"},
		"another chat":    {append(inTheGroup("/price"), inAnotherGroup), "1 2"},
		"in private":      {[]asked{inPrivateChat(), inPrivateChat()}, "1 2"},
		"a refreshed card": {
			append(inTheGroup("/price"), asked{inGroup(ann, "/help"), thenRefresh}),
			"1 2",
		},
	})
}

func TestCardStaysUntilAnAnswerReplacesIt(t *testing.T) {
	with := func(o outcome) asked { return asked{inGroup(ann, "/price"), o} }
	checkCards(t, map[string]cardCase{
		"no answer":       {[]asked{with(answeredOK), with(unchecked)}, "1 2"},
		"a later answer":  {[]asked{with(answeredOK), with(unchecked), with(unchecked), with(answeredOK)}, "4"},
		"refused to send": {[]asked{with(answeredOK), with(notSent)}, "1"},
	})
}

func TestCardsStayWithoutCleanChat(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		check(t, "cards", r.remaining(inTheGroup("/price", "/price")...), "1 2")
	})
}

// Of two cards that are sent at the same time, Telegram may confirm the upper one last.
func TestTheLowerOfTwoCardsStays(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		calls := 0
		r.divert("sendMessage", time.Hour, func(req *http.Request) (*http.Response, error) {
			calls++
			isUpper := calls == 1
			if isUpper {
				defer time.Sleep(time.Second)
			}
			return r.api.RoundTrip(req)
		})
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		r.waitSent(1)
		r.pushAndWait(inGroup(ann+1, "/price 7d"))
		time.Sleep(time.Minute)
		sent := r.waitSent(2)
		check(t, "upper card deleted", sent[0].Deleted, true)
		check(t, "lower card deleted", sent[1].Deleted, false)
		check(t, "deleteMessage", r.events.Of("deleteMessage"), 1)
	}, withCleanChat)
}

// replying makes m a reply to the first message of the bot.
func replying(m faketelegram.Message) faketelegram.Message {
	m["reply_to_message"] = faketelegram.Message{
		"message_id": 2,
		"from":       map[string]any{"id": faketelegram.BotID, "is_bot": true},
	}
	return m
}

// Users who ask the same at once may share a message. One call deletes it. Only the newest answer is left, and no
// refusal.
func TestSharedMessageIsDeletedOnce(t *testing.T) {
	type test struct {
		reply *chat.Reply
		left  int
	}
	inBubble(t, map[string]test{
		"a refusal": {reply: privateReply("wrong"), left: 0},
		"an answer": {reply: &chat.Reply{Title: chat.Say("x")}, left: 1},
	}, func(t *testing.T, tt test) {
		r := setUp(t, paced, withCleanChat)
		r.answerAllWith(tt.reply)
		r.run()
		for user := range int64(20) {
			r.api.Push(inGroup(ann+user, "/price"))
		}
		r.waitIdle(time.Minute)
		r.pushAndWait(inGroup(ann, "/price"))
		time.Sleep(time.Minute)
		sent := len(r.api.Sent())
		if sent > 5 {
			t.Errorf("%d messages for 21 people, want at most 5", sent)
		}
		left := r.shownInGroup()
		check(t, "messages deleted and left", r.events.Of("deleteMessage")+len(left), sent)
		check(t, "messages left", len(left), tt.left)
		for _, m := range left {
			check(t, "message left", m.ID, r.newest().ID)
		}
	})
}

// Nobody needs to know: the message may be gone, or the bot may have lost its rights.
func TestRefusedDeletionIsNotLogged(t *testing.T) {
	inBubble(t, map[string]telegramtest.Fault{
		"gone":      {Status: http.StatusBadRequest, Description: "Bad Request: message to delete not found"},
		"too old":   {Status: http.StatusBadRequest, Description: "Bad Request: message can't be deleted"},
		"no rights": {Status: http.StatusForbidden, Description: "Forbidden: bot is not a member of the supergroup chat"},
	}, func(t *testing.T, refusal telegramtest.Fault) {
		r := setUp(t, withCleanChat)
		r.run()
		r.api.Fail("deleteMessage", refusal)
		for range 3 {
			r.pushAndWait(inGroup(ann, "/price"))
		}
		time.Sleep(10 * time.Minute)
		check(t, "calls for two old cards", r.events.Of("deleteMessage"), 2)
		if strings.Contains(r.logs.String(), "delete") {
			t.Errorf("logged:\n%s", r.logs)
		}
	})
}

// shownInGroup returns the messages in the group that are not deleted.
func (r *adapterTest) shownInGroup() (shown []faketelegram.Sent) {
	for _, m := range r.api.Sent() {
		if m.Chat == group && !m.Deleted {
			shown = append(shown, m)
		}
	}
	return shown
}

// An invitation to start the bot stays until an answer has reached its user: in the private chat, or by an ephemeral
// message.
func TestAnInvitationIsDeletedOnceItsUserIsAnswered(t *testing.T) {
	inBubble(t, map[string]func(*adapterTest){
		"a command in private": func(r *adapterTest) { r.api.Push(inPrivate(ann, "/price")) },
		"a command in the group, after the start": func(r *adapterTest) {
			r.api.Start(ann)
			r.api.Push(inGroup(ann, "/mylogins"))
		},
		"an ephemeral command": func(r *adapterTest) { r.api.PushEphemeral(inGroup(ann, "/mylogins")) },
	}, func(t *testing.T, ask func(*adapterTest)) {
		r := setUp(t)
		r.handler.Reply = secretReply
		r.run()
		r.api.Push(inGroup(ann, "/mylogins"))
		r.api.Push(inGroup(ann, "/exists"))
		r.api.Push(inGroup(ann+1, "/mylogins"))
		r.waitSent(3)
		time.Sleep(time.Hour)
		if shown := r.shownInGroup(); len(shown) != 3 || shown[0].Text != said(pressStart) {
			t.Fatalf("the group shows %+v", shown)
		}
		ask(r)
		r.api.WaitAcknowledged(atOnce)
		time.Sleep(noticeLasts + time.Second)
		isEphemeral := func(m faketelegram.Sent) bool { return m.Ephemeral != 0 }
		if shown := slices.DeleteFunc(r.shownInGroup(), isEphemeral); len(shown) != 1 { // the other user's invitation
			t.Errorf("the group shows %+v", shown)
		}
		check(t, "unreachable", r.events.Of("private_unreachable"), 3)
	})
}

// bilingual is a handler that speaks Russian in private and Spanish elsewhere.
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
		pointer := r.waitSent(2)[1]
		check(t, "notice", pointer.Text, words.Say(chat.Spanish, chat.Say("telegram.answered")))
		check(t, "button", pointer.Markup.Rows[0][0].Text, words.Say(chat.Spanish, chat.Say("button.private")))
		for i, press := range []struct{ data, key string }{
			{"0", "button.old.title"},
			{"1 e 0 mylogins", "telegram.answered"},
		} {
			r.api.Press(ann, faketelegram.Group(group), pointer.ID, press.data)
			told := r.pressAnswers(i + 1)[i].Text
			if want := words.Say(chat.Russian, chat.Say(press.key)); !strings.Contains(told, want) {
				t.Errorf("the presser is told %q, want %q", told, want)
			}
		}
	})
}

func TestSharedFailureIsStoredOnce(t *testing.T) {
	s := session{toDelete: toDelete{}}
	message := func(id int) outbox.MessageRef { return outbox.MessageRef{MessageID: id} }
	s.storeFailure(cardKey{}, message(1))
	for range maxEach {
		s.storeFailure(cardKey{}, message(2))
	}
	got := s.replaceCards(cardKey{}, message(3))
	if want := []outbox.MessageRef{message(1), message(2)}; !slices.Equal(got, want) {
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
		t.Errorf("%d keys after one more than the maximum, want 1", len(d))
	}
}
