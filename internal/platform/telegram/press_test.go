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

// refreshed is an answer with a button to refresh it, as new as so many minutes, of which ten are before
// the time at which simulated time begins.
func refreshed(text string, minutes int) *chat.Reply {
	begins := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	return &chat.Reply{
		Title:   chat.Say(text),
		Source:  chat.Source{AsOf: chat.Version{Time: begins.Add(time.Duration(minutes-10) * time.Minute)}},
		Actions: []chat.Action{{Label: chat.Say("Refresh"), Command: "price", Edit: true, Refresh: true}},
	}
}

// card returns an adapterTest with a card in the group: answer 1. Each later answer is
// newer by a minute, unless answers says otherwise.
func card(t *testing.T, answers ...*chat.Reply) *adapterTest {
	t.Helper()
	r := setUp(t)
	var asked atomic.Int64
	r.handler.Reply = func(context.Context, *chat.Request) *chat.Reply {
		n := int(asked.Add(1))
		if n > 1 && n-2 < len(answers) {
			return answers[n-2]
		}
		return refreshed(fmt.Sprint("answer ", n), n)
	}
	r.run()
	r.api.Push(inGroup(ann, "/price"))
	r.sent(1)
	return r
}

// one is the only message that was ever sent.
func (r *adapterTest) one() faketelegram.Sent {
	r.Helper()
	return r.sent(1)[0]
}

