package router_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/router"
)

func TestRouterBindsArgumentsAndHoldsRights(t *testing.T) {
	typed := func(words ...string) *chat.Request { return &chat.Request{From: ann, Args: chat.Typed(words...)} }
	named := func(pairs ...string) *chat.Request {
		values := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		return &chat.Request{From: ann, Args: chat.Named(values)}
	}
	moderator := func(req *chat.Request) *chat.Request {
		req.Role, req.Community = chat.Moderator, "listed"
		return req
	}
	by := func(from chat.User, req *chat.Request) *chat.Request { req.From = from; return req }
	to := func(target chat.User, req *chat.Request) *chat.Request {
		req.Target, req.TargetName = &target, "Bobby"
		return req
	}
	for name, test := range map[string]struct {
		req  *chat.Request
		want string
	}{
		"self":                            {typed(), `self: platform "" uid "" target nobody`},
		"a member may not ask of others":  {typed("2"), "forbidden.text"},
		"nor by a reply":                  {to(bob, typed()), "forbidden.text"},
		"nor by named arguments":          {named("platform", "EVM", "uid", "x"), "forbidden.text"},
		"a moderator may, by ID":          {moderator(typed("2")), `user: platform "" uid "" target 2 name ""`},
		"a moderator may, by a reply":     {moderator(to(bob, typed())), `user: platform "" uid "" target 2 name "Bobby"`},
		"a named user":                    {moderator(named("user", "2")), `user: platform "" uid "" target 2 name ""`},
		"choices in any case":             {moderator(typed("evm", "0x1")), `uid: platform "EVM" uid "0x1" target nobody`},
		"a synonym":                       {moderator(typed("Ethereum", "0x1")), `uid: platform "EVM" uid "0x1" target nobody`},
		"in the other order":              {moderator(typed("0x1", "ethereum", "chain")), `uid: platform "EVM" uid "0x1" target nobody`},
		"in either order, as typed":       {moderator(typed("evm", "ton")), `uid: platform "EVM" uid "ton" target nobody`},
		"unknown choice":                  {moderator(typed("moon", "0x1")), "input.choices"},
		"a reply does not hide arguments": {moderator(to(bob, typed("evm", "0x1"))), `uid: platform "EVM" uid "0x1" target nobody name ""`},
		"too many words":                  {moderator(typed("1", "2", "3")), "input.too_much"},
		"an ID beside a reply":            {moderator(to(bob, typed("2"))), "input.mismatch"},
		"two of another name":             {moderator(named("platform", "EVM", "wallet", "1")), "input.mismatch"},
		"a reply to oneself is oneself":   {to(ann, typed()), `self: platform "" uid "" target nobody name ""`},
		"two who are anonymous differ":    {by(nobody, to(nobody, typed())), "forbidden.text"},
		"an operator needs no rights":     {by(operator, typed("2")), "user:"},
		"the same ID elsewhere is nobody": {by(chat.User{Platform: "discord", ID: operator.ID}, typed("2")), "forbidden.text"},
	} {
		test.req.Command = "exists"
		if got := fmt.Sprint(ask(t, nil, test.req)); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %q", name, got, test.want)
		}
	}
}

// TestModeratorsMayAskAboutOthersInListedChats has a moderator by what the
// request shows and by what the platform says.
func TestModeratorsMayAskAboutOthersInListedChats(t *testing.T) {
	const unlisted, mine = "-100777", "where ann moderates"
	everywhere := []string{router.EveryChat}
	sender := func(from chat.User, community string, role chat.Role) *chat.Request {
		return &chat.Request{From: from, Community: community, Role: role}
	}
	moderator := sender(ann, unlisted, chat.Moderator)
	inChannel := moderator
	inChannel.Chat = "-5"
	direct := sender(ann, "", chat.Member)
	direct.Direct = true
	const add, addMine = "unlisted.entry map[entry:telegram:-100777", "unlisted.entry map[entry:telegram:where ann moderates"
	for name, test := range map[string]struct {
		listed []string
		req    *chat.Request
		want   string
	}{
		"none listed":            {nil, moderator, add},
		"another listed":         {[]string{"telegram:-1007777", "telegram:-10077"}, moderator, add},
		"listed":                 {[]string{"telegram:-1", "telegram:-100777"}, moderator, "ran"},
		"every chat":             {everywhere, moderator, "ran"},
		"a role that was asked":  {nil, sender(ann, mine, chat.UnknownRole), addMine},
		"the same, listed":       {[]string{"telegram:" + mine}, sender(ann, mine, chat.UnknownRole), "ran"},
		"the channel is no rank": {[]string{"telegram:-5"}, inChannel, add},
		"a member of unlisted":   {nil, sender(ann, unlisted, chat.Member), "forbidden.text"},
		"asked, in doubt":        {everywhere, sender(ann, "in doubt", chat.UnknownRole), "forbidden.text"},
		"asked in vain":          {everywhere, sender(ann, "down", chat.UnknownRole), "role.unknown"},
		"an operator":            {nil, sender(operator, unlisted, chat.Member), "ran"},
		"anonymous, unlisted":    {nil, sender(nobody, unlisted, chat.Moderator), add},
		"anonymous, listed":      {everywhere, sender(nobody, unlisted, chat.Moderator), "anonymous.text"},
		"one to one":             {nil, direct, "forbidden.direct"},
	} {
		list := func(c *router.Config) { c.ModeratorChats = test.listed }
		for _, args := range [][]string{{"2"}, {"EVM", "0x1"}} {
			test.req.Command, test.req.Args = "exists", chat.Typed(args...)
			if got := fmt.Sprint(ask(t, list, test.req)); !strings.Contains(got, test.want) {
				t.Errorf("%s: got %s, want %q", name, got, test.want)
			}
		}
	}
}

