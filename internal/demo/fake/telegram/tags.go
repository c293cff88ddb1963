package telegram

import (
	"slices"
	"strings"
	"unicode"
)

// ChatPermissions are what members may do. Of a permission that is nil, nothing is said.
type ChatPermissions struct {
	CanPinMessages bool  `json:"can_pin_messages"`
	CanEditTag     *bool `json:"can_edit_tag,omitempty"`
}

// TagCall is a call that set the tag of a member; "" removed it.
type TagCall struct {
	Chat, User int64
	Tag        string
}

// isTag reports whether a tag has no emoji. Emoji are symbols, or made of joiners.
func isTag(tag string) bool {
	emoji := strings.ContainsFunc(tag, func(r rune) bool {
		return unicode.In(r, unicode.So, unicode.Sk, unicode.Cf) || r == '\uFE0F' || r == '\u20E3'
	})
	return !emoji
}

// GrantTags makes the bot an administrator of a chat who may, or may not, set tags.
func (s *Server) GrantTags(chat int64, may bool) {
	s.Change(func() {
		s.status[[2]int64{chat, BotID}] = "administrator"
		s.tagging[chat] = may
	})
}

// SetTag sets the tag of a member as a moderator does.
func (s *Server) SetTag(chat, user int64, tag string) {
	s.Change(func() { s.tags[[2]int64{chat, user}] = tag })
}

// Tag returns the tag of a member.
func (s *Server) Tag(chat, user int64) string {
	return locked(s, func() string { return s.tags[[2]int64{chat, user}] })
}

// TagCalls returns the bot's calls that set a tag, in order.
func (s *Server) TagCalls() []TagCall { return list(s, &s.tagged) }

// tell adds to a message in a supergroup the tag of its sender, under the lock.
func (s *Server) tell(m Message) {
	chat, _ := m["chat"].(Chat)
	from, _ := m["from"].(User)
	delete(m, "sender_tag")
	if tag := s.tags[[2]int64{chat.ID, from.ID}]; tag != "" && chat.Type == "supergroup" {
		m["sender_tag"] = tag
	}
}

func (s *Server) setChatMemberTag(p params) (result any, no *refusal) {
	call := TagCall{Chat: arg[int64](p, "chat_id"), User: arg[int64](p, "user_id"), Tag: arg[string](p, "tag")}
	if no := s.reachable(call.Chat); no != nil {
		return nil, no
	}
	standing := s.standing(call.Chat, call.User)
	switch {
	case s.status[[2]int64{call.Chat, BotID}] != "administrator" || !s.tagging[call.Chat]:
		return nil, bad("CHAT_ADMIN_REQUIRED")
	case slices.Contains([]string{"left", "kicked"}, standing):
		return nil, bad("USER_NOT_PARTICIPANT")
	case slices.Contains([]string{"creator", "administrator"}, standing):
		// https://github.com/tdlib/telegram-bot-api/issues/838
		return nil, bad("CHAT_CREATOR_REQUIRED")
	}
	s.tags[[2]int64{call.Chat, call.User}] = call.Tag
	s.tagged = append(s.tagged, call)
	s.Notify()
	return true, nil
}
