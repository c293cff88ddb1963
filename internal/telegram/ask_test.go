package telegram

import (
	"strings"
	"testing"
	"testing/synctest"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/telegram/telegramtest"
)

// writes is a message of somebody's without a command.
func writes(where telegramtest.Chat, user int64, text string) telegramtest.Message {
	return telegramtest.Text(where, telegramtest.Person(user), text)
}

// A bare command is answered with a question, and what is written in reply is its
// argument: by whoever asked or somebody else, after a restart, and again if it
// was wrong.
func TestWhatIsWrittenInReplyToAQuestionIsTheArgument(t *testing.T) {
	for _, where := range []telegramtest.Chat{telegramtest.Group(communitys), telegramtest.Private(anns)} {
		for _, replier := range []int64{anns, bobs} {
			if where.Type == "private" && replier != anns {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				r, _, router := product(t, nil)
				stop := r.serve(router)
				_, bare := r.api.Push(writes(where, anns, "/staked"))
				question := r.sent(1)[0]
				if !question.Markup.ForceReply || !question.Markup.Selective || question.Markup.Placeholder != "Which wallet?" || question.ReplyTo != bare {
					t.Fatalf("asked by %+v", question)
				}
				if !strings.Contains(question.Text, "Which wallet?") || !strings.Contains(question.Text, commandstest.Wallet) {
					t.Errorf("asked by %q", question.Text)
				}
				r.api.Push(writes(where, replier, "0x1234").ReplyingTo(question))
				again := r.sent(2)[1]
				if !again.Markup.ForceReply || !strings.Contains(again.Text, "Check the wallet address") {
					t.Fatalf("a wrong wallet is answered by %+v", again)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				r.againInMemory().serve(router)
				_, written := r.api.Push(writes(where, replier, commandstest.Wallet).ReplyingTo(again))
				if got := r.sent(3)[2]; !strings.Contains(got.Text, "Staked") || got.Markup.ForceReply || got.ReplyTo != written {
					t.Errorf("answered by %+v", got)
				}
			})
		}
	}
}

// What is asked for a private command is asked, and answered, in the private
// chat.
func TestAQuestionForAPrivateCommandIsAskedInPrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, router := product(t, nil)
		r.serve(router)
		r.api.Start(anns)
		r.api.Push(writes(telegramtest.Group(communitys), anns, "/verify"))
		sent := r.sent(2)
		if sent[0].Chat != anns || !sent[0].Markup.ForceReply || sent[1].Chat != communitys || sent[1].Markup.ForceReply || sent[1].Text != said(answeredPrivately) {
			t.Fatalf("sent %+v", sent)
		}
		r.api.Push(writes(telegramtest.Private(anns), anns, commandstest.AnnsWallet).ReplyingTo(sent[0]))
		if got := r.sent(3)[2]; got.Chat != anns || !strings.Contains(got.Text, "This wallet is yours") {
			t.Errorf("answered by %+v", got)
		}
	})
}

// One who has to start the bot first is asked when they do.
func TestStartingTheBotForACommandWithoutItsArgumentAsksForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, router := product(t, nil)
		r.serve(router)
		r.api.Push(writes(telegramtest.Group(communitys), anns, "/verify"))
		link := r.sent(1)[0].Markup.Rows[0][0].URL
		_, payload, _ := strings.Cut(link, "?start=")
		r.api.Push(writes(telegramtest.Private(anns), anns, "/start "+payload))
		if got := r.sent(2)[1]; got.Chat != anns || !got.Markup.ForceReply {
			t.Errorf("%s is answered by %+v", link, got)
		}
	})
}

// TestParseBelievesAQuestionOfThisBotAlone has replies to what looks like one.
func TestParseBelievesAQuestionOfThisBotAlone(t *testing.T) {
	const link = `"entities":[{"type":"text_link","offset":0,"length":1,"url":"https://t.me/OurBot?start=ask-staked"}]`
	const us = `"from":{"id":99,"is_bot":true}`
	for name, tt := range map[string]struct {
		replyTo, members, text string
		want                   string
	}{
		"a question":                     {us + `,` + link, "", "0x1 b", "staked 0x1 b"},
		"by somebody else":               {`"from":{"id":5},` + link, "", "0x1", ""},
		"by another bot":                 {`"from":{"id":98,"is_bot":true},` + link, "", "0x1", ""},
		"by nobody":                      {link, "", "0x1", ""},
		"without a link":                 {us, "", "0x1", ""},
		"with a link elsewhere":          {us + `,` + strings.Replace(link, `"offset":0`, `"offset":1`, 1), "", "0x1", ""},
		"with a link to another bot":     {us + `,` + strings.Replace(link, "OurBot", "OtherBot", 1), "", "0x1", ""},
		"with a link that asks nothing":  {us + `,` + strings.Replace(link, "ask-staked", "staked", 1), "", "0x1", ""},
		"with a URL that is a plain one": {us + `,` + strings.Replace(link, "text_link", "url", 1), "", "0x1", ""},
		"for an unknown command":         {us + `,` + strings.Replace(link, "ask-staked", "ask-moon", 1), "", "0x1", ""},
		"a picture in reply":             {us + `,` + link, "", "", ""},
		"a forward in reply":             {us + `,` + link, `,"forward_origin":{}`, "0x1", ""},
		"a bot in reply":                 {us + `,` + link, `,"from":{"id":5,"is_bot":true}`, "0x1", ""},
		"a command in reply":             {us + `,` + link, `,"entities":[{"type":"bot_command","offset":0,"length":6}]`, "/price", "price"},
		"another bot's command in reply": {us + `,` + link, `,"entities":[{"type":"bot_command","offset":0,"length":15}]`, "/price@OtherBot", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := in(t, "group", 6, tt.text, `{"entities":[],"reply_to_message":{"message_id":3,`+tt.replyTo+`}`+tt.members+`}`)
			c, ours := parse(m, testMe, testCommands)
			if ours != (tt.want != "") || c.typed != tt.want {
				t.Errorf("got %q, %v; want %q", c.typed, ours, tt.want)
			}
			if ours && (c.request.Target != nil || c.private) {
				t.Errorf("got %+v", c)
			}
		})
	}
}

func TestAQuestionIsNoLongerThanItsPlaceholderMayBe(t *testing.T) {
	r := chat.Reply{Title: chat.Say("x"), Ask: &chat.Ask{Command: "staked", Question: chat.Say(strings.Repeat("😀", 100))}}
	got := marked(shown(r, false))
	if want := "(reply: " + strings.Repeat("😀", maxPlaceholder-1) + "…)"; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
