package telegram

import (
	"slices"
)

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

// Event is something that people see happen. One of its members beside Chat is
// set.
type Event struct {
	// Said is a person's message, on its way to the bot.
	Said Message
	// Message is the bot's, or sent by inline mode: new, changed or, where Deleted
	// is true, gone.
	Message *Sent
	// Notice is told to the presser of a button.
	Notice *Notice
	// Inline answers an inline query.
	Inline *InlineAnswer
	// Typing is true while the bot is typing, for some 5 seconds.
	Typing bool
	// Menus is true when a menu was set.
	Menus bool
	// Chat is where a notice is told, or the bot is typing.
	Chat int64
}

// Watch has f called with every event from then on, in their order. It must not
// block, nor call the server, nor change what it is given.
func (s *Server) Watch(f func(Event)) { s.Change(func() { s.watch = f }) }
