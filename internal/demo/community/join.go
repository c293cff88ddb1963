package community

import (
	"fmt"
	"slices"
	"strings"

	"herald/internal/demo/fake/telegram"
)

// JoinGroup is a group whose join requests the bot answers.
type JoinGroup struct {
	// Required is what the bot lets people in for, as in JOIN_CHATS. No two groups have the
	// same.
	Required string `json:"required"`
	Title    string `json:"title"`
	// Note says whom the group lets in, in English.
	Note string `json:"note"`
	id   int64
}

// JoinGroups are the groups that people may ask to join.
var JoinGroups = []JoinGroup{
	{Required: "registered", Title: "Token holders", Note: "for registered people", id: -1001000000002},
	{Required: "staker", Title: "Staking lounge", Note: "for people who stake", id: -1001000000003},
}

// JoinSetting returns the setting JOIN_CHATS, as NAME=value, for JoinGroups.
func JoinSetting() string {
	var entries []string
	for _, g := range JoinGroups {
		entries = append(entries, fmt.Sprintf("telegram:%d:%s", g.id, g.Required))
	}
	return "JOIN_CHATS=" + strings.Join(entries, ",")
}

// chat returns the group as the Bot API shows it.
func (g JoinGroup) chat() telegram.Chat {
	group := telegram.Group(g.id)
	group.Title = g.Title
	return group
}

// JoinGroupOf returns the group of a request, and false for any other chat.
func JoinGroupOf(r *telegram.JoinRequest) (JoinGroup, bool) {
	return findJoinGroup(func(g JoinGroup) bool { return g.id == r.Chat.ID })
}

// JoinGroupFor returns the group that requires this, and false if there is none.
func JoinGroupFor(required string) (JoinGroup, bool) {
	return findJoinGroup(func(g JoinGroup) bool { return g.Required == required })
}

func findJoinGroup(match func(JoinGroup) bool) (JoinGroup, bool) {
	if i := slices.IndexFunc(JoinGroups, match); i >= 0 {
		return JoinGroups[i], true
	}
	return JoinGroup{}, false
}

// RequestJoin has a person ask to join a group. Whoever has asked before withdraws that request
// or leaves the group first.
func (c *Community) RequestJoin(by Person, language string, g JoinGroup) {
	user := c.meet(by, language)
	c.Telegram.CloseJoin(g.id, user.ID, telegram.JoinWithdrawn)
	c.Telegram.Promote(g.id, user.ID, "left")
	c.Telegram.RequestJoin(g.chat(), user, false)
}
