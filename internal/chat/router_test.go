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

// role is what a platform knows of ann's.
func role(_ context.Context, user chat.User, where string) (chat.Role, error) {
	switch {
	case where == "down":
		return chat.Member, errors.New("down")
	case where == "in doubt":
		return chat.UnknownRole, nil
	case where == "where ann moderates" && user == ann:
		return chat.Moderator, nil
	}
	return chat.Member, nil
}

// newRouter routes to one command of the given forms, which echoes what was
// bound, and to whatever else a test adds.
func newRouter(t *testing.T, log *bytes.Buffer, change func(*chat.Config)) *chat.Router {
	t.Helper()
	person := chat.Param{Name: "user", Summary: "who", Example: "123", Kind: chat.Person}
	place := chat.Param{Name: "platform", Summary: "where", Example: "EVM", Choices: []string{"EVM", "TON"}}
	uid := chat.Param{Name: "uid", Summary: "id", Example: "0xabc"}
	run := func(form string) func(context.Context, chat.Request) (chat.Reply, error) {
		return func(_ context.Context, req chat.Request) (chat.Reply, error) {
			target := "nobody"
			if req.Target != nil {
				target = req.Target.ID
			}
			return chat.Reply{Title: "ran", Text: fmt.Sprintf("%s: platform %q uid %q target %s",
				form, req.Args.Value("platform"), req.Args.Value("uid"), target)}, nil
		}
	}
	c := chat.Config{
		Commands: chat.Commands{{
			Name: "exists", Summary: "exists", Visibility: chat.Private,
			Forms: []chat.Form{
				{Run: run("self")},
				{Params: []chat.Param{person}, Moderators: true, Run: run("user")},
				{Params: []chat.Param{place, uid}, Moderators: true, Run: run("uid")},
			},
		}},
		Operators:      []chat.User{{Platform: "telegram", ID: "9"}},
		ModeratorChats: []string{"telegram:listed", "telegram:where ann moderates", "telegram:in doubt", "telegram:down"},
		Roles:          map[chat.Platform]func(context.Context, chat.User, string) (chat.Role, error){"telegram": role},
		Timeout:        time.Second,
		UserLimit:      freely{}, ChatLimit: freely{}, RefusalLimit: freely{},
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
	ann      = chat.User{Platform: "telegram", ID: "1"}
	bob      = chat.User{Platform: "telegram", ID: "2"}
	operator = chat.User{Platform: "telegram", ID: "9"}
	nobody   = chat.User{Platform: "telegram"}
)

func TestRouterBindsArgumentsAndHoldsRights(t *testing.T) {
	for name, test := range map[string]struct {
		req  chat.Request
		want string
	}{
		"self":                            {chat.Request{From: ann}, `self: platform "" uid "" target nobody`},
		"a member may not ask of others":  {chat.Request{From: ann, Args: chat.Typed("2")}, "Only moderators"},
		"nor by a reply":                  {chat.Request{From: ann, Target: &bob}, "Only moderators"},
		"nor by named arguments":          {chat.Request{From: ann, Args: chat.Named(map[string]string{"platform": "EVM", "uid": "x"})}, "Only moderators"},
		"a moderator may, by ID":          {chat.Request{From: ann, Args: chat.Typed("2"), Role: chat.Moderator, Community: "listed"}, `user: platform "" uid "" target 2`},
		"a moderator may, by a reply":     {chat.Request{From: ann, Target: &bob, Role: chat.Moderator, Community: "listed"}, `user: platform "" uid "" target 2`},
		"a picked user":                   {chat.Request{From: ann, Args: chat.Named(nil), Target: &bob, Role: chat.Moderator, Community: "listed"}, `user: platform "" uid "" target 2`},
		"a named user":                    {chat.Request{From: ann, Args: chat.Named(map[string]string{"user": "2"}), Role: chat.Moderator, Community: "listed"}, `user: platform "" uid "" target 2`},
		"choices in any case":             {chat.Request{From: ann, Args: chat.Typed("evm", "0x1"), Role: chat.Moderator, Community: "listed"}, `uid: platform "EVM" uid "0x1" target nobody`},
		"unknown choice":                  {chat.Request{From: ann, Args: chat.Typed("moon", "0x1"), Role: chat.Moderator, Community: "listed"}, "must be one of: EVM, TON"},
		"a reply does not hide arguments": {chat.Request{From: ann, Target: &bob, Args: chat.Typed("evm", "0x1"), Role: chat.Moderator, Community: "listed"}, `uid: platform "EVM" uid "0x1" target nobody`},
		"a picked user and a platform": {chat.Request{From: ann, Args: chat.Named(map[string]string{"platform": "EVM", "uid": "1"}), Target: &bob, Role: chat.Moderator, Community: "listed"},
			"do not fit together"},
		"half of a form":                  {chat.Request{From: ann, Args: chat.Named(map[string]string{"platform": "EVM"}), Role: chat.Moderator, Community: "listed"}, "do not fit together"},
		"two of another name":             {chat.Request{From: ann, Args: chat.Named(map[string]string{"platform": "EVM", "wallet": "1"}), Role: chat.Moderator, Community: "listed"}, "do not fit together"},
		"too many":                        {chat.Request{From: ann, Args: chat.Typed("1", "2", "3")}, "too much"},
		"a reply to oneself is oneself":   {chat.Request{From: ann, Target: &ann}, "self:"},
		"two who are anonymous differ":    {chat.Request{From: nobody, Target: &chat.User{Platform: "telegram"}}, "Only moderators"},
		"an operator needs no rights":     {chat.Request{From: operator, Args: chat.Typed("2")}, "user:"},
		"the same ID elsewhere is nobody": {chat.Request{From: chat.User{Platform: "discord", ID: "9"}, Args: chat.Typed("2")}, "Only moderators"},
		"a role that the platform knows":  {chat.Request{From: ann, Community: "where ann moderates", Args: chat.Typed("2"), Role: chat.UnknownRole}, "user:"},
		"a role that it does not know":    {chat.Request{From: ann, Community: "in doubt", Args: chat.Typed("2"), Role: chat.UnknownRole}, "Only moderators"},
		"a role that it denies":           {chat.Request{From: ann, Community: "elsewhere", Args: chat.Typed("2"), Role: chat.UnknownRole}, "Only moderators"},
		"a role that cannot be asked":     {chat.Request{From: ann, Community: "down", Args: chat.Typed("2"), Role: chat.UnknownRole}, "whether you moderate this chat"},
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

// TestAModeratorMayAskAboutOthersWhereTheChatIsListed has a moderator by what the
// request shows and by what the platform says.
func TestAModeratorMayAskAboutOthersWhereTheChatIsListed(t *testing.T) {
	const unlisted, mine = "-100777", "where ann moderates"
	moderator := func(community string) chat.Request {
		return chat.Request{From: ann, Community: community, Role: chat.Moderator}
	}
	for name, test := range map[string]struct {
		listed []string
		req    chat.Request
		want   string
	}{
		"none listed":            {nil, moderator(unlisted), "Add telegram:-100777 to MODERATOR_CHATS"},
		"another listed":         {[]string{"telegram:-1007777", "telegram:-10077"}, moderator(unlisted), "Add telegram:-100777 to MODERATOR_CHATS"},
		"another platform's":     {[]string{"discord:-100777"}, moderator(unlisted), "Add telegram:-100777 to MODERATOR_CHATS"},
		"listed":                 {[]string{"telegram:-1", "telegram:-100777"}, moderator(unlisted), "ran"},
		"every chat":             {[]string{chat.EveryChat}, moderator(unlisted), "ran"},
		"a role that was asked":  {nil, chat.Request{From: ann, Community: mine, Role: chat.UnknownRole}, "Add telegram:where ann moderates"},
		"the same, listed":       {[]string{"telegram:" + mine}, chat.Request{From: ann, Community: mine, Role: chat.UnknownRole}, "ran"},
		"the channel is no rank": {[]string{"telegram:-5"}, chat.Request{From: ann, Community: unlisted, Chat: "-5", Role: chat.Moderator}, "Add telegram:-100777"},
		"a member of unlisted":   {nil, chat.Request{From: ann, Community: unlisted}, "Only moderators"},
		"a member, every chat":   {[]string{chat.EveryChat}, chat.Request{From: ann, Community: unlisted}, "Only moderators"},
		"asked, a member":        {nil, chat.Request{From: bob, Community: mine, Role: chat.UnknownRole}, "Only moderators"},
		"asked, in doubt":        {nil, chat.Request{From: ann, Community: "in doubt", Role: chat.UnknownRole}, "Only moderators"},
		"an operator":            {nil, chat.Request{From: operator, Community: unlisted}, "ran"},
		"anonymous, listed":      {[]string{"telegram:-100777"}, chat.Request{From: nobody, Community: unlisted, Role: chat.Moderator}, "ran"},
		"anonymous, unlisted":    {nil, chat.Request{From: nobody, Community: unlisted, Role: chat.Moderator}, "Add telegram:-100777"},
		"one to one":             {nil, chat.Request{From: ann, Direct: true}, "Only moderators"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRouter(t, new(bytes.Buffer), func(c *chat.Config) { c.ModeratorChats = test.listed })
			for _, ask := range []chat.Args{chat.Typed("2"), chat.Typed("EVM", "0x1")} {
				req := test.req
				req.Command, req.Args = "exists", ask
				if got := fmt.Sprint(r.Handle(t.Context(), req)); !strings.Contains(got, test.want) {
					t.Errorf("got %s, want %q", got, test.want)
				}
			}
			req := test.req
			req.Command = "exists"
			if got := r.Handle(t.Context(), req); !strings.HasPrefix(got.Text, "self:") {
				t.Errorf("about themself, the sender got %+v", got)
			}
		})
	}
}

func TestBadInputIsAnsweredWithTheFormAndAnExample(t *testing.T) {
	got := newRouter(t, new(bytes.Buffer), nil).Handle(t.Context(),
		chat.Request{Command: "exists", From: ann, Args: chat.Typed("moon", "\x1b[31msecret")})
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
		c.Commands[0].Forms[0].Run = func(context.Context, chat.Request) (chat.Reply, error) { panic("boom") }
	})
	got := r.Handle(t.Context(), chat.Request{ID: "REF", Command: "exists", From: ann})
	if !strings.Contains(got.Text, "REF") || strings.Contains(fmt.Sprint(got), "boom") {
		t.Errorf("the asker got %+v", got)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "router_test.go") {
		t.Errorf("%d log lines: %s", lines, log.String())
	}
}

