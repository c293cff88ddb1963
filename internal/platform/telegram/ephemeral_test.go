package telegram

import (
	"context"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// byReaders splits messages into those that only ann reads in the group, those in her private chat, and those that
// everybody reads.
func byReaders(sent []faketelegram.Sent) (here, privately, public []faketelegram.Sent) {
	for _, m := range sent {
		switch {
		case m.Ephemeral != 0:
			here = append(here, m)
		case m.Chat == ann:
			privately = append(privately, m)
		default:
			public = append(public, m)
		}
	}
	return here, privately, public
}

// ephemeralCase is what goes wrong with an ephemeral command of ann's, and who reads what.
type ephemeralCase struct {
	faults   []telegramtest.Fault // of sendMessage
	takes    time.Duration        // how long the command takes
	stranger bool                 // whether the bot may not write to ann, because she has not started it
	// ignored is the parameter of sendMessage that the server does not know. The bot names the reader in the form of Bot
	// API 10.2 (receiver_user_id) and in the form of 10.3 (ephemeral_message_parameters). Each server ignores the other
	// form.
	ignored   string
	here      int    // how many answers ann reads in the group
	privately int    // how many answers ann reads in her private chat
	public    notice // what everybody reads; "" if nothing
}

// checkEphemeral makes ann send an ephemeral /mylogins in each of the cases.
func checkEphemeral(t *testing.T, cases map[string]ephemeralCase) {
	t.Helper()
	inBubble(t, cases, func(t *testing.T, tt ephemeralCase) {
		r := setUp(t, paced)
		r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
			time.Sleep(tt.takes)
			return secretReply(ctx, req)
		}
		if !tt.stranger {
			r.api.Start(ann)
		}
		r.dropParams("sendMessage", tt.ignored)
		r.api.PushEphemeral(inGroup(ann, "/mylogins"))
		r.api.Fail("sendMessage", tt.faults...)
		start := time.Now()
		r.run()
		time.Sleep(time.Minute)

		here, privately, public := byReaders(r.api.Sent())
		check(t, "messages in the group", len(here), tt.here)
		check(t, "messages in private", len(privately), tt.privately)
		const resendTime = 8 * time.Second // for the attempts in the group
		if len(privately) > 0 && privately[0].At.Sub(start) > tt.takes+resendTime {
			t.Errorf("answered in private after %v", privately[0].At.Sub(start))
		}
		wantPublic := tt.public != ""
		check(t, "everybody reads something", len(public) > 0, wantPublic)
		if wantPublic && len(public) > 0 {
			check(t, "what everybody reads", public[0].Text, said(tt.public))
		}
		r.checkOthersSawNoSecret()
		check(t, "updates that are not acknowledged", len(r.api.Pending()), 0)
	})
}

func TestEphemeralCommandIsAnsweredInTheGroup(t *testing.T) {
	checkEphemeral(t, map[string]ephemeralCase{
		"at once":             {here: 1},
		"after a short 429":   {faults: []telegramtest.Fault{telegramtest.TooMany(3 * time.Second)}, here: 1},
		"by a server of 10.2": {ignored: "ephemeral_message_parameters", here: 1},
		"by a server of 10.3": {ignored: "receiver_user_id", here: 1},
	})
}

// Telegram takes an ephemeral answer for 15 seconds. Later, or if it refuses, the private chat has the answer.
func TestEphemeralCommandIsAnsweredPrivately(t *testing.T) {
	checkEphemeral(t, map[string]ephemeralCase{
		"too late":          {takes: tooLate, privately: 1},
		"refused":           {faults: []telegramtest.Fault{telegramtest.NoRights()}, privately: 1},
		"behind a long 429": {faults: []telegramtest.Fault{telegramtest.TooMany(30 * time.Second)}, privately: 1},
		"to a stranger":     {stranger: true, takes: tooLate, public: pressStart},
	})
}

// After an attempt with an unknown outcome, the answer is sent again, though it may have been delivered. There are at
// most three attempts: two in the group, and one in private.
func TestEphemeralAnswerThatMayBeDeliveredIsRepeated(t *testing.T) {
	unknown := telegramtest.Page(502)
	delivered := unknown.CarriedOut()
	checkEphemeral(t, map[string]ephemeralCase{
		"delivered, and again": {faults: []telegramtest.Fault{delivered}, here: 2},
		"lost twice":           {faults: []telegramtest.Fault{unknown, unknown}, privately: 1},
		"delivered each time":  {faults: []telegramtest.Fault{delivered, delivered, delivered}, here: 2, privately: 1},
	})
}

