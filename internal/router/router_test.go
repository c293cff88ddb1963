package router_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/platform"
	"herald/internal/platform/platformtest"
	"herald/internal/ratelimit"
	"herald/internal/router"
)

// never is a Limiter that has no slot of what is named so, but for refusals.
type never string

func (n never) Reserve(_ context.Context, _ time.Duration, limits ...ratelimit.Limit) (wait time.Duration, ok bool) {
	for _, l := range limits {
		if n != "" && strings.Contains(l.Key, string(n)) {
			return 1500 * time.Millisecond, false
		}
	}
	return 0, true
}

func (never) Peek(context.Context, ...ratelimit.Limit) (wait time.Duration) { return 0 }

// role is what a platform knows of ann's.
func role(_ context.Context, user chat.User, where string) (chat.Role, error) {
	switch {
	case where == "down":
		return chat.UnknownRole, errors.New("down")
	case where == "in doubt":
		return chat.UnknownRole, nil
	case where == "where ann moderates" && user == ann:
		return chat.Moderator, nil
	}
	return chat.Member, nil
}

// newRouter routes to one command of the given forms, which echoes what was
// bound, and to whatever else a test adds.
func newRouter(t *testing.T, log io.Writer, change func(*router.Config)) *router.Router {
	t.Helper()
	person := chat.Param{Name: "user", Summary: chat.Say("who"), Example: "123", Person: true}
	place := chat.Param{Name: "platform", Summary: chat.Say("where"), Example: "EVM", Choices: []string{"EVM", "TON"}, Check: chat.Say("Check the platform"),
		Tidy: func(typed []string) []string {
			return strings.Fields(strings.NewReplacer("ethereum chain", "EVM", "Ethereum", "EVM").Replace(strings.Join(typed, " ")))
		}}
	uid := chat.Param{Name: "uid", Summary: chat.Say("id"), Example: "0xabc"}
	run := func(form string) func(context.Context, *chat.Request) (*chat.Reply, error) {
		return func(_ context.Context, req *chat.Request) (*chat.Reply, error) {
			target := "nobody"
			if req.Target != nil {
				target = req.Target.ID
			}
			return &chat.Reply{Title: chat.Say("ran"), Text: chat.Say(fmt.Sprintf("%s: platform %q uid %q target %s name %q",
				form, req.Args.Value("platform"), req.Args.Value("uid"), target, req.TargetName))}, nil
		}
	}
	c := router.Config{
		Commands: chat.Commands{{
			Name: "exists", Summary: chat.Say("exists"), Visibility: chat.Private,
			Aliases: map[string][]string{"is": nil, "dead": {"evm", "0xdead"}},
			Forms: []chat.Form{
				{Run: run("self")},
				{Params: []chat.Param{person}, Moderators: true, Run: run("user")},
				{Params: []chat.Param{place, uid}, Moderators: true, Run: run("uid")},
			},
		}},
		Operators:      []chat.User{{Platform: "telegram", ID: "9"}},
		ModeratorChats: []string{"telegram:listed", "telegram:where ann moderates", "telegram:in doubt", "telegram:down"},
		Roles:          map[chat.Platform]router.AskRole{"telegram": role},
		Timeout:        time.Second,
		Limiter:        never(""),
		UserPerMinute:  20,
		ChatPerMinute:  120,
		Bot:            "one",
		Nearest:        func(string, []string) string { return "" },
		Explain:        func(error) chat.Text { return chat.Say("explained") },
		Log:            slog.New(slog.NewTextHandler(log, nil)),
	}
	if change != nil {
		change(&c)
	}
	r, err := router.New(c)
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

// ask handles one request of a router made by newRouter.
func ask(t *testing.T, change func(*router.Config), req *chat.Request) *chat.Reply {
	t.Helper()
	return newRouter(t, io.Discard, change).Handle(t.Context(), req)
}

func running(run chat.Run) func(*router.Config) {
	return func(c *router.Config) { c.Commands[0].Forms[0].Run = run }
}

func returning(reply *chat.Reply, err error) func(*router.Config) {
	return running(func(context.Context, *chat.Request) (*chat.Reply, error) { return reply, err })
}

// TestEveryOutcomeIsToldCountedAndLoggedOnce without what the sender typed.
func TestEveryOutcomeIsToldCountedAndLoggedOnce(t *testing.T) {
	const typed = "s3cret\x1b[31m"
	half := &chat.Reply{Title: chat.Say("half")}
	inCharge := func(c *router.Config) { c.Operators = append(c.Operators, ann) }
	endless := func(ctx context.Context, _ *chat.Request) (*chat.Reply, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, test := range map[string]struct {
		change     func(*router.Config)
		command    string
		args       []string
		outcome    router.Outcome
		said       string
		ephemeral  bool
		unanswered bool
		logged     string
	}{
		"an answer": {nil, "exists", nil, router.OK, "ran", false, false, ""},
		"a part of one": {returning(half, fmt.Errorf("wrapped: %w", &chat.PartialError{Err: errors.New("pool 5 is silent")})),
			"exists", nil, router.Partial, "half", false, false, "pool 5 is silent"},
		"an old answer":      {returning(&chat.Reply{Title: chat.Say("old"), Source: chat.Source{Stale: true}}, nil), "exists", nil, router.Stale, "old", false, false, ""},
		"an unknown command": {nil, typed, nil, router.Unknown, "unknown.title", true, true, "command=unknown"},
		"a wrong argument":   {inCharge, "exists", []string{"moon", typed}, router.BadInput, "input.write map[]} {exists [{name.platform ", true, true, ""},
		"its choices":        {inCharge, "exists", []string{"moon", typed}, router.BadInput, "map[choices:EVM last:TON]", true, true, ""},
		"wrong input": {returning(half, &chat.InputError{Problem: chat.Say("wrong")}),
			"exists", nil, router.BadInput, "input.title", true, true, ""},
		"no right to it": {nil, "exists", []string{"moon", typed}, router.Forbidden, "forbidden.text", true, true, ""},
		"no right":       {nil, "exists", []string{typed}, router.Forbidden, "forbidden.text", true, true, ""},
		"an error":       {returning(half, errors.New("down")), "exists", nil, router.Unavailable, "explained", false, true, "err=down"},
		"too slow":       {running(endless), "exists", nil, router.TimedOut, "explained", false, true, `err="context deadline exceeded"`},
		"too many":       {func(c *router.Config) { c.Limiter = never("one telegram user ") }, "exists", nil, router.RateLimited, "limit.text map[n:2]", true, true, ""},
		"in a chat":      {func(c *router.Config) { c.Limiter = never("one telegram chat ") }, "exists", nil, router.RateLimited, "limit.title", true, true, ""},
		"a panic": {running(func(context.Context, *chat.Request) (*chat.Reply, error) { panic(typed) }),
			"exists", nil, router.Panicked, "reference map[reference:REF]", true, true, "router_test.go"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			var outcomes []router.Outcome
			r := newRouter(t, &log, func(c *router.Config) {
				c.Observe = func(_ chat.Platform, _ string, outcome router.Outcome, _ time.Duration) {
					outcomes = append(outcomes, outcome)
				}
				if test.change != nil {
					test.change(c)
				}
			})
			start := time.Now()
			got := r.Handle(t.Context(), &chat.Request{ID: "REF", Command: test.command, Args: chat.Typed(test.args...), From: ann, Chat: "231642"})
			if took := time.Since(start); (took == time.Second) != (test.outcome == router.TimedOut) {
				t.Errorf("%s: took %v", name, took)
			}
			said := fmt.Sprint(got)
			if !strings.Contains(said, test.said) {
				t.Errorf("%s: said %s, want %s", name, said, test.said)
			}
			if got.ForSender() != test.ephemeral || got.Unanswered() != test.unanswered {
				t.Errorf("%s: ephemeral %t, unanswered %t; want %t, %t", name, got.ForSender(), got.Unanswered(), test.ephemeral, test.unanswered)
			}
			if len(outcomes) != 1 || outcomes[0] != test.outcome {
				t.Errorf("%s: observed %v", name, outcomes)
			}
			line := log.String()
			level := "level=INFO"
			if test.outcome == router.Panicked {
				level = "level=ERROR"
			}
			for _, want := range []string{level, "id=REF", "outcome=" + string(test.outcome), test.logged} {
				if !strings.Contains(line, want) {
					t.Errorf("%s: logged %s, want %s", name, line, want)
				}
			}
			if n := strings.Count(line, "\n"); n != 1 {
				t.Errorf("%s: %d lines, want 1:\n%s", name, n, line)
			}
			if strings.Contains(said+line, "s3cret") || strings.Contains(line, "231642") || strings.Contains(line, "user="+ann.ID+" ") {
				t.Errorf("%s: something personal is in %s or in %s", name, said, line)
			}
		})
	}
}

// once lets each key pass once.
func TestLimitsAreOfOneUserAndOneChat(t *testing.T) {
	r := newRouter(t, io.Discard, func(c *router.Config) { c.Limiter, c.UserPerMinute, c.ChatPerMinute = counter{}, 1, 1 })
	elsewhere := chat.User{Platform: "discord", ID: ann.ID}
	for i, test := range []struct {
		req               *chat.Request
		refused, repeated bool
	}{
		{&chat.Request{From: ann, Chat: "1"}, false, false},
		{&chat.Request{From: ann, Chat: "2"}, true, false},
		{&chat.Request{From: ann, Chat: "2"}, true, true},
		{&chat.Request{From: bob, Chat: "1"}, true, false},
		{&chat.Request{From: nobody, Chat: "1"}, true, false},
		{&chat.Request{From: nobody, Chat: "4"}, false, false},
		{&chat.Request{From: elsewhere, Chat: "1"}, false, false},
		{&chat.Request{From: nobody, LimitKey: "channel", Chat: "5"}, false, false},
		{&chat.Request{From: nobody, LimitKey: "channel", Chat: "6"}, true, false},
		{&chat.Request{From: nobody, LimitKey: "channel", Chat: "6"}, true, true},
		{&chat.Request{From: nobody, LimitKey: "another", Chat: "6"}, false, false},
		{&chat.Request{From: ann, Inline: true, Chat: "inline 1"}, false, false},
		{&chat.Request{From: ann, Inline: true, Chat: "inline 1"}, true, false},
	} {
		test.req.Command = "exists"
		got := r.Handle(t.Context(), test.req)
		if (got.Title.Key == "limit.title") != test.refused || got.Audience == chat.SenderAgain != test.repeated {
			t.Errorf("%d: %+v, want refused %v, repeated %v", i, got, test.refused, test.repeated)
		}
	}
}

func TestPseudonymIsOfOneUserInOneRun(t *testing.T) {
	var log bytes.Buffer
	first, second := newRouter(t, &log, nil), newRouter(t, &log, nil)
	pseudonym := func(r *router.Router, u chat.User) string {
		log.Reset()
		r.Handle(t.Context(), &chat.Request{Command: "exists", From: u})
		_, rest, _ := strings.Cut(log.String(), " user=")
		name, _, _ := strings.Cut(rest, " ")
		return name
	}
	want := pseudonym(first, ann)
	if got := pseudonym(first, ann); got != want || want == "" {
		t.Errorf("the same user: got %q, want %q", got, want)
	}
	for name, got := range map[string]string{
		"another user": pseudonym(first, bob), "another platform": pseudonym(first, chat.User{Platform: "discord", ID: ann.ID}), "another run": pseudonym(second, ann),
	} {
		if got == want {
			t.Errorf("%s: got %q, want another pseudonym", name, got)
		}
	}
}

func TestLimitsAreCountedByWhenItWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * time.Second)
		asked, recently := time.Now().Add(-time.Hour).Truncate(time.Minute), time.Now().Add(-55*time.Second)
		for name, test := range map[string]struct {
			user, chat, each int // limits, and how many commands are asked each minute
			start            time.Time
			allowed          int
		}{
			"within the user's limit":      {5, 0, 5, asked, 50},
			"within the chat's limit":      {0, 7, 7, asked, 70},
			"more than the user's limit":   {5, 0, 9, asked, 50},
			"asked less than a minute ago": {5, 0, 5, recently, 5},
			"without a time":               {5, 0, 5, time.Time{}, 5},
			"of the chat alone":            {0, 7, 20, time.Time{}, 7},
			"of both, the smaller":         {9, 7, 20, time.Time{}, 7},
			"no limit":                     {0, 0, 20, time.Time{}, 200},
		} {
			r := newRouter(t, io.Discard, func(c *router.Config) { c.Limiter, c.UserPerMinute, c.ChatPerMinute = counter{}, test.user, test.chat })
			allowed := 0
			for i := range 10 * test.each {
				req := &chat.Request{Command: "exists", From: ann, Chat: "1", Asked: test.start}
				switch test.start {
				case asked:
					req.Asked = asked.Add(time.Duration(i) * time.Minute / time.Duration(test.each))
				case recently: // and in two minutes of the clock
					req.Asked = recently.Add(time.Duration(i) * time.Second)
				}
				if got := r.Handle(t.Context(), req); got.Title.Key != "limit.title" {
					allowed++
				}
			}
			if allowed != test.allowed {
				t.Errorf("%s: %d are allowed, want %d", name, allowed, test.allowed)
			}
		}
	})
}

