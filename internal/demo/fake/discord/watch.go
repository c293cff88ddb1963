package discord

import (
	"maps"
	"slices"
)

// Shown is what the answer to an interaction has people shown: a message or a
// modal.
type Shown struct {
	// Interaction is the one that was answered, with its ID.
	Interaction Interaction
	// Message is new or changed.
	Message *Message
	// Loading tells that it is promised and empty so far.
	Loading bool
	// Modal is a window as the bot sent it: JSON, decoded.
	Modal map[string]any
}

// Watch has f called with all that is shown from then on, in order. It must not
// block, nor call the server, nor change what it is given.
func (s *Server) Watch(f func(Shown)) { s.set(func() { s.watch = f }) }

// Remember has the server keep the last n interactions and messages and no more,
// so that it can run for long. What is forgotten cannot be answered or changed.
func (s *Server) Remember(n int) { s.set(func() { s.kept = n }) }

// forget drops what is beyond kept. The caller holds mu.
func (s *Server) forget() {
	if s.kept == 0 {
		return
	}
	oldest := func(all []string) map[string]bool {
		slices.SortFunc(all, compareIDs)
		gone := map[string]bool{}
		for _, id := range all[:max(0, len(all)-s.kept)] {
			gone[id] = true
		}
		return gone
	}
	var ids []string
	for _, p := range s.interactions {
		ids = append(ids, p.ID)
	}
	gone := oldest(ids)
	maps.DeleteFunc(s.interactions, func(_ string, p *Pending) bool { return gone[p.ID] })
	gone = oldest(slices.Collect(maps.Keys(s.messages)))
	maps.DeleteFunc(s.messages, func(id string, _ *Message) bool { return gone[id] })
	s.problems = s.problems[max(0, len(s.problems)-s.kept):]
	s.identifies = s.identifies[max(0, len(s.identifies)-s.kept):]
}
