package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform"
	"herald/internal/platform/telegram/botapi"
)

// rightCase is a group and the bot's membership in it, and what a judge makes of them.
type rightCase struct {
	group  string // as JSON
	bot    string // as JSON
	may    string // how Right.May begins; "" if the bot may not
	lacks  string // how Right.Problem begins; "" if the bot may
	advice string // how Right.Advice begins; "" if there is none
}

// judge sets May, Problem and Advice of a Right.
type judge func(*platform.Right, botapi.ChatInfo, *models.ChatMember)

func checkRights(t *testing.T, judge judge, cases map[string]rightCase) {
	t.Helper()
	for name, tt := range cases {
		var group botapi.ChatInfo
		var bot models.ChatMember
		if err := json.Unmarshal([]byte(tt.group), &group); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(tt.bot), &bot); err != nil {
			t.Fatal(err)
		}
		var right platform.Right
		judge(&right, group, &bot)
		checkBeginning(t, name+": may", right.May, tt.may)
		checkBeginning(t, name+": lacks", right.Problem, tt.lacks)
		checkBeginning(t, name+": advice", strings.Join(right.Advice, "|"), tt.advice)
	}
}

// checkBeginning checks that got begins with want, and is "" if want is.
func checkBeginning(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) || (got == "") != (want == "") {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestTheRightToLetPeopleIn(t *testing.T) {
	const (
		byRequest = `{"title":"Lounge","join_by_request":true}`
		inviting  = `{"status":"administrator","can_invite_users":true,"user":{"id":1}}`
		letIn     = "the bot may let people in"
		noInvite  = "the bot may not let people in: make it an administrator there, with the right to invite users"
	)
	checkRights(t, judgeLettingIn, map[string]rightCase{
		"may": {
			group: byRequest,
			bot:   inviting,
			may:   letIn,
		},
		"a member, despite a right": {
			group: byRequest,
			bot:   `{"status":"member","can_invite_users":true}`,
			lacks: noInvite,
		},
		"no right": {
			group: byRequest,
			bot:   `{"status":"administrator"}`,
			lacks: noInvite,
		},
		"open to everybody": {
			group:  `{"title":"Lounge"}`,
			bot:    inviting,
			may:    letIn,
			advice: "only those ask to join who come by an invite link with admin approval",
		},
		"guarded by this bot": {
			group: `{"title":"Lounge","join_by_request":true,"guard_bot":{"id":1}}`,
			bot:   inviting,
			may:   letIn,
		},
		"guarded by another bot": {
			group:  `{"title":"Lounge","join_by_request":true,"guard_bot":{"id":2}}`,
			bot:    inviting,
			may:    letIn,
			advice: "another bot is asked about join requests first",
		},
	})
}

func TestPresenceInAGroup(t *testing.T) {
	const group = `{"title":"Lounge"}`
	checkRights(t, judgePresence, map[string]rightCase{
		"a member":                {group: group, bot: `{"status":"member"}`, may: "the bot is there"},
		"has left a public group": {group: group, bot: `{"status":"left"}`, lacks: "the bot is not in the group"},
	})
}

// The bot's right to set tags does not follow from its right to pin messages.
func TestTheRightToSetTags(t *testing.T) {
	const (
		group  = `{"title":"Lounge"}`
		maySet = "the bot may set tags"
		noTags = "the bot may not set tags: make it an administrator there, with the right to manage member tags"
	)
	checkRights(t, judgeTags, map[string]rightCase{
		"may": {
			group: group,
			bot:   `{"status":"administrator","can_manage_tags":true}`,
			may:   maySet,
		},
		"a server that knows no tags": {
			group: group,
			bot:   `{"status":"administrator","can_pin_messages":true}`,
			lacks: noTags,
		},
		"no right": {
			group: group,
			bot:   `{"status":"administrator","can_pin_messages":true,"can_manage_tags":false}`,
			lacks: noTags,
		},
		"a member, despite a right": {
			group: group,
			bot:   `{"status":"member","can_manage_tags":true}`,
			lacks: noTags,
		},
	})
}

// If Telegram does not say whether members may edit their tags, they may if they may pin messages.
func TestMembersWhoMayEditTheirOwnTags(t *testing.T) {
	const (
		tagging = `{"status":"administrator","can_manage_tags":true}`
		maySet  = "the bot may set tags"
		editOwn = "members may edit their own tags"
	)
	checkRights(t, judgeTags, map[string]rightCase{
		"allowed": {
			group: `{"title":"Lounge","permissions":{"can_edit_tag":true}}`,
			bot:   tagging,
			lacks: editOwn,
		},
		"not said, and they may pin": {
			group: `{"title":"Lounge","permissions":{"can_pin_messages":true}}`,
			bot:   tagging,
			lacks: editOwn,
		},
		"forbidden": {
			group: `{"title":"Lounge","permissions":{"can_pin_messages":true,"can_edit_tag":false}}`,
			bot:   tagging,
			may:   maySet,
		},
	})
}

// rightsTest returns the adapterTest of a bot that may let people into holders and set tags in the lounge.
func rightsTest(t *testing.T) *adapterTest {
	t.Helper()
	r := tagTest(t, withJoins)
	r.api.GrantInvite(holders, true)
	r.api.SetChat(faketelegram.ChatInfo{Chat: holdersChat, JoinByRequest: true})
	return r
}

// checkedRights returns the rights that bot check shows, with the lounge in MODERATOR_CHATS and in CHAT_LANGUAGE.
func (r *adapterTest) checkedRights() []platform.Right {
	r.Helper()
	moderators := platform.Entry{Setting: "MODERATOR_CHATS", ID: loungeID}
	language := platform.Entry{Setting: "CHAT_LANGUAGE", ID: loungeID}
	_, rights, err := r.adapter.Check(r.Context(), nil, moderators, language)
	if len(rights) != 4 || err != nil {
		r.Fatalf("%+v, %v", rights, err)
	}
	return rights
}

func TestRightsAreAskedForEachGroupOfTheSettings(t *testing.T) {
	r := rightsTest(t)
	rights := r.checkedRights()
	check(t, "group of JOIN_CHATS", rights[0].Name, "-1002")
	check(t, "problem with it", rights[0].Problem, "")
	check(t, "tag", rights[1].Name, "Staker")
	check(t, "line about the tag", rights[1].Lines()[0], "STAKER_TAGS, group -1004 (Lounge): the bot may set tags")
	check(t, "line about moderators", rights[2].Lines()[0], "MODERATOR_CHATS, group -1004 (Lounge): the bot is there")
	check(t, "line about the language", rights[3].Lines()[0], "CHAT_LANGUAGE, group -1004 (Lounge): the bot is there")
	check(t, "title of holders", string(r.adapter.CommunityName(fmt.Sprint(holders))), holdersChat.Title)
}

func TestARightThatIsLostIsNoticed(t *testing.T) {
	r := rightsTest(t)
	r.checkedRights()
	r.api.GrantTags(lounge, false)
	tags := r.adapter.Rights(t.Context())[1]
	check(t, "tag", tags.Name, "Staker")
	check(t, "there is a problem", tags.Problem != "", true)
}

// A failure to ask is temporary. An unknown group is not: the operator has to act.
func TestARightThatCannotBeAskedForIsAProblem(t *testing.T) {
	unknownGroup := telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: chat not found"}
	type test struct {
		fault       telegramtest.Fault // of the first call
		problem     string             // within Right.Problem
		isTemporary bool
	}
	inBubble(t, map[string]test{
		"an unknown group": {
			fault:   unknownGroup,
			problem: "is the ID right, and the bot in the group?",
		},
		"a broken server": {
			fault:       telegramtest.Page(http.StatusBadGateway),
			problem:     "getChat: ",
			isTemporary: true,
		},
		"a token that Telegram refuses, which says nothing about the group": {
			fault:       telegramtest.Status(http.StatusUnauthorized),
			problem:     "getChat: ",
			isTemporary: true,
		},
	}, func(t *testing.T, tt test) {
		r := rightsTest(t)
		r.api.Fail("getChat", tt.fault)
		joins := r.checkedRights()[0]
		check(t, "temporary", joins.Temporary, tt.isTemporary)
		if !strings.Contains(joins.Problem, tt.problem) {
			t.Errorf("got %q, want %q", joins.Problem, tt.problem)
		}
		if tt.isTemporary && strings.Contains(joins.Problem, "ID") {
			t.Errorf("a temporary problem asks about the ID: %q", joins.Problem)
		}
	})
}
