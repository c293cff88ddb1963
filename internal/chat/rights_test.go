package chat_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"herald/internal/chat"
)

func TestRouterBindsArgumentsAndHoldsRights(t *testing.T) {
	typed := func(words ...string) chat.Request { return chat.Request{From: ann, Args: chat.Typed(words...)} }
	named := func(pairs ...string) chat.Request {
		values := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		return chat.Request{From: ann, Args: chat.Named(values)}
	}
	moderator := func(req chat.Request) chat.Request {
		req.Role, req.Community = chat.Moderator, "listed"
		return req
	}
	by := func(from chat.User, req chat.Request) chat.Request { req.From = from; return req }
	to := func(target chat.User, req chat.Request) chat.Request {
		req.Target, req.TargetName = &target, "Bobby"
		return req
	}
	for name, test := range map[string]struct {
		req  chat.Request
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
		"unknown choice":                  {moderator(typed("moon", "0x1")), "input.choices"},
		"a reply does not hide arguments": {moderator(to(bob, typed("evm", "0x1"))), `uid: platform "EVM" uid "0x1" target nobody name ""`},
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

// TestAModeratorMayAskAboutOthersWhereTheChatIsListed has a moderator by what the
// request shows and by what the platform says. About themself everybody may ask,
// and learns what they may by all that is known without asking the platform.
func TestAModeratorMayAskAboutOthersWhereTheChatIsListed(t *testing.T) {
	const unlisted, mine = "-100777", "where ann moderates"
	everywhere := []string{chat.EveryChat}
	sender := func(from chat.User, community string, role chat.Role) chat.Request {
		return chat.Request{From: from, Community: community, Role: role}
	}
	moderator := sender(ann, unlisted, chat.Moderator)
	claims := sender(ann, unlisted, chat.Member)
	claims.MayModerate = true
	inChannel := moderator
	inChannel.Chat = "-5"
	direct := sender(ann, "", chat.Member)
	direct.Direct = true
	const add, addMine = "unlisted.entry map[entry:telegram:-100777", "unlisted.entry map[entry:telegram:where ann moderates"
	for name, test := range map[string]struct {
		listed []string
		req    chat.Request
		want   string
		may    bool
	}{
		"none listed":            {nil, moderator, add, false},
		"another listed":         {[]string{"telegram:-1007777", "telegram:-10077"}, moderator, add, false},
		"listed":                 {[]string{"telegram:-1", "telegram:-100777"}, moderator, "ran", true},
		"every chat":             {everywhere, moderator, "ran", true},
		"a role that was asked":  {nil, sender(ann, mine, chat.UnknownRole), addMine, false},
		"the same, listed":       {[]string{"telegram:" + mine}, sender(ann, mine, chat.UnknownRole), "ran", false},
		"the channel is no rank": {[]string{"telegram:-5"}, inChannel, add, false},
		"a member of unlisted":   {nil, sender(ann, unlisted, chat.Member), "forbidden.text", false},
		"one who claims it":      {everywhere, claims, "forbidden.text", false},
		"asked, in doubt":        {everywhere, sender(ann, "in doubt", chat.UnknownRole), "forbidden.text", false},
		"asked in vain":          {everywhere, sender(ann, "down", chat.UnknownRole), "role.unknown", false},
		"an operator":            {nil, sender(operator, unlisted, chat.Member), "ran", true},
		"anonymous, unlisted":    {nil, sender(nobody, unlisted, chat.Moderator), add, false},
		"anonymous, listed":      {everywhere, sender(nobody, unlisted, chat.Moderator), "anonymous.text", true},
		"one to one":             {nil, direct, "forbidden.direct", false},
	} {
		list := func(c *chat.Config) { c.ModeratorChats = test.listed }
		for _, args := range [][]string{{"2"}, {"EVM", "0x1"}} {
			test.req.Command, test.req.Args = "exists", chat.Typed(args...)
			if got := fmt.Sprint(ask(t, list, test.req)); !strings.Contains(got, test.want) {
				t.Errorf("%s: got %s, want %q", name, got, test.want)
			}
		}
		test.req.Args = chat.Typed()
		got := ask(t, list, test.req).Text.Key
		if !strings.HasPrefix(got, "self:") || !strings.HasSuffix(got, fmt.Sprintf("may %t", test.may)) {
			t.Errorf("%s: about themself, the sender got %q", name, got)
		}
	}
}

// The log names them by the pseudonyms of its other lines, and holds no answer.
func TestAModeratorsCheckIsLoggedWithWhomItWasAboutAndWhere(t *testing.T) {
	var log bytes.Buffer
	r := newRouter(t, &log, func(c *chat.Config) { c.ModeratorChats = []string{chat.EveryChat} })
	handle := func(req chat.Request, args ...string) map[string]string {
		log.Reset()
		req.ID, req.Command, req.Args, req.Chat = "REF", "exists", chat.Typed(args...), "231642"
		r.Handle(t.Context(), req)
		attrs := map[string]string{}
		for _, pair := range strings.Fields(log.String()) {
			name, value, _ := strings.Cut(pair, "=")
			attrs[name] = value
		}
		for _, private := range []string{"4815162342", "231642", "161718", "0xabc", "Bobby", "ran"} {
			if strings.Contains(log.String(), private) {
				t.Errorf("%q is in the log: %s", private, log.String())
			}
		}
		return attrs
	}
	target := chat.User{Platform: "telegram", ID: "4815162342"}
	self := handle(chat.Request{From: target})
	if self["user"] == "" || self["about"] != "" || self["chat"] != "" {
		t.Errorf("a question about oneself is logged as %v", self)
	}
	moderator := chat.Request{From: ann, Community: "161718", Role: chat.Moderator}
	forbidden := moderator
	forbidden.Target, forbidden.TargetName, forbidden.Role = &target, "Bobby", chat.Member
	byID := handle(moderator, target.ID)
	for name, got := range map[string]map[string]string{"by ID": byID, "by a reply, forbidden": handle(forbidden)} {
		if got["about"] != self["user"] || got["about"] == got["user"] || got["chat"] == "" || got["chat"] != byID["chat"] {
			t.Errorf("%s: about %v is logged as %v", name, self["user"], got)
		}
	}
	wallet := handle(moderator, "evm", "0xabc")
	if wallet["about"] == "" || wallet["about"] == "anonymous" || wallet["about"] == byID["about"] {
		t.Errorf("about a wallet is logged as %v", wallet)
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
		req := chat.Request{ID: "REF", Command: command, Args: chat.Typed(words...), From: ann}
		reply := newRouter(t, io.Discard, nil).Handle(t.Context(), req)
		if reply.Title.Key == "ran" && len(words) > 0 {
			t.Fatalf("/%s %q ran for a member: %+v", command, rest, reply)
		}
		if said := fmt.Sprint(reply); len(rest) > 40 && strings.Contains(said, rest) {
			t.Fatalf("the input came back: %s", said)
		}
	})
}
