package telegram

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/commands/commandstest"
	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/platform/platformtest"
)

// When the bot asks a question, such as for the wallet of /staked, its message has a hidden link that names the
// command. These are the payloads of such links: what follows t.me/OurBot?start=.
const (
	asksExists = "ask-exists"
	asksStaked = "ask-staked"
	asksJoin   = "ask-join_-5"
)

// toQuestion makes the message a reply to a question of testMe, whose hidden link has the payload.
func toQuestion(payload string) messageOption {
	return inReplyTo(from(*testMe), linkingTo("https://t.me/OurBot?start="+payload))
}

// linkingTo hides a link below the first character of the message.
func linkingTo(url string) messageOption {
	return func(m *models.Message) {
		m.Entities = append(m.Entities, models.MessageEntity{
			Type:   models.MessageEntityTypeTextLink,
			Length: 1,
			URL:    url,
		})
	}
}

// guessCase is a message, and the command that is guessed from it.
type guessCase struct {
	text    string
	options []messageOption
	want    string // with its arguments; "" if there is none
}

// checkGuesses checks that each message asks its command in a private chat, and nothing in a group.
func checkGuesses(t *testing.T, cases map[string]guessCase) {
	t.Helper()
	for name, tt := range cases {
		checkAsked(t, name+" in private", privateMessage(tt.text, tt.options...), tt.want)
		checkAsked(t, name+" in a group", groupMessage(tt.text, tt.options...), "")
	}
}

// checkAsked checks that a message asks testMe the command want, such as "staked 0x1". An empty want means that it asks
// nothing.
func checkAsked(t *testing.T, name string, m *models.Message, want string) {
	t.Helper()
	c, isAsked := parsedMessage(m)
	wantAsked := want != ""
	if c.text != want || isAsked != wantAsked {
		t.Errorf("%s: got %q, %v; want %q", name, c.text, isAsked, want)
	}
	if wantArgs := max(0, len(strings.Fields(want))-1); c.request.Args.Len() != wantArgs {
		t.Errorf("%s: got the arguments %v, want %d", name, c.request.Args, wantArgs)
	}
}

func TestAWalletInPrivateAsksStaked(t *testing.T) {
	const (
		wallet   = "0x52908400098527886E0F7030069857D2E4169EE7"
		another  = "0x8617E340B3D01FA5F11F306F4090FD50E238070D"
		onSolana = "So11111111111111111111111111111111111111112"
		explorer = "https://etherscan.io/address/"
	)
	checkGuesses(t, map[string]guessCase{
		"alone":            {text: " " + wallet + "\n", want: "staked " + wallet},
		"too short":        {text: "0X12", want: "staked 0X12"},
		"of another chain": {text: onSolana, want: "staked " + onSolana},
		"among words":      {text: "is " + wallet + " ok", want: "staked is " + wallet + " ok"},
		"in a link":        {text: explorer + wallet, want: "staked " + explorer + wallet},
		"beside another":   {text: wallet + " or " + another, want: "staked " + wallet + " or " + another},
		"below a picture":  {text: wallet, options: []messageOption{asCaption}, want: "staked " + wallet},
	})
}

func TestOtherContentInPrivateAsksStart(t *testing.T) {
	ofOtherBot := []messageOption{mentionOf(9), commandAt(10, 6)}
	voice := func(m *models.Message) { m.Voice = &models.Voice{} }
	roundVideo := func(m *models.Message) { m.VideoNote = &models.VideoNote{} }
	pin := func(m *models.Message) { m.PinnedMessage = &models.MaybeInaccessibleMessage{} }
	checkGuesses(t, map[string]guessCase{
		"words":                         {text: "hello there", want: "start"},
		"a command after a mention":     {text: "@OtherBot /price", options: ofOtherBot, want: "start"},
		"a picture":                     {text: "hi", options: []messageOption{asCaption}, want: "start"},
		"a voice message":               {options: []messageOption{voice}, want: "start"},
		"a round video":                 {options: []messageOption{roundVideo}, want: "start"},
		"a reply to what asked nothing": {text: "thanks", options: []messageOption{inReplyTo(from(*testMe))}, want: "start"},
		"an unknown command":            {text: "/prise 7d", options: []messageOption{commandAt(0, 6)}, want: "prise 7d"},
		"another bot's command":         {text: "/price@OtherBot", options: []messageOption{commandAt(0, 15)}},
		"a service message":             {options: []messageOption{pin}},
		"a forward":                     {text: "hello", options: []messageOption{forwarded}},
	})
}

