package telegram

import (
	"time"
)

// ephemeralLimit is how long after an ephemeral message, or a press, its answer
// may come.
const ephemeralLimit = 15 * time.Second

// ephemeral is an ephemeral message: a user's, or the bot's to a user.
type ephemeral struct {
	user int64
	at   time.Time
	sent *Sent // nil if it is the user's
}

// PushEphemeral queues a command that its sender alone sees in a group, and
// returns the IDs of its update and its ephemeral message. On a server that
// lacks them it is a message for all, with an ID of 0 here.
func (s *Server) PushEphemeral(m Message) (updateID, ephemeralID int64) {
	chat, user := m["chat"].(Chat), m["from"].(User)
	s.Change(func() {
		if s.older.Ephemeral {
			updateID = s.pushMessage(m)
			return
		}
		ephemeralID = s.nextEphemeral
		s.nextEphemeral++
		s.ephemerals[[2]int64{chat.ID, ephemeralID}] = ephemeral{user: user.ID, at: time.Now()}
		m["message_id"], m["ephemeral_message_id"] = 0, ephemeralID
		s.watch(Event{Said: m})
		updateID = s.push("message", m)
	})
	return updateID, ephemeralID
}

// forOne reports whether the server takes a message as ephemeral, under the lock.
func (s *Server) forOne(params params) bool {
	named := params["ephemeral_message_parameters"] != nil
	if s.older.DirectReceiver {
		named = params["receiver_user_id"] != nil
	}
	return named && !s.older.Ephemeral && !s.older.DeliversEphemeral
}

// receive makes m ephemeral, under the lock: an answer to an ephemeral message
// or to a press.
func (s *Server) receive(m *Sent, params params) *refusal {
	to := arg[struct {
		Receiver   int64  `json:"receiver_user_id"`
		CallbackID string `json:"callback_query_id"`
	}](params, "ephemeral_message_parameters")
	if s.older.DirectReceiver {
		to.Receiver, to.CallbackID = arg[int64](params, "receiver_user_id"), arg[string](params, "callback_query_id")
	}
	answers := arg[reply](params, "reply_parameters")
	asked := s.ephemerals[[2]int64{m.Chat, answers.Ephemeral}]
	p := s.presses[to.CallbackID]
	switch {
	case m.Chat >= 0:
		return bad("ephemeral messages can be sent only in groups and supergroups")
	case answers.ID != nil:
		return bad("an ephemeral message can't reply to another kind of message")
	case p != nil && p.user == to.Receiver && p.chat == m.Chat && time.Since(p.at) <= ephemeralLimit:
	case to.CallbackID != "" || asked.at.IsZero() || asked.user != to.Receiver || time.Since(asked.at) > ephemeralLimit:
		return bad("the ephemeral message can't be sent: no message or press of that user to answer")
	}
	m.ReplyTo, m.Reader = answers.Ephemeral, to.Receiver
	m.Ephemeral = s.nextEphemeral
	s.nextEphemeral++
	s.ephemerals[[2]int64{m.Chat, m.Ephemeral}] = ephemeral{user: to.Receiver, at: m.At, sent: m}
	return nil
}