// The limits of a user, of a chat and of a form mean the same: so many at once, and as many again over each minute.
func TestALimitComesBackEvenlyOverAMinute(t *testing.T) {
	form := chat.Command{Name: "bounded", Visibility: chat.Private, Forms: []chat.Form{{
		PerMinute: func(*chat.Request) int { return 5 },
		Run: func(context.Context, *chat.Request) (*chat.Reply, error) {
			return &chat.Reply{Title: chat.Say("ran")}, nil
		},
	}}}
	for name, test := range map[string]struct {
		command    string
		user, chat int
	}{
		"user": {"exists", 5, 0},
		"chat": {"exists", 0, 5},
		"form": {"bounded", 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRouter(t, io.Discard, func(c *router.Config) {
				c.Limiter, c.UserPerMinute, c.ChatPerMinute = ratelimit.NewMemory(), test.user, test.chat
				c.Commands = append(c.Commands, form)
			})
			for _, step := range []struct {
				pause   time.Duration
				allowed int
			}{{0, 5}, {11 * time.Second, 0}, {time.Second, 1}, {time.Minute, 5}} {
				time.Sleep(step.pause)
				allowed := 0
				for range 10 {
					reply := r.Handle(t.Context(), &chat.Request{Command: test.command, From: ann, Chat: "1"})
					if reply.Title.Key != "limit.title" {
						allowed++
					}
				}
				if allowed != step.allowed {
					t.Errorf("%s: %d are allowed after %v, want %d", name, allowed, step.pause, step.allowed)
				}
			}
		})
	}
}