// Until the role is known nobody moderates. An error that names forms asks for it first.
func TestWhoModeratesIsKnownOnceTheirRoleIs(t *testing.T) {
	for name, test := range map[string]struct {
		from       chat.User
		role       chat.Role
		community  string
		may, might bool
		told       bool // of moderators' forms
	}{
		"a member":                {ann, chat.Member, "listed", false, false, false},
		"a moderator":             {ann, chat.Moderator, "listed", true, true, true},
		"of an unlisted chat":     {ann, chat.Moderator, "unlisted", false, false, false},
		"an anonymous moderator":  {nobody, chat.Moderator, "listed", false, false, false},
		"an unknown role":         {ann, chat.UnknownRole, "listed", false, true, false},
		"unknown, a moderator":    {ann, chat.UnknownRole, "where ann moderates", false, true, true},
		"unknown, asked in vain":  {ann, chat.UnknownRole, "down", false, true, false},
		"unknown, unlisted":       {ann, chat.UnknownRole, "unlisted", false, false, false},
		"an operator":             {operator, chat.Member, "unlisted", true, true, true},
		"an operator, in private": {operator, chat.Member, "", true, true, true},
	} {
		var got *chat.Request
		run := func(_ context.Context, req *chat.Request) (*chat.Reply, error) { got = req; return nil, nil }
		ask(t, running(run), &chat.Request{Command: "exists", From: test.from, Role: test.role, Community: test.community})
		if got.MayModerate != test.may || got.MightModerate() != test.might || (got.UnlistedChat != "") != (test.community == "unlisted") {
			t.Errorf("%s: may %t, might %t, lacks %q; want %t, %t", name, got.MayModerate, got.MightModerate(), got.UnlistedChat, test.may, test.might)
		}
		told := fmt.Sprint(ask(t, nil, &chat.Request{Command: "exists", From: test.from, Role: test.role, Community: test.community, Args: chat.Typed("1", "2", "3")}))
		if strings.Contains(told, "name.platform") != test.told {
			t.Errorf("%s is told %s", name, told)
		}
	}
}

// FuzzArguments: whatever a member types, only a form for members runs, and
// nothing of it comes back.
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

func TestAPhraseIsWhatNoOtherParameterAccepts(t *testing.T) {
	run := func(_ context.Context, req *chat.Request) (*chat.Reply, error) {
		return &chat.Reply{Title: chat.Say(fmt.Sprintf("period %q amount %q", req.Args.Value("period"), req.Args.Value("amount")))}, nil
	}
	period := chat.Param{Name: "period", Choices: []string{"7d", "30d"}, Like: regexp.MustCompile(`(?i)^([0-9]+d|\$.*)$`),
		Problem: func(typed string) chat.Text { return chat.Say("not " + typed) }}
	amount := chat.Param{Name: "amount", Phrase: true, Like: regexp.MustCompile(`^[0-9]`)}
	with := func(c *router.Config) {
		c.Commands = chat.Commands{{Name: "price", Visibility: chat.Public, Forms: []chat.Form{
			{Run: run}, {Params: []chat.Param{period}, Run: run}, {Params: []chat.Param{amount}, Run: run},
		}}}
	}
	named := func(period, amount string) chat.Args {
		args := map[string]string{"period": period, "amount": amount}
		maps.DeleteFunc(args, func(_, value string) bool { return value == "" })
		return chat.Named(args)
	}
	for want, all := range map[string][]chat.Args{
		`period "" amount "" `:       {chat.Typed()},
		`period "7d" amount "" `:     {chat.Typed("7D"), chat.Typed("please", "7d"), chat.Typed("7d", "1"), named("7d", "")},
		`period "" amount "1" `:      {chat.Typed("1"), named("", "1")},
		`period "" amount "1 5 TK" `: {chat.Typed("1", "5", "TK"), named("", "1 5 TK")},
		"input.title not now":        {chat.Typed("now"), named("now", "")},
		"input.title not about 1":    {chat.Typed("about", "1")},
		"input.title not 7d 30d":     {chat.Typed("7d", "30d"), chat.Typed("7d", "or", "30d")},
		"input.title not 90d":        {chat.Typed("90d"), chat.Typed("90d", "please"), named("90d", "")},
		"input.title not $btc 7d":    {chat.Typed("$btc", "7d"), chat.Typed("$btc", "for", "7d")},
		"input.title input.together": {named("7d", "1")},
	} {
		for _, args := range all {
			reply := ask(t, with, &chat.Request{Command: "price", Args: args, From: ann})
			if got := reply.Title.Key + " " + reply.Text.Key; got != want {
				t.Errorf("%v: got %q, want %q", args, got, want)
			}
		}
	}
}
