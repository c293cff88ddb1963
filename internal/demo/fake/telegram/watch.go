package telegram

import (
	"maps"
	"strconv"
)

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
	// Typing is true while the bot is typing, for some 5 seconds.
	Typing bool
	// Menus is true when a menu was set.
	Menus bool
	// Chat is where a notice is told, or the bot is typing.
	Chat int64
}

// Watch has f called with every event from then on, in their order. It must not
// block, nor call the server, nor change what it is given.
func (s *Server) Watch(f func(Event)) { s.change(func() { s.watch = f }) }

// Remember has the server keep the last n of each thing and no more, so that it
// can run for long: messages, presses, queries, calls and what was seen. What is
// forgotten cannot be edited, answered or replied to. IDs count up, so that they
// say which are the last.
func (s *Server) Remember(n int) { s.change(func() { s.kept = n }) }

// forget drops what is beyond kept, under the lock.
func (s *Server) forget() {
	if s.kept == 0 {
		return
	}
	s.calls, s.sent, s.seen = last(s.calls, s.kept), last(s.sent, s.kept), last(s.seen, s.kept)
	s.violations = last(s.violations, s.kept)
	s.notices, s.inlineAnswers = last(s.notices, s.kept), last(s.inlineAnswers, s.kept)
	n := int64(s.kept)
	maps.DeleteFunc(s.own, func(key [2]int64, _ *Sent) bool { return key[1] < s.nextID-n })
	maps.DeleteFunc(s.others, func(key [2]int64, _ bool) bool { return key[1] < s.nextID-n })
	maps.DeleteFunc(s.ephemerals, func(key [2]int64, _ ephemeral) bool { return key[1] < s.nextEphemeral-n })
	oldQuery := func(id string) bool {
		number, _ := strconv.ParseInt(id, 10, 64) // which nextQuery made
		return number <= s.nextQuery-n
	}
	maps.DeleteFunc(s.presses, func(id string, _ *press) bool { return oldQuery(id) })
	maps.DeleteFunc(s.queries, func(id string, _ *inlineQuery) bool { return oldQuery(id) })
}

// last is the n last of a list, without the memory of the others.
func last[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	return append([]T(nil), list[len(list)-n:]...)
}
