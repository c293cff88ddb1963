package telegram

// show reports a message to the watcher, under the lock.
func (s *Server) show(m *Sent) {
	now := *m
	s.watch(Event{Message: &now})
}

// Event is something that people see happen. One of its members beside Chat is
// set.
type Event struct {
	// Said is a person's message, on its way to the bot.
	Said Message
	// Message is the bot's, or sent by inline mode: new, changed or, where Deleted
	// is true, gone.
	Message *Sent
	// Notice is shown to the person who pressed a button.
	Notice *Notice
	// Inline answers an inline query.
	Inline *InlineAnswer
	// Join is a request to join Chat: new, answered or closed.
	Join *JoinRequest
	// Typing is true while the bot is typing, for some 5 seconds.
	Typing bool
	// Menus is true when a menu was set.
	Menus bool
	// Chat is where a notice is shown, the bot is typing, or somebody wants to join.
	Chat int64
}

// Watch has f called with every event from then on, in their order. It must not
// block, nor call the server, nor change what it is given.
func (s *Server) Watch(f func(Event)) { s.Change(func() { s.watch = f }) }
