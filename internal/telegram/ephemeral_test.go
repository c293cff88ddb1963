package telegram

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

// whispered is a command that only its sender sees in the group.
func whispered(text string) telegramtest.Message {
	return telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), text)
}

// readBy splits what was sent into what ann reads in the group and in her
// private chat, and what everybody reads.
func readBy(sent []telegramtest.Sent) (here, privately, public []telegramtest.Sent) {
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

// hides fails the test if anybody but ann saw what is for her alone.
func (r *rig) hides(secret string) {
	r.Helper()
	for _, seen := range r.api.SeenByOthers(ann) {
		if strings.Contains(seen.Text, secret) {
			r.Errorf("others saw %+v", seen)
		}
	}
}

// A command that arrived as ephemeral is answered where it was asked, and in the
// private chat if that cannot be within 15 seconds. It is never said in public,
// and not more than three times if it may be out each time.
func TestAnEphemeralCommandIsAnsweredForItsSenderAlone(t *testing.T) {
	unclear := telegramtest.Page(502)
	for name, tt := range map[string]struct {
		faults          []telegramtest.Fault // of sendMessage
		takes           time.Duration        // the command
		queued          time.Duration        // before the update is polled
		stranger        bool                 // who has not started the bot
		here, privately int
		public          notice
		older           telegramtest.Older
	}{
		"at once":                             {here: 1},
		"slowly":                              {takes: 14 * time.Second, here: 1},
		"too late":                            {takes: 16 * time.Second, privately: 1},
		"after a restart":                     {queued: 16 * time.Second, privately: 1},
		"refused":                             {faults: []telegramtest.Fault{telegramtest.NoRights()}, privately: 1},
		"forbidden":                           {faults: []telegramtest.Fault{telegramtest.Status(403)}, privately: 1},
		"certainly not out":                   {faults: []telegramtest.Fault{telegramtest.TooMany(3 * time.Second)}, here: 1},
		"certainly not out for long":          {faults: []telegramtest.Fault{telegramtest.TooMany(time.Minute)}, privately: 1},
		"without dates":                       {older: telegramtest.Older{DateTime: true}, here: 1},
		"perhaps out":                         {faults: []telegramtest.Fault{unclear}, here: 1},
		"out without knowing":                 {faults: []telegramtest.Fault{unclear.CarriedOut()}, here: 2},
		"perhaps out twice":                   {faults: []telegramtest.Fault{unclear, unclear}, privately: 1},
		"out three times":                     {faults: []telegramtest.Fault{unclear.CarriedOut(), unclear.CarriedOut(), unclear.CarriedOut()}, here: 2, privately: 1},
		"no answer":                           {faults: []telegramtest.Fault{telegramtest.Hang()}, privately: 1},
		"to a stranger":                       {stranger: true, here: 1},
		"to a stranger whose answer is late":  {stranger: true, takes: 16 * time.Second, public: pressStart},
		"to a stranger, the first one denied": {stranger: true, faults: []telegramtest.Fault{telegramtest.NoRights()}, here: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, func(c *Config) { c.Pacing = true })
				r.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
					time.Sleep(tt.takes)
					reply := secretReply(ctx, req)
					reply.Notes = []chat.Text{chat.SayWith("checked", chat.Values{"when": chat.Moment{Time: time.Now()}})}
					return reply
				}
				r.api.MakeOlder(tt.older)
				if !tt.stranger {
					r.api.Start(ann)
				}
				r.api.PushEphemeral(whispered("/mylogins"))
				time.Sleep(tt.queued)
				r.api.Fail("sendMessage", tt.faults...)
				r.run()
				time.Sleep(time.Minute)
				here, privately, public := readBy(r.api.Sent())
				if len(here) != tt.here || len(privately) != tt.privately {
					t.Errorf("%d messages in the group and %d in private, want %d and %d", len(here), len(privately), tt.here, tt.privately)
				}
				switch {
				case tt.public == "" && len(public) != 0, tt.public != "" && (len(public) != 1 || public[0].Text != said(tt.public) || public[0].ReplyTo != 0):
					t.Errorf("everybody read %+v", public)
				}
				r.hides("confidential")
				if n := len(r.api.Pending()); n != 0 {
					t.Errorf("%d updates are not acknowledged", n)
				}
			})
		})
	}
}