// Newer servers ignore one of the bot's parameters, and an old one refuses an entity that is too new for it. With each
// of them, nobody else reads a private answer. The refusal costs one more call.
func TestEachVersionOfTheServerHidesPrivateAnswers(t *testing.T) {
	type test struct {
		ignored   string // the parameter of sendMessage that the server does not know
		refuses   bool   // whether the server refuses entities of type date_time
		ephemeral bool   // whether the private command is an ephemeral message
		calls     int    // of sendMessage: for two answers, and for a notice if one of them is sent in private
	}
	inBubble(t, map[string]test{
		// Before 10.2 there are no ephemeral messages.
		"Bot API 9":    {refuses: true, calls: 4},
		"Bot API 10.1": {calls: 3},
		"Bot API 10.2": {ignored: "ephemeral_message_parameters", ephemeral: true, calls: 2},
		"Bot API 10.3": {ignored: "receiver_user_id", ephemeral: true, calls: 2},
	}, func(t *testing.T, tt test) {
		r := setUp(t)
		updated := []chat.Field{{Value: chat.Moment{Time: time.Now()}}}
		r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
			if req.Command == "price" {
				return &chat.Reply{Title: chat.Say("price"), Sections: []chat.Section{{Fields: updated}}}
			}
			return secretReply(ctx, req)
		}
		r.dropParams("sendMessage", tt.ignored)
		if tt.refuses {
			r.refuseMessages("date_time")
		}
		r.api.Start(ann)
		r.run()
		r.api.Push(inGroup(ann, "/price"))
		if tt.ephemeral {
			r.api.PushEphemeral(inGroup(ann, "/mylogins"))
		} else {
			r.api.Push(inGroup(ann, "/mylogins"))
		}
		time.Sleep(time.Minute)
		here, privately, _ := byReaders(r.api.Sent())
		check(t, "private answers", len(here)+len(privately), 1)
		check(t, "in the group", len(here) == 1, tt.ephemeral)
		check(t, "calls", r.events.Of("sendMessage"), tt.calls)
		r.checkOthersSawNoSecret()
	})
}

// Everybody in the group could read what ann replies to a question. So the card links to the private chat, where the
// question is asked.
func TestEphemeralQuestionLinksToThePrivateChat(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.answerAllWith(&chat.Reply{
			Title: chat.Say("confidential"),
			Ask:   &chat.Ask{Command: "exists", Question: chat.Say("Whom?")},
		})
		r.api.PushEphemeral(inGroup(ann, "/price"))
		r.run()
		m := r.one()
		check(t, "ephemeral", m.Ephemeral != 0, true)
		check(t, "asks for a reply", m.Markup.ForceReply, false)
		check(t, "rows of buttons", len(m.Markup.Rows), 1)
		check(t, "link", m.Markup.Rows[0][0].URL, deepLink(faketelegram.Username, "exists"))
		req := r.handler.Requests()[0]
		check(t, "can reply ephemerally", req.CanReplyEphemerally, true)
		check(t, "direct", req.Direct, false)
		r.checkOthersSawNoSecret()
	})
}

// The answer to a press below an ephemeral answer is ephemeral, too. If it cannot be sent in the group, it is sent to
// the private chat.
func TestEphemeralPressIsAnsweredEphemerally(t *testing.T) {
	inBubble(t, map[string]bool{"taken": false, "refused": true}, func(t *testing.T, refused bool) {
		r := setUp(t)
		older := chat.Action{Label: chat.Say("Older"), Command: "mylogins", Args: []string{"2"}, Edit: true}
		r.answerAllWith(&chat.Reply{Title: chat.Say("confidential"), Actions: []chat.Action{older}})
		r.api.Start(ann)
		r.api.PushEphemeral(inGroup(ann, "/mylogins"))
		r.run()
		first := r.waitSent(1)[0]
		if refused {
			r.api.Fail("sendMessage", telegramtest.NoRights())
		}
		r.api.PressEphemeral(faketelegram.Group(group), first.Ephemeral, dataOf(first, "Older"))
		time.Sleep(time.Minute)
		here, privately, public := byReaders(r.api.Sent())
		check(t, "answers", len(here)+len(privately), 2)
		check(t, "answered in the private chat", len(privately) == 1, refused)
		check(t, "public messages", len(public), 0)
		toast := r.pressAnswers(1)[0].Text
		check(t, "the toast says where the answer is", toast == said(answeredPrivately), refused)
		// Telegram takes no reply to a press.
		if reply := r.api.Calls("sendMessage")[1].Params["reply_parameters"]; reply != nil {
			t.Errorf("the next page is a reply to %v", reply)
		}
		r.checkOthersSawNoSecret()
	})
}

// A server that has made an ephemeral message public would do so again. The message is deleted even if a 429 lasts
// longer than an ephemeral answer.
func TestPublicEphemeralAnswerIsTheLast(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = secretReply
		r.api.Start(ann)
		r.dropParams("sendMessage", "ephemeral_message_parameters", "receiver_user_id", "reply_parameters")
		r.api.Fail("deleteMessage", telegramtest.TooMany(ephemeralLasts+time.Second), telegramtest.Page(502))
		r.run()
		for range 3 {
			r.api.PushEphemeral(inGroup(ann, "/mylogins"))
			r.api.WaitAcknowledged(atOnce)
		}
		time.Sleep(2 * ephemeralLasts)
		_, privately, public := byReaders(r.api.Sent())
		if len(public) != 3 || len(privately) != 3 || !public[0].Deleted {
			t.Fatalf("%d private messages; everybody read %+v", len(privately), public)
		}
		for _, m := range public[1:] {
			if m.Text != said(answeredPrivately) {
				t.Errorf("everybody read %+v", m)
			}
		}
	})
}
