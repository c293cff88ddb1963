package chat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

type freely struct{}

func (freely) Allow(context.Context, string) time.Duration { return 0 }

type never struct{}

func (never) Allow(context.Context, string) time.Duration { return 1500 * time.Millisecond }

// newRouter routes to one command of the given forms, which echoes what was
// bound, and to whatever else a test adds.
func newRouter(t *testing.T, log *bytes.Buffer, change func(*chat.Config)) *chat.Router {
	t.Helper()
	person := chat.Param{Name: "user", Summary: "who", Example: "123", Kind: chat.Person}
	place := chat.Param{Name: "platform", Summary: "where", Example: "EVM", Choices: []string{"EVM", "TON"}}
	uid := chat.Param{Name: "uid", Summary: "id", Example: "0xabc"}
	c := chat.Config{
		Commands: []chat.Command{{
			Name: "exists", Summary: "exists", Visibility: chat.Private,
			Forms: []chat.Form{{}, {Params: []chat.Param{person}, Moderators: true}, {Params: []chat.Param{place, uid}, Moderators: true}},
			Run: func(_ context.Context, req chat.Request) (chat.Reply, error) {
				target := "nobody"
				if req.Target != nil {
					target = req.Target.ID
				}
				return chat.Reply{Title: "ran", Text: fmt.Sprintf("args %v target %s", req.Args, target)}, nil
			},
		}},
		Operators: []chat.User{{Platform: "telegram", ID: "9"}},
		Timeout:   time.Second,
		UserLimit: freely{}, ChatLimit: freely{},
		Explain: func(error) string { return "explained" },
		Log:     slog.New(slog.NewTextHandler(log, nil)),
	}
	if change != nil {
		change(&c)
	}
	r, err := chat.NewRouter(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	ann       = chat.User{Platform: "telegram", ID: "1"}
	bob       = chat.User{Platform: "telegram", ID: "2"}
	operator  = chat.User{Platform: "telegram", ID: "9"}
	nobody    = chat.User{Platform: "telegram"}
	moderator = func(context.Context) (bool, error) { return true, nil }
	member    = func(context.Context) (bool, error) { return false, nil }
)

func TestRouterBindsArgumentsAndHoldsRights(t *testing.T) {
	for name, test := range map[string]struct {
		req  chat.Request
		want string
	}{
		"self":                            {chat.Request{From: ann}, "args map[] target nobody"},
		"a member may not ask of others":  {chat.Request{From: ann, Words: []string{"2"}, Moderator: member}, "Only moderators"},
		"nor where rights are not known":  {chat.Request{From: ann, Words: []string{"2"}}, "Only moderators"},
		"nor by a reply":                  {chat.Request{From: ann, Target: &bob, Moderator: member}, "Only moderators"},
		"nor by named arguments":          {chat.Request{From: ann, Args: map[string]string{"platform": "EVM", "uid": "x"}}, "Only moderators"},
		"a moderator may, by ID":          {chat.Request{From: ann, Words: []string{"2"}, Moderator: moderator}, "args map[user:2] target nobody"},
		"a moderator may, by a reply":     {chat.Request{From: ann, Target: &bob, Moderator: moderator}, "args map[] target 2"},
		"a picked user":                   {chat.Request{From: ann, Args: map[string]string{}, Target: &bob, Moderator: moderator}, "args map[] target 2"},
		"choices in any case":             {chat.Request{From: ann, Words: []string{"evm", "0x1"}, Moderator: moderator}, "args map[platform:EVM uid:0x1] target nobody"},
		"unknown choice":                  {chat.Request{From: ann, Words: []string{"moon", "0x1"}, Moderator: moderator}, "must be one of: EVM, TON"},
		"a reply does not hide arguments": {chat.Request{From: ann, Target: &bob, Words: []string{"evm", "0x1"}, Moderator: moderator}, "args map[platform:EVM uid:0x1] target 2"},
		"a picked user and a platform":    {chat.Request{From: ann, Args: map[string]string{"platform": "EVM", "uid": "1"}, Target: &bob, Moderator: moderator}, "do not fit together"},
		"half of a form":                  {chat.Request{From: ann, Args: map[string]string{"platform": "EVM"}, Moderator: moderator}, "do not fit together"},
		"too many":                        {chat.Request{From: ann, Words: []string{"1", "2", "3"}}, "too much"},
		"a reply to oneself is oneself":   {chat.Request{From: ann, Target: &ann}, "args map[] target nobody"},
		"two who are anonymous differ":    {chat.Request{From: nobody, Target: &chat.User{Platform: "telegram"}, Moderator: member}, "Only moderators"},
		"an operator needs no rights":     {chat.Request{From: operator, Words: []string{"2"}}, "args map[user:2] target nobody"},
		"the same ID elsewhere is nobody": {chat.Request{From: chat.User{Platform: "discord", ID: "9"}, Words: []string{"2"}}, "Only moderators"},
		"rights that cannot be asked": {chat.Request{From: ann, Words: []string{"2"}, Moderator: func(context.Context) (bool, error) {
			return false, errors.New("down")
		}}, "whether you moderate this chat"},
	} {
		t.Run(name, func(t *testing.T) {
			test.req.Command = "exists"
			got := newRouter(t, new(bytes.Buffer), nil).Handle(t.Context(), test.req)
			if !strings.Contains(got.Text, test.want) {
				t.Errorf("got %+v, want %q", got, test.want)
			}
		})
	}
}

func TestBadInputIsAnsweredWithTheFormAndAnExample(t *testing.T) {
	got := newRouter(t, new(bytes.Buffer), nil).Handle(t.Context(),
		chat.Request{Command: "exists", From: ann, Words: []string{"moon", "\x1b[31msecret"}, Moderator: moderator})
	all := fmt.Sprint(got)
	if !strings.Contains(all, "/exists <platform> <uid>") || !strings.Contains(all, "/exists EVM 0xabc") {
		t.Errorf("no usage or no example in %v", got)
	}
	if strings.Contains(all, "secret") || strings.Contains(all, "moon") {
		t.Errorf("the input is repeated in %v", got)
	}
}

func TestPanicOfACommandReachesItsAskerAsAReferenceAndTheLogAsALine(t *testing.T) {
	var log bytes.Buffer
	r := newRouter(t, &log, func(c *chat.Config) {
		c.Commands[0].Run = func(context.Context, chat.Request) (chat.Reply, error) { panic("boom") }
	})
	got := r.Handle(t.Context(), chat.Request{ID: "REF", Command: "exists", From: ann})
	if !strings.Contains(got.Text, "REF") || strings.Contains(fmt.Sprint(got), "boom") {
		t.Errorf("the asker got %+v", got)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "router_test.go") {
		t.Errorf("%d log lines: %s", lines, log.String())
	}
}

func TestCommandThatTakesTooLongIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRouter(t, new(bytes.Buffer), func(c *chat.Config) {
			c.Commands[0].Run = func(ctx context.Context, _ chat.Request) (chat.Reply, error) {
				<-ctx.Done()
				return chat.Reply{}, ctx.Err()
			}
		})
		start := time.Now()
		got := r.Handle(t.Context(), chat.Request{Command: "exists", From: ann})
		if took := time.Since(start); took != time.Second || got.Title != "Could not be checked" {
			t.Errorf("%+v after %v", got, took)
		}
	})
}

