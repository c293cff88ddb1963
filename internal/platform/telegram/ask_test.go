package telegram

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
)

// oneByOne is a Router that answers one request at a time, as the services of a
// commandstest.World must be asked.
type oneByOne struct {
	*chat.Router
	mu sync.Mutex
}

func (o *oneByOne) Handle(ctx context.Context, req chat.Request) chat.Reply {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Router.Handle(ctx, req)
}

// product runs the product's commands in a World, two minutes after its noon. It
// is called in a bubble.
func product(t *testing.T) (*rig, *commandstest.World, *oneByOne) {
	t.Helper()
	time.Sleep(time.Until(commandstest.Noon.Add(2 * time.Minute)))
	w := commandstest.Healthy()
	for i := range 30 {
		w.Logins = append(w.Logins, core.Login{Dapp: fmt.Sprint("Dapp ", i), Platform: "EVM", At: commandstest.Noon})
	}
	return setUp(t), w, &oneByOne{Router: w.Router(t)}
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
		"with a link that asks nothing":  {us + `,` + strings.Replace(link, "ask-staked", "staked", 1), "", "0x1", ""},
		"for an unknown command":         {us + `,` + strings.Replace(link, "ask-staked", "ask-moon", 1), "", "0x1", ""},
		"a forward in reply":             {us + `,` + link, `,"forward_origin":{}`, "0x1", ""},
		"a command in reply":             {us + `,` + link, `,"entities":[{"type":"bot_command","offset":0,"length":6}]`, "/price", "price"},
		"another bot's command in reply": {us + `,` + link, `,"entities":[{"type":"bot_command","offset":0,"length":15}]`, "/price@OtherBot", ""},
	} {
		m := in(t, "group", 6, tt.text, `{"entities":[],"reply_to_message":{"message_id":3,`+tt.replyTo+`}`+tt.members+`}`)
		c, ours := parse(update{Message: m}, testMe, testCommands)
		if ours != (tt.want != "") || c.text != tt.want {
			t.Errorf("%s: got %q, %v; want %q", name, c.text, ours, tt.want)
		}
		if ours && (c.request.Target != nil || c.private) {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

func TestAQuestionIsNoLongerThanItsPlaceholderMayBe(t *testing.T) {
	r := chat.Reply{Title: chat.Say("x"), Ask: &chat.Ask{Command: "staked", Question: chat.Say(strings.Repeat("é", 100))}}
	want := models.ForceReply{ForceReply: true, Selective: true, InputFieldPlaceholder: strings.Repeat("é", maxPlaceholder-1) + "…"}
	if got := shown(r).Markup; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
