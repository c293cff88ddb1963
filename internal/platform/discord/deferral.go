package discord

import (
	"errors"
	"sync/atomic"
	"time"

	"herald/internal/platform/discord/api"
)

// deferAfter is how long after its arrival an interaction is deferred. Discord waits 3 seconds for a first response,
// and a command may take longer. The 1.8 seconds that remain are for the deferrals of a burst, and for a second try if
// the first is lost.
const deferAfter = 1200 * time.Millisecond

// firstResponse is what becomes the first response to an interaction: Discord takes only one.
type firstResponse int32

const (
	// undecided: the command runs, and neither is being sent yet.
	undecided firstResponse = iota
	// theDeferral: it is being sent, or was. The answer follows as an edit or a follow-up.
	theDeferral
	// theAnswer: the deferral is not sent.
	theAnswer
)

// deferral is a first response that promises an answer. It is sent at deferAfter unless the answer overtakes it.
type deferral struct {
	session *session
	i       *interaction
	timer   *time.Timer
	first   atomic.Int32  // a firstResponse, which decide changes once
	sent    chan struct{} // closed once the deferral was sent, or sending has failed
	err     error         // of sending; set before sent is closed
}

// deferLater sends a deferral at deferAfter. It does not block. The caller must call cancel.
func (s *session) deferLater(i *interaction) *deferral {
	d := &deferral{session: s, i: i, sent: make(chan struct{})}
	d.timer = time.AfterFunc(time.Until(i.Arrived.Add(deferAfter)), func() {
		select {
		case s.due <- d:
		case <-s.work.Sends.Done():
		}
	})
	return d
}

// sendDeferrals sends the deferrals that are due, until Sends is done. api.MaxFirst goroutines do so: if a service is
// slow, thousands of deferrals are due in the same second, and a goroutine for each would take the memory of a stack.
func (s *session) sendDeferrals() {
	for {
		select {
		case d := <-s.due:
			s.work.Recover(d.i.reference, d.send)
		case <-s.work.Sends.Done():
			return
		}
	}
}

// send sends the deferral unless the answer has overtaken it.
func (d *deferral) send() {
	if !d.decide(theDeferral) {
		return
	}
	defer close(d.sent)
	d.err = api.ErrOutcomeUnknown // which it is after a panic
	d.err = d.session.sendDeferral(d.i, d.i.target.reader)
}

// overtake makes the answer the first response, unless the deferral is: overtake then blocks until the deferral was
// sent, and returns the error of sending it. A second call returns the same.
func (d *deferral) overtake() (firstResponse, error) {
	d.timer.Stop()
	d.decide(theAnswer)
	if firstResponse(d.first.Load()) == theAnswer {
		return theAnswer, nil
	}
	<-d.sent
	return theDeferral, d.err
}

// cancel keeps the deferral from being sent. If it is already being sent, cancel blocks until it was.
func (d *deferral) cancel() { _, _ = d.overtake() }

// decide makes f the first response. It returns false if that was decided before.
func (d *deferral) decide(f firstResponse) bool {
	return d.first.CompareAndSwap(int32(undecided), int32(f))
}

// sendDeferral sends a deferral now. r is who can read the answer if it is a new message: Discord fixes that now.
// Once Discord has the deferral, or may have it, the claim is marked done: it would lapse after claim.Lasts if the
// command runs for longer.
func (s *session) sendDeferral(i *interaction, r reader) error {
	s.count("deferred")
	err := s.respond(i, i.target.promise(r))
	if err == nil || errors.Is(err, api.ErrOutcomeUnknown) {
		s.markDone(i)
	}
	return err
}
