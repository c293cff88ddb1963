package telegram

import "slices"

// Seen is something that people were shown, at whatever time: a message, each
// state of one that was edited, a notice after a press, results of an inline
// query, a menu.
type Seen struct {
	Method string // the call that showed it
	Chat   int64  // 0 if it is in no chat
	// Reader is the one user who saw it; 0 is everybody in the chat, or anybody
	// if it is in no chat.
	Reader int64
	// Text is all that it says, hidden parts too: texts, links, labels of
	// buttons and what they carry.
	Text string
}

// Seen is all that was shown so far, in order.
func (s *Server) Seen() []Seen { return list(s, &s.seen) }

// SeenByOthers is what was shown to anybody but this user.
func (s *Server) SeenByOthers(user int64) []Seen {
	return slices.DeleteFunc(s.Seen(), func(x Seen) bool { return x.Reader == user })
}

// show notes a message as it stands, under the lock.
func (s *Server) show(method string, m *Sent) {
	now := *m
	s.watch(Event{Message: &now})
	s.seen = append(s.seen, Seen{Method: method, Chat: m.Chat, Reader: m.Reader, Text: said(m.Text, m.Entities, m.Markup)})
}
