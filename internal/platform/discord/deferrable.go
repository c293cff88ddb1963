package discord

import (
	"time"

	"herald/internal/chat"
)

// deferrable is the race for the first response to an interaction. Discord waits
// 3 seconds for it, and a command may take longer: so a deferral, which promises
// an answer, goes out unless the answer comes before. One of both is the first
// response, never both.
type deferrable struct {
	timer    *time.Timer
	deferred chan error // gets what became of the deferral
}

// deferAt starts the race: the deferral goes out at the given time.
func deferAt(tasks *chat.Tasks, id string, at time.Time, deferral func() error) *deferrable {
	d := &deferrable{deferred: make(chan error, 1)}
	d.timer = tasks.AfterFunc(time.Until(at), id, func() {
		defer close(d.deferred) // also after a panic
		d.deferred <- deferral()
	})
	return d
}

// answer ends the race. If it wins, the answer is the first response. Otherwise
// the deferral is, and err is what became of it.
func (d *deferrable) answer() (wins bool, err error) {
	if d.timer.Stop() {
		return true, nil
	}
	return false, <-d.deferred
}
