package telegram

import (
	"slices"
	"strings"
	"unicode"
)

// ChatPermissions are the permissions of members. If one is nil, getChat does not return it.
type ChatPermissions struct {
	CanPinMessages bool  `json:"can_pin_messages"`
	CanEditTag     *bool `json:"can_edit_tag,omitempty"`
}

// TagCall is a call that set the tag of a member, or removed it if Tag is "".
type TagCall struct {
	Chat, User int64
	Tag        string
}

// isTag reports whether a text can be a tag: it must not contain emoji, which are symbols or contain joiners.
func isTag(text string) bool {
	hasEmoji := strings.ContainsFunc(text, func(r rune) bool {
		const emojiSelector, keycap = '\uFE0F', '\u20E3'
		return unicode.In(r, unicode.So, unicode.Sk, unicode.Cf) || r == emojiSelector || r == keycap
	})
	return !hasEmoji
}

// GrantTags makes the bot an administrator of a chat, and grants or denies it the right to set tags.
func (s *Server) GrantTags(chat int64, right Right) {
	s.Change(func() {
		s.status[inChat{chat, BotID}] = "administrator"
		s.tagging[chat] = right
	})
}

// SetTag sets the tag of a member, as a moderator does.
func (s *Server) SetTag(chat, user int64, tag string) {
	s.Change(func() { s.tags[inChat{chat, user}] = tag })
}

// Tag returns the tag of a member, or "".
func (s *Server) Tag(chat, user int64) string {
	return locked(s, func() string { return s.tags[inChat{chat, user}] })
}

// TagCalls returns the bot's successful calls that set or removed a tag, in order.
func (s *Server) TagCalls() []TagCall { return list(s, &s.tagged) }

// setSenderTag adds the sender's tag to a message in a supergroup. The caller must hold the lock.
func (s *Server) setSenderTag(m Message) {
	chat, _ := m["chat"].(Chat)
	from, _ := m["from"].(User)
	delete(m, "sender_tag")
	if tag := s.tags[inChat{chat.ID, from.ID}]; tag != "" && chat.Type == "supergroup" {
		m["sender_tag"] = tag
	}
}

func (s *Server) setChatMemberTag(p params) (result any, refused *refusal) {
	call := TagCall{Chat: arg[int64](p, "chat_id"), User: arg[int64](p, "user_id"), Tag: arg[string](p, "tag")}
	if refused := s.reachable(call.Chat); refused != nil {
		return nil, refused
	}
	status := s.statusOf(call.Chat, call.User)
	switch {
	case s.status[inChat{call.Chat, BotID}] != "administrator" || s.tagging[call.Chat] == Denied:
		return nil, bad("CHAT_ADMIN_REQUIRED")
	case slices.Contains([]string{"left", "kicked"}, status):
		return nil, bad("USER_NOT_PARTICIPANT")
	case slices.Contains([]string{"creator", "administrator"}, status):
		// https://github.com/tdlib/telegram-bot-api/issues/838
		return nil, bad("CHAT_CREATOR_REQUIRED")
	}
	s.tags[inChat{call.Chat, call.User}] = call.Tag
	s.tagged = append(s.tagged, call)
	s.Notify()
	return true, nil
}
