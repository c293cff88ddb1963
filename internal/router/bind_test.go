package router_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/router"
)

// checkBound sends requests to "exists" as an operator. The keys are what the replies must contain.
func checkBound(t *testing.T, requests map[string]*chat.Request) {
	t.Helper()
	for want, req := range requests {
		req.Command = "exists"
		req.From = operator
		if got := fmt.Sprint(ask(t, nil, req)); !strings.Contains(got, want) {
			t.Errorf("%v: got %s, want %q", req.Args, got, want)
		}
	}
}

// typed returns a request with words that were typed.
func typed(words ...string) *chat.Request { return &chat.Request{Args: chat.Typed(words...)} }

// named returns a request with arguments that have names.
func named(args map[string]string) *chat.Request { return &chat.Request{Args: chat.Named(args)} }

// inReplyToBob returns a request that replies to a message of bob.
func inReplyToBob(words ...string) *chat.Request {
	return &chat.Request{Args: chat.Typed(words...), Target: &bob, TargetName: "Bobby"}
}

func TestArgumentsChooseTheForm(t *testing.T) {
	checkBound(t, map[string]*chat.Request{
		`self: platform "" uid "" target nobody`:              typed(),
		`user: platform "" uid "" target 2 name ""`:           typed("2"),
		`user: platform "" uid "" target 3 name ""`:           named(map[string]string{"user": "3"}),
		`user: platform "" uid "" target 2 name "Bobby"`:      inReplyToBob(),
		`uid: platform "EVM" uid "0x1" target nobody`:         typed("EVM", "0x1"),
		`uid: platform "EVM" uid "0x2" target nobody name ""`: inReplyToBob("EVM", "0x2"),
	})
}

func TestAChoiceIsTypedInAnyCaseOrderOrSpelling(t *testing.T) {
	checkBound(t, map[string]*chat.Request{
		`uid: platform "EVM" uid "0x1" target nobody`: typed("evm", "0x1"),
		`uid: platform "EVM" uid "0x2" target nobody`: typed("Ethereum", "0x2"),
		`uid: platform "EVM" uid "0x3" target nobody`: typed("0x3", "ethereum", "chain"),
		`uid: platform "EVM" uid "ton" target nobody`: typed("evm", "ton"),
	})
}

func TestArgumentsThatFitNoFormAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		req  *chat.Request
		want string
	}{
		"an unknown choice":    {typed("moon", "0x1"), "input.choices"},
		"too many words":       {typed("1", "2", "3"), "input.too_much"},
		"an ID beside a reply": {inReplyToBob("2"), "input.mismatch"},
		"an unknown name": {
			req:  named(map[string]string{"platform": "EVM", "wallet": "1"}),
			want: "input.mismatch",
		},
	} {
		test.req.Command = "exists"
		test.req.From = operator
		if got := fmt.Sprint(ask(t, nil, test.req)); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %q", name, got, test.want)
		}
	}
}

func TestAReplyToOneselfIsAboutOneself(t *testing.T) {
	req := &chat.Request{Command: "exists", From: ann, Target: &ann, TargetName: "Annie"}
	const want = `self: platform "" uid "" target nobody name ""`
	if got := fmt.Sprint(ask(t, nil, req)); !strings.Contains(got, want) {
		t.Errorf("got %s, want %q", got, want)
	}
}

func TestTwoAnonymousUsersAreNotTheSame(t *testing.T) {
	req := &chat.Request{Command: "exists", From: anonymous, Target: &anonymous}
	if got := fmt.Sprint(ask(t, nil, req)); !strings.Contains(got, "forbidden.text") {
		t.Errorf("got %s", got)
	}
}

func TestACommandIsFoundByItsAlias(t *testing.T) {
	for line, want := range map[string]string{
		"is":     "self:",
		"is 2":   `user: platform "" uid "" target 2`,
		"dead":   `uid: platform "EVM" uid "0xdead"`,
		"dead 2": `user: platform "" uid "" target 2`,
	} {
		words := strings.Fields(line)
		req := &chat.Request{Command: words[0], From: operator, Args: chat.Typed(words[1:]...)}
		if got := fmt.Sprint(ask(t, nil, req)); !strings.Contains(got, want) {
			t.Errorf("/%s: got %s, want %q", line, got, want)
		}
	}
}

