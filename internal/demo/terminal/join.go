package terminal

import "time"

// settled is how long after its message the bot may still approve a request.
const settled = 500 * time.Millisecond

// joinRequest is what the window has seen of the asker's request to join a group. The zero value is
// no request.
type joinRequest struct {
	state  joinState
	toldAt time.Time // when state became told
}

type joinState int

const (
	noRequest joinState = iota
	requested           // The asker has read nothing yet.
	told                // They have read a message: perhaps "Letting you in…", before the approval.
	approved            // They are in, and have not read that yet.
	toldIn              // They have read that they are in.
)

// tell notes a message to the asker.
func (r *joinRequest) tell() {
	switch r.state {
	case requested:
		r.state = told
		r.toldAt = time.Now()
	case approved:
		r.state = toldIn
	}
}

// approve notes that the asker was let in.
func (r *joinRequest) approve() {
	if r.state != noRequest {
		r.state = approved
	}
}

// isAnswered reports whether nothing more is to come about the request.
func (r *joinRequest) isAnswered() bool {
	switch r.state {
	case noRequest, toldIn:
		return true
	case told:
		return time.Since(r.toldAt) >= settled
	}
	return false
}