func TestAnAnswerToAQuestionCompletesItsCommand(t *testing.T) {
	checkAsked(t, "in private", privateMessage("0x1 b", toQuestion(asksExists)), "exists 0x1 b")
	checkAsked(t, "in a group", groupMessage("0x1 b", toQuestion(asksExists)), "exists 0x1 b")
	checkAsked(t, "to join, in private", privateMessage("0xabc", toQuestion(asksJoin)), "join -5 0xabc")
	checkAsked(t, "to join, in a group", groupMessage("0xabc", toQuestion(asksJoin)), "")
}

// Only a message of this bot with the hidden link is a question.
func TestParseTrustsOnlyThisBotsQuestions(t *testing.T) {
	byAnother := inReplyTo(from(models.User{ID: 5}), linkingTo("https://t.me/OurBot?start="+asksStaked))
	byUsAsOldBot := inReplyTo(from(*testMe), linkingTo("https://t.me/OldBot?start="+asksStaked))
	outOfTelegram := inReplyTo(from(*testMe), linkingTo("https://example.org/OurBot?start="+asksStaked))
	for name, tt := range map[string]struct {
		message *models.Message
		want    string
	}{
		"a question":               {groupMessage("0x1 b", toQuestion(asksStaked)), "staked 0x1 b"},
		"politeness around it":     {groupMessage("check 0x1 please", toQuestion(asksStaked)), "staked check 0x1 please"},
		"thanks":                   {groupMessage("thanks", toQuestion(asksStaked)), ""},
		"a sentence":               {groupMessage("up 100x, thanks!", toQuestion(asksStaked)), ""},
		"under an old name":        {groupMessage("0x1 b", byUsAsOldBot), "staked 0x1 b"},
		"a link out of Telegram":   {groupMessage("0x1", outOfTelegram), ""},
		"by another user":          {groupMessage("0x1", byAnother), ""},
		"a link that asks nothing": {groupMessage("0x1", toQuestion("staked")), ""},
		"for an unknown command":   {groupMessage("0x1", toQuestion("ask-moon")), ""},
		"a forward":                {groupMessage("0x1", toQuestion(asksStaked), forwarded), ""},
		"a command":                {groupMessage("/price", toQuestion(asksStaked), commandAt(0, 6)), "price"},
		"another bot's command":    {groupMessage("/price@OtherBot", toQuestion(asksStaked), commandAt(0, 15)), ""},
	} {
		checkAsked(t, name, tt.message, tt.want)
		c, isAsked := parsedMessage(tt.message)
		isAboutTarget := c.request.Target != nil
		if isAsked && (isAboutTarget || c.private) {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

func TestParseFollowsDeepLinksInPrivate(t *testing.T) {
	for payload, want := range map[string]string{
		"":           "start",
		"mylogins":   "mylogins, private",
		"exists":     "exists, private",
		"staked":     "start",
		"ask-exists": "start",
		"nonsense":   "start",
		"join_-5":    "join -5, private",
		"join":       "start",
		"join_-5_x":  "start",
		"price_-5":   "start",
	} {
		text := strings.TrimSpace("/start " + payload)
		check(t, text, askedIn(privateMessage(text, commandAt(0, 6))), want)
	}
	for _, text := range []string{"/start mylogins", "/start join_-5"} {
		check(t, text+" in a group", askedIn(groupMessage(text, commandAt(0, 6))), "start")
	}
}

// askedIn returns the command that a message asks, with its first argument, and with ", private" if the answer is
// private.
func askedIn(m *models.Message) string {
	c, _ := parsedMessage(m)
	asked := strings.TrimSpace(c.request.Command + " " + c.request.Args.First())
	if c.private {
		asked += ", private"
	}
	return asked
}

// Anybody can hide a link behind harmless words, and /forget cannot be undone.
func TestNoLinkRunsForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, router := product(t)
		r.serve(platformtest.Routed{Router: router})
		r.pushAndWait(inPrivate(ann, "/start"))
		r.pushAndWait(inPrivate(ann, "/start forget"))
		r.pushAndWait(inGroup(ann+1, "/forget"))
		sent := r.waitSent(3)
		check(t, "shown by the link", sent[1].Text, sent[0].Text)
		check(t, "link for a stranger", sent[2].Markup.Rows[0][0].URL, deepLink(faketelegram.Username, "start"))
	})
}