// Of twenty commands a limit of five lets five through, whoever counts them.
func TestARequestIsCountedOnce(t *testing.T) {
	for name, claim := range map[string]func(w *platform.Work, d claim.Claims, key string, req *chat.Request){
		"polled":                    func(*platform.Work, claim.Claims, string, *chat.Request) {},
		"claimed":                   func(w *platform.Work, d claim.Claims, key string, req *chat.Request) { w.Claim(d, key, req) },
		"claimed without a request": func(w *platform.Work, d claim.Claims, key string, _ *chat.Request) { w.Claim(d, key, nil) },
	} {
		slots, allowed := counter{}, 0
		r := newRouter(t, io.Discard, func(c *router.Config) { c.Limiter, c.UserPerMinute, c.ChatPerMinute = slots, 5, 10 })
		w := platform.NewWork(t.Context(), platformtest.Routed{Router: r}, slog.New(slog.DiscardHandler), func(string) {})
		for i := range 20 {
			req := &chat.Request{Command: "exists", From: ann, Chat: "1"}
			claim(w, slots, fmt.Sprint(i), req)
			if got := r.Handle(t.Context(), req); got.Title.Key != "limit.title" {
				allowed++
			}
		}
		if allowed != 5 {
			t.Errorf("%s: %d are allowed, want 5", name, allowed)
		}
	}
}

