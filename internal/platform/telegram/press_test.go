package telegram

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// refreshed returns an answer with a button to refresh it. The answer is as of this minute: minute 10 is when simulated
// time begins, minute 9 is a minute before.
func refreshed(text string, minute int) *chat.Reply {
	begins := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	asOf := begins.Add(time.Duration(minute-10) * time.Minute)
	return &chat.Reply{
		Title:   chat.Say(text),
		Source:  chat.Source{AsOf: chat.Version{Time: asOf}},
		Actions: []chat.Action{{Label: chat.Say("Refresh"), Command: "price", Edit: true, Refresh: true}},
	}
}

// card returns an adapterTest that has answered one /price in the group, with a card that says "answer 1". The handler
// returns the given answers next, and then answers that are newer by a minute each.
func card(t *testing.T, answers ...*chat.Reply) *adapterTest {
	t.Helper()
	r := setUp(t)
	var asked atomic.Int64
	r.handler.Reply = func(context.Context, *chat.Request) *chat.Reply {
		n := int(asked.Add(1))
		if next := n - 2; next >= 0 && next < len(answers) {
			return answers[next]
		}
		return refreshed(fmt.Sprint("answer ", n), n)
	}
	r.run()
	r.api.Push(inGroup(ann, "/price"))
	r.waitSent(1)
	return r
}

// one returns the only message that was ever sent.
func (r *adapterTest) one() faketelegram.Sent {
	r.Helper()
	return r.waitSent(1)[0]
}

func TestFailedPressLeavesTheAnswer(t *testing.T) {
	long := strings.Repeat("x", 190)
	type test struct {
		reply *chat.Reply
		text  string
		alert bool
	}
	inBubble(t, map[string]test{
		"could not be checked": {
			reply: &chat.Reply{Tone: chat.Warning, Title: chat.NoAnswer("price"), Text: chat.Say("Down.")},
			text:  "⚠️ Price unavailable\nDown.",
			alert: true,
		},
		"as new": {
			reply: refreshed("the same", 1),
			text:  "Nothing newer yet",
		},
		"a question": {
			reply: &chat.Reply{
				Title:    chat.Say("Which?"),
				Audience: chat.SenderAlone,
				Ask:      &chat.Ask{Command: "staked"},
			},
			text:  "Which?",
			alert: true,
		},
		"more than fits": {
			reply: &chat.Reply{
				Title:    chat.Say("T"),
				Text:     chat.Say(long),
				Notes:    []chat.Text{chat.Say("too long"), chat.Say("fits")},
				Audience: chat.SenderAlone,
			},
			text:  "T\n" + long + "\ntoo lo…",
			alert: true,
		},
	}, func(t *testing.T, tt test) {
		r := card(t, tt.reply)
		r.press(ann+1, "Refresh")
		got := r.pressAnswers(1)[0]
		check(t, "text", got.Text, tt.text)
		check(t, "alert", got.Alert, tt.alert)
		check(t, "user", got.User, ann+1)
		m := r.one()
		check(t, "text", m.Text, "answer 1")
		check(t, "edits", m.Edits, 0)
		check(t, "acknowledged", r.api.WaitAcknowledged(atOnce), true)
	})
}

// readers returns who read which messages in the group and in private, in order, such as "all in -1001: answer 1".
func (r *adapterTest) readers() (all []string) {
	for _, seen := range r.api.Seen() {
		firstLine, _, _ := strings.Cut(seen.Text, "\n")
		if seen.Chat == 0 {
			continue
		}
		reader := fmt.Sprint(seen.Reader)
		if seen.Reader == 0 {
			reader = "all"
		}
		all = append(all, fmt.Sprintf("%s in %d: %s", reader, seen.Chat, firstLine))
	}
	return all
}

// unansweredPress is a press below a card in the group whose answer cannot be shown as a toast or an alert.
type unansweredPress struct {
	user    int64
	command string
	takes   time.Duration
	faults  []telegramtest.Fault // of answerCallbackQuery
	read    []string             // what readers returns, without the card
}

func checkUnansweredPresses(t *testing.T, cases map[string]unansweredPress) {
	t.Helper()
	inBubble(t, cases, func(t *testing.T, tt unansweredPress) {
		r := card(t)
		r.api.Start(ann)
		r.handler.Reply = func(_ context.Context, req *chat.Request) *chat.Reply {
			time.Sleep(tt.takes)
			return &chat.Reply{Title: chat.NoAnswer(req.Command), Language: chat.Spanish}
		}
		r.api.Fail("answerCallbackQuery", tt.faults...)
		r.api.Press(tt.user, faketelegram.Group(group), r.one().ID, "1 e 0 "+tt.command)
		check(t, "edits", r.waitIdle(time.Minute)[0].Edits, 0)
		check(t, "read", strings.Join(r.readers()[1:], "|"), strings.Join(tt.read, "|"))
	})
}