func TestRateLimitsAreTold(t *testing.T) {
	for name, change := range map[string]func(*chat.Config){
		"user": func(c *chat.Config) { c.UserLimit = never{} },
		"chat": func(c *chat.Config) { c.ChatLimit = never{} },
	} {
		got := newRouter(t, new(bytes.Buffer), change).Handle(t.Context(), chat.Request{Command: "exists", From: ann})
		if got.Title != "Too many commands" || !strings.Contains(got.Text, "2 s") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	anonymous := newRouter(t, new(bytes.Buffer), func(c *chat.Config) { c.UserLimit = never{} })
	if got := anonymous.Handle(t.Context(), chat.Request{Command: "exists", From: nobody}); got.Title != "ran" {
		t.Errorf("anonymous senders share one user's limit: %+v", got)
	}
}

func TestLogLineNamesNeitherTheUserNorWhatTheyTyped(t *testing.T) {
	var log bytes.Buffer
	r := newRouter(t, &log, nil)
	r.Handle(t.Context(), chat.Request{ID: "REF", Command: "exists", From: chat.User{Platform: "telegram", ID: "4815162342"},
		Words: []string{"EVM", "0x108"}, Chat: "231642", Moderator: moderator})
	r.Handle(t.Context(), chat.Request{Command: "typo-of-a-secret", From: ann})
	for _, private := range []string{"4815162342", "0x108", "231642", "typo-of-a-secret"} {
		if strings.Contains(log.String(), private) {
			t.Errorf("%q is in the log: %s", private, log.String())
		}
	}
	if !strings.Contains(log.String(), "REF") || !strings.Contains(log.String(), "outcome=ok") {
		t.Errorf("no reference or outcome in %s", log.String())
	}
}

func TestTableWithAMistakeIsRefused(t *testing.T) {
	run := func(context.Context, chat.Request) (chat.Reply, error) { return chat.Reply{}, nil }
	good := chat.Command{Name: "a", Summary: "s", Visibility: chat.Public, Forms: []chat.Form{{}}, Run: run}
	for name, change := range map[string]func(*chat.Command){
		"no visibility":      func(c *chat.Command) { c.Visibility = 0 },
		"a name in capitals": func(c *chat.Command) { c.Name = "Price" },
		"no summary":         func(c *chat.Command) { c.Summary = "" },
		"a long summary":     func(c *chat.Command) { c.Summary = strings.Repeat("x", 101) },
		"no form":            func(c *chat.Command) { c.Forms = nil },
		"no function":        func(c *chat.Command) { c.Run = nil },
		"an alias taken":     func(c *chat.Command) { c.Aliases = []string{"b"} },
	} {
		bad, other := good, good
		other.Name = "b"
		change(&bad)
		if _, err := chat.NewRouter(chat.Config{Commands: []chat.Command{other, bad}}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestForeignTextIsOneHarmlessLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain name":            "plain name",
		"@everyone":             "@\u2060everyone",
		"https://evil.example":  "https:\u2060//evil.example",
		"a\nb\tc":               "a b c",
		"\u202egnp.exe\x1b[0m":  "gnp.exe[0m",
		"bad \xff utf8":         "bad utf8",
		"**b** <i>&amp; [x](y)": "**b** <i>&amp; [x](y)",
		"":                      "",
	} {
		if got := chat.Foreign(in, 40); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := chat.Foreign(strings.Repeat("é", 5000), 20); len([]rune(got)) != 20 || !strings.HasSuffix(got, "…") {
		t.Errorf("5000 characters became %q, want 20 and an ellipsis", got)
	}
}

func TestCleanReachesEveryStringOfAReply(t *testing.T) {
	dirty := chat.Reply{Tone: chat.Warning, Title: "t\x00", Text: "t\u202e",
		Sections: []chat.Section{{Heading: "h\n", Fields: []chat.Field{{Name: "n\r", Value: "v\x1b"}}}}, Notes: []string{"n\u2066"}}
	want := chat.Reply{Tone: chat.Warning, Title: "t", Text: "t",
		Sections: []chat.Section{{Heading: "h", Fields: []chat.Field{{Name: "n", Value: "v"}}}}, Notes: []string{"n"}}
	if got := dirty.Clean(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}