// counter is a Limiter that has Burst slots of each key, and a Dedup to which all is new.
type counter map[string]int

func (c counter) Reserve(_ context.Context, _ time.Duration, limits ...ratelimit.Limit) (wait time.Duration, ok bool) {
	for _, l := range limits {
		if c[l.Key] == l.Burst {
			return time.Minute, false
		}
	}
	for _, l := range limits {
		c[l.Key]++
	}
	return 0, true
}

func (counter) Peek(context.Context, ...ratelimit.Limit) (wait time.Duration) { return 0 }

func (c counter) Claim(ctx context.Context, _ string, limits ...ratelimit.Limit) (claim.Progress, time.Duration) {
	wait, _ := c.Reserve(ctx, 0, limits...)
	return claim.New, wait
}

func (c counter) Release(string) {}

func (c counter) MarkDone(string, time.Duration) {}

// wallets is a command that takes a wallet, alone or after a person, and has a
// form for buttons alone.
func wallets(reply *chat.Reply, err error) func(*router.Config) {
	run := func(context.Context, *chat.Request) (*chat.Reply, error) { return reply, err }
	wallet := chat.Param{Name: "wallet", Summary: chat.Say("wallet"), Example: "0x1", Question: chat.Say("Which wallet?")}
	person := chat.Param{Name: "user", Summary: chat.Say("user"), Example: "123", Person: true}
	page := chat.Param{Name: "page", Summary: chat.Say("page"), Example: "2"}
	return func(c *router.Config) {
		c.Commands = append(c.Commands, chat.Command{Name: "verify", Summary: chat.Say("verify"), Visibility: chat.Private, Forms: []chat.Form{
			{Params: []chat.Param{wallet}, Run: run},
			{Params: []chat.Param{person, wallet}, Moderators: true, Run: run},
			{Params: []chat.Param{person, wallet, page}, Unlisted: true, Run: run},
		}})
	}
}

