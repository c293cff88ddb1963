package web

import (
	"fmt"
	"slices"
	"strings"

	faketelegram "herald/internal/demo/fake/telegram"
)

// JoinChat is a group on Telegram whose join requests the bot answers.
type JoinChat struct {
	// Required is what the bot lets people in for, as in JOIN_CHATS. No two groups have the
	// same.
	Required string `json:"required"`
	Title    string `json:"title"`
	// Note says, in English, for whom the group is.
	Note string `json:"note"`
	id   int64
}

var joinChats = []JoinChat{
	{Required: "registered", Title: "Token holders", Note: "for registered people", id: -1001000000002},
	{Required: "staker", Title: "Staking lounge", Note: "for people who stake", id: -1001000000003},
}

// JoinSetting returns the setting JOIN_CHATS, as NAME=value, for the groups of the page.
func JoinSetting() string {
	var entries []string
	for _, c := range joinChats {
		entries = append(entries, fmt.Sprintf("telegram:%d:%s", c.id, c.Required))
	}
	return "JOIN_CHATS=" + strings.Join(entries, ",")
}

// telegramChat returns the group as the Bot API shows it.
func (c JoinChat) telegramChat() faketelegram.Chat {
	group := faketelegram.Group(c.id)
	group.Title = c.Title
	return group
}

// openJoinChats makes the bot an administrator of the groups who may let people in.
func (d *Demo) openJoinChats() {
	for _, c := range joinChats {
		d.Telegram.SetChat(faketelegram.ChatInfo{Chat: c.telegramChat(), JoinByRequest: true})
		d.Telegram.GrantInvite(c.id, true)
	}
}

// requestJoin has a user ask to join the group that requires this. Whoever has asked before
// withdraws that request or leaves the group first.
func (d *Demo) requestJoin(required string, user faketelegram.User) error {
	i := slices.IndexFunc(joinChats, func(c JoinChat) bool { return c.Required == required })
	if i < 0 {
		return errNotThere
	}
	d.Telegram.CloseJoin(joinChats[i].id, user.ID, faketelegram.JoinWithdrawn)
	d.Telegram.Promote(joinChats[i].id, user.ID, "left")
	d.Telegram.RequestJoin(joinChats[i].telegramChat(), user, false)
	return nil
}

// seeJoin adds a join request to the feed.
func (d *Demo) seeJoin(r *faketelegram.JoinRequest) {
	e := Event{Kind: KindJoin, Side: Telegram, From: d.people.nameOnTelegram(r.From.ID)}
	for _, c := range joinChats {
		if c.id == r.Chat.ID {
			e.ID = fmt.Sprintf("join-%s-%s", c.Required, e.From)
			e.Message = encoded(map[string]any{"required": c.Required, "state": r.State})
		}
	}
	d.feed.add(e)
}