// tooLate is longer than Telegram waits for an answer to a press.
const tooLate = 16 * time.Second

// The message is below the card, in the group's language.
func TestAPressWhoseAlertIsNotTakenIsAnsweredByAMessage(t *testing.T) {
	reset := telegramtest.ResetBefore()
	taken := telegramtest.Page(http.StatusBadGateway).CarriedOut()
	checkUnansweredPresses(t, map[string]unansweredPress{
		"too late": {
			user:    ann,
			command: "price",
			takes:   tooLate,
			read:    []string{"all in -1001: Price unavailable"},
		},
		"reset twice": {
			user:    ann,
			command: "price",
			faults:  []telegramtest.Fault{reset, reset},
			read:    []string{"all in -1001: Price unavailable"},
		},
		"502, but taken": {
			user:    ann,
			command: "price",
			faults:  []telegramtest.Fault{taken},
			read:    []string{"501 in -1001: Price unavailable"},
		},
	})
}

func TestALatePrivateAnswerToAPressIsHiddenFromTheGroup(t *testing.T) {
	const stranger = 404 // has not started the bot
	checkUnansweredPresses(t, map[string]unansweredPress{
		"in private": {
			user:    ann,
			command: "mylogins",
			takes:   tooLate,
			read: []string{
				"501 in 501: Accesos: no disponible ahora",
				"all in -1001: " + said(answeredPrivately),
			},
		},
		"to a stranger": {
			user:    stranger,
			command: "mylogins",
			takes:   tooLate,
			read:    []string{"all in -1001: " + said(pressStart)},
		},
	})
}

// After a press in private, a question is a message to which one can reply.
func TestPrivatePressIsAskedByMessage(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.answerAllWith(refreshed("x", 1))
		r.run()
		r.pushPrices(1)
		r.waitSent(1)
		r.answerAllWith(questionReply())
		r.press(10_000, "Refresh")
		check(t, "asks for a reply", r.waitSent(2)[1].Markup.ForceReply, true)
		check(t, "toast", r.pressAnswers(1)[0].Text, "")
	})
}

func TestPressIsAnsweredBelowAnUneditableMessage(t *testing.T) {
	type test struct {
		prepare func(r *adapterTest, card faketelegram.Sent)
		data    string // of the button
		isReply bool   // whether the new message is a reply to the card
	}
	const edit, add = "1 e 0 price", "1 n 0 price"
	inBubble(t, map[string]test{
		"deleted": {
			prepare: func(r *adapterTest, card faketelegram.Sent) { r.api.Delete(card.Chat, card.ID) },
			data:    edit,
		},
		"refused": {
			prepare: func(r *adapterTest, _ faketelegram.Sent) { r.api.Fail("editMessageText", telegramtest.NoRights()) },
			data:    edit,
			isReply: true,
		},
		"a button that adds": {
			prepare: func(*adapterTest, faketelegram.Sent) {},
			data:    add,
			isReply: true,
		},
	}, func(t *testing.T, tt test) {
		r := card(t)
		shown := r.one()
		tt.prepare(r, shown)
		r.api.Press(ann, faketelegram.Group(group), shown.ID, tt.data)
		sent := r.waitSent(2)
		check(t, "edits", sent[0].Edits, 0)
		check(t, "text", sent[1].Text, "answer 2")
		check(t, "is a reply to the card", sent[1].ReplyTo == shown.ID, tt.isReply)
		check(t, "is a reply", sent[1].ReplyTo != 0, tt.isReply)
		check(t, "toast", r.pressAnswers(1)[0].Text, "")
	})
}

// buttonData returns the data of the button for the given press of a card. The first press is 0.
type buttonData func(press int, card faketelegram.Sent) string

// editsAfter presses a button of a card once per answer while the first edit is in flight. It returns the card in
// the end.
func editsAfter(t *testing.T, minutes []int, data buttonData) faketelegram.Sent {
	t.Helper()
	var answers []*chat.Reply
	for _, minute := range minutes {
		answers = append(answers, refreshed(fmt.Sprint("minute ", minute), minute))
	}
	r := card(t, answers...)
	release := make(chan struct{})
	r.api.Fail("editMessageText", telegramtest.Held(release))
	for i := range answers {
		shown := r.one()
		r.api.Press(int64(ann+i), faketelegram.Group(group), shown.ID, data(i, shown))
		r.waitRequested(2 + i)
		synctest.Wait()
	}
	close(release)
	r.pressAnswers(len(answers))
	check(t, "counted as shared", r.events.Of("send_shared"), 0)
	check(t, "acknowledged", r.api.WaitAcknowledged(atOnce), true)
	return r.one()
}

