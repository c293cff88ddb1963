package telegram

// Event is a change that people can see. Exactly one field is set besides Chat.
type Event struct {
	// Said is a message of a person.
	Said Message
	// Message is a message of the bot, or one that a person sent by inline mode. It is new, changed or, if Deleted
	// is set, deleted.
	Message *Sent
	// Notice is shown to the user who pressed a button.
	Notice *Notice
	// Inline answers an inline query.
	Inline *InlineAnswer
	// Join is a request to join Chat. It is new, answered or closed.
	Join *JoinRequest
	// Typing is set if the bot starts typing. Telegram shows that for about 5 seconds.
	Typing bool
	// Menus is set if a menu was set.
	Menus bool
	// Chat is the chat of a Notice, of Typing or of Join.
	Chat int64
}

// Watch makes the server call f with every event from now on, in order. f must not block, call the server, or change
// the event.
func (s *Server) Watch(f func(Event)) { s.Change(func() { s.watch = f }) }

// show reports a new state of a message to the watcher. The caller must hold the lock.
func (s *Server) show(m *Sent) {
	state := *m
	s.watch(Event{Message: &state})
}
