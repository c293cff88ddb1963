package telegram

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
