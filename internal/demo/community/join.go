package community

import (
	"fmt"
	"slices"
	"strings"

	"herald/internal/demo/fake/telegram"
)

// JoinGroup is a group with join requests that the bot answers.
type JoinGroup struct {
	// Required is the requirement in JOIN_CHATS: the bot approves the requests of people that meet it. It is unique.
	Required string `json:"required"`
	Title    string `json:"title"`
	// Note describes the people that meet the requirement, in English: "for people who stake".
	Note string `json:"note"`
	id   int64
}

// JoinGroups are the groups that people may request to join.
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

// JoinGroupOf returns the group of a request. It returns false if the request is to another chat.
func JoinGroupOf(r *telegram.JoinRequest) (group JoinGroup, found bool) {
	return findJoinGroup(func(g JoinGroup) bool { return g.id == r.Chat.ID })
}

// JoinGroupFor returns the group with this requirement. It returns false if there is none.
func JoinGroupFor(required string) (group JoinGroup, found bool) {
	return findJoinGroup(func(g JoinGroup) bool { return g.Required == required })
}

func findJoinGroup(match func(JoinGroup) bool) (group JoinGroup, found bool) {
	i := slices.IndexFunc(JoinGroups, match)
	if i < 0 {
		return JoinGroup{}, false
	}
	return JoinGroups[i], true
}

// RequestJoin makes a person's request to join a group. It first withdraws an earlier request of the person, and
// makes a member leave the group.
func (c *Community) RequestJoin(by Person, language string, g JoinGroup) {
	const isGuarded = false // The bot is an administrator of the group, and not its guardian.
	user := c.setUser(by, language)
	c.Telegram.CloseJoin(g.id, user.ID, telegram.JoinWithdrawn)
	c.Telegram.Promote(g.id, user.ID, "left")
	c.Telegram.RequestJoin(g.chat(), user, isGuarded)
}
