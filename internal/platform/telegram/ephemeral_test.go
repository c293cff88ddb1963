package telegram

import (
	"context"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// readBy splits what was sent into what ann reads in the group and in her
// private chat, and what everybody reads.
func readBy(sent []faketelegram.Sent) (here, privately, public []faketelegram.Sent) {
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

// A command that arrived as ephemeral is answered where it was asked, and in the
// private chat if that cannot be within 15 seconds. It is never said in public,
// and not more than three times if it may be out each time.
func TestEphemeralCommandIsAnsweredPrivately(t *testing.T) {
	type faults []telegramtest.Fault
	type test struct {
		faults          faults        // of sendMessage
		takes           time.Duration // the command
		stranger        bool          // who has not started the bot
		ignored         string        // by the server
		here, privately int
		public          notice
	}
	unknown, refused := telegramtest.Page(502), telegramtest.NoRights()
	out := unknown.CarriedOut()
	inBubble(t, map[string]test{
		"at once":                            {here: 1},
		"too late":                           {takes: 16 * time.Second, privately: 1},
		"refused":                            {faults: faults{refused}, privately: 1},
		"certainly not out":                  {faults: faults{telegramtest.TooMany(3 * time.Second)}, here: 1},
		"behind a long 429":                  {faults: faults{telegramtest.TooMany(30 * time.Second)}, privately: 1},
		"out without knowing":                {faults: faults{out}, here: 2},
		"perhaps out twice":                  {faults: faults{unknown, unknown}, privately: 1},
		"out three times":                    {faults: faults{out, out, out}, here: 2, privately: 1},
		"to a stranger whose answer is late": {stranger: true, takes: 16 * time.Second, public: pressStart},
		"by a server of 10.2":                {ignored: "ephemeral_message_parameters", here: 1},
		"by a server of 10.3":                {ignored: "receiver_user_id", here: 1},
	}, func(t *testing.T, tt test) {
		r := setUp(t, paced)
		r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
			time.Sleep(tt.takes)
			return secretReply(ctx, req)
		}
		if !tt.stranger {
			r.api.Start(ann)
		}
		r.ignore("sendMessage", tt.ignored)
		r.api.PushEphemeral(inGroup(ann, "/mylogins"))
		r.api.Fail("sendMessage", tt.faults...)
		start := time.Now()
		r.run()
		time.Sleep(time.Minute)
		here, privately, public := readBy(r.api.Sent())
		if len(privately) > 0 && privately[0].At.Sub(start) > tt.takes+8*time.Second {
			t.Errorf("answered in private after %v", privately[0].At.Sub(start))
		}
		if len(here) != tt.here || len(privately) != tt.privately {
			t.Errorf("%d messages in the group and %d in private, want %d and %d", len(here), len(privately), tt.here, tt.privately)
		}
		if told := len(public) > 0; told != (tt.public != "") || told && public[0].Text != said(tt.public) {
			t.Errorf("everybody read %+v", public)
		}
		r.hidesFromOthers()
		if n := len(r.api.Pending()); n != 0 {
			t.Errorf("%d updates are not acknowledged", n)
		}
	})
}

// A server of each version ignores other parameters, or refuses an entity that is too new for it.
// Nobody else reads a private answer, and a refusal costs one more call.
func TestEachVersionOfTheServerHidesPrivateAnswers(t *testing.T) {
	type test struct {
		ignored   string // of sendMessage
		refuses   bool   // entities of type date_time
		ephemeral bool   // how the private command arrives
		calls     int    // for the two answers, and a notice of the one in private
	}
	inBubble(t, map[string]test{
		"Bot API 9":    {ignored: "receiver_user_id", refuses: true, calls: 4},
		"Bot API 10.1": {ignored: "receiver_user_id", calls: 3},
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
		r.ignore("sendMessage", tt.ignored)
		if tt.refuses {
			r.refuseSends("date_time")
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
		here, privately, _ := readBy(r.api.Sent())
		check(t, "private answers", len(here)+len(privately), 1)
		check(t, "in the group", len(here) == 1, tt.ephemeral)
		check(t, "calls", r.events.Of("sendMessage"), tt.calls)
		r.hidesFromOthers()
	})
}

// A question reaches the asker alone, too, and is one to answer in private: what is
// written in reply could be read by all.
func TestEphemeralQuestionLinksToThePrivateChat(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.answer(&chat.Reply{Title: chat.Say("confidential"), Ask: &chat.Ask{Command: "exists", Question: chat.Say("Whom?")}})
		r.api.PushEphemeral(inGroup(ann, "/price"))
		r.run()
		m := r.one()
		if rows := m.Markup.Rows; m.Ephemeral == 0 || m.Markup.ForceReply || len(rows) != 1 || rows[0][0].URL != deepLink(faketelegram.Username, "exists") {
			t.Errorf("it was answered by %+v", m)
		}
		if req := r.handler.Requests()[0]; !req.CanReplyEphemerally || req.Direct {
			t.Errorf("the request is %+v", req)
		}
		r.hidesFromOthers()
	})
}

// The next page of an ephemeral answer is an ephemeral answer. If it cannot be sent
// there, it goes to the private chat.
func TestEphemeralPressIsAnsweredEphemerally(t *testing.T) {
	inBubble(t, map[string]telegramtest.Fault{"": {}, said(answeredPrivately): telegramtest.NoRights()}, func(t *testing.T, fault telegramtest.Fault) {
		r := setUp(t)
		r.answer(&chat.Reply{
			Title: chat.Say("confidential"), Actions: []chat.Action{{Label: chat.Say("Older"), Command: "mylogins", Args: []string{"2"}, Edit: true}},
		})
		r.api.Start(ann)
		r.api.PushEphemeral(inGroup(ann, "/mylogins"))
		r.run()
		first, refused := r.sent(1)[0], fault != telegramtest.Fault{}
		r.api.Fail("sendMessage", fault)
		r.api.PressEphemeral(faketelegram.Group(group), first.Ephemeral, dataOf(first, "Older"))
		time.Sleep(time.Minute)
		here, privately, public := readBy(r.api.Sent())
		check(t, "answers", len(here)+len(privately), 2)
		check(t, "answered in the private chat", len(privately) == 1, refused)
		check(t, "public messages", len(public), 0)
		if told := r.pressAnswers(1)[0]; (told.Text == said(answeredPrivately)) != refused {
			t.Errorf("a toast says %q", told.Text)
		}
		// Telegram takes no reply to a press.
		if reply := r.api.Calls("sendMessage")[1].Params["reply_parameters"]; reply != nil {
			t.Errorf("the next page is a reply to %v", reply)
		}
		r.hidesFromOthers()
	})
}

// A server that has made an ephemeral message public would do so again, and is sent no
// other. The message is deleted even if a 429 lasts longer than an ephemeral answer has time.
func TestPublicEphemeralAnswerIsTheLast(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.handler.Reply = secretReply
		r.api.Start(ann)
		r.ignore("sendMessage", "ephemeral_message_parameters", "receiver_user_id", "reply_parameters")
		r.api.Fail("deleteMessage", telegramtest.TooMany(ephemeralLasts+time.Second), telegramtest.Page(502))
		r.run()
		for range 3 {
			r.api.PushEphemeral(inGroup(ann, "/mylogins"))
			r.api.WaitAcknowledged(atOnce)
		}
		time.Sleep(2 * ephemeralLasts)
		_, privately, public := readBy(r.api.Sent())
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
