package telegram

// Standing is what the bot is in a chat. IsMember and MayWrite are said of one whose Status is
// "restricted".
type Standing struct {
	Status   string
	IsMember bool
	MayWrite bool
}

func (st Standing) member() map[string]any {
	m := map[string]any{
		"status": st.Status,
		"user":   map[string]any{"id": BotID, "is_bot": true, "first_name": "Herald", "username": Username},
	}
	if st.Status == "restricted" {
		m["is_member"] = st.IsMember
		m["can_send_messages"] = st.MayWrite
	}
	return m
}

// ChangeBot has a moderator change what the bot is in a chat, and returns the ID of the queued
// update that says so.
func (s *Server) ChangeBot(chat Chat, from, to Standing) (updateID int64) {
	s.Change(func() { updateID = s.changeBot(chat, from, to) })
	return updateID
}

// changeBot is ChangeBot under the lock.
func (s *Server) changeBot(chat Chat, from, to Standing) (updateID int64) {
	s.status[[2]int64{chat.ID, BotID}] = to.Status
	s.muted[chat.ID] = to.Status == "restricted" && !to.MayWrite
	return s.push("my_chat_member", map[string]any{
		"chat": chat, "from": Person(1), "date": 0, "old_chat_member": from.member(), "new_chat_member": to.member(),
	})
}

// Mute keeps the bot from writing to a chat, as permissions do that hold for all members.
func (s *Server) Mute(chat int64) { s.Change(func() { s.muted[chat] = true }) }

// Upgrade makes a supergroup of a group with the bot, and queues what the bot is told, in the
// worst order: it is in the supergroup, but has not left the group
// (https://github.com/tdlib/telegram-bot-api/issues/266).
func (s *Server) Upgrade(from, to Chat) {
	s.Change(func() {
		s.moved[from.ID] = to.ID
		s.changeBot(to, Standing{Status: "left"}, Standing{Status: "member"})
		s.pushMessage(Message{"date": 0, "chat": from, "from": Person(1), "migrate_to_chat_id": to.ID})
		s.pushMessage(Message{"date": 0, "chat": to, "from": Person(1), "migrate_from_chat_id": from.ID})
	})
}
