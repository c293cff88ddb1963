package telegram

import (
	"context"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/platform/telegram/botapi"
)

// chatMember returns what a user is in a chat, https://core.telegram.org/bots/api#chatmember.
// It fails with botapi.Unreadable for a status that this program does not know.
func (a *Adapter) chatMember(ctx context.Context, chat, user int64) (*models.ChatMember, error) {
	m, err := botapi.Call(ctx, a.api, (*bot.Bot).GetChatMember, &bot.GetChatMemberParams{ChatID: chat, UserID: user})
	if err != nil {
		return nil, err
	}
	switch m.Type {
	case models.ChatMemberTypeOwner, models.ChatMemberTypeAdministrator, models.ChatMemberTypeMember,
		models.ChatMemberTypeRestricted, models.ChatMemberTypeLeft, models.ChatMemberTypeBanned:
		return m, nil
	}
	return nil, &botapi.Error{Method: "getChatMember", Kind: botapi.Unreadable}
}

// isAdministrator reports whether m is an administrator or the owner, who have a title
// instead of a tag.
func isAdministrator(m *models.ChatMember) bool {
	return m.Type == models.ChatMemberTypeOwner || m.Type == models.ChatMemberTypeAdministrator
}

// isAbsent reports whether the user is not in the chat.
func isAbsent(m *models.ChatMember) bool {
	return m.Type == models.ChatMemberTypeLeft || m.Type == models.ChatMemberTypeBanned ||
		m.Type == models.ChatMemberTypeRestricted && !m.Restricted.IsMember
}

// mayInvite reports whether m is an administrator who may let others into the chat.
func mayInvite(m *models.ChatMember) bool {
	return m.Type == models.ChatMemberTypeAdministrator && m.Administrator.CanInviteUsers
}

// mayTag reports whether m is an administrator who may set the tags of others. A server that
// knows tags names this right of every administrator of a group
// (tdlib/telegram-bot-api 10.0, Client.cpp, json_store_administrator_rights).
func mayTag(m *models.ChatMember) bool {
	return m.Type == models.ChatMemberTypeAdministrator && m.Administrator.CanManageTags
}

// tagOf returns the tag of a member, or "".
func tagOf(m *models.ChatMember) string {
	switch m.Type {
	case models.ChatMemberTypeMember:
		return m.Member.Tag
	case models.ChatMemberTypeRestricted:
		return m.Restricted.Tag
	}
	return ""
}