func TestFailedPressLeavesTheAnswer(t *testing.T) {
	toAsker := func(title, text string, notes ...chat.Text) *chat.Reply {
		return &chat.Reply{Title: chat.Say(title), Text: chat.Say(text), Notes: notes, Audience: chat.SenderAlone}
	}
	type test struct {
		reply *chat.Reply
		text  string
		alert bool
	}
	inBubble(t, map[string]test{
		"could not be checked": {&chat.Reply{Tone: chat.Warning, Title: chat.NoAnswer("price"), Text: chat.Say("Down.")}, "⚠️ Price unavailable\nDown.", true},
		"as new":               {refreshed("the same", 1), "Nothing newer yet", false},
		"a question":           {&chat.Reply{Title: chat.Say("Which?"), Audience: chat.SenderAlone, Ask: &chat.Ask{Command: "staked"}}, "Which?", true},
		"more than fits":       {toAsker("T", strings.Repeat("x", 190), chat.Say("too long"), chat.Say("fits")), "T\n" + strings.Repeat("x", 190) + "\ntoo lo…", true},
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

// A reply that no alert shows is a message: below the card, in the group's language. Of a private
// command, the group reads the notice alone.
func TestAPressWhoseAlertIsNotTakenIsAnsweredByAMessage(t *testing.T) {
	const public, private, late, alone, toAll = "1 e 0 price", "1 e 0 mylogins", 16 * time.Second, "501 in -1001: ", "0 in -1001: "
	type test struct {
		user        int64
		data, shown string // to whom, 0 being all, and in which chat
		takes       time.Duration
		faults      []telegramtest.Fault
	}
	inBubble(t, map[string]test{
		"too late":                           {ann, public, toAll + "Price unavailable", late, nil},
		"reset twice":                        {ann, public, toAll + "Price unavailable", 0, []telegramtest.Fault{telegramtest.ResetBefore(), telegramtest.ResetBefore()}},
		"502, but taken":                     {ann, public, alone + "Price unavailable", 0, []telegramtest.Fault{telegramtest.Page(http.StatusBadGateway).CarriedOut()}},
		"a private command, too late":        {ann, private, "501 in 501: Accesos: no disponible ahora|" + toAll + said(answeredPrivately), late, nil},
		"of one who has not started the bot": {404, private, toAll + said(pressStart), late, nil},
	}, func(t *testing.T, tt test) {
		r := card(t)
		r.api.Start(ann)
		r.handler.Reply = func(_ context.Context, req *chat.Request) *chat.Reply {
			time.Sleep(tt.takes)
			return &chat.Reply{Title: chat.NoAnswer(req.Command), Language: chat.Spanish}
		}
		r.api.Fail("answerCallbackQuery", tt.faults...)
		r.api.Press(tt.user, faketelegram.Group(group), r.one().ID, tt.data)
		check(t, "edits", r.idle(time.Minute)[0].Edits, 0)
		var shown []string
		for _, x := range r.api.Seen() {
			text, _, _ := strings.Cut(x.Text, "\n")
			if x.Chat != 0 {
				shown = append(shown, fmt.Sprint(x.Reader, " in ", x.Chat, ": ", text))
			}
		}
		check(t, "shown", strings.Join(shown[1:], "|"), tt.shown)
	})
}

// After a press in private, a question is a message to which one can reply.
func TestPrivatePressIsAskedByMessage(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.answer(refreshed("x", 1))
		r.run()
		r.ask(1)
		r.sent(1)
		r.answer(&chat.Reply{Title: chat.Say("Which?"), Audience: chat.SenderAlone, Ask: &chat.Ask{Command: "staked", Question: chat.Say("Which?")}})
		r.press(10_000, "Refresh")
		if m := r.sent(2)[1]; !m.Markup.ForceReply || r.pressAnswers(1)[0].Text != "" {
			t.Errorf("sent %+v", m)
		}
	})
}

func TestPressIsAnsweredBelowAnUneditableMessage(t *testing.T) {
	inBubble(t, map[string]func(*adapterTest, faketelegram.Sent) (replyTo int64){
		"deleted": func(r *adapterTest, m faketelegram.Sent) int64 {
			r.api.Delete(m.Chat, m.ID)
			r.api.Press(ann, faketelegram.ChatOf(m.Chat), m.ID, dataOf(m, "Refresh"))
			return 0
		},
		"refused": func(r *adapterTest, m faketelegram.Sent) int64 {
			r.api.Fail("editMessageText", telegramtest.NoRights())
			r.api.Press(ann, faketelegram.ChatOf(m.Chat), m.ID, dataOf(m, "Refresh"))
			return m.ID
		},
		"a button that adds": func(r *adapterTest, m faketelegram.Sent) int64 {
			r.api.Press(ann, faketelegram.ChatOf(m.Chat), m.ID, "1 n 0 price")
			return m.ID
		},
	}, func(t *testing.T, press func(*adapterTest, faketelegram.Sent) int64) {
		r := card(t)
		replyTo := press(r, r.one())
		sent := r.sent(2)
		check(t, "edits", sent[0].Edits, 0)
		check(t, "text", sent[1].Text, "answer 2")
		check(t, "reply to", sent[1].ReplyTo, replyTo)
		check(t, "told", r.pressAnswers(1)[0].Text, "")
	})
}

// While one edit of a message is under way the others wait as one, and what it
// shows in the end is the newest answer, whichever came last; of two periods, the one
// that was pressed last.
func TestEditsOfOneMessageAreMadeInOrder(t *testing.T) {
	type test struct {
		state   string // of the buttons, with a period; empty is Refresh
		minutes []int  // how new each answer is
		want    int
		edits   int
	}
	inBubble(t, map[string]test{
		"newer ones":        {"", []int{2, 3, 4, 5}, 5, 2},
		"older ones":        {"", []int{5, 4, 3, 2}, 5, 1},
		"as they may":       {"", []int{3, 2, 9, 4}, 9, 2},
		"of another period": {"1 e 0 price %dd", []int{5, 4, 3, 2}, 2, 2},
	}, func(t *testing.T, tt test) {
		var answers []*chat.Reply
		for _, m := range tt.minutes {
			answers = append(answers, refreshed(fmt.Sprint("minute ", m), m))
		}
		r := card(t, answers...)
		release := make(chan struct{})
		r.api.Fail("editMessageText", telegramtest.Held(release))
		for i := range answers {
			state := dataOf(r.one(), "Refresh")
			if tt.state != "" {
				state = fmt.Sprintf(tt.state, i)
			}
			r.api.Press(int64(ann+i), faketelegram.Group(group), r.one().ID, state)
			r.inFlight(2 + i)
			synctest.Wait()
		}
		close(release)
		r.pressAnswers(len(answers))
		m := r.one()
		check(t, "text", m.Text, fmt.Sprint("minute ", tt.want))
		check(t, "edits", m.Edits, tt.edits)
		check(t, "counted as shared", r.events.Of("send_shared"), 0)
		check(t, "acknowledged", r.api.WaitAcknowledged(atOnce), true)
	})
}

// A refresh shows an answer that is newer than the one below the button. It does so too if
// the button's time is after now, because the clock has jumped back since.
func TestRefreshShowsOnlyANewerAnswer(t *testing.T) {
	const same, newer = "Nothing newer yet", ""
	type test struct {
		shown, reply time.Duration // after now
		told         string
	}
	inBubble(t, map[string]test{
		"the same":                     {-time.Minute, -time.Minute, same},
		"older":                        {-time.Minute, -2 * time.Minute, same},
		"newer":                        {-time.Minute, -time.Second, newer},
		"of a minute before":           {-19 * time.Minute, -20 * time.Minute, same},
		"the clock has jumped back":    {time.Hour, 0, newer},
		"the provider's clock is fast": {time.Hour, time.Hour, same + ". Next update in about 4 min"},
	}, func(t *testing.T, tt test) {
		r := card(t)
		reply := refreshed("refreshed", 0)
		reply.Source.AsOf.Time = time.Now().Add(tt.reply)
		if tt.reply > 0 {
			reply.Source.FreshUntil = time.Now().Add(4 * time.Minute)
		}
		r.answer(reply)
		state, _ := chat.Action{Command: "price", Edit: true, Refresh: true}.State(chat.Version{Time: time.Now().Add(tt.shown)})
		r.api.Press(ann, faketelegram.Group(group), r.one().ID, state)
		if got := r.pressAnswers(1)[0].Text; got != tt.told {
			t.Errorf("told %q, want %q", got, tt.told)
		}
		r.idle(time.Minute)
		if edited := r.one().Text == "refreshed"; edited != (tt.told == newer) {
			t.Errorf("the message says %q", r.one().Text)
		}
	})
}

// A refresh without a time of the answer is told, too, that it brings nothing new. It is not if
// an attempt without an answer may have edited the card.
func TestARefreshThatChangesNothingIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		shown string
		fault []telegramtest.Fault
		told  string
	}{
		"the same":      {"refreshed", nil, "Nothing newer yet"},
		"another":       {"before", nil, ""},
		"502, but made": {"before", []telegramtest.Fault{telegramtest.Page(http.StatusBadGateway).CarriedOut()}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := card(t)
			reply := refreshed(test.shown, 0)
			reply.Source.AsOf = chat.Version{}
			r.answer(reply)
			r.press(ann, "Refresh")
			r.idle(time.Minute)
			reply.Title = chat.Say("refreshed")
			r.answer(reply)
			r.api.Fail("editMessageText", test.fault...)
			r.press(ann, "Refresh")
			r.idle(time.Minute)
			answers := r.pressAnswers(2)
			if got := answers[1].Text; got != test.told || r.one().Text != "refreshed" {
				t.Errorf("%s: told %q, want %q; the card says %q", name, got, test.told, r.one().Text)
			}
		})
	}
}