func TestWhatWasLeftOutIsAskedFor(t *testing.T) {
	input := &chat.InputError{Title: chat.Say("Check the wallet address"), Problem: chat.Say("It is too short.")}
	want := &chat.Ask{Command: "verify", Question: chat.Say("Which wallet?")}
	for name, test := range map[string]struct {
		command string
		args    []string
		target  *chat.User
		title   string
		ask     *chat.Ask
	}{
		"nothing":                    {"verify", nil, nil, "Which wallet?", want},
		"a wrong wallet":             {"verify", []string{"0x"}, nil, "Check the wallet address", want},
		"a user alone":               {"verify", []string{"700"}, nil, "input.title", nil},
		"a reply to somebody":        {"verify", nil, &bob, "input.title", nil},
		"where there is no question": {"exists", []string{"1", "2", "3"}, nil, "input.title", nil},
	} {
		got := ask(t, wallets(&chat.Reply{}, input), &chat.Request{Command: test.command, From: operator, Args: chat.Typed(test.args...), Target: test.target})
		if got.Title.Key != test.title || !got.ForSender() || !reflect.DeepEqual(got.Ask, test.ask) {
			t.Errorf("%s: got %+v, which asks for %+v", name, got, got.Ask)
		}
	}
}

func TestFormsAreShownToWhomTheyServe(t *testing.T) {
	with := wallets(&chat.Reply{Title: chat.Say("ran")}, nil)
	if got := ask(t, with, &chat.Request{Command: "verify", From: ann, Args: chat.Typed("2", "0x1", "3")}); got.Title.Key != "ran" {
		t.Errorf("asked by a button, got %+v", got)
	}
	for _, from := range []chat.User{ann, operator} {
		got := fmt.Sprint(ask(t, with, &chat.Request{Command: "verify", From: from, Args: chat.Typed("1", "2", "3", "4")}))
		if strings.Contains(got, "page") || !strings.Contains(got, "{verify [{name.wallet ") || strings.Contains(got, "{verify [{name.user ") != (from == operator) {
			t.Errorf("%s is told what may be typed as %s", from.ID, got)
		}
	}
}

