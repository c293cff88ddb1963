package telegram

import (
	"sync"
	"time"
)

// edit is what a message is to say.
type edit struct {
	// typed is the command that it answers, and asOf when that was learned; zero
	// where it does not matter.
	typed string
	asOf  time.Time
	shown richText
}

// olderThan reports whether e is an older answer to the same command.
func (e edit) olderThan(other edit) bool { return e.typed == other.typed && e.asOf.Before(other.asOf) }

// pendingEdits are the edits that wait or are being made, by message: each
// message is edited by one at a time.
type pendingEdits struct {
	mu sync.Mutex
	of map[destination]*messageEdits
}

// messageEdits are the edits of one message that wait or are being made.
type messageEdits struct {
	users int
	// turn is held by the one that edits.
	turn chan struct{}
	// waiting is an edit that others may join; nil if there is none.
	waiting *waitingEdit
	// made is what the message says by the last edit, for whoever has the turn.
	made edit
}

// waitingEdit is an edit of which several may wait.
type waitingEdit struct {
	edit
	// done is closed once err is what became of it.
	done chan struct{}
	err  error
}

// editInTurn has the message at c.asked say e, at its chat's pace, unless it says
// something newer by then. Edits of one message that wait at the same time are
// one edit.
func (s *session) editInTurn(c commandMessage, e edit, deadline time.Time) error {
	m, w, first := s.edits.join(c.asked, e)
	defer s.edits.leave(c.asked, m)
	if !first {
		<-w.done
		return w.err
	}
	defer close(w.done)
	w.err = s.makeEdit(c.asked, m, deadline)
	return w.err
}

// makeEdit makes the waiting edit of a message.
func (s *session) makeEdit(to destination, m *messageEdits, deadline time.Time) error {
	// What is before it ends with Sends at the latest.
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	noTurn := s.pace.Wait(s.work.Sends, to.chat, to.group, deadline)
	e, due := s.edits.close(m)
	if noTurn != nil || !due {
		return noTurn
	}
	_, err := s.sendWithRetry(to, e.shown)
	if err == nil {
		m.made = e
	}
	return err
}

// join adds e to the edit of a message that waits, or makes it that. The first
// makes it. Each calls leave.
func (p *pendingEdits) join(to destination, e edit) (m *messageEdits, w *waitingEdit, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m = p.of[to]
	if m == nil {
		m = &messageEdits{turn: make(chan struct{}, 1)}
		p.of[to] = m
	}
	m.users++
	if m.waiting == nil {
		m.waiting = &waitingEdit{edit: e, done: make(chan struct{})}
		return m, m.waiting, true
	}
	if !e.olderThan(m.waiting.edit) {
		m.waiting.edit = e
	}
	return m, m.waiting, false
}

func (p *pendingEdits) leave(to destination, m *messageEdits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.users--; m.users == 0 {
		delete(p.of, to)
	}
}

// close lets nobody join the waiting edit any more, and returns it, and whether
// it is still to be made.
func (p *pendingEdits) close(m *messageEdits) (e edit, due bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e = m.waiting.edit
	m.waiting = nil
	return e, !e.olderThan(m.made)
}