// The spinner ends soon, and the edit is made when Telegram takes it.
func TestSpinnerEndsBeforeASlowEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := card(t)
		r.api.Fail("editMessageText", telegramtest.TooMany(time.Minute))
		start := time.Now()
		r.press(ann, "Refresh")
		r.pressAnswers(1)
		if took := time.Since(start); took > spinnerLasts+time.Second || r.one().Edits != 0 || len(r.api.Pending()) != 1 {
			t.Errorf("the spinner ended after %v, %d edits, %d updates are queued", took, r.one().Edits, len(r.api.Pending()))
		}
		if !r.api.WaitAcknowledged(2*time.Minute) || r.one().Text != "answer 2" {
			t.Errorf("after %v the message says %q", time.Since(start), r.one().Text)
		}
	})
}

// Whatever a forged button asks for, nothing private is shown to others, and only the
// presser sees an error.
func TestAForgedButtonGainsNothing(t *testing.T) {
	const stranger = 404 // who has not started the bot
	synctest.Test(t, func(t *testing.T) {
		r := card(t)
		r.handler.Reply = secretReply
		r.api.Start(ann)
		for i, tt := range []struct {
			user             int64
			data, told, link string
		}{
			{ann, "1 e 0 mylogins", said(answeredPrivately), ""},
			{ann, "1 n 0 exists 5", said(answeredPrivately), ""},
			{ann, "1 e 0 save 0x1", said(answeredPrivately), ""},
			{stranger, "1 e 0 mylogins", "", "?start=mylogins"},
			{stranger, strings.Repeat("\x00", 64), "⚠️ This button has expired", ""},
		} {
			r.api.Press(tt.user, faketelegram.Group(group), r.api.Sent()[0].ID, tt.data)
			if n := r.pressAnswers(i + 1)[i]; n.User != tt.user || !strings.HasPrefix(n.Text, tt.told) || !strings.HasSuffix(n.URL, tt.link) || (n.URL == "") != (tt.link == "") {
				t.Errorf("%q: told %+v", tt.data, n)
			}
		}
		sent := r.sent(4)
		check(t, "edits", sent[0].Edits, 0)
		for _, m := range sent[1:] {
			check(t, "chat", m.Chat, ann)
		}
		r.hidesFromOthers()
	})
}

// A stake is as of its block, whenever it was fetched. A button that was pressed before the last edit
// says what was shown before that.
func TestAnOlderBlockNeverReplacesANewerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		atBlock := func(n uint64) *chat.Reply {
			reply := refreshed(fmt.Sprint("block ", n), 0)
			reply.Source.AsOf = chat.Version{Time: time.Now(), Block: chat.Block{Chain: 698, Number: n}}
			return reply
		}
		r := setUp(t)
		r.answer(atBlock(100))
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		r.sent(1)
		old := dataOf(r.one(), "Refresh")
		for i, tt := range []struct {
			block uint64
			shows string
		}{
			{99, "block 100"}, {105, "block 105"}, {102, "block 105"}, {106, "block 106"},
		} {
			r.answer(atBlock(tt.block))
			r.api.Press(int64(ann+i), faketelegram.Group(group), r.one().ID, old)
			told := r.pressAnswers(i + 1)[i].Text
			r.idle(time.Minute)
			check(t, "text", r.one().Text, tt.shows)
			isShown := tt.shows == fmt.Sprint("block ", tt.block)
			check(t, "told", told == "Nothing newer yet", !isShown)
		}
	})
}
