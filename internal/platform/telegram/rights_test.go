package telegram

import (
	"encoding/json"
	"errors"
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

func TestARightIsJudgedByTheGroupAndTheBotsStanding(t *testing.T) {
	const (
		letIn, noInvite = "the bot may let people in", "the bot may not let people in: make it an administrator there, with the right to invite users"
		switchOn        = "only those ask to join who come by an invite link with admin approval"
		guarded         = "another bot is asked about join requests first"
		tags, noTags    = "the bot may set tags", "the bot may not set tags: make it an administrator there, with the right to manage member tags"
		editOwn, there  = "members may edit their own tags", "the bot is there"
	)
	inviting, byRequest := `{"status":"administrator","can_invite_users":true,"user":{"id":1}}`, `{"title":"Lounge","join_by_request":true`
	for _, tt := range []struct {
		judge        func(*platform.Right, botapi.ChatInfo, *models.ChatMember)
		info, own    string // JSON
		says, advice string
	}{
		{mayLetIn, byRequest + `}`, inviting, letIn, ""},
		{mayLetIn, byRequest + `}`, `{"status":"administrator"}`, noInvite, ""},
		{mayLetIn, byRequest + `}`, `{"status":"member","can_invite_users":true}`, noInvite, ""},
		{mayLetIn, `{"title":"Lounge"}`, inviting, letIn, switchOn},
		{mayLetIn, byRequest + `,"guard_bot":{"id":1}}`, inviting, letIn, ""},
		{mayLetIn, byRequest + `,"guard_bot":{"id":2}}`, inviting, letIn, guarded},
		{isThere, `{"title":"Lounge"}`, `{"status":"member"}`, there, ""},
		{isThere, `{"title":"Lounge"}`, `{"status":"left"}`, "the bot is not in the group", ""}, // a public one
		{maySetTags, `{"title":"Lounge"}`, `{"status":"administrator","can_manage_tags":true}`, tags, ""},
		{maySetTags, `{"title":"Lounge"}`, `{"status":"administrator","can_pin_messages":true}`, noTags, ""}, // a server that knows no tags
		{maySetTags, `{"title":"Lounge"}`, `{"status":"administrator","can_pin_messages":true,"can_manage_tags":false}`, noTags, ""},
		{maySetTags, `{"title":"Lounge"}`, `{"status":"member","can_manage_tags":true}`, noTags, ""},
		{maySetTags, `{"title":"Lounge","permissions":{"can_edit_tag":true}}`, `{"status":"administrator","can_manage_tags":true}`, editOwn, ""},
		{maySetTags, `{"title":"Lounge","permissions":{"can_pin_messages":true}}`, `{"status":"administrator","can_manage_tags":true}`, editOwn, ""}, // the default
		{maySetTags, `{"title":"Lounge","permissions":{"can_pin_messages":true,"can_edit_tag":false}}`, `{"status":"administrator","can_manage_tags":true}`, tags, ""},
	} {
		var r platform.Right
		var info botapi.ChatInfo
		var own models.ChatMember
		if err := errors.Join(json.Unmarshal([]byte(tt.info), &info), json.Unmarshal([]byte(tt.own), &own)); err != nil {
			t.Fatal(err)
		}
		tt.judge(&r, info, &own)
		advice := strings.Join(r.Advice, "|")
		may := tt.says == letIn || tt.says == tags || tt.says == there
		if !strings.HasPrefix(r.May+r.Problem, tt.says) || (r.May != "") != may || !strings.HasPrefix(advice, tt.advice) || (advice == "") != (tt.advice == "") {
			t.Errorf("%s, %s: %+v", tt.info, tt.own, r)
		}
	}
}

// Each group of JOIN_CHATS and each of STAKER_TAGS is asked about, once. What Telegram cannot
// answer now is asked again.
func TestRightsAreAskedForEachGroupOfTheSettings(t *testing.T) {
	inBubble(t, map[string]struct {
		fault   telegramtest.Fault // of the first call
		problem string
		passing bool
	}{
		"all is well":      {},
		"an unknown group": {telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: chat not found"}, "is the ID right, and the bot in the group?", false},
		"a broken server":  {telegramtest.Page(http.StatusBadGateway), "getChat: ", true},
		"another token":    {telegramtest.Status(http.StatusUnauthorized), "getChat: ", true},
	}, func(t *testing.T, tt struct {
		fault   telegramtest.Fault
		problem string
		passing bool
	}) {
		r := tagTest(t, withJoins)
		r.api.GrantInvite(holders, true)
		r.api.SetChat(faketelegram.ChatInfo{Chat: holdersChat, JoinByRequest: true})
		r.api.Fail("getChat", tt.fault)
		moderated := platform.Entry{Setting: "MODERATOR_CHATS", ID: loungeID}
		spoken := platform.Entry{Setting: "CHAT_LANGUAGE", ID: loungeID}
		_, rights, err := r.adapter.Check(t.Context(), nil, moderated, spoken)
		if len(rights) != 4 || err != nil {
			t.Fatalf("%+v, %v", rights, err)
		}
		check(t, "names", fmt.Sprint(rights[0].Name, ", ", rights[1].Name, ", ", rights[3].Name), "-1002, Staker, "+loungeID)
		check(t, "lines", rights[1].Lines()[0], "STAKER_TAGS, group "+loungeID+" (Lounge): the bot may set tags")
		check(t, "lines", rights[2].Lines()[0], "MODERATOR_CHATS, group "+loungeID+" (Lounge): the bot is there")
		check(t, "lines", rights[3].Lines()[0], "CHAT_LANGUAGE, group "+loungeID+" (Lounge): the bot is there")
		if r := rights[0]; r.Passing != tt.passing || (r.Problem == "") != (tt.problem == "") || !strings.Contains(r.Problem, tt.problem) || r.Passing && strings.Contains(r.Problem, "ID") {
			t.Errorf("%+v", r)
		}
		if tt.problem == "" {
			check(t, "name for people", string(r.adapter.CommunityName(fmt.Sprint(holders))), holdersChat.Title)
		}
		r.api.GrantTags(lounge, false)
		if lacking := r.adapter.Rights(t.Context()); lacking[1].Problem == "" || lacking[1].Name != "Staker" {
			t.Errorf("%+v", lacking)
		}
	})
}