func TestAnAnswerThatIsNotWholeIsShownCountedAsPartialAndLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	var outcomes []chat.Outcome
	r := newRouter(t, &log, func(c *chat.Config) {
		c.Observe = func(_ chat.Platform, _ string, outcome chat.Outcome, _ time.Duration) {
			outcomes = append(outcomes, outcome)
		}
		c.Commands[0].Forms[0].Run = func(context.Context, chat.Request) (chat.Reply, error) {
			return chat.Reply{Title: "half"}, fmt.Errorf("wrapped: %w", &chat.PartialError{Err: errors.New("pool 5 is silent")})
		}
	})
	if got := r.Handle(t.Context(), chat.Request{ID: "REF", Command: "exists", From: ann}); got.Title != "half" {
		t.Errorf("the asker got %+v", got)
	}
	if len(outcomes) != 1 || outcomes[0] != chat.Partial {
		t.Errorf("observed %v", outcomes)
	}
	line := log.String()
	if strings.Count(line, "\n") != 1 || !strings.Contains(line, "level=WARN") || !strings.Contains(line, "outcome=partial") ||
		!strings.Contains(line, "pool 5 is silent") {
		t.Errorf("logged %s", line)
	}
}

func TestCommandThatTakesTooLongIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRouter(t, new(bytes.Buffer), func(c *chat.Config) {
			c.Commands[0].Forms[0].Run = func(ctx context.Context, _ chat.Request) (chat.Reply, error) {
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
	unknown := newRouter(t, new(bytes.Buffer), func(c *chat.Config) { c.UserLimit = never{} })
	if got := unknown.Handle(t.Context(), chat.Request{Command: "moon", From: ann}); got.Title != "Too many commands" {
		t.Errorf("an unknown command passes the limit: %+v", got)
	}
	anonymous := newRouter(t, new(bytes.Buffer), func(c *chat.Config) { c.UserLimit = never{} })
	if got := anonymous.Handle(t.Context(), chat.Request{Command: "exists", From: nobody}); got.Title != "ran" {
		t.Errorf("anonymous senders share one user's limit: %+v", got)
	}
}

// once lets each key pass once.
type once map[string]bool

func (o once) Allow(_ context.Context, key string) time.Duration {
	if o[key] {
		return time.Minute
	}
	o[key] = true
	return 0
}

func TestARefusalThatWasSaidBeforeIsMarked(t *testing.T) {
	r := newRouter(t, new(bytes.Buffer), func(c *chat.Config) { c.UserLimit, c.ChatLimit, c.RefusalLimit = never{}, never{}, once{} })
	for i, test := range []struct {
		from           chat.User
		where, command string
		before         bool
	}{
		{ann, "1", "exists", false},
		{ann, "1", "exists", true},
		{ann, "1", "moon", true},
		{ann, "2", "exists", false},
		{bob, "1", "exists", false},
		{nobody, "1", "exists", false},
		{nobody, "1", "exists", true},
		{chat.User{Platform: "discord", ID: ann.ID}, "1", "exists", false},
	} {
		got := r.Handle(t.Context(), chat.Request{Command: test.command, From: test.from, Chat: test.where})
		if got.Title != "Too many commands" || got.SaidBefore != test.before {
			t.Errorf("%d: %+v, want SaidBefore %v", i, got, test.before)
		}
	}
	free := newRouter(t, new(bytes.Buffer), func(c *chat.Config) { c.RefusalLimit = never{} })
	if got := free.Handle(t.Context(), chat.Request{Command: "exists", From: ann}); got.SaidBefore {
		t.Errorf("an answer is SaidBefore: %+v", got)
	}
}

func TestLogLineNamesNeitherTheUserNorWhatTheyTyped(t *testing.T) {
	var log bytes.Buffer
	r := newRouter(t, &log, func(c *chat.Config) { c.ModeratorChats = []string{chat.EveryChat} })
	r.Handle(t.Context(), chat.Request{ID: "REF", Command: "exists", From: chat.User{Platform: "telegram", ID: "4815162342"},
		Args: chat.Typed("EVM", "0x108"), Chat: "231642", Community: "161718", Role: chat.Moderator})
	r.Handle(t.Context(), chat.Request{Command: "typo-of-a-secret", From: ann})
	for _, private := range []string{"4815162342", "0x108", "231642", "161718", "typo-of-a-secret"} {
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
	good := chat.Command{Name: "a", Summary: "s", Visibility: chat.Public, Forms: []chat.Form{{Run: run}}}
	for name, change := range map[string]func(*chat.Command){
		"no visibility":      func(c *chat.Command) { c.Visibility = 0 },
		"a name in capitals": func(c *chat.Command) { c.Name = "Price" },
		"no summary":         func(c *chat.Command) { c.Summary = "" },
		"a long summary":     func(c *chat.Command) { c.Summary = strings.Repeat("x", 101) },
		"no form":            func(c *chat.Command) { c.Forms = nil },
		"no function":        func(c *chat.Command) { c.Forms = []chat.Form{{}} },
		"an alias taken":     func(c *chat.Command) { c.Aliases = []string{"b"} },
	} {
		bad, other := good, good
		other.Name = "b"
		change(&bad)
		if _, err := chat.NewRouter(chat.Config{Commands: chat.Commands{other, bad}}); err == nil {
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
