package telegram

import (
	"context"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"herald/internal/platform/telegram/botapi"
)

// chatMember asks Telegram what a user is in a chat: https://core.telegram.org/bots/api#chatmember. If this program
// does not know the user's status, chatMember fails with botapi.Unreadable.
func (a *Adapter) chatMember(ctx context.Context, chat, user int64) (*models.ChatMember, error) {
	m, err := botapi.Call(ctx, a.api, (*bot.Bot).GetChatMember, &bot.GetChatMemberParams{ChatID: chat, UserID: user})
	if err != nil {
		a.seeMove(chat, err)
		return nil, err
	}
	switch m.Type {
	case models.ChatMemberTypeOwner, models.ChatMemberTypeAdministrator, models.ChatMemberTypeMember,
		models.ChatMemberTypeRestricted, models.ChatMemberTypeLeft, models.ChatMemberTypeBanned:
		return m, nil
	}
	return nil, &botapi.Error{Method: "getChatMember", Kind: botapi.Unreadable}
}

// isAdministrator reports whether m is an administrator or the owner.
func isAdministrator(m *models.ChatMember) bool {
	return m.Type == models.ChatMemberTypeOwner || m.Type == models.ChatMemberTypeAdministrator
}

// isAbsent reports whether m is not in the chat.
func isAbsent(m *models.ChatMember) bool {
	switch m.Type {
	case models.ChatMemberTypeLeft, models.ChatMemberTypeBanned:
		return true
	case models.ChatMemberTypeRestricted:
		return !m.Restricted.IsMember
	}
	return false
}

// mayInvite reports whether m, the bot itself, may let others into the chat.
func mayInvite(m *models.ChatMember) bool {
	return m.Type == models.ChatMemberTypeAdministrator && m.Administrator.CanInviteUsers
}

// mayTag reports whether m, the bot itself, may set the tags of others. A server that knows tags always sends this
// right, true or false (tdlib/telegram-bot-api 10.0, Client.cpp, json_store_administrator_rights). If it is missing,
// the server is too old for tags.
func mayTag(m *models.ChatMember) bool {
	return m.Type == models.ChatMemberTypeAdministrator && m.Administrator.CanManageTags
}

// tagOf returns the tag of m, or "". An administrator has a title instead.
func tagOf(m *models.ChatMember) string {
	switch m.Type {
	case models.ChatMemberTypeMember:
		return m.Member.Tag
	case models.ChatMemberTypeRestricted:
		return m.Restricted.Tag
	}
	return ""
}
