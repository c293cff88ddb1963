package botapi

import (
	"context"
	"slices"
)

// SetTag sets the tag of a member of a chat; "" removes it (setChatMemberTag). A tag has at most
// 16 characters and no emoji. The bot needs the right to manage tags.
func (c *Client) SetTag(ctx context.Context, chat, user int64, tag string) error {
	return c.do(ctx, "setChatMemberTag", map[string]any{"chat_id": chat, "user_id": user, "tag": tag})
}

// Member is a user's standing in a chat. The library's type lacks tags.
type Member struct {
	Status string `json:"status"` // one of statuses
	Tag    string `json:"tag"`
	// IsMember is set for a restricted user who is in the chat.
	IsMember bool `json:"is_member"`
	// The rights of an administrator. Without CanManageTags it is as CanPinMessages.
	CanInviteUsers bool  `json:"can_invite_users"`
	CanManageTags  *bool `json:"can_manage_tags"`
	CanPinMessages bool  `json:"can_pin_messages"`
	User           struct {
		ID int64 `json:"id"`
	} `json:"user"`
}

// https://core.telegram.org/bots/api#chatmember
var statuses = []string{"creator", "administrator", "member", "restricted", "left", "kicked"}

// GetMember returns a user's standing in a chat (getChatMember).
func (c *Client) GetMember(ctx context.Context, chat, user int64) (Member, error) {
	m, err := exchange[Member](ctx, c, jsonCall("getChatMember", map[string]any{"chat_id": chat, "user_id": user}))
	if err == nil && !slices.Contains(statuses, m.Status) {
		err = &Error{Method: "getChatMember", Kind: Unreadable}
	}
	return m, err
}

// MayInvite reports whether the member may let others into the chat.
func (m Member) MayInvite() bool { return m.Status == "administrator" && m.CanInviteUsers }

// MayTag reports whether the member may set the tags of others.
func (m Member) MayTag() bool {
	return m.Status == "administrator" && orElse(m.CanManageTags, m.CanPinMessages)
}

// Administers reports whether the member is an administrator, who has a title instead of a tag.
func (m Member) Administers() bool { return m.Status == "administrator" || m.Status == "creator" }

// Absent reports whether the user is not in the chat.
func (m Member) Absent() bool {
	return m.Status == "left" || m.Status == "kicked" || m.Status == "restricted" && !m.IsMember
}

// EditsOwnTag reports whether members of the chat may set their own tags.
func (i ChatInfo) EditsOwnTag() bool {
	return orElse(i.Permissions.CanEditTag, i.Permissions.CanPinMessages)
}

// NoMember reports whether the user is not a member of the chat.
func (e *Error) NoMember() bool { return e.detail == noMember }

// CannotBeTagged reports whether the user is an administrator, who has a title instead.
func (e *Error) CannotBeTagged() bool { return e.detail == noTag }

// NoChat reports whether the chat does not exist for the bot, or has another ID now.
func (e *Error) NoChat() bool { return e.detail == noSuchChat || e.Kind == Migrated }

// orElse returns the value, or other if there is none.
func orElse(value *bool, other bool) bool {
	if value == nil {
		return other
	}
	return *value
}
