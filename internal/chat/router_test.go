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
	person := chat.Param{Name: "user", Summary: chat.Say("who"), Example: "123", Kind: chat.Person}
	place := chat.Param{Name: "platform", Summary: chat.Say("where"), Example: "EVM", Choices: []string{"EVM", "TON"}, Check: chat.Say("Check the platform")}
	uid := chat.Param{Name: "uid", Summary: chat.Say("id"), Example: "0xabc"}
	run := func(form string) func(context.Context, chat.Request) (chat.Reply, error) {
		return func(_ context.Context, req chat.Request) (chat.Reply, error) {
			target := "nobody"
			if req.Target != nil {
				target = req.Target.ID
			}
			return chat.Reply{Title: chat.Say("ran"), Text: chat.Say(fmt.Sprintf("%s: platform %q uid %q target %s",
				form, req.Args.Value("platform"), req.Args.Value("uid"), target))}, nil
		}
	}
	c := chat.Config{
		Commands: chat.Commands{{
			Name: "exists", Summary: chat.Say("exists"), Visibility: chat.Private,
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
		Explain: func(error) chat.Text { return chat.Say("explained") },
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
		"a member may not ask of others":  {chat.Request{From: ann, Args: chat.Typed("2")}, "forbidden.text"},
		"nor by a reply":                  {chat.Request{From: ann, Target: &bob}, "forbidden.text"},
		"nor by named arguments":          {chat.Request{From: ann, Args: chat.Named(map[string]string{"platform": "EVM", "uid": "x"})}, "forbidden.text"},
		"a moderator may, by ID":          {chat.Request{From: ann, Args: chat.Typed("2"), Role: chat.Moderator, Community: "listed"}, `user: platform "" uid "" target 2`},
		"a moderator may, by a reply":     {chat.Request{From: ann, Target: &bob, Role: chat.Moderator, Community: "listed"}, `user: platform "" uid "" target 2`},
		"a picked user":                   {chat.Request{From: ann, Args: chat.Named(nil), Target: &bob, Role: chat.Moderator, Community: "listed"}, `user: platform "" uid "" target 2`},
		"a named user":                    {chat.Request{From: ann, Args: chat.Named(map[string]string{"user": "2"}), Role: chat.Moderator, Community: "listed"}, `user: platform "" uid "" target 2`},
		"choices in any case":             {chat.Request{From: ann, Args: chat.Typed("evm", "0x1"), Role: chat.Moderator, Community: "listed"}, `uid: platform "EVM" uid "0x1" target nobody`},
		"unknown choice":                  {chat.Request{From: ann, Args: chat.Typed("moon", "0x1"), Role: chat.Moderator, Community: "listed"}, "input.choices map[choices:EVM, TON param:platform]"},
		"a reply does not hide arguments": {chat.Request{From: ann, Target: &bob, Args: chat.Typed("evm", "0x1"), Role: chat.Moderator, Community: "listed"}, `uid: platform "EVM" uid "0x1" target nobody`},
		"a picked user and a platform": {chat.Request{From: ann, Args: chat.Named(map[string]string{"platform": "EVM", "uid": "1"}), Target: &bob, Role: chat.Moderator, Community: "listed"},
			"input.mismatch"},
		"half of a form":                  {chat.Request{From: ann, Args: chat.Named(map[string]string{"platform": "EVM"}), Role: chat.Moderator, Community: "listed"}, "input.mismatch"},
		"two of another name":             {chat.Request{From: ann, Args: chat.Named(map[string]string{"platform": "EVM", "wallet": "1"}), Role: chat.Moderator, Community: "listed"}, "input.mismatch"},
		"too many":                        {chat.Request{From: ann, Args: chat.Typed("1", "2", "3")}, "input.too_much"},
		"a reply to oneself is oneself":   {chat.Request{From: ann, Target: &ann}, "self:"},
		"two who are anonymous differ":    {chat.Request{From: nobody, Target: &chat.User{Platform: "telegram"}}, "forbidden.text"},
		"an operator needs no rights":     {chat.Request{From: operator, Args: chat.Typed("2")}, "user:"},
		"the same ID elsewhere is nobody": {chat.Request{From: chat.User{Platform: "discord", ID: "9"}, Args: chat.Typed("2")}, "forbidden.text"},
		"a role that the platform knows":  {chat.Request{From: ann, Community: "where ann moderates", Args: chat.Typed("2"), Role: chat.UnknownRole}, "user:"},
		"a role that it does not know":    {chat.Request{From: ann, Community: "in doubt", Args: chat.Typed("2"), Role: chat.UnknownRole}, "forbidden.text"},
		"a role that it denies":           {chat.Request{From: ann, Community: "elsewhere", Args: chat.Typed("2"), Role: chat.UnknownRole}, "forbidden.text"},
		"a role that cannot be asked":     {chat.Request{From: ann, Community: "down", Args: chat.Typed("2"), Role: chat.UnknownRole}, "role.unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			test.req.Command = "exists"
			got := newRouter(t, new(bytes.Buffer), nil).Handle(t.Context(), test.req)
			if !strings.Contains(fmt.Sprint(got), test.want) {
				t.Errorf("got %+v, want %q", got, test.want)
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
	if got.Title.Key != "Check the platform" || !got.ToAsker {
		t.Errorf("headed %q, to the asker alone: %v", got.Title.Key, got.ToAsker)
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
	if !strings.Contains(fmt.Sprint(got.Text), "REF") || strings.Contains(fmt.Sprint(got), "boom") {
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
			return chat.Reply{Title: chat.Say("half")}, fmt.Errorf("wrapped: %w", &chat.PartialError{Err: errors.New("pool 5 is silent")})
		}
	})
	if got := r.Handle(t.Context(), chat.Request{ID: "REF", Command: "exists", From: ann}); got.Title.Key != "half" {
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
		if took := time.Since(start); took != time.Second || got.Title.Key != "unchecked.title" {
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
		if got.Title.Key != "limit.title" || got.Text.Args["n"] != chat.Count(2) || !got.ToAsker {
			t.Errorf("%s: %+v", name, got)
		}
	}
	unknown := newRouter(t, new(bytes.Buffer), func(c *chat.Config) { c.UserLimit = never{} })
	if got := unknown.Handle(t.Context(), chat.Request{Command: "moon", From: ann}); got.Title.Key != "limit.title" {
		t.Errorf("an unknown command passes the limit: %+v", got)
	}
	anonymous := newRouter(t, new(bytes.Buffer), func(c *chat.Config) { c.UserLimit = never{} })
	if got := anonymous.Handle(t.Context(), chat.Request{Command: "exists", From: nobody}); got.Title.Key != "ran" {
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
		if got.Title.Key != "limit.title" || got.SaidBefore != test.before {
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

// wallets is a command that takes a wallet, alone or after a person, and has a
// form for buttons alone.
func wallets(run chat.Run) chat.Command {
	wallet := chat.Param{Name: "wallet", Summary: chat.Say("wallet"), Example: "0x1", Question: chat.Say("Which wallet?")}
	person := chat.Param{Name: "user", Summary: chat.Say("user"), Example: "123", Kind: chat.Person}
	page := chat.Param{Name: "page", Summary: chat.Say("page"), Example: "2"}
	return chat.Command{Name: "verify", Summary: chat.Say("verify"), Visibility: chat.Private, Forms: []chat.Form{
		{Params: []chat.Param{wallet}, Run: run},
		{Params: []chat.Param{person, wallet}, Moderators: true, Run: run},
		{Params: []chat.Param{person, wallet, page}, Unlisted: true, Run: run},
	}}
}

func TestWhatWasLeftOutIsAskedFor(t *testing.T) {
	input := &chat.InputError{Title: chat.Say("Check the wallet address"), Problem: chat.Say("It is too short.")}
	r := newRouter(t, new(bytes.Buffer), func(c *chat.Config) {
		c.Commands = append(c.Commands, wallets(func(context.Context, chat.Request) (chat.Reply, error) { return chat.Reply{}, input }))
	})
	ask := func(command string, args ...string) chat.Reply {
		return r.Handle(t.Context(), chat.Request{Command: command, From: operator, Args: chat.Typed(args...)})
	}
	want := chat.Ask{Command: "verify", Param: "wallet", Question: chat.Say("Which wallet?"), Example: "0x1"}
	isAsked := func(a *chat.Ask) bool { return a != nil && reflect.DeepEqual(*a, want) }

	got := ask("verify")
	if !isAsked(got.Ask) || got.Title.Key != "Which wallet?" || got.Tone != chat.Neutral || !got.ToAsker || !strings.Contains(fmt.Sprint(got), "0x1") {
		t.Errorf("with nothing, got %+v, which asks for %+v", got, got.Ask)
	}
	if got := ask("verify", "0x"); !isAsked(got.Ask) || got.Title.Key != "Check the wallet address" || got.Text.Key != "It is too short." || !got.ToAsker {
		t.Errorf("with a wrong wallet, got %+v, which asks for %+v", got, got.Ask)
	}
	if got := ask("verify", "2", "0x"); got.Ask != nil {
		t.Errorf("one argument would not make two right: %+v", got.Ask)
	}
	if got := ask("exists", "1", "2", "3"); got.Ask != nil || got.Title.Key != "input.title" {
		t.Errorf("where there is no question, got %+v", got)
	}
}

func TestWhoRepliedToAPersonIsNotAskedForMore(t *testing.T) {
	r := newRouter(t, new(bytes.Buffer), func(c *chat.Config) {
		c.Commands = append(c.Commands, wallets(func(context.Context, chat.Request) (chat.Reply, error) { return chat.Reply{}, nil }))
	})
	if got := r.Handle(t.Context(), chat.Request{Command: "verify", From: operator, Target: &bob}); got.Ask != nil || got.Title.Key != "input.title" {
		t.Errorf("got %+v, which asks for %+v", got, got.Ask)
	}
}

func TestANameStaysWithThePersonItIsOf(t *testing.T) {
	var log bytes.Buffer
	var named string
	r := newRouter(t, &log, func(c *chat.Config) {
		for i := range c.Commands[0].Forms {
			c.Commands[0].Forms[i].Run = func(_ context.Context, req chat.Request) (chat.Reply, error) {
				named = req.TargetName
				return chat.Reply{}, errors.New("down")
			}
		}
	})
	for name, test := range map[string]struct {
		target *chat.User
		args   chat.Args
		want   string
	}{
		"replied to":                  {&bob, chat.Typed(), "Bobby"},
		"the sender themself":         {&operator, chat.Typed(), ""},
		"an account that was typed":   {&bob, chat.Typed("EVM", "0x1"), ""},
		"an ID that was typed":        {nil, chat.Typed("2"), ""},
		"an ID typed beside a person": {&bob, chat.Typed("2"), "none ran"},
	} {
		named = "none ran"
		r.Handle(t.Context(), chat.Request{Command: "exists", Args: test.args, From: operator, Target: test.target, TargetName: "Bobby"})
		if named != test.want {
			t.Errorf("%s: the name is %q, want %q", name, named, test.want)
		}
	}
	if log.Len() == 0 || strings.Contains(log.String(), "Bobby") {
		t.Errorf("the log: %s", log.String())
	}
}

func TestARefusalIsToldFromAnAnswer(t *testing.T) {
	ask := func(change func(*chat.Config)) chat.Reply {
		return newRouter(t, new(bytes.Buffer), change).Handle(t.Context(), chat.Request{Command: "exists", From: ann})
	}
	fail := func(err error) func(*chat.Config) {
		return func(c *chat.Config) {
			c.Commands[0].Forms[0].Run = func(context.Context, chat.Request) (chat.Reply, error) {
				return chat.Reply{Title: chat.Say("half")}, err
			}
		}
	}
	for name, test := range map[string]struct {
		reply      chat.Reply
		unanswered bool
	}{
		"an answer":       {ask(nil), false},
		"a partial one":   {ask(fail(&chat.PartialError{Err: errors.New("silent")})), false},
		"wrong input":     {ask(fail(&chat.InputError{Problem: chat.Say("wrong")})), true},
		"an error":        {ask(fail(errors.New("down"))), true},
		"too many":        {ask(func(c *chat.Config) { c.UserLimit = never{} }), true},
		"a panic":         {chat.SomethingWentWrong("REF"), true},
		"no room":         {chat.Busy(), true},
		"an old button":   {chat.OldButton(), true},
		"a reply by hand": {chat.Reply{Tone: chat.Warning, Title: chat.Say("Can't say")}, false},
	} {
		if got := test.reply.Unanswered(); got != test.unanswered {
			t.Errorf("%s: unanswered %v: %+v", name, got, test.reply)
		}
	}
}

func TestAFormForButtonsIsAskedAndNotShown(t *testing.T) {
	ran := func(context.Context, chat.Request) (chat.Reply, error) {
		return chat.Reply{Title: chat.Say("ran")}, nil
	}
	command := wallets(ran)
	r := newRouter(t, new(bytes.Buffer), func(c *chat.Config) { c.Commands = append(c.Commands, command) })
	ask := func(args ...string) chat.Reply {
		return r.Handle(t.Context(), chat.Request{Command: "verify", From: ann, Args: chat.Typed(args...)})
	}
	if got := ask("2", "0x1", "3"); got.Title.Key != "ran" {
		t.Errorf("asked by a button, got %+v", got)
	}
	if got := fmt.Sprint(ask("1", "2", "3", "4")); strings.Contains(got, "page") || !strings.Contains(got, "/verify <user> <wallet>") {
		t.Errorf("what may be typed is told as %s", got)
	}
	params, required := command.Params()
	if len(params) != 2 || !required["wallet"] || required["user"] {
		t.Errorf("the listed parameters are %v, of which required: %v", params, required)
	}
}

func TestTableWithAMistakeIsRefused(t *testing.T) {
	run := func(context.Context, chat.Request) (chat.Reply, error) { return chat.Reply{}, nil }
	good := chat.Command{Name: "a", Summary: chat.Say("s"), Visibility: chat.Public, Forms: []chat.Form{{Run: run}}}
	for name, change := range map[string]func(*chat.Command){
		"no visibility":      func(c *chat.Command) { c.Visibility = 0 },
		"a name in capitals": func(c *chat.Command) { c.Name = "Price" },
		"no summary":         func(c *chat.Command) { c.Summary = chat.Text{} },
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