// While an edit of a message is in flight, the later ones wait and become one.
func TestTheNewestAnswerStandsAfterConcurrentRefreshes(t *testing.T) {
	type test struct {
		minutes []int // the version of each answer
		want    string
		edits   int
	}
	inBubble(t, map[string]test{
		"newer ones":   {minutes: []int{2, 3, 4, 5}, want: "minute 5", edits: 2},
		"older ones":   {minutes: []int{5, 4, 3, 2}, want: "minute 5", edits: 1},
		"in any order": {minutes: []int{3, 2, 9, 4}, want: "minute 9", edits: 2},
	}, func(t *testing.T, tt test) {
		m := editsAfter(t, tt.minutes, func(_ int, card faketelegram.Sent) string { return dataOf(card, "Refresh") })
		check(t, "text", m.Text, tt.want)
		check(t, "edits", m.Edits, tt.edits)
	})
}

func TestThePeriodPressedLastStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ofAnotherPeriod := func(press int, _ faketelegram.Sent) string { return fmt.Sprintf("1 e 0 price %dd", press) }
		m := editsAfter(t, []int{5, 4, 3, 2}, ofAnotherPeriod)
		check(t, "text", m.Text, "minute 2")
		check(t, "edits", m.Edits, 2)
	})
}

// A refresh shows an answer that is newer than the card. It also does so if the card's time is after now, because
// the clock has jumped back since.
func TestRefreshShowsOnlyANewerAnswer(t *testing.T) {
	const same, newer = "Nothing newer yet", ""
	type test struct {
		shown time.Duration // the version of the card, after now
		reply time.Duration // the version of the new answer, after now
		toast string
	}
	inBubble(t, map[string]test{
		"the same":                  {shown: -time.Minute, reply: -time.Minute, toast: same},
		"older":                     {shown: -time.Minute, reply: -2 * time.Minute, toast: same},
		"newer":                     {shown: -time.Minute, reply: -time.Second, toast: newer},
		"of a minute before":        {shown: -19 * time.Minute, reply: -20 * time.Minute, toast: same},
		"the clock has jumped back": {shown: time.Hour, reply: 0, toast: newer},
		"the provider's clock is fast": {
			shown: time.Hour,
			reply: time.Hour,
			toast: same + ". Next update in about 4 min",
		},
	}, func(t *testing.T, tt test) {
		r := card(t)
		reply := refreshed("refreshed", 0)
		reply.Source.AsOf.Time = time.Now().Add(tt.reply)
		if tt.reply > 0 {
			reply.Source.FreshUntil = time.Now().Add(4 * time.Minute)
		}
		r.answerAllWith(reply)
		button := chat.Action{Command: "price", Edit: true, Refresh: true}
		shown := chat.Version{Time: time.Now().Add(tt.shown)}
		state, _ := button.State(shown)
		r.api.Press(ann, faketelegram.Group(group), r.one().ID, state)
		check(t, "toast", r.pressAnswers(1)[0].Text, tt.toast)
		r.waitIdle(time.Minute)
		check(t, "the card shows the new answer", r.one().Text == "refreshed", tt.toast == newer)
	})
}

// An attempt without an answer may have edited the card. Nobody is then told that nothing changed.
func TestARefreshThatChangesNothingIsTold(t *testing.T) {
	made := telegramtest.Page(http.StatusBadGateway).CarriedOut()
	type test struct {
		before string // the card's text
		fault  telegramtest.Fault
		toast  string
	}
	inBubble(t, map[string]test{
		"the same":      {before: "refreshed", toast: "Nothing newer yet"},
		"another":       {before: "before"},
		"502, but made": {before: "before", fault: made},
	}, func(t *testing.T, tt test) {
		r := card(t)
		reply := refreshed(tt.before, 0)
		reply.Source.AsOf = chat.Version{} // so that only the text tells whether the answer is new
		r.answerAllWith(reply)
		r.press(ann, "Refresh")
		r.waitIdle(time.Minute)

		reply.Title = chat.Say("refreshed")
		r.answerAllWith(reply)
		if tt.fault != (telegramtest.Fault{}) {
			r.api.Fail("editMessageText", tt.fault)
		}
		r.press(ann, "Refresh")
		r.waitIdle(time.Minute)
		check(t, "toast", r.pressAnswers(2)[1].Text, tt.toast)
		check(t, "card", r.one().Text, "refreshed")
	})
}

