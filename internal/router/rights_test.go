package router_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/router"
)

// requestsAboutOthers returns requests to "exists" that only moderators and operators may make.
func requestsAboutOthers() map[string]chat.Request {
	return map[string]chat.Request{
		"by ID":              {Command: "exists", Args: chat.Typed("2")},
		"by a reply":         {Command: "exists", Target: &bob},
		"by a typed uid":     {Command: "exists", Args: chat.Typed("EVM", "0x1")},
		"by named arguments": {Command: "exists", Args: chat.Named(map[string]string{"platform": "EVM", "uid": "x"})},
	}
}

// checkAboutOthers makes the requestsAboutOthers of a sender. Each reply must contain want.
func checkAboutOthers(t *testing.T, change func(*router.Config), sender chat.Request, want string) {
	t.Helper()
	for way, req := range requestsAboutOthers() {
		req.From = sender.From
		req.Role = sender.Role
		req.Community = sender.Community
		req.Chat = sender.Chat
		req.Direct = sender.Direct
		if got := fmt.Sprint(ask(t, change, &req)); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %q", way, got, want)
		}
	}
}

// withModeratorChats returns a change that lists chats whose moderators may use moderators' forms.
func withModeratorChats(chats ...string) func(*router.Config) {
	return func(c *router.Config) { c.ModeratorChats = chats }
}

func TestMembersMayAskOnlyAboutThemselves(t *testing.T) {
	checkAboutOthers(t, nil, chat.Request{From: ann}, "forbidden.text")
	checkAboutOthers(t, nil, chat.Request{From: ann, Community: unlisted}, "forbidden.text")
	self := &chat.Request{Command: "exists", From: ann}
	if got := fmt.Sprint(ask(t, nil, self)); !strings.Contains(got, "self:") {
		t.Errorf("about oneself: got %s", got)
	}
}

func TestOperatorsMayAskAboutOthersEverywhere(t *testing.T) {
	checkAboutOthers(t, nil, chat.Request{From: operator}, "ran")
	checkAboutOthers(t, withModeratorChats(), chat.Request{From: operator, Community: unlisted}, "ran")
}

func TestAnOperatorsIDOnAnotherPlatformIsNobodys(t *testing.T) {
	onDiscord := chat.User{Platform: "discord", ID: operator.ID}
	checkAboutOthers(t, nil, chat.Request{From: onDiscord}, "forbidden.text")
}

func TestModeratorsMayAskAboutOthersInListedChats(t *testing.T) {
	moderator := chat.Request{From: ann, Role: chat.Moderator, Community: "-100777"}
	checkAboutOthers(t, withModeratorChats("telegram:-1", "telegram:-100777"), moderator, "ran")
	checkAboutOthers(t, withModeratorChats(router.EveryChat), moderator, "ran")
}

func TestModeratorsOfAnUnlistedChatReadWhatToList(t *testing.T) {
	const entry = "unlisted.entry map[entry:telegram:-100777"
	moderator := chat.Request{From: ann, Role: chat.Moderator, Community: "-100777"}
	checkAboutOthers(t, withModeratorChats(), moderator, entry)
	checkAboutOthers(t, withModeratorChats("telegram:-1007777", "telegram:-10077"), moderator, entry)

	inChannel := moderator
	inChannel.Chat = "-5"
	checkAboutOthers(t, withModeratorChats("telegram:-5"), inChannel, entry)

	anonymousModerator := chat.Request{From: anonymous, Role: chat.Moderator, Community: "-100777"}
	checkAboutOthers(t, withModeratorChats(), anonymousModerator, entry)
}

func TestAnUnknownRoleIsAskedFor(t *testing.T) {
	everywhere := withModeratorChats(router.EveryChat)
	inCommunity := func(community string) chat.Request {
		return chat.Request{From: ann, Role: chat.UnknownRole, Community: community}
	}
	checkAboutOthers(t, withModeratorChats("telegram:"+whereAnnModerates), inCommunity(whereAnnModerates), "ran")
	checkAboutOthers(t, withModeratorChats(), inCommunity(whereAnnModerates),
		"unlisted.entry map[entry:telegram:"+whereAnnModerates)
	checkAboutOthers(t, everywhere, inCommunity(roleInDoubt), "forbidden.text")
	checkAboutOthers(t, everywhere, inCommunity(platformDown), "role.unknown")
}