// A server that does not know ephemeral messages delivers the command as one that
// everybody sees: nothing is sent to find out what it knows.
func TestAServerBeforeEphemeralMessagesIsNeverSentOne(t *testing.T) {
	for name, older := range map[string]telegramtest.Older{
		"it ignores what it does not know": {Ephemeral: true},
		"it refuses the menu too":          {Ephemeral: true, EphemeralMenu: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				r.handler.Reply = secretReply
				r.api.MakeOlder(older)
				r.api.Start(ann)
				r.api.PushEphemeral(whispered("/mylogins"))
				r.api.PushEphemeral(whispered("/exists 5"))
				r.run()
				time.Sleep(time.Minute)
				_, privately, public := readBy(r.api.Sent())
				if len(privately) != 2 || len(public) != 2 {
					t.Errorf("%d messages in private and %d in public, want 2 and 2", len(privately), len(public))
				}
				for _, m := range public {
					if m.Text != said(answeredPrivately) {
						t.Errorf("everybody read %q", m.Text)
					}
				}
				for _, call := range r.api.Calls("sendMessage") {
					if call.Params["ephemeral_message_parameters"] != nil {
						t.Error("it was sent an ephemeral message")
					}
				}
				r.hides("confidential")
			})
		})
	}
}

// Who is answered in the group need not start the bot any more.
func TestAnEphemeralAnswerTakesTheInvitationBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		r.handler.Reply = secretReply
		r.api.Push(whispered("/mylogins"))
		r.run()
		if m := r.sent(1)[0]; m.Text != said(pressStart) || m.Deleted {
			t.Fatalf("a stranger is told %+v", m)
		}
		r.api.PushEphemeral(whispered("/mylogins"))
		time.Sleep(time.Minute)
		if m := r.api.Sent(); len(m) != 2 || !m[0].Deleted || m[1].Ephemeral == 0 {
			t.Errorf("sent %+v", m)
		}
	})
}

// Refusals and questions reach the asker alone, too, whatever they asked.
func TestWhateverAnEphemeralCommandIsAnsweredWithIsEphemeral(t *testing.T) {
	for name, reply := range map[string]chat.Reply{
		"a limit":         {Tone: chat.Warning, ToAsker: true, Title: chat.Say("confidential")},
		"a panic":         chat.SomethingWentWrong("confidential"),
		"a public answer": {Title: chat.Say("confidential")},
		"a long answer":   {Title: chat.Say("confidential"), Sections: []chat.Section{{Fields: many(500)}}},
		"a question":      {Title: chat.Say("confidential"), ToAsker: true, Ask: &chat.Ask{Command: "exists", Param: "user", Question: chat.Say("Whom?")}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				r.handler.Reply = func(context.Context, chat.Request) chat.Reply { return reply }
				r.api.Start(ann)
				r.api.PushEphemeral(whispered("/price"))
				r.run()
				time.Sleep(time.Minute)
				here, privately, public := readBy(r.api.Sent())
				if len(here) != 1 || len(privately)+len(public) != 0 {
					t.Fatalf("it was answered by %+v", r.api.Sent())
				}
				if !strings.Contains(here[0].Text, "confidential") || here[0].Markup.ForceReply {
					t.Errorf("it was answered by %+v", here[0])
				}
				// What is written in reply could be read by all.
				if rows := here[0].Markup.Rows; reply.Ask != nil && (len(rows) != 1 || rows[0][0].URL != deepLink(telegramtest.Username, "exists")) {
					t.Errorf("the buttons are %+v", rows)
				}
				if req := r.handler.Requests()[0]; !req.Whispers || req.Direct {
					t.Errorf("the request is %+v", req)
				}
				r.hides("confidential")
			})
		})
	}
}

// many is n fields.
func many(n int) (fields []chat.Field) {
	for range n {
		fields = append(fields, chat.Field{Name: chat.Plain("name"), Value: chat.Plain("a value")})
	}
	return fields
}

func TestAnAnonymousAdministratorIsToldEphemerally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setUpInMemory(t, nil)
		m := whispered("/mylogins")
		m["sender_chat"] = telegramtest.Group(group)
		r.api.PushEphemeral(m)
		r.run()
		time.Sleep(time.Minute)
		if here, _, _ := readBy(r.api.Sent()); len(here) != 1 || here[0].Text != said(stayedAnonymous) || len(r.api.Sent()) != 1 {
			t.Errorf("sent %+v", r.api.Sent())
		}
	})
}