func TestTextWithoutACommandIsGuessedAt(t *testing.T) {
	wallet := chat.Param{Name: "wallet", Like: regexp.MustCompile(`^0x`)}
	all := chat.Commands{
		{Name: "verify", Forms: []chat.Form{{Params: []chat.Param{wallet}}}},
		{Name: "staked", Forms: []chat.Form{{Inline: true}, {Inline: true, Params: []chat.Param{wallet}}}},
	}
	for text, want := range map[string]string{
		"0xabc": "staked", " 0x1\n": "staked", "is 0xabc ok?": "staked", "is 0x1 ok?": "staked", "up 100x": "start", "hello": "start", "": "start",
	} {
		if got := all.Guess(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestACommandIsFoundByAliasOrNearestName(t *testing.T) {
	nearest := func(c *router.Config) {
		c.Nearest = func(name string, known []string) string {
			if name == "exsits" && slices.Equal(known, []string{"dead", "is", "exists"}) {
				return "exists"
			}
			return ""
		}
	}
	for line, want := range map[string]string{
		"is 2":     `user: platform "" uid "" target 2`,
		"is":       "self:",
		"dead":     `uid: platform "EVM" uid "0xdead"`,
		"dead 2":   `user: platform "" uid "" target 2`,
		"exsits 2": "unknown.nearest map[command:/exists]",
		"moon":     "unknown.text",
	} {
		typed := strings.Fields(line)
		got := fmt.Sprint(ask(t, nearest, &chat.Request{Command: typed[0], From: operator, Args: chat.Typed(typed[1:]...)}))
		if !strings.Contains(got, want) {
			t.Errorf("/%s: got %s, want %q", line, got, want)
		}
	}
}

func TestTableWithAMistakeIsRefused(t *testing.T) {
	run := func(context.Context, *chat.Request) (*chat.Reply, error) { return &chat.Reply{}, nil }
	good := chat.Command{Name: "a", Summary: chat.Say("s"), Visibility: chat.Public, Forms: []chat.Form{{Run: run}}}
	for name, change := range map[string]func(*chat.Command){
		"":                   func(*chat.Command) {},
		"one to type inline": func(c *chat.Command) { c.Forms = []chat.Form{{Inline: true, Params: make([]chat.Param, 1), Run: run}} },
		"one choice": func(c *chat.Command) {
			c.Forms = []chat.Form{{Params: []chat.Param{{Choices: []string{"x"}}}, Run: run}}
		},
		"no choice":          func(c *chat.Command) { c.Forms = []chat.Form{{Params: []chat.Param{{Choices: []string{}}}, Run: run}} },
		"no visibility":      func(c *chat.Command) { c.Visibility = 0 },
		"two to type inline": func(c *chat.Command) { c.Forms = []chat.Form{{Inline: true, Params: make([]chat.Param, 2), Run: run}} },
		"private and inline": func(c *chat.Command) { c.Visibility, c.Forms = chat.Private, []chat.Form{{Inline: true, Run: run}} },
		"moderators' inline": func(c *chat.Command) { c.Forms = []chat.Form{{Inline: true, Moderators: true, Run: run}} },
	} {
		changed := good
		change(&changed)
		_, err := router.New(router.Config{Commands: chat.Commands{good, changed}})
		if refused := name != "" && name != "one to type inline"; (err != nil) != refused {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A command for buttons alone runs, and no menu has it.
func TestUnlistedCommandRunsWithinItsOwnBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left time.Duration
		hidden := chat.Command{Name: "hidden", Visibility: chat.Private, Forms: []chat.Form{{
			PerMinute: func(req *chat.Request) int { return len(req.Args.Value("group")) },
			Params:    []chat.Param{{Name: "group", Like: regexp.MustCompile("^-")}}, Unlisted: true,
			Run: func(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
				deadline, _ := ctx.Deadline()
				left = time.Until(deadline)
				return &chat.Reply{Title: chat.Say("ran"), About: req.Args.Value("group")}, nil
			},
		}}}
		r := newRouter(t, io.Discard, func(c *router.Config) {
			c.Limiter, c.UserPerMinute = counter{}, 0
			c.Commands = append(c.Commands, hidden)
		})
		if listed := r.Commands(); len(listed) != 1 || listed[0].Name != "exists" {
			t.Errorf("listed are %+v", listed)
		}
		if r.Visibility("hidden") != chat.Private || r.Visibility("exists") == 0 || r.Visibility("nobody") != 0 {
			t.Error("the visibility of a command that is not listed, or unknown")
		}
		for i, within := range []time.Duration{time.Hour, time.Millisecond, 0} {
			req := &chat.Request{Command: "hidden", Args: chat.Typed("-5", "please"), From: ann, Chat: fmt.Sprint(i), Deadline: time.Now().Add(within)}
			reply := r.Handle(t.Context(), req)
			if want := min(within, time.Second); i < 2 && (reply.About != "-5" || left != want) {
				t.Errorf("answered with %+v, %v before the deadline, want %v", reply, left, want)
			}
			if i == 2 && reply.Title.Key != "limit.title" {
				t.Errorf("the third within a minute is answered with %+v", reply)
			}
		}
		if reply := r.Handle(t.Context(), &chat.Request{Command: "exists", From: ann, Chat: "9"}); reply.Title.Key == "limit.title" {
			t.Error("the limit of one command holds for another")
		}
	})
}

// The bound of one argument leaves the others alone.
func TestAFormMayBoundEachArgumentByItself(t *testing.T) {
	hidden := chat.Command{Name: "hidden", Visibility: chat.Private, Forms: []chat.Form{{
		Params: []chat.Param{{Name: "group"}}, Unlisted: true,
		PerMinute: func(*chat.Request) int { return 2 }, PerMinuteOf: "group",
		Run: func(context.Context, *chat.Request) (*chat.Reply, error) {
			return &chat.Reply{Title: chat.Say("ran")}, nil
		},
	}}}
	r := newRouter(t, io.Discard, func(c *router.Config) {
		c.Limiter = counter{}
		c.Commands = append(c.Commands, hidden)
	})
	for n := range 3 {
		for _, group := range []string{"-1", "-2", "-3"} {
			reply := r.Handle(t.Context(), &chat.Request{Command: "hidden", Args: chat.Typed(group), From: ann})
			if ran := reply.Title.Key == "ran"; ran != (n < 2) {
				t.Errorf("request %d of %s: %s", n+1, group, reply.Title.Key)
			}
		}
	}
}

func TestACommandMayChooseHowItIsTriedAgain(t *testing.T) {
	own := []chat.Action{chat.TryAgain("exists", "in another spelling")}
	for _, actions := range [][]chat.Action{nil, own} {
		want := actions
		if want == nil {
			want = []chat.Action{chat.TryAgain("exists")}
		}
		got := ask(t, returning(&chat.Reply{Actions: actions}, errors.New("down")), &chat.Request{Command: "exists", From: ann})
		if !reflect.DeepEqual(got.Actions, want) || !got.Unanswered() {
			t.Errorf("got %+v, want %+v", got.Actions, want)
		}
	}
}

// The sender's language is used where nobody else reads along.
func TestAnAnswerIsInTheLanguageOfThoseWhoReadIt(t *testing.T) {
	run := func(context.Context, *chat.Request) (*chat.Reply, error) { return &chat.Reply{}, nil }
	r := newRouter(t, io.Discard, func(c *router.Config) {
		c.Language = chat.Turkish
		c.Commands = append(c.Commands, chat.Command{Name: "price", Summary: chat.Say("price"), Visibility: chat.Public, Forms: []chat.Form{{Run: run}}})
	})
	for name, test := range map[string]struct {
		req  *chat.Request
		want chat.Language
	}{
		"public":                 {&chat.Request{Command: "price", Locale: "ru"}, chat.Turkish},
		"public, one to one":     {&chat.Request{Command: "price", Locale: "ru", Direct: true}, chat.Russian},
		"public, ephemeral chat": {&chat.Request{Command: "price", Locale: "es-419", CanReplyEphemerally: true}, chat.Turkish},
		"private":                {&chat.Request{Command: "exists", Locale: "ru"}, chat.Russian},
		"an ephemeral refusal":   {&chat.Request{Command: "price", Locale: "es-419", Args: chat.Typed("x"), CanReplyEphemerally: true}, chat.Spanish},
		"a refusal that all see": {&chat.Request{Command: "price", Locale: "es-419", Args: chat.Typed("x")}, chat.Turkish},
		"an unknown command":     {&chat.Request{Command: "moon", Locale: "es"}, chat.Turkish},
	} {
		test.req.From = ann
		if got := r.Handle(t.Context(), test.req).Language; got != test.want {
			t.Errorf("%s: answered in %q, want %q", name, got, test.want)
		}
	}
}

// What a whole Community reads is in its language if it has one of its own.
func TestAPublicAnswerIsInTheLanguageOfItsCommunity(t *testing.T) {
	var ranIn chat.Language // what a picture would be drawn in
	run := func(_ context.Context, req *chat.Request) (*chat.Reply, error) {
		ranIn = req.Language
		return &chat.Reply{}, nil
	}
	r := newRouter(t, io.Discard, func(c *router.Config) {
		c.Language = chat.Spanish
		c.ChatLanguages = map[string]chat.Language{"telegram:-5": chat.Turkish, "telegram:-6": chat.English, "discord:7": chat.Russian}
		c.Commands = append(c.Commands, chat.Command{
			Name: "price", Summary: chat.Say("price"), Visibility: chat.Public, Forms: []chat.Form{{Run: run}},
		})
	})
	for name, test := range map[string]struct {
		req  *chat.Request
		want chat.Language
	}{
		"configured":                  {&chat.Request{Command: "price", Locale: "vi", Community: "-5"}, chat.Turkish},
		"configured, by nobody":       {&chat.Request{Command: "price", Community: "-5", From: nobody}, chat.Turkish},
		"another configured":          {&chat.Request{Command: "price", Locale: "vi", Community: "-6"}, chat.English},
		"not configured":              {&chat.Request{Command: "price", Locale: "vi", Community: "-7"}, chat.Spanish},
		"configured elsewhere":        {&chat.Request{Command: "price", Locale: "vi", Community: "7"}, chat.Spanish},
		"on Discord":                  {&chat.Request{Command: "price", Community: "7", From: chat.User{Platform: "discord", ID: "1"}}, chat.Russian},
		"the same chat, no community": {&chat.Request{Command: "price", Locale: "vi", Chat: "-5"}, chat.Spanish},
		"inline":                      {&chat.Request{Command: "price", Locale: "vi", Chat: "inline 1", Inline: true}, chat.Spanish},
		"one to one":                  {&chat.Request{Command: "price", Locale: "vi", Direct: true}, chat.Vietnamese},
		"one to one, not spoken":      {&chat.Request{Command: "price", Locale: "de", Direct: true}, chat.Spanish},
		"a refusal that all see":      {&chat.Request{Command: "price", Locale: "vi", Community: "-5", Args: chat.Typed("x")}, chat.Turkish},
		"a refusal for the sender":    {&chat.Request{Command: "price", Locale: "vi", Community: "-5", Args: chat.Typed("x"), CanReplyEphemerally: true}, chat.Vietnamese},
		"private":                     {&chat.Request{Command: "exists", Locale: "vi", Community: "-5"}, chat.Vietnamese},
		"private, not spoken":         {&chat.Request{Command: "exists", Locale: "de", Community: "-5"}, chat.Turkish},
		"an unknown command":          {&chat.Request{Command: "moon", Locale: "vi", Community: "-5"}, chat.Turkish},
	} {
		if test.req.From == (chat.User{}) {
			test.req.From = ann
		}
		ranIn = ""
		if got := r.Handle(t.Context(), test.req).Language; got != test.want {
			t.Errorf("%s: answered in %q, want %q", name, got, test.want)
		}
		if ranIn != "" && ranIn != test.want {
			t.Errorf("%s: a picture would be in %q, want %q", name, ranIn, test.want)
		}
	}
}

func TestAPartWithoutAReplyIsNoAnswer(t *testing.T) {
	got := ask(t, returning(nil, &chat.PartialError{Err: errors.New("down")}), &chat.Request{Command: "exists", From: ann})
	if got.Title.Key != "unchecked.title" {
		t.Errorf("got %+v", got)
	}
}
