package telegram

import (
	"cmp"
	"net/http"
	"slices"
)

// Standing is the bot's membership in a chat. IsMember and MayWrite count only if Status is "restricted".
type Standing struct {
	Status   string
	IsMember bool
	MayWrite bool
}

// member returns the bot as a ChatMember of the Bot API.
func (s Standing) member() map[string]any {
	member := map[string]any{
		"status": s.Status,
		"user":   map[string]any{"id": BotID, "is_bot": true, "first_name": "Herald", "username": Username},
	}
	if s.Status == "restricted" {
		member["is_member"] = s.IsMember
		member["can_send_messages"] = s.MayWrite
	}
	return member
}

// ChangeBot changes the bot's membership in a chat as a moderator does. It returns the ID of the queued update.
func (s *Server) ChangeBot(chat Chat, from, to Standing) (updateID int64) {
	s.Change(func() { updateID = s.changeBot(chat, from, to) })
	return updateID
}

// changeBot is like ChangeBot. The caller must hold the lock.
func (s *Server) changeBot(chat Chat, from, to Standing) (updateID int64) {
	s.status[inChat{chat.ID, BotID}] = to.Status
	s.muted[chat.ID] = to.Status == "restricted" && !to.MayWrite
	return s.push("my_chat_member", map[string]any{
		"chat":            chat,
		"from":            Person(1),
		"date":            0,
		"old_chat_member": from.member(),
		"new_chat_member": to.member(),
	})
}

// Mute forbids the bot to write to a chat, as a permission of all members can.
func (s *Server) Mute(chat int64) { s.Change(func() { s.muted[chat] = true }) }

// Upgrade turns a group into a supergroup. It queues the updates in the worst order: the bot is told that it is in the
// supergroup, but not that it has left the group (https://github.com/tdlib/telegram-bot-api/issues/266).
func (s *Server) Upgrade(from, to Chat) {
	s.Change(func() {
		s.moved[from.ID] = to.ID
		s.changeBot(to, Standing{Status: "left"}, Standing{Status: "member"})
		s.pushMessage(Message{"date": 0, "chat": from, "from": Person(1), "migrate_to_chat_id": to.ID})
		s.pushMessage(Message{"date": 0, "chat": to, "from": Person(1), "migrate_from_chat_id": from.ID})
	})
}

// Right is whether the bot has a right of an administrator.
type Right bool

// The values of a Right.
const (
	Granted Right = true
	Denied  Right = false
)

// statusOf returns a user's status in a chat, or "" if neither Promote nor a join request has set it. The caller must
// hold the lock.
func (s *Server) statusOf(chat, user int64) string {
	status := s.status[inChat{chat, user}]
	r := s.joins.latest(chat, user)
	switch {
	case status != "" || r == nil:
		return status
	case r.State == JoinApproved:
		return "member"
	}
	return "left"
}

// isMember reports whether a user is in a chat. It returns false if statusOf returns "". The caller must hold the lock.
func (s *Server) isMember(chat, user int64) bool {
	return !slices.Contains([]string{"", "left", "kicked"}, s.statusOf(chat, user))
}

func (s *Server) getChatMember(p params) (result any, refused *refusal) {
	chat, user := arg[int64](p, "chat_id"), arg[int64](p, "user_id")
	if refused := s.reachable(chat); refused != nil {
		return nil, refused
	}
	member := map[string]any{"status": cmp.Or(s.statusOf(chat, user), "member"), "user": s.person(user)}
	if user == BotID && member["status"] == "administrator" {
		member["can_invite_users"] = s.inviting[chat]
		if right, isSet := s.tagging[chat]; isSet {
			member["can_manage_tags"] = right
		}
	}
	if member["status"] == "restricted" {
		member["is_member"] = true
	}
	tagField := "tag"
	if member["status"] == "administrator" || member["status"] == "creator" {
		tagField = "custom_title"
	}
	if tag := s.tags[inChat{chat, user}]; tag != "" {
		member[tagField] = tag
	}
	return member, nil
}

// ChatInfo is the result of getChat.
type ChatInfo struct {
	Chat
	JoinByRequest bool `json:"join_by_request,omitempty"`
	// GuardBot is the bot that answers the chat's join requests. getChat returns it only to administrators.
	GuardBot *User `json:"guard_bot,omitempty"`
	// Permissions are the permissions of members. If it is nil, getChat does not return them.
	Permissions *ChatPermissions `json:"permissions,omitempty"`
	// Unknown makes every call about the chat fail as if the chat did not exist.
	Unknown bool `json:"-"`
}

// SetChat sets the result of getChat for c.ID. The default is ChatOf.
func (s *Server) SetChat(c ChatInfo) { s.Change(func() { s.chats[c.ID] = c }) }

func (s *Server) getChat(p params) (result any, refused *refusal) {
	id := arg[int64](p, "chat_id")
	if refused := s.reachable(id); refused != nil {
		return nil, refused
	}
	c, isSet := s.chats[id]
	if !isSet {
		c.Chat = ChatOf(id)
	}
	if s.status[inChat{id, BotID}] != "administrator" {
		c.GuardBot = nil
	}
	return c, nil
}

// hasMoved refuses a call about a group that has become a supergroup. The caller must hold the lock.
func (s *Server) hasMoved(chat int64) *refusal {
	if to, moved := s.moved[chat]; moved {
		return &refusal{
			code:    http.StatusBadRequest,
			text:    "Bad Request: group chat was upgraded to a supergroup chat",
			movedTo: to,
		}
	}
	return nil
}

// reachable refuses a call about a chat if the bot is not in it or cannot write to it. The caller must hold the lock.
func (s *Server) reachable(chat int64) *refusal {
	if refused := s.hasMoved(chat); refused != nil {
		return refused
	}
	if s.chats[chat].Unknown {
		return bad("chat not found")
	}
	status := s.status[inChat{chat, BotID}]
	if status == "left" || status == "kicked" {
		return &refusal{code: http.StatusForbidden, text: "Forbidden: bot was kicked from the supergroup chat"}
	}
	if chat > 0 && !s.started[chat] && !s.joins.contactable(chat) {
		return &refusal{code: http.StatusForbidden, text: "Forbidden: bot can't initiate conversation with a user"}
	}
	return nil
}
