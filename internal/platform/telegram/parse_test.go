package telegram

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/platform/platformtest"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/router"
)

var testCommands = (&platformtest.Handler{}).Commands()

var testMe = &models.User{ID: 99, Username: "OurBot", FirstName: "Our bot"}

// asks returns what an update asks, and whether it asks this bot anything.
func asks(u *update) (c command, ours bool) {
	if parsed := parse(u, testMe, &platformtest.Handler{}); parsed != nil {
		return *parsed, true
	}
	return command{}, false
}

// in makes a message of a group from JSON members, with a command of n units.
func in(t *testing.T, kind string, n int, text string, members string) *models.Message {
	t.Helper()
	id := -100
	if kind == "private" {
		id = 5
	}
	raw, _ := json.Marshal(map[string]any{
		"message_id": 7, "date": 1750000000, "text": text, "from": map[string]any{"id": 5},
		"chat":     map[string]any{"id": id, "type": kind, "title": "The *talk*"},
		"entities": []models.MessageEntity{{Type: "bot_command", Offset: 0, Length: n}},
	})
	m := &models.Message{}
	if err := json.Unmarshal(raw, m); err != nil {
		t.Fatal(err)
	}
	if members != "" {
		if err := json.Unmarshal([]byte(members), m); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestParseFindsCommandsForThisBot(t *testing.T) {
	for name, tt := range map[string]struct {
		kind    string
		n       int
		text    string
		members string
		want    string // the command, "" is not ours
	}{
		"any case":                         {"supergroup", 6, "/Price", "", "price"},
		"addressed to us in another case":  {"group", 13, "/PRICE@ourbot", "", "price"},
		"addressed to another bot":         {"group", 15, "/price@OtherBot", "", ""},
		"unknown in a group":               {"group", 4, "/foo", "", ""},
		"unknown in private":               {"private", 4, "/foo", "", "foo"},
		"in a channel":                     {"channel", 6, "/price", "", ""},
		"after a mention of us":            {"group", 0, "@OurBot /price", mentioning(7, 8, 6), "price"},
		"after one in another case":        {"group", 0, "@ourbot, /PRICE", mentioning(7, 9, 6), "price"},
		"after a mention, addressed to us": {"group", 0, "@OurBot\n/price@OurBot", mentioning(7, 8, 13), "price"},
		"after a mention, to another bot":  {"group", 0, "@OurBot /price@OtherBot", mentioning(7, 8, 15), ""},
		"after a mention of another bot":   {"group", 0, "@OtherBot /price", mentioning(9, 10, 6), ""},
		"after a mention, to us":           {"group", 0, "@OtherBot /price@OurBot", mentioning(9, 10, 13), "price"},
		"after a name that is ours":        {"group", 0, "Our 🤖 /price", `{"entities":[{"type":"text_mention","offset":0,"length":6,"user":{"id":99}},{"type":"bot_command","offset":7,"length":6}]}`, "price"},
		"after a mention and a word":       {"group", 0, "@OurBot hi /price", mentioning(7, 11, 6), ""},
		"after a forged mention":           {"group", 0, "@OurBot /price", mentioning(700, 8, 6), ""},
		"after a mention, in private":      {"private", 0, "@OurBot /price", mentioning(7, 8, 6), "price"},
		"in a caption":                     {"group", 0, "", captioned("/price@OurBot", 0, 13), "price"},
		"in a caption, in private":         {"private", 0, "", captioned("/price", 0, 6), "price"},
		"later in a caption":               {"group", 0, "", captioned("🎉 /price", 3, 6), ""},
		"in a caption, to another bot":     {"group", 0, "", captioned("/price@OtherBot", 0, 15), ""},
		"in a caption of a forward":        {"group", 0, "", `{"forward_origin":{"type":"user"},` + captioned("/price", 0, 6)[1:], ""},
		"in a caption, after a mention":    {"group", 0, "", `{"caption":"@OurBot /price","caption_entities":[{"type":"mention","offset":0,"length":7},{"type":"bot_command","offset":8,"length":6}]}`, "price"},
		"by a bot":                         {"group", 6, "/price", `{"from":{"id":5,"is_bot":true}}`, ""},
		"forwarded":                        {"group", 6, "/price", `{"forward_origin":{"type":"of a new kind"}}`, ""},
		"via another bot":                  {"group", 6, "/price", `{"via_bot":{"id":1}}`, ""},
		"a channel's post":                 {"group", 6, "/price", `{"is_automatic_forward":true,"sender_chat":{"id":-300}}`, ""},
		"not at the beginning":             {"group", 6, "hi /price", `{"entities":[{"type":"bot_command","offset":3,"length":6}]}`, ""},
		"a forged length":                  {"group", 600, "/price", "", ""},
	} {
		c, ours := asks(&update{Update: models.Update{Message: in(t, tt.kind, tt.n, tt.text, tt.members)}})
		if ours != (tt.want != "") || c.request.Command != tt.want {
			t.Errorf("%s: got %q, %v; want %q", name, c.request.Command, ours, tt.want)
		}
	}
}

// mentioning returns the entities of a text that begins with a mention of n units, and has a command.
func mentioning(n, offset, length int) string {
	return fmt.Sprintf(`{"entities":[{"type":"mention","offset":0,"length":%d},{"type":"bot_command","offset":%d,"length":%d}]}`, n, offset, length)
}

// captioned returns the members of a picture with a command in its caption.
func captioned(caption string, offset, length int) string {
	const members = `{"photo":[{"width":1}],"caption":%q,"caption_entities":[{"type":"bot_command","offset":%d,"length":%d}]}`
	return fmt.Sprintf(members, caption, offset, length)
}

func TestParseFindsArgumentsAndPeople(t *testing.T) {
	mentioned := func(offset, length int, user string) string {
		const entities = `{"entities":[{"type":"bot_command","offset":0,"length":7},{"type":"text_mention","offset":%d,"length":%d,"user":%s}]}`
		return fmt.Sprintf(entities, offset, length, user)
	}
	replying := func(members string) string { return `{"reply_to_message":{"message_id":3,` + members + `}}` }
	inTopic := func(id string) string {
		return `{"is_topic_message":true,"message_thread_id":3,"reply_to_message":{"message_id":` + id + `,"from":{"id":8}}}`
	}
	for name, tt := range map[string]struct {
		text, members string
		words         []string
		target        string // "none" is nobody, "" one without an ID
		named         string
	}{
		"words":                                 {"/exists  a\n b", "", []string{"a", "b"}, "none", ""},
		"a mention without username":            {"/exists 😀 Ann B x", mentioned(11, 5, `{"id":8,"first_name":"Ann"}`), []string{"😀", "x"}, "8", "Ann"},
		"a reply":                               {"/exists", replying(`"from":{"id":8,"first_name":"Bob"}`), nil, "8", "Bob"},
		"a reply to us":                         {"/exists", replying(`"from":{"id":99,"is_bot":true,"first_name":"Herald"}`), nil, "none", ""},
		"a reply to an anonymous administrator": {"/exists", replying(`"from":{"id":1087968824},"sender_chat":{"id":-100}`), nil, "", ""},
		"a topic's first message":               {"/exists", inTopic("3"), nil, "none", ""},
		"a topic's service message":             {"/exists", replying(`"from":{"id":8},"forum_topic_created":{}`), nil, "none", ""},
		"a reply within a topic":                {"/exists", inTopic("4"), nil, "8", ""},
		"words of a caption":                    {"", `{"caption":"/exists a b","caption_entities":[{"type":"bot_command","length":7}]}`, []string{"a", "b"}, "none", ""},
		"a person in a caption":                 {"", `{"caption":"/exists 😀 Ann","caption_entities":[{"type":"bot_command","length":7},{"type":"text_mention","offset":11,"length":3,"user":{"id":8,"first_name":"Ann"}}]}`, []string{"😀"}, "8", "Ann"},
		"a person after a mention of us":        {"@OurBot /exists 😀 Ann", `{"entities":[{"type":"mention","length":7},{"type":"bot_command","offset":8,"length":7},{"type":"text_mention","offset":19,"length":3,"user":{"id":8,"first_name":"Ann"}}]}`, []string{"😀"}, "8", "Ann"},
		"a comment on a channel's post":         {"/exists", replying(`"is_automatic_forward":true,"sender_chat":{"id":-300}`), nil, "none", ""},
	} {
		c, ours := asks(&update{Update: models.Update{Message: in(t, "group", 7, tt.text, tt.members)}})
		target := "none"
		if c.request.Target != nil {
			target = c.request.Target.ID
		}
		if !ours || fmt.Sprint(c.request.Args) != fmt.Sprint(chat.Typed(tt.words...)) || target != tt.target ||
			c.request.TargetName != tt.named {
			t.Errorf("%s: got %+v, %v", name, c.request, ours)
		}
	}
}

// Somebody who speaks as a chat has no ID, and is a moderator if it is this very chat.
func TestParseKnowsSenderAndDestination(t *testing.T) {
	for name, tt := range map[string]struct {
		kind, members    string
		from, senderChat string
		sender           int64
		role             chat.Role
		thread           int
		locale           string
	}{
		"a member":                   {"supergroup", `{"from":{"id":5,"language_code":"pt-br"}}`, "5", "", 5, chat.UnknownRole, 0, "pt-br"},
		"an anonymous administrator": {"supergroup", `{"from":{"id":5,"language_code":"pt-br"},"sender_chat":{"id":-100}}`, "", "", -100, chat.Moderator, 0, ""},
		"somebody as their channel":  {"supergroup", `{"from":{"id":5},"sender_chat":{"id":-200}}`, "", "-200", -200, chat.Member, 0, ""},
		"in a topic":                 {"supergroup", `{"is_topic_message":true,"message_thread_id":44}`, "5", "", 5, chat.UnknownRole, 44, ""},
		"in a thread of replies":     {"supergroup", `{"message_thread_id":44}`, "5", "", 5, chat.UnknownRole, 0, ""},
		"in private":                 {"private", "", "5", "", 5, chat.Member, 0, ""},
	} {
		m := in(t, tt.kind, 6, "/price", tt.members)
		c, ours := asks(&update{Update: models.Update{Message: m}})
		community := map[bool]string{true: "-100", false: ""}[tt.kind != "private"]
		want := &chat.Request{
			Command: "price", From: chat.User{Platform: Platform, ID: tt.from}, LimitKey: tt.senderChat, Chat: fmt.Sprint(m.Chat.ID), Community: community,
			Direct: tt.kind == "private", Role: tt.role, Locale: tt.locale, Args: chat.Typed(),
			Asked: time.Unix(1750000000, 0), BotName: "Our bot", BotHandle: "@OurBot",
		}
		if !ours || fmt.Sprintf("%+v", c.request) != fmt.Sprintf("%+v", *want) {
			t.Errorf("%s: got %+v, want %+v", name, c.request, want)
		}
		where := outbox.Destination{Chat: m.Chat.ID, Thread: tt.thread, ReplyTo: 7, Silent: tt.kind != "private"}
		if c.to != where {
			t.Errorf("%s: destination %+v, want %+v", name, c.to, where)
		}
		check(t, name+": sender", c.sender, tt.sender)
	}
}

// A private chat belongs to one person. An update of another user there is a server's fault.
func TestParseRefusesAnotherUserInAPrivateChat(t *testing.T) {
	const chat = `"chat":{"id":5,"type":"private"}`
	for _, form := range []string{
		`{"callback_query":{"id":"1","from":{"id":%d},"data":"1 e 0 price","message":{` + chat + `}}}`,
		`{"message":{"from":{"id":%d},"text":"/price","entities":[{"type":"bot_command","length":6}],` + chat + `}}`,
	} {
		for user, want := range map[int64]bool{5: true, 6: false} {
			u, answerable := setUp(t).adapter.read(fmt.Appendf(nil, form, user))
			if _, ours := asks(u); !answerable || ours != want {
				t.Errorf("%s by %d is ours: %v", form, user, ours)
			}
		}
	}
}

// In a private chat nobody is met by silence, and in a group nobody is disturbed.
func TestParseGuessesAtPrivateText(t *testing.T) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	for name, tt := range map[string]struct {
		text, members string
		want          string // what is asked in private
	}{
		"a wallet":                      {" " + wallet + "\n", "", "staked " + wallet},
		"a wrong one":                   {"0X12", "", "staked 0X12"},
		"a wallet of another chain":     {"So11111111111111111111111111111111111111112", "", "staked So11111111111111111111111111111111111111112"},
		"a wallet among words":          {"is " + wallet + " ok", "", "staked is " + wallet + " ok"},
		"a link to a wallet":            {"https://etherscan.io/address/" + wallet, "", "staked https://etherscan.io/address/" + wallet},
		"two wallets among words":       {wallet + " or 0x8617E340B3D01FA5F11F306F4090FD50E238070D", "", "staked " + wallet + " or 0x8617E340B3D01FA5F11F306F4090FD50E238070D"},
		"words":                         {"hello there", "", "start"},
		"an unknown command":            {"/prise 7d", `{"entities":[{"type":"bot_command","length":6}]}`, "prise 7d"},
		"another bot's command":         {"/price@OtherBot", `{"entities":[{"type":"bot_command","length":15}]}`, ""},
		"a wallet below a picture":      {"", `{"photo":[{"width":1}],"caption":"` + wallet + `"}`, "staked " + wallet},
		"after another mention":         {"@OtherBot /price", mentioning(9, 10, 6), "start"},
		"a picture":                     {"", `{"photo":[{"width":1}],"caption":"hi"}`, "start"},
		"a voice message":               {"", `{"voice":{}}`, "start"},
		"a round video":                 {"", `{"video_note":{}}`, "start"},
		"a service message":             {"", `{"pinned_message":{}}`, ""},
		"a forward":                     {"hello", `{"forward_origin":{"type":"user"}}`, ""},
		"an answer to a question":       {"0x1 b", `{"reply_to_message":{"from":{"id":99},"entities":[{"type":"text_link","length":1,"url":"https://t.me/OurBot?start=ask-exists"}]}}`, "exists 0x1 b"},
		"an answer to join a group":     {"0xabc", `{"reply_to_message":{"from":{"id":99},"entities":[{"type":"text_link","length":1,"url":"https://t.me/OurBot?start=ask-join_-5"}]}}`, "join -5 0xabc"},
		"a reply to what asked nothing": {"thanks", `{"reply_to_message":{"from":{"id":99}}}`, "start"},
	} {
		for _, kind := range []string{"private", "group"} {
			m := in(t, kind, 0, tt.text, tt.members)
			want := tt.want
			if kind == "group" && name != "an answer to a question" {
				want = ""
			}
			c, ours := asks(&update{Update: models.Update{Message: m}})
			words := len(strings.Fields(want))
			if c.text != want || ours != (want != "") || ours && c.request.Args.Len() != words-1 {
				t.Errorf("%s, %s: got %q, %+v", name, kind, c.text, c.request)
			}
		}
	}
}

func TestParseFollowsDeepLinks(t *testing.T) {
	for text, want := range map[string]string{
		"private /start": "start", "private /start mylogins": "mylogins, private", "private /start exists": "exists, private",
		"private /start staked": "start", "private /start ask-exists": "start", "private /start nonsense": "start", "group /start mylogins": "start",
		"private /start join_-5": "join -5, private", "private /start join": "start", "private /start join_-5_x": "start", "private /start price_-5": "start",
		"group /start join_-5": "start",
	} {
		kind, link, _ := strings.Cut(text, " ")
		c, _ := asks(&update{Update: models.Update{Message: in(t, kind, 6, link, "")}})
		got := strings.TrimSpace(c.request.Command + " " + c.request.Args.First())
		if c.private {
			got += ", private"
		}
		check(t, text, got, want)
	}
}

// Anybody can hide a link behind harmless words, and /forget cannot be undone.
func TestNoLinkRunsForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, h := product(t)
		r.serve(platformtest.Routed{Router: h})
		for _, m := range []faketelegram.Message{inPrivate(ann, "/start"), inPrivate(ann, "/start forget"), inGroup(ann+1, "/forget")} {
			r.give(m)
		}
		sent := r.sent(3)
		check(t, "shown by the link", sent[1].Text, sent[0].Text)
		check(t, "link for a stranger", sent[2].Markup.Rows[0][0].URL, deepLink(faketelegram.Username, "start"))
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"update_id":1,"message":{"message_id":1,"chat":{"id":-1,"type":"group"},"from":{"id":2},"text":"/exists 😀 Ann","entities":[{"type":"bot_command","offset":0,"length":7},{"type":"text_mention","offset":11,"length":3,"user":{"id":3}}]}}`))
	f.Add([]byte(`{"update_id":1,"message":{"text":"/a","chat":{"type":"private"},"from":{},"entities":[{"type":"bot_command","length":9}]}}`))
	f.Add([]byte(`{"update_id":1,"message":{"message_id":1,"chat":{"id":-1,"type":"group"},"from":{"id":2},"caption":"@OurBot /price","caption_entities":[{"type":"mention","length":7},{"type":"bot_command","offset":8,"length":6}]}}`))
	f.Add([]byte(`{"update_id":1,"message":{"message_id":1,"chat":{"id":-1,"type":"supergroup","is_direct_messages":true},"direct_messages_topic":{"topic_id":5},"from":{"id":2},"text":"/price","entities":[{"type":"bot_command","length":6}]}}`))
	f.Add([]byte(`{"update_id":9223372036854775807,"message":[]}`))
	f.Add([]byte(`{"update_id":1,"callback_query":{"id":"1","from":{"id":2},"data":"1 e 0 mylogins 2","message":{"message_id":1,"date":0,"chat":{"id":-1,"type":"group"}}}}`))
	f.Add([]byte(`{"update_id":1,"callback_query":{"data":"1 n zz price"}}`))
	f.Add([]byte(`{"update_id":1,"message":{"message_id":2,"chat":{"id":-1,"type":"group"},"from":{"id":2},"text":"0x1","reply_to_message":{"from":{"id":99},"entities":[{"type":"text_link","length":1,"url":"https://t.me/OurBot?start=ask-staked"}]}}}`))
	f.Add([]byte(`{"update_id":1,"message":{"reply_to_message":{"reply_to_message":{}}}}`))
	f.Add([]byte(`{"update_id":1,"message":{"message_id":0,"ephemeral_message_id":7,"chat":{"id":-1,"type":"group"},"from":{"id":2},"text":"/price","entities":[{"type":"bot_command","length":6}]}}`))
	f.Add([]byte(`{"update_id":1,"callback_query":{"id":"1","from":{"id":2},"data":"1 e 0 mylogins 2","message":{"message_id":0,"ephemeral_message_id":8,"date":1,"chat":{"id":-1,"type":"group"}}}}`))
	f.Add([]byte(`{"update_id":1,"my_chat_member":{"chat":{"id":-5,"type":"group"},"old_chat_member":{"status":"left"},"new_chat_member":{"status":"restricted","is_member":true,"can_send_messages":true}}}`))
	f.Add([]byte(`{"update_id":1,"inline_query":{"id":"1","from":{"id":2},"query":"staked 0x52908400098527886E0F7030069857D2E4169EE7","offset":""}}`))
	a := &Adapter{Config: Config{Count: func(string) {}}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, answerable := a.read(raw)
		if !answerable {
			return
		}
		if u.InlineQuery != nil {
			for _, req := range parseInline(u.InlineQuery.Query, testCommands) {
				if asked, known := testCommands.Find(req.Command); !known || asked.Visibility != chat.Public {
					t.Errorf("an inline query asks %+v", req)
				}
			}
		}
		c, ours := asks(u)
		if !ours {
			return
		}
		m := u.message()
		asked, _ := testCommands.Find(c.request.Command)
		ephemeral := c.ephemeral.Arrived()
		if c.private != (asked.Visibility == chat.Private || ephemeral) || ephemeral && m.EphemeralMessageID <= 0 {
			t.Errorf("not as private as its command: %+v", c)
		}
		if u.Press == nil && m.SenderChat != nil && c.request.From.ID != "" {
			t.Errorf("an anonymous sender has an ID: %+v", c.request.From)
		}
		if c.request.From.ID != "" && c.request.Community != "" && c.request.Role != chat.UnknownRole {
			t.Errorf("a sender has a role that nobody asked for: %+v", c.request)
		}
	})
}

// product runs the product's commands in a World, two minutes after its noon. It
// is called in a bubble.
func product(t *testing.T) (*adapterTest, *commandstest.Answers, *router.Router) {
	t.Helper()
	time.Sleep(time.Until(commandstest.Noon.Add(2 * time.Minute)))
	w := commandstest.Healthy()
	for i := range 30 {
		w.Logins = append(w.Logins, core.Login{Dapp: fmt.Sprint("Dapp ", i), Platform: "EVM", At: commandstest.Noon})
	}
	return setUp(t), w, w.Router(t)
}

// Only a message of this bot with the hidden link is a question.
func TestParseTrustsOnlyThisBotsQuestions(t *testing.T) {
	const link = `"entities":[{"type":"text_link","offset":0,"length":1,"url":"https://t.me/OurBot?start=ask-staked"}]`
	const us = `"from":{"id":99,"is_bot":true}`
	for name, tt := range map[string]struct {
		replyTo, members, text string
		want                   string
	}{
		"a question":                     {us + `,` + link, "", "0x1 b", "staked 0x1 b"},
		"politeness around it":           {us + `,` + link, "", "check 0x1 please", "staked check 0x1 please"},
		"thanks":                         {us + `,` + link, "", "thanks", ""},
		"a sentence":                     {us + `,` + link, "", "up 100x, thanks!", ""},
		"a question under an old name":   {us + `,` + strings.Replace(link, "OurBot", "OldBot", 1), "", "0x1 b", "staked 0x1 b"},
		"with a link out of Telegram":    {us + `,` + strings.Replace(link, "t.me", "example.org", 1), "", "0x1", ""},
		"by somebody else":               {`"from":{"id":5},` + link, "", "0x1", ""},
		"with a link that asks nothing":  {us + `,` + strings.Replace(link, "ask-staked", "staked", 1), "", "0x1", ""},
		"for an unknown command":         {us + `,` + strings.Replace(link, "ask-staked", "ask-moon", 1), "", "0x1", ""},
		"a forward in reply":             {us + `,` + link, `,"forward_origin":{"type":"user"}`, "0x1", ""},
		"a command in reply":             {us + `,` + link, `,"entities":[{"type":"bot_command","offset":0,"length":6}]`, "/price", "price"},
		"another bot's command in reply": {us + `,` + link, `,"entities":[{"type":"bot_command","offset":0,"length":15}]`, "/price@OtherBot", ""},
	} {
		m := in(t, "group", 6, tt.text, `{"entities":[],"reply_to_message":{"message_id":3,`+tt.replyTo+`}`+tt.members+`}`)
		c, ours := asks(&update{Update: models.Update{Message: m}})
		if ours != (tt.want != "") || c.text != tt.want {
			t.Errorf("%s: got %q, %v; want %q", name, c.text, ours, tt.want)
		}
		if ours && (c.request.Target != nil || c.private) {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

// In a group, a wrong wallet is not asked for again, and only what is like one is taken for
// an answer to the question. In private, everything is answered.
func TestWrongArgumentIsAskedAgainOnlyInPrivate(t *testing.T) {
	const wrong, right = "0x12", commandstest.Wallet + " please"
	inBubble(t, map[string]struct {
		where faketelegram.Chat
		want  []string // what each reply brings, "" is nothing; with "?" it asks again
	}{
		"in a group": {faketelegram.Group(group), []string{"", "Check the wallet address", "Staking"}},
		"in private": {faketelegram.Private(ann), []string{"?Check the wallet address", "?Check the wallet address", "Staking"}},
	}, func(t *testing.T, tt struct {
		where faketelegram.Chat
		want  []string
	}) {
		r, _, h := product(t)
		r.serve(platformtest.Routed{Router: h})
		r.give(writes(tt.where, ann, "/staked"))
		question := r.sent(1)[0]
		for i, text := range []string{"thanks", wrong, right} {
			before := len(r.api.Sent())
			r.give(writes(tt.where, ann, text).ReplyingTo(question))
			after := r.api.Sent()[before:]
			want, asks := strings.CutPrefix(tt.want[i], "?")
			if len(after) != min(len(want), 1) || want != "" && (!strings.Contains(after[0].Text, want) || after[0].Markup.ForceReply != asks) {
				t.Errorf("%q brings %+v, want %q", text, after, tt.want[i])
			}
		}
		time.Sleep(questionLasts)
		if gone := r.api.Sent()[0].Deleted; gone != (tt.where.ID < 0) {
			t.Errorf("the question is gone after two minutes: %t", gone)
		}
	})
}

func TestPlaceholderIsShortened(t *testing.T) {
	r := &chat.Reply{Title: chat.Say("x"), Ask: &chat.Ask{Command: "staked", Question: chat.Say(strings.Repeat("é", 100))}}
	want := models.ForceReply{ForceReply: true, Selective: true, InputFieldPlaceholder: strings.Repeat("é", maxPlaceholder-1) + "…"}
	if got := shown(r).Markup; *got.(*models.ForceReply) != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
