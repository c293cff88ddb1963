package discord

import (
	"time"

	"herald/internal/chat"
)

// deferrable is the race for the first response to an interaction. Discord waits
// 3 seconds for one, and a command may take longer. Either the answer comes in
// time, or a deferral goes out, which promises it; never both.
type deferrable struct {
	timer    *time.Timer
	deferred chan error // gets the deferral's error
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

// answer ends the race. If wins, the answer is to be the first response. Otherwise
// the deferral was; answer has waited for it, and returns its error.
func (d *deferrable) answer() (wins bool, err error) {
	if d.timer.Stop() {
		return true, nil
	}
	return false, <-d.deferred
}