func TestAnAnonymousModeratorIsToldToShowThemselves(t *testing.T) {
	sender := chat.Request{From: anonymous, Role: chat.Moderator, Community: "-100777"}
	checkAboutOthers(t, withModeratorChats(router.EveryChat), sender, "anonymous.text")
}

func TestInAPrivateChatNobodyModerates(t *testing.T) {
	checkAboutOthers(t, withModeratorChats(), chat.Request{From: ann, Direct: true}, "forbidden.direct")
}

// rightsCase is a sender, and their rights.
type rightsCase struct {
	name      string
	from      chat.User
	role      chat.Role
	community string
	// mayModerate is MayModerate before the platform is asked for an unknown role, and mightModerate is the result of
	// MightModerate.
	mayModerate, mightModerate bool
	// readsForms says whether a refusal shows the sender how to write moderators' forms. An unknown role is asked for
	// before.
	readsForms bool
}

var rightsCases = []rightsCase{
	{name: "a member", from: ann, role: chat.Member, community: listed},
	{
		name:          "a moderator",
		from:          ann,
		role:          chat.Moderator,
		community:     listed,
		mayModerate:   true,
		mightModerate: true,
		readsForms:    true,
	},
	{name: "a moderator of an unlisted chat", from: ann, role: chat.Moderator, community: unlisted},
	{name: "an anonymous moderator", from: anonymous, role: chat.Moderator, community: listed},
	{name: "an unknown role", from: ann, role: chat.UnknownRole, community: listed, mightModerate: true},
	{
		name:          "an unknown role, a moderator's",
		from:          ann,
		role:          chat.UnknownRole,
		community:     whereAnnModerates,
		mightModerate: true,
		readsForms:    true,
	},
	{
		name:          "an unknown role, and the platform does not answer",
		from:          ann,
		role:          chat.UnknownRole,
		community:     platformDown,
		mightModerate: true,
	},
	{name: "an unknown role in an unlisted chat", from: ann, role: chat.UnknownRole, community: unlisted},
	{
		name:          "an operator",
		from:          operator,
		role:          chat.Member,
		community:     unlisted,
		mayModerate:   true,
		mightModerate: true,
		readsForms:    true,
	},
	{
		name:          "an operator in a private chat",
		from:          operator,
		role:          chat.Member,
		mayModerate:   true,
		mightModerate: true,
		readsForms:    true,
	},
}

// request returns a request of the case's sender to "exists".
func (c rightsCase) request(words ...string) *chat.Request {
	return &chat.Request{
		Command:   "exists",
		Args:      chat.Typed(words...),
		From:      c.from,
		Role:      c.role,
		Community: c.community,
	}
}

func TestAFormKnowsTheRightsOfTheSender(t *testing.T) {
	for _, c := range rightsCases {
		var got *chat.Request
		ask(t, withRun(func(_ context.Context, req *chat.Request) (*chat.Reply, error) {
			got = req
			return nil, nil
		}), c.request())
		if got.MayModerate != c.mayModerate || got.MightModerate() != c.mightModerate {
			t.Errorf("%s: may %t, might %t; want %t, %t",
				c.name, got.MayModerate, got.MightModerate(), c.mayModerate, c.mightModerate)
		}
		if isUnlisted := c.community == unlisted; (got.UnlistedChat != "") != isUnlisted {
			t.Errorf("%s: the unlisted chat is %q", c.name, got.UnlistedChat)
		}
	}
}

func TestARefusalNamesModeratorsFormsOnlyToModerators(t *testing.T) {
	for _, c := range rightsCases {
		refused := fmt.Sprint(ask(t, nil, c.request("1", "2", "3")))
		if strings.Contains(refused, "name.platform") != c.readsForms {
			t.Errorf("%s reads %s", c.name, refused)
		}
	}
}