// The next page of an ephemeral answer is an ephemeral answer, and the page before
// it goes, unless it is a refusal that came. If it cannot be sent there, it goes
// to the private chat.
func TestAPressBelowAnEphemeralAnswerIsAnsweredLikeIt(t *testing.T) {
	for name, tt := range map[string]struct {
		refused, limited bool
		here, privately  int
		firstDeleted     bool
		toast            string
	}{
		"a page":       {here: 2, firstDeleted: true},
		"a limit":      {limited: true, here: 2},
		"no room left": {refused: true, here: 1, privately: 1, toast: said(answeredPrivately)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := setUpInMemory(t, nil)
				r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
					return chat.Reply{
						Title: chat.Say("confidential"), ToAsker: tt.limited && req.Args.Len() > 0,
						Actions: []chat.Action{{Label: chat.Say("Older"), Command: "mylogins", Args: []string{"2"}, Edit: true}},
					}
				}
				r.api.Start(ann)
				r.api.PushEphemeral(whispered("/mylogins"))
				r.run()
				first := r.sent(1)[0]
				if tt.refused {
					r.api.Fail("sendMessage", telegramtest.NoRights())
				}
				if r.api.PressEphemeral(telegramtest.Group(group), first.Ephemeral, dataOf(first, "Older")) == "" {
					t.Fatal("the answer is not ephemeral")
				}
				time.Sleep(time.Minute)
				here, privately, public := readBy(r.api.Sent())
				if len(here) != tt.here || len(privately) != tt.privately || len(public) != 0 || here[0].Deleted != tt.firstDeleted {
					t.Errorf("sent %+v", r.api.Sent())
				}
				if told := r.told(1)[0]; told.Text != tt.toast {
					t.Errorf("a toast says %q, want %q", told.Text, tt.toast)
				}
				r.hides("confidential")
			})
		})
	}
}

// Whatever the server knows, whatever goes wrong and whether the bot may write to
// the asker: others see nothing of what private commands and buttons answer.
func TestNothingPrivateIsSeenByOthersOnAnyServer(t *testing.T) {
	refused, unclear := telegramtest.Status(400), telegramtest.Page(502).CarriedOut()
	for server, older := range map[string]telegramtest.Older{
		"new":      {DateTime: true},
		"ignoring": {Ephemeral: true},
		"refusing": {Ephemeral: true, EphemeralMenu: true},
	} {
		for trouble, faults := range map[string][]telegramtest.Fault{
			"none":      nil,
			"refusals":  {refused, refused, refused, refused, refused, refused},
			"unclear":   {unclear, unclear, unclear, unclear, unclear, unclear},
			"too many":  {telegramtest.TooMany(20 * time.Second), telegramtest.TooMany(20 * time.Second)},
			"forbidden": {telegramtest.Status(403), telegramtest.Status(403), telegramtest.Status(403)},
		} {
			for _, started := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					r := setUpInMemory(t, func(c *Config) { c.Pacing = true })
					r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
						reply := chat.Reply{
							Title: chat.Say(req.Command), Notes: []chat.Text{chat.SayWith("checked", chat.Values{"when": chat.Moment{Time: time.Now()}})},
							Actions: []chat.Action{{Label: chat.Say("Older"), Command: "mylogins", Args: []string{"2"}, Edit: true}},
						}
						if req.Command != "price" {
							reply.Text = chat.Say("confidential")
						}
						if req.Command == "exists" {
							reply.Ask = &chat.Ask{Command: "exists", Param: "user", Question: chat.Say("confidential")}
						}
						return reply
					}
					r.api.MakeOlder(older)
					r.run()
					// A public answer with a button that asks a private command.
					r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price"))
					shown := r.sent(1)[0]
					if started {
						r.api.Start(ann)
					}
					r.api.Fail("sendMessage", faults...)
					for _, line := range []string{"/mylogins", "/exists", "/exists 5", "/mylogins 2"} {
						r.api.PushEphemeral(whispered(line))
						r.api.Push(whispered(line))
					}
					r.api.Press(ann, telegramtest.Group(group), shown.ID, dataOf(shown, "Older"))
					time.Sleep(time.Minute)
					for _, m := range r.api.Sent() {
						if m.Ephemeral != 0 {
							r.api.PressEphemeral(telegramtest.Group(group), m.Ephemeral, dataOf(m, "Older"))
						}
					}
					time.Sleep(time.Minute)
					r.hides("confidential")
					if n := len(r.handler.Requests()); n < 10 {
						t.Errorf("%s, %s, %v: %d requests", server, trouble, started, n)
					}
				})
			}
		}
	}
}
