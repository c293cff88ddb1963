package terminal

import "time"

// approvalDelay is how long after its latest message to the asker the bot may still approve their request.
const approvalDelay = 500 * time.Millisecond

// joinRequest is the asker's request to join a group, as far as the window has seen events about it. Its zero value
// means that there is no request.
type joinRequest struct {
	state      joinState
	notifiedAt time.Time // when state became notified
}

type joinState int

const (
	noRequest        joinState = iota
	requested                  // There was no event since the request.
	notified                   // The bot has written to the asker, perhaps "Letting you in…", and may still approve.
	approved                   // The bot has approved the request, and not written to the asker since then.
	notifiedApproved           // The bot has written to the asker since it approved.
)

// recordMessage records that the bot has written to the asker.
func (r *joinRequest) recordMessage() {
	switch r.state {
	case requested:
		r.state = notified
		r.notifiedAt = time.Now()
	case approved:
		r.state = notifiedApproved
	}
}

// recordApproval records that the bot has approved the request.
func (r *joinRequest) recordApproval() {
	if r.state != noRequest {
		r.state = approved
	}
}

// isAnswered reports whether no more events about the request are expected.
func (r *joinRequest) isAnswered() bool {
	switch r.state {
	case noRequest, notifiedApproved:
		return true
	case notified:
		return time.Since(r.notifiedAt) >= approvalDelay
	}
	return false
}
