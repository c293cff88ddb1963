package chat_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"herald/internal/chat"
)

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
		"none listed":            {nil, moderator(unlisted), "unlisted.entry map[entry:telegram:-100777"},
		"another listed":         {[]string{"telegram:-1007777", "telegram:-10077"}, moderator(unlisted), "unlisted.entry map[entry:telegram:-100777"},
		"another platform's":     {[]string{"discord:-100777"}, moderator(unlisted), "unlisted.entry map[entry:telegram:-100777"},
		"listed":                 {[]string{"telegram:-1", "telegram:-100777"}, moderator(unlisted), "ran"},
		"every chat":             {[]string{chat.EveryChat}, moderator(unlisted), "ran"},
		"a role that was asked":  {nil, chat.Request{From: ann, Community: mine, Role: chat.UnknownRole}, "unlisted.entry map[entry:telegram:where ann moderates"},
		"the same, listed":       {[]string{"telegram:" + mine}, chat.Request{From: ann, Community: mine, Role: chat.UnknownRole}, "ran"},
		"the channel is no rank": {[]string{"telegram:-5"}, chat.Request{From: ann, Community: unlisted, Chat: "-5", Role: chat.Moderator}, "unlisted.entry map[entry:telegram:-100777"},
		"a member of unlisted":   {nil, chat.Request{From: ann, Community: unlisted}, "forbidden.text"},
		"a member, every chat":   {[]string{chat.EveryChat}, chat.Request{From: ann, Community: unlisted}, "forbidden.text"},
		"asked, a member":        {nil, chat.Request{From: bob, Community: mine, Role: chat.UnknownRole}, "forbidden.text"},
		"asked, in doubt":        {nil, chat.Request{From: ann, Community: "in doubt", Role: chat.UnknownRole}, "forbidden.text"},
		"an operator":            {nil, chat.Request{From: operator, Community: unlisted}, "ran"},
		"anonymous, listed":      {[]string{"telegram:-100777"}, chat.Request{From: nobody, Community: unlisted, Role: chat.Moderator}, "ran"},
		"anonymous, unlisted":    {nil, chat.Request{From: nobody, Community: unlisted, Role: chat.Moderator}, "unlisted.entry map[entry:telegram:-100777"},
		"one to one":             {nil, chat.Request{From: ann, Direct: true}, "forbidden.direct"},
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
			if got := r.Handle(t.Context(), req); !strings.HasPrefix(got.Text.Key, "self:") {
				t.Errorf("about themself, the sender got %+v", got)
			}
		})
	}
}

func TestACommandLearnsWhetherItsSenderMayModerate(t *testing.T) {
	var may bool
	r := newRouter(t, new(bytes.Buffer), func(c *chat.Config) {
		c.Commands[0].Forms[0].Run = func(_ context.Context, req chat.Request) (chat.Reply, error) {
			may = req.MayModerate
			return chat.Reply{}, nil
		}
	})
	for name, test := range map[string]struct {
		req  chat.Request
		want bool
	}{
		"a member":                     {chat.Request{From: ann, Community: "listed"}, false},
		"a member who claims it":       {chat.Request{From: ann, Community: "listed", MayModerate: true}, false},
		"a moderator":                  {chat.Request{From: ann, Community: "listed", Role: chat.Moderator}, true},
		"a moderator, unlisted":        {chat.Request{From: ann, Community: "elsewhere", Role: chat.Moderator}, false},
		"a role that is not known yet": {chat.Request{From: ann, Community: "where ann moderates", Role: chat.UnknownRole}, false},
		"an operator":                  {chat.Request{From: operator}, true},
	} {
		test.req.Command, may = "exists", !test.want
		r.Handle(t.Context(), test.req)
		if may != test.want {
			t.Errorf("%s: may moderate: %v", name, may)
		}
	}
}

// TestAModeratorsCheckIsLoggedWithWhomItWasAboutAndWhere: one line each, whose
// pseudonyms are those of other lines, and which tells nothing of the answer.
func TestAModeratorsCheckIsLoggedWithWhomItWasAboutAndWhere(t *testing.T) {
	var log bytes.Buffer
	r := newRouter(t, &log, func(c *chat.Config) {
		c.ModeratorChats = []string{chat.EveryChat}
		c.Commands = append(c.Commands, wallets(func(context.Context, chat.Request) (chat.Reply, error) {
			return chat.Reply{Tone: chat.Positive, Title: chat.Say("verdict.yes")}, nil
		}))
	})
	handle := func(req chat.Request) map[string]string {
		log.Reset()
		req.ID = "REF"
		r.Handle(t.Context(), req)
		if strings.Count(log.String(), "\n") != 1 {
			t.Fatalf("not one line: %s", log.String())
		}
		for _, secret := range []string{"4815162342", "231642", "161718", "0xabc", "verdict"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("%q is in the log: %s", secret, log.String())
			}
		}
		attrs := map[string]string{}
		for _, pair := range strings.Fields(log.String()) {
			name, value, _ := strings.Cut(pair, "=")
			attrs[name] = value
		}
		return attrs
	}
	target := chat.User{Platform: "telegram", ID: "4815162342"}
	self := handle(chat.Request{Command: "exists", From: target, Chat: "231642"})
	if self["about"] != "" || self["chat"] != "" {
		t.Errorf("a question about oneself is logged as %v", self)
	}
	moderator := chat.Request{From: ann, Chat: "231642", Community: "161718", Role: chat.Moderator}
	member := moderator
	member.Role = chat.Member
	ask := func(req chat.Request, command string, target *chat.User, args ...string) map[string]string {
		req.Command, req.Target, req.Args = command, target, chat.Typed(args...)
		return handle(req)
	}
	byReply := ask(moderator, "exists", &target)
	if byReply["about"] != self["user"] || byReply["about"] == byReply["user"] || byReply["chat"] == "" || byReply["outcome"] != "ok" {
		t.Errorf("about %v is logged as %v", self["user"], byReply)
	}
	for name, got := range map[string]map[string]string{
		"by ID":          ask(moderator, "exists", nil, target.ID),
		"another form":   ask(moderator, "verify", nil, target.ID, "0xabc"),
		"when forbidden": ask(member, "exists", &target),
	} {
		if got["about"] != byReply["about"] || got["chat"] != byReply["chat"] {
			t.Errorf("%s: logged as %v, want about and chat as in %v", name, got, byReply)
		}
	}
	wallet := ask(moderator, "exists", nil, "evm", "0xabc")
	if wallet["about"] == "" || wallet["about"] == "anonymous" || wallet["about"] == byReply["about"] || wallet["chat"] != byReply["chat"] {
		t.Errorf("about a wallet is logged as %v", wallet)
	}
}
