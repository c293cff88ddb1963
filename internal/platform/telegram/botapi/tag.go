package botapi

import "context"

// SetTag sets the tag of a member of a chat; "" removes it (setChatMemberTag). A tag has at most
// 16 characters and no emoji. The bot needs the right to manage tags.
func (c *Client) SetTag(ctx context.Context, chat, user int64, tag string) error {
	return c.do(ctx, "setChatMemberTag", map[string]any{"chat_id": chat, "user_id": user, "tag": tag})
}

// MemberTag is what getChatMember returns about tags. The library's type lacks these members.
type MemberTag struct {
	Status string `json:"status"`
	Tag    string `json:"tag"`
	// IsMember is set of a restricted user who is in the chat.
	IsMember bool `json:"is_member"`
	// CanManageTags is an administrator's right; nil: as CanPinMessages.
	CanManageTags  *bool `json:"can_manage_tags"`
	CanPinMessages bool  `json:"can_pin_messages"`
}

// MayTag reports whether the member may set the tags of others.
func (m MemberTag) MayTag() bool {
	return m.Status == "administrator" && orElse(m.CanManageTags, m.CanPinMessages)
}

// Administers reports whether the member is an administrator, who has a title instead of a tag.
func (m MemberTag) Administers() bool { return m.Status == "administrator" || m.Status == "creator" }

// Absent reports whether the user is not in the chat.
func (m MemberTag) Absent() bool {
	return m.Status == "left" || m.Status == "kicked" || m.Status == "restricted" && !m.IsMember
}

// GetMemberTag returns a user's tag in a chat, and their right to set others' (getChatMember).
func (c *Client) GetMemberTag(ctx context.Context, chat, user int64) (MemberTag, error) {
	return exchange[MemberTag](ctx, c, jsonCall("getChatMember", map[string]any{"chat_id": chat, "user_id": user}))
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