func TestAnUnknownCommandNamesTheNearest(t *testing.T) {
	nearest := func(c *router.Config) {
		c.Nearest = func(name string, known []string) string {
			if name == "exsits" && slices.Equal(known, []string{"dead", "is", "exists"}) {
				return "exists"
			}
			return ""
		}
	}
	for command, want := range map[string]string{
		"exsits": "unknown.nearest map[command:/exists]",
		"moon":   "unknown.text",
	} {
		req := &chat.Request{Command: command, From: operator, Args: chat.Typed("2")}
		if got := fmt.Sprint(ask(t, nearest, req)); !strings.Contains(got, want) {
			t.Errorf("/%s: got %s, want %q", command, got, want)
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
		"0xabc":        "staked",
		" 0x1\n":       "staked",
		"is 0xabc ok?": "staked",
		"is 0x1 ok?":   "staked",
		"up 100x":      "start",
		"hello":        "start",
		"":             "start",
	} {
		if got := all.Guess(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// withVerify returns a change that adds a command with three forms: about a wallet, about a person and a wallet, and
// with a page besides, which only buttons send. All forms return reply and err.
func withVerify(reply *chat.Reply, err error) func(*router.Config) {
	run := func(context.Context, *chat.Request) (*chat.Reply, error) { return reply, err }
	wallet := chat.Param{
		Name:     "wallet",
		Summary:  chat.Say("wallet"),
		Example:  "0x1",
		Question: chat.Say("Which wallet?"),
	}
	person := chat.Param{Name: "user", Summary: chat.Say("user"), Example: "123", Person: true}
	page := chat.Param{Name: "page", Summary: chat.Say("page"), Example: "2"}
	verify := chat.Command{
		Name:       "verify",
		Summary:    chat.Say("verify"),
		Visibility: chat.Private,
		Forms: []chat.Form{
			{Params: []chat.Param{wallet}, Run: run},
			{Params: []chat.Param{person, wallet}, Moderators: true, Run: run},
			{Params: []chat.Param{person, wallet, page}, Unlisted: true, Run: run},
		},
	}
	return func(c *router.Config) { c.Commands = append(c.Commands, verify) }
}

func TestAMissingArgumentIsAskedFor(t *testing.T) {
	tooShort := &chat.InputError{
		Title:   chat.Say("Check the wallet address"),
		Problem: chat.Say("It is too short."),
	}
	whichWallet := &chat.Ask{Command: "verify", Question: chat.Say("Which wallet?")}
	for _, test := range []struct {
		name  string
		req   chat.Request
		title string
		ask   *chat.Ask
	}{
		{
			name:  "nothing is typed",
			req:   chat.Request{Command: "verify"},
			title: "Which wallet?",
			ask:   whichWallet,
		},
		{
			name:  "a wrong wallet",
			req:   chat.Request{Command: "verify", Args: chat.Typed("0x")},
			title: "Check the wallet address",
			ask:   whichWallet,
		},
		{
			name:  "a user alone",
			req:   chat.Request{Command: "verify", Args: chat.Typed("700")},
			title: "input.title",
		},
		{
			name:  "in a reply to somebody",
			req:   chat.Request{Command: "verify", Target: &bob},
			title: "input.title",
		},
		{
			name:  "of a parameter without a question",
			req:   chat.Request{Command: "exists", Args: chat.Typed("1", "2", "3")},
			title: "input.title",
		},
	} {
		test.req.From = operator
		got := ask(t, withVerify(&chat.Reply{}, tooShort), &test.req)
		if got.Title.Key != test.title || !got.ForSender() || !reflect.DeepEqual(got.Ask, test.ask) {
			t.Errorf("%s: got %+v, which asks for %+v", test.name, got, got.Ask)
		}
	}
}

func TestAButtonsFormRunsForEverybody(t *testing.T) {
	req := &chat.Request{Command: "verify", From: ann, Args: chat.Typed("2", "0x1", "3")}
	got := ask(t, withVerify(&chat.Reply{Title: chat.Say("ran")}, nil), req)
	if got.Title.Key != "ran" {
		t.Errorf("got %+v", got)
	}
}

func TestARefusalListsTheFormsThatTheSenderMayType(t *testing.T) {
	for _, from := range []chat.User{ann, operator} {
		req := &chat.Request{Command: "verify", From: from, Args: chat.Typed("1", "2", "3", "4")}
		got := fmt.Sprint(ask(t, withVerify(&chat.Reply{}, nil), req))
		if !strings.Contains(got, "{verify [{name.wallet ") || strings.Contains(got, "page") {
			t.Errorf("%s reads %s", from.ID, got)
		}
		readsModeratorsForm := strings.Contains(got, "{verify [{name.user ")
		if readsModeratorsForm != (from == operator) {
			t.Errorf("%s reads of moderators' forms: %t, in %s", from.ID, readsModeratorsForm, got)
		}
	}
}

// withPhrase makes "price" the only command. Its argument is a period or an amount, and an amount may have several
// words.
func withPhrase(c *router.Config) {
	run := func(_ context.Context, req *chat.Request) (*chat.Reply, error) {
		bound := fmt.Sprintf("period %q amount %q", req.Args.Value("period"), req.Args.Value("amount"))
		return &chat.Reply{Title: chat.Say(bound)}, nil
	}
	period := chat.Param{
		Name:          "period",
		Choices:       []string{"7d", "30d"},
		Like:          regexp.MustCompile(`(?i)^([0-9]+d|\$.*)$`),
		ChoiceProblem: func(typed string) chat.Text { return chat.Say("not " + typed) },
	}
	amount := chat.Param{Name: "amount", Phrase: true, Like: regexp.MustCompile(`^[0-9]`)}
	c.Commands = chat.Commands{{
		Name:       "price",
		Visibility: chat.Public,
		Forms: []chat.Form{
			{Run: run},
			{Params: []chat.Param{period}, Run: run},
			{Params: []chat.Param{amount}, Run: run},
		},
	}}
}

// periodAndAmount returns named arguments. It leaves out an empty one.
func periodAndAmount(period, amount string) chat.Args {
	args := map[string]string{"period": period, "amount": amount}
	maps.DeleteFunc(args, func(_, value string) bool { return value == "" })
	return chat.Named(args)
}

// The keys are the Title and the Text of the reply.
func TestAPhraseIsTheWordsThatNoOtherParameterAccepts(t *testing.T) {
	for want, all := range map[string][]chat.Args{
		`period "" amount "" `: {
			chat.Typed(),
		},
		`period "7d" amount "" `: {
			chat.Typed("7D"),
			chat.Typed("please", "7d"),
			chat.Typed("7d", "1"),
			periodAndAmount("7d", ""),
		},
		`period "" amount "1" `: {
			chat.Typed("1"),
			periodAndAmount("", "1"),
		},
		`period "" amount "1 5 TK" `: {
			chat.Typed("1", "5", "TK"),
			periodAndAmount("", "1 5 TK"),
		},
		"input.title not now": {
			chat.Typed("now"),
			periodAndAmount("now", ""),
		},
		"input.title not about 1": {
			chat.Typed("about", "1"),
		},
		"input.title not 7d 30d": {
			chat.Typed("7d", "30d"),
			chat.Typed("7d", "or", "30d"),
		},
		"input.title not 90d": {
			chat.Typed("90d"),
			chat.Typed("90d", "please"),
			periodAndAmount("90d", ""),
		},
		"input.title not $btc 7d": {
			chat.Typed("$btc", "7d"),
			chat.Typed("$btc", "for", "7d"),
		},
		"input.title input.together": {
			periodAndAmount("7d", "1"),
		},
	} {
		for _, args := range all {
			reply := ask(t, withPhrase, &chat.Request{Command: "price", Args: args, From: ann})
			if got := reply.Title.Key + " " + reply.Text.Key; got != want {
				t.Errorf("%v: got %q, want %q", args, got, want)
			}
		}
	}
}

// FuzzArguments checks that whatever a member types, only a form for members runs, and that no reply repeats a long
// input.
func FuzzArguments(f *testing.F) {
	f.Add("exists", "")
	f.Add("exists", "12345")
	f.Add("exists", "EVM 0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("exists", "a b c \u202e \x00")
	f.Add("nonsense", "1")
	f.Fuzz(func(t *testing.T, command, rest string) {
		words := strings.Fields(rest)
		req := &chat.Request{ID: "REF", Command: command, Args: chat.Typed(words...), From: ann}
		reply := newRouter(t, io.Discard, nil).Handle(t.Context(), req)
		if reply.Title.Key == "ran" && len(words) > 0 {
			t.Fatalf("/%s %q ran for a member: %+v", command, rest, reply)
		}
		if said := fmt.Sprint(reply); len(rest) > 40 && strings.Contains(said, rest) {
			t.Fatalf("the input came back: %s", said)
		}
	})
}
