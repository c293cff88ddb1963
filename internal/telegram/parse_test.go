package telegram

import (
	"encoding/json"
	"reflect"
	"testing"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/telegram/botapi"
)

var testCommands = (&chattest.Handler{}).Commands()

var testMe = botapi.User{ID: 99, Username: "OurBot"}

// in makes a message of a group from JSON members, with a command of n units.
func in(t *testing.T, kind string, n int, text string, members string) *message {
	t.Helper()
	raw, _ := json.Marshal(map[string]any{
		"message_id": 7, "text": text, "from": map[string]any{"id": 5},
		"chat":     map[string]any{"id": -100, "type": kind},
		"entities": []entity{{Type: "bot_command", Offset: 0, Length: n}},
	})
	m := &message{}
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

func TestParseKnowsWhoseCommandItIs(t *testing.T) {
	tests := []struct {
		name    string
		kind    string
		n       int
		text    string
		members string
		want    string // the command, "" is not ours
	}{
		{"plain", "group", 6, "/price", "", "price"},
		{"any case", "supergroup", 6, "/Price", "", "price"},
		{"addressed to us", "group", 13, "/price@OurBot", "", "price"},
		{"addressed to us in another case", "group", 13, "/PRICE@ourbot", "", "price"},
		{"addressed to another bot", "group", 15, "/price@OtherBot", "", ""},
		{"addressed to another bot in private", "private", 15, "/price@OtherBot", "", ""},
		{"unknown in a group", "group", 4, "/foo", "", ""},
		{"unknown addressed to us", "group", 11, "/foo@OurBot", "", ""},
		{"unknown in private", "private", 4, "/foo", "", "foo"},
		{"in a channel", "channel", 6, "/price", "", ""},
		{"by a bot", "group", 6, "/price", `{"from":{"id":5,"is_bot":true}}`, ""},
		{"forwarded", "group", 6, "/price", `{"forward_origin":{"type":"of a new kind"}}`, ""},
		{"via another bot", "group", 6, "/price", `{"via_bot":{"id":1}}`, ""},
		{"without an entity", "group", 6, "/price", `{"entities":[]}`, ""},
		{"not at the beginning", "group", 6, "hi /price", `{"entities":[{"type":"bot_command","offset":3,"length":6}]}`, ""},
		{"a forged length", "group", 600, "/price", "", ""},
		{"a negative length", "group", -1, "/price", "", ""},
		{"a length that overflows", "group", 9223372036854775807, "/price", "", ""},
		{"an entity over no slash", "group", 5, "price", "", ""},
		{"an entity and no text", "group", 6, "", "", ""},
		{"nobody sent it", "group", 6, "/price", `{"from":null}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, ours := parse(in(t, tt.kind, tt.n, tt.text, tt.members), testMe, testCommands)
			if ours != (tt.want != "") || c.request.Command != tt.want {
				t.Errorf("got %q, %v; want %q", c.request.Command, ours, tt.want)
			}
		})
	}
}

func TestParseFindsArgumentsAndPeople(t *testing.T) {
	id := func(s string) *chat.User { return &chat.User{Platform: Platform, ID: s} }
	tests := []struct {
		name    string
		text    string
		members string
		words   []string
		target  *chat.User
		named   string
	}{
		{"words", "/exists  a\n b", "", []string{"a", "b"}, nil, ""},
		{"a username stays a word", "/exists @ann", "", []string{"@ann"}, nil, ""},
		{"a mention without username", "/exists 😀 Ann B x",
			`{"entities":[{"type":"bot_command","offset":0,"length":7},{"type":"text_mention","offset":11,"length":5,"user":{"id":8}}]}`,
			[]string{"😀", "x"}, id("8"), ""},
		{"a forged mention", "/exists Ann",
			`{"entities":[{"type":"bot_command","offset":0,"length":7},{"type":"text_mention","offset":9,"length":9223372036854775807,"user":{"id":8}}]}`,
			[]string{"Ann"}, nil, ""},
		{"a mention inside the command", "/exists Ann",
			`{"entities":[{"type":"bot_command","offset":0,"length":7},{"type":"text_mention","offset":2,"length":3,"user":{"id":8}}]}`,
			[]string{"Ann"}, nil, ""},
		{"a reply", "/exists", `{"reply_to_message":{"message_id":3,"from":{"id":8}}}`, nil, id("8"), ""},
		{"a reply to somebody with a name", "/exists", `{"reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob","last_name":"B."}}}`, nil, id("8"), "Bob B."},
		{"a reply to somebody with one name", "/exists", `{"reply_to_message":{"message_id":3,"from":{"id":8,"first_name":"Bob"}}}`, nil, id("8"), "Bob"},
		{"a mention of somebody with a name", "/exists 😀 Ann B x",
			`{"entities":[{"type":"bot_command","offset":0,"length":7},{"type":"text_mention","offset":11,"length":5,"user":{"id":8,"first_name":"Ann","last_name":"B"}}]}`,
			[]string{"😀", "x"}, id("8"), "Ann B"},
		{"a reply to us", "/exists", `{"reply_to_message":{"message_id":3,"from":{"id":99,"is_bot":true,"first_name":"Herald"}}}`, nil, nil, ""},
		{"a reply to an anonymous administrator", "/exists",
			`{"reply_to_message":{"message_id":3,"from":{"id":1087968824,"first_name":"Group"},"sender_chat":{"id":-100}}}`, nil, id(""), ""},
		{"a topic's first message", "/exists", `{"is_topic_message":true,"message_thread_id":3,"reply_to_message":{"message_id":3,"from":{"id":8}}}`, nil, nil, ""},
		{"a topic's service message", "/exists", `{"reply_to_message":{"message_id":3,"from":{"id":8},"forum_topic_created":{}}}`, nil, nil, ""},
		{"a reply within a topic", "/exists", `{"is_topic_message":true,"message_thread_id":3,"reply_to_message":{"message_id":4,"from":{"id":8}}}`, nil, id("8"), ""},
		{"a message of another chat", "/exists", `{"external_reply":{"origin":{"type":"user","sender_user":{"id":8}}}}`, nil, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, ours := parse(in(t, "group", 7, tt.text, tt.members), testMe, testCommands)
			if !ours {
				t.Fatal("not taken")
			}
			if want := chat.Typed(tt.words...); c.request.Args.Len() != want.Len() || want.Len() > 0 && !reflect.DeepEqual(c.request.Args, want) {
				t.Errorf("arguments %+v, want %+v", c.request.Args, want)
			}
			if !reflect.DeepEqual(c.request.Target, tt.target) {
				t.Errorf("target %v, want %v", c.request.Target, tt.target)
			}
			if c.request.TargetName != tt.named {
				t.Errorf("their name is %q, want %q", c.request.TargetName, tt.named)
			}
		})
	}
}

func TestParseKnowsSenderAndDestination(t *testing.T) {
	tests := []struct {
		name, members string
		from          string
		role          chat.Role
		thread        int64
	}{
		{"a member", "", "5", chat.UnknownRole, 0},
		{"an anonymous administrator", `{"from":{"id":1087968824,"is_bot":true},"sender_chat":{"id":-100}}`, "", chat.Moderator, 0},
		{"somebody as their channel", `{"from":{"id":136817688,"is_bot":true},"sender_chat":{"id":-200}}`, "", chat.Member, 0},
		{"in a topic", `{"is_topic_message":true,"message_thread_id":44}`, "5", chat.UnknownRole, 44},
		{"in a thread of replies", `{"message_thread_id":44}`, "5", chat.UnknownRole, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, ours := parse(in(t, "supergroup", 6, "/price", tt.members), testMe, testCommands)
			if !ours || c.request.From != (chat.User{Platform: Platform, ID: tt.from}) || c.request.Role != tt.role || c.request.Community != "-100" {
				t.Errorf("got %+v, %v", c, ours)
			}
			if want := (destination{chat: -100, group: true, thread: tt.thread, replyTo: 7}); c.asked != want {
				t.Errorf("destination %+v, want %+v", c.asked, want)
			}
		})
	}
}

func TestParseKnowsTheLanguageAndTheChat(t *testing.T) {
	c, ours := parse(in(t, "supergroup", 6, "/price", `{"from":{"id":5,"language_code":"pt-br"},"chat":{"id":-100,"type":"supergroup","title":"The *talk*"}}`), testMe, testCommands)
	if !ours || c.request.Locale != "pt-br" || c.request.ChatTitle != "The *talk*" || c.request.Whispers {
		t.Errorf("got %+v, %v", c.request, ours)
	}
	c, ours = parse(in(t, "supergroup", 6, "/price", `{"from":{"id":5,"language_code":"pt-br"},"sender_chat":{"id":-100}}`), testMe, testCommands)
	if !ours || c.request.Locale != "" {
		t.Errorf("an anonymous sender has the language %q", c.request.Locale)
	}
}

func TestNobodyModeratesAPrivateChat(t *testing.T) {
	c, ours := parse(in(t, "private", 6, "/price", ""), testMe, testCommands)
	if !ours || c.request.Community != "" || c.request.Role != chat.Member {
		t.Errorf("got %+v, %v", c.request, ours)
	}
}

func TestParseFollowsDeepLinks(t *testing.T) {
	tests := []struct {
		kind, text, want string
		private          bool
	}{
		{"private", "/start", "start", false},
		{"private", "/start mylogins", "mylogins", true},
		{"private", "/start exists", "exists", true},
		{"private", "/start staked", "start", false},
		{"private", "/start ask-exists", "start", false},
		{"private", "/start nonsense", "start", false},
		{"group", "/start mylogins", "start", false},
	}
	for _, tt := range tests {
		c, ours := parse(in(t, tt.kind, 6, tt.text, ""), testMe, testCommands)
		if !ours || c.request.Command != tt.want || c.private != tt.private || c.request.Args.Len() != 0 {
			t.Errorf("%s %q: got %+v", tt.kind, tt.text, c)
		}
	}
}

func TestAnUpdateOfAnotherFormKeepsItsNumberAlone(t *testing.T) {
	for _, raw := range []string{
		`{"update_id":5,"message":[]}`,
		`{"message":{"message_id":"seven","text":"/price"},"update_id":5}`,
		`{"update_id":5,"message":{"chat":7,"text":"/price"}}`,
		`{"update_id":5,"callback_query":{"id":"1","data":7}}`,
	} {
		if u, err := decode([]byte(raw)); err == nil || u.ID != 5 || u.answerable() {
			t.Errorf("%s: got %+v, %v", raw, u, err)
		}
	}
	if u, err := decode([]byte(`{"update_id":5,"mess`)); err == nil || u.ID != 0 {
		t.Errorf("half an update: got %+v, %v", u, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"update_id":1,"message":{"message_id":1,"chat":{"id":-1,"type":"group"},"from":{"id":2},"text":"/exists 😀 Ann","entities":[{"type":"bot_command","offset":0,"length":7},{"type":"text_mention","offset":11,"length":3,"user":{"id":3}}]}}`))
	f.Add([]byte(`{"update_id":1,"message":{"text":"/a","chat":{"type":"private"},"from":{},"entities":[{"type":"bot_command","length":9}]}}`))
	f.Add([]byte(`{"update_id":9223372036854775807,"message":[]}`))
	f.Add([]byte(`{"update_id":1,"callback_query":{"id":"1","from":{"id":2},"data":"1 e 0 mylogins 2","message":{"message_id":1,"date":0,"chat":{"id":-1,"type":"group"}}}}`))
	f.Add([]byte(`{"update_id":1,"callback_query":{"data":"1 n zz price"}}`))
	f.Add([]byte(`{"update_id":1,"message":{"message_id":2,"chat":{"id":-1,"type":"group"},"from":{"id":2},"text":"0x1","reply_to_message":{"from":{"id":99},"entities":[{"type":"text_link","length":1,"url":"https://t.me/OurBot?start=ask-staked"}]}}}`))
	f.Add([]byte(`{"update_id":1,"message":{"reply_to_message":{"reply_to_message":{}}}}`))
	f.Add([]byte(`{"update_id":1,"message":{"message_id":0,"ephemeral_message_id":7,"chat":{"id":-1,"type":"group"},"from":{"id":2},"text":"/price","entities":[{"type":"bot_command","length":6}]}}`))
	f.Add([]byte(`{"update_id":1,"callback_query":{"id":"1","from":{"id":2},"data":"1 e 0 mylogins 2","message":{"message_id":0,"ephemeral_message_id":8,"date":1,"chat":{"id":-1,"type":"group"}}}}`))
	f.Add([]byte(`{"update_id":1,"inline_query":{"id":"1","from":{"id":2},"query":"staked 0x52908400098527886E0F7030069857D2E4169EE7","offset":""}}`))
	// private is whether the answer to a command is for its asker alone.
	private := func(c commandMessage) bool {
		asked, _ := testCommands.Find(c.request.Command)
		return asked.Visibility == chat.Private || c.ephemeral.arrived()
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, err := decode(raw)
		if err != nil {
			return
		}
		if u.Press != nil {
			p, err := parsePress(u.Press, testCommands)
			if err == nil && p.private != private(p.commandMessage) {
				t.Errorf("not as private as its command: %+v", p)
			}
			if p.ephemeral.arrived() && u.Press.Message.EphemeralID <= 0 {
				t.Errorf("ephemeral out of nothing: %+v", p)
			}
		}
		if u.Inline != nil {
			for _, req := range parseInline(u.Inline.Query, testCommands) {
				if asked, known := testCommands.Find(req.Command); !known || asked.Visibility != chat.Public {
					t.Errorf("an inline query asks %+v", req)
				}
			}
		}
		if u.Message == nil {
			return
		}
		c, ours := parse(u.Message, testMe, testCommands)
		if !ours {
			return
		}
		if c.private != private(c) {
			t.Errorf("not as private as its command: %+v", c)
		}
		if c.ephemeral.arrived() && u.Message.EphemeralID <= 0 {
			t.Errorf("ephemeral out of nothing: %+v", c)
		}
		if u.Message.SenderChat != nil && c.request.From.ID != "" {
			t.Errorf("an anonymous sender has an ID: %+v", c.request.From)
		}
	})
}

func TestAnUpdatesIDIsReadWhereverItStands(t *testing.T) {
	for raw, want := range map[string]int64{
		`{"update_id":1234567890,"message":{}}`:                 1234567890,
		`{"update_id":7}`:                                       7,
		`{ "update_id" : 8, "message":{}}`:                      8,
		`{"message":{"text":"\"update_id\":1"},"update_id":9}`:  9,
		`{"update_id":10,"message":[]}`:                         10,
		`{"update_id":"11","message":{}}`:                       0,
		`{"update_id":1.5,"message":{}}`:                        0,
		`{"update_id":99999999999999999999999999,"message":{}}`: 0,
		`{"message":{}}`:                                        0,
		`7`:                                                     0,
		``:                                                      0,
	} {
		if got := updateID([]byte(raw)); got != want {
			t.Errorf("%s: %d, want %d", raw, got, want)
		}
	}
}