// answerCase is a text that answers the question for a wallet, and the bot's reply.
type answerCase struct {
	text      string
	want      string // a part of the reply; "" if there is none
	asksAgain bool   // whether the reply asks for a wallet again
}

// In a group, the bot does not ask again for an invalid wallet. Words that are not like a wallet are not taken for an
// answer.
func TestInvalidArgumentIsNotAskedAgainInAGroup(t *testing.T) {
	checkAnswersToAQuestion(t, faketelegram.Group(group), []answerCase{
		{text: "thanks"},
		{text: "0x12", want: "Check the wallet address"},
		{text: commandstest.Wallet + " please", want: "Staking"},
	})
}

func TestInvalidArgumentIsAskedAgainInPrivate(t *testing.T) {
	checkAnswersToAQuestion(t, faketelegram.Private(ann), []answerCase{
		{text: "thanks", want: "Check the wallet address", asksAgain: true},
		{text: "0x12", want: "Check the wallet address", asksAgain: true},
		{text: commandstest.Wallet + " please", want: "Staking"},
	})
}

// checkAnswersToAQuestion makes ann answer the bot's question for a wallet with one text after another. The question is
// deleted after two minutes in a group, and stays in private.
func checkAnswersToAQuestion(t *testing.T, where faketelegram.Chat, answers []answerCase) {
	synctest.Test(t, func(t *testing.T) {
		r, _, router := product(t)
		r.serve(platformtest.Routed{Router: router})
		r.pushAndWait(writes(where, ann, "/staked"))
		question := r.waitSent(1)[0]
		for _, tt := range answers {
			before := len(r.api.Sent())
			r.pushAndWait(writes(where, ann, tt.text).ReplyingTo(question))
			sent := r.api.Sent()[before:]
			if tt.want == "" {
				check(t, fmt.Sprintf("replies to %q", tt.text), len(sent), 0)
				continue
			}
			if len(sent) != 1 || !strings.Contains(sent[0].Text, tt.want) || sent[0].Markup.ForceReply != tt.asksAgain {
				t.Errorf("%q brings %+v, want %q", tt.text, sent, tt.want)
			}
		}
		time.Sleep(questionLasts)
		inGroup := where.ID < 0
		check(t, "the question is deleted", r.api.Sent()[0].Deleted, inGroup)
	})
}

func TestPlaceholderIsShortened(t *testing.T) {
	question := chat.Say(strings.Repeat("é", 100))
	reply := &chat.Reply{Title: chat.Say("x"), Ask: &chat.Ask{Command: "staked", Question: question}}
	want := models.ForceReply{
		ForceReply:            true,
		Selective:             true,
		InputFieldPlaceholder: strings.Repeat("é", maxPlaceholder-1) + "…",
	}
	if got := shown(reply).Markup; *got.(*models.ForceReply) != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