// The spinner ends soon, and the edit is made when Telegram takes it.
func TestSpinnerEndsBeforeASlowEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := card(t)
		r.api.Fail("editMessageText", telegramtest.TooMany(time.Minute))
		start := time.Now()
		r.press(ann, "Refresh")
		r.pressAnswers(1)
		if took := time.Since(start); took > spinnerLasts+time.Second {
			t.Errorf("the spinner ended after %v", took)
		}
		check(t, "edits", r.one().Edits, 0)
		check(t, "queued updates", len(r.api.Pending()), 1)
		check(t, "acknowledged", r.api.WaitAcknowledged(2*time.Minute), true)
		check(t, "text in the end", r.one().Text, "answer 2")
	})
}

func TestACommandEndsWhileTheCallThatEndsItsSpinnerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := card(t)
		r.api.Fail("editMessageText", telegramtest.TooMany(3*time.Second))
		r.api.Fail("answerCallbackQuery", telegramtest.Hang())
		start := time.Now()
		r.press(ann, "Refresh")
		check(t, "acknowledged", r.api.WaitAcknowledged(time.Minute), true)
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("the press was acknowledged after %v", took)
		}
		check(t, "text", r.one().Text, "answer 2")
	})
}

// Whatever a forged button asks for, nothing private is shown to others, and only the presser sees an error.
func TestAForgedButtonGainsNothing(t *testing.T) {
	const stranger = 404 // has not started the bot
	synctest.Test(t, func(t *testing.T) {
		r := card(t)
		r.handler.Reply = secretReply
		r.api.Start(ann)
		for i, tt := range []struct {
			user  int64
			data  string
			toast string // its beginning
			link  string // the end of the address that Telegram opens
		}{
			{user: ann, data: "1 e 0 mylogins", toast: said(answeredPrivately)},
			{user: ann, data: "1 n 0 exists 5", toast: said(answeredPrivately)},
			{user: ann, data: "1 e 0 save 0x1", toast: said(answeredPrivately)},
			{user: stranger, data: "1 e 0 mylogins", link: "?start=mylogins"},
			{user: stranger, data: strings.Repeat("\x00", 64), toast: "⚠️ This button has expired"},
		} {
			r.api.Press(tt.user, faketelegram.Group(group), r.api.Sent()[0].ID, tt.data)
			got := r.pressAnswers(i + 1)[i]
			check(t, "user", got.User, tt.user)
			if !strings.HasPrefix(got.Text, tt.toast) {
				t.Errorf("%q: the toast says %q, want %q", tt.data, got.Text, tt.toast)
			}
			if !strings.HasSuffix(got.URL, tt.link) || (got.URL == "") != (tt.link == "") {
				t.Errorf("%q: opens %q, want %q", tt.data, got.URL, tt.link)
			}
		}
		sent := r.waitSent(4)
		check(t, "edits", sent[0].Edits, 0)
		for _, m := range sent[1:] {
			check(t, "chat", m.Chat, ann)
		}
		r.checkOthersSawNoSecret()
	})
}

// atBlock returns an answer that is as of a block, whenever it was fetched.
func atBlock(number uint64) *chat.Reply {
	reply := refreshed(fmt.Sprint("block ", number), 0)
	reply.Source.AsOf = chat.Version{
		Time:  time.Now(),
		Block: chat.Block{Chain: 698, Number: number},
	}
	return reply
}

// Each press is of the button of the first card, as if the app did not show the later edits.
func TestAnOlderBlockNeverReplacesANewerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUp(t)
		r.answerAllWith(atBlock(100))
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		firstButton := dataOf(r.one(), "Refresh")
		for i, tt := range []struct {
			block uint64
			shows string
			toast string
		}{
			{block: 99, shows: "block 100", toast: "Nothing newer yet"},
			{block: 105, shows: "block 105"},
			{block: 102, shows: "block 105", toast: "Nothing newer yet"},
			{block: 106, shows: "block 106"},
		} {
			r.answerAllWith(atBlock(tt.block))
			r.api.Press(int64(ann+i), faketelegram.Group(group), r.one().ID, firstButton)
			toast := r.pressAnswers(i + 1)[i].Text
			r.waitIdle(time.Minute)
			check(t, "text", r.one().Text, tt.shows)
			check(t, "toast", toast, tt.toast)
		}
	})
}
