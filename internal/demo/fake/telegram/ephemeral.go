package telegram

import "time"

// ephemeralLimit is how long an ephemeral message or a press can be answered by an ephemeral message.
const ephemeralLimit = 15 * time.Second

// ephemeral is a message in a group that only the bot and one user see. Either of them has sent it.
type ephemeral struct {
	user int64
	at   time.Time
	sent *Sent // nil if the user sent it
}

// PushEphemeral queues the update of an ephemeral message of a user, and returns the IDs of the update and of the
// message.
func (s *Server) PushEphemeral(m Message) (updateID, ephemeralID int64) {
	chat, user := m["chat"].(Chat), m["from"].(User)
	s.Change(func() {
		ephemeralID = s.nextEphemeral
		s.nextEphemeral++
		s.ephemerals[inChat{chat.ID, ephemeralID}] = ephemeral{user: user.ID, at: time.Now()}
		m["message_id"] = 0
		m["ephemeral_message_id"] = ephemeralID
		s.setSenderTag(m)
		s.watch(Event{Said: m})
		updateID = s.push("message", m)
	})
	return updateID, ephemeralID
}

// receiver is the user to which an ephemeral message is sent.
type receiver struct {
	User       int64  `json:"receiver_user_id"`
	CallbackID string `json:"callback_query_id"`
}

// receiverOf reads the parameters of an ephemeral message, as named in version 10.3 or in version 10.2. If the
// message is not ephemeral, User is 0.
func receiverOf(p params) receiver {
	if p["ephemeral_message_parameters"] != nil {
		return arg[receiver](p, "ephemeral_message_parameters")
	}
	return receiver{User: arg[int64](p, "receiver_user_id"), CallbackID: arg[string](p, "callback_query_id")}
}

// addEphemeral adds an ephemeral message, which must answer an ephemeral message or a press of its receiver. The caller
// must hold the lock.
func (s *Server) addEphemeral(m *Sent, to receiver, p params) *refusal {
	r := arg[reply](p, "reply_parameters")
	switch {
	case m.Chat >= 0:
		return bad("ephemeral messages can be sent only in groups and supergroups")
	case r.ID != nil:
		return bad("an ephemeral message can't reply to another kind of message")
	}
	answered := s.ephemerals[inChat{m.Chat, r.Ephemeral}]
	isInTime := func(at time.Time) bool { return time.Since(at) <= ephemeralLimit }
	answersMessage := to.CallbackID == "" && answered.user == to.User && isInTime(answered.at)
	pressed := s.presses[to.CallbackID]
	isInChat := pressed != nil && pressed.chat == m.Chat
	answersPress := isInChat && pressed.user == to.User && isInTime(pressed.at)
	if !answersMessage && !answersPress {
		return bad("the ephemeral message can't be sent: no message or press of that user to answer")
	}
	m.ReplyTo = r.Ephemeral
	m.Reader = to.User
	m.Ephemeral = s.nextEphemeral
	s.nextEphemeral++
	s.ephemerals[inChat{m.Chat, m.Ephemeral}] = ephemeral{user: to.User, at: m.At, sent: m}
	return nil
}
