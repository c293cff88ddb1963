package discord

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
func (s *Server) Remember(n int) { s.set(func() { s.most = n }) }

// forget keeps to most. The caller holds mu.
func (s *Server) forget() {
	if s.most == 0 {
		return
	}
	dropOldest(s.interactions, s.most, func(p *Pending) string { return p.ID })
	dropOldest(s.messages, s.most, func(m *Message) string { return m.ID })
	s.problems = s.problems[max(0, len(s.problems)-s.most):]
	s.identifies = s.identifies[max(0, len(s.identifies)-s.most):]
}

// dropOldest leaves n values by the snowflakes that id gives them.
func dropOldest[V any](all map[string]V, n int, id func(V) string) {
	for len(all) > n {
		oldest, its := "", ""
		for key, v := range all {
			if oldest == "" || compareIDs(id(v), its) < 0 {
				oldest, its = key, id(v)
			}
		}
		delete(all, oldest)
	}
}
