package discord

import (
	"errors"
	"sync/atomic"
	"time"

	"herald/internal/platform/discord/api"
)

// Discord waits 3 seconds for the first response to an interaction, and a command may take longer. A deferral is a
// first response that promises an answer: users see "thinking…". It is sent after deferAfter. If the command ends
// before that, the answer overtakes the deferral: the answer is the first response, and the deferral is not sent.

// deferAfter is the time from the arrival of an interaction until it is deferred. In the 1.8 seconds that remain, the
// deferral may have to wait for others, or to be sent a second time.
const deferAfter = 1200 * time.Millisecond

// firstResponse is what becomes the first response to an interaction. Discord accepts only one.
type firstResponse int32

const (
	// undecided: neither the deferral nor the answer is being sent yet.
	undecided firstResponse = iota
	// theDeferral: the deferral is being sent, or was sent. The answer follows as an edit or a follow-up.
	theDeferral
	// theAnswer: the answer has overtaken the deferral, which is never sent.
	theAnswer
)

// deferral is the deferral of one interaction.
type deferral struct {
	session *session
	i       *interaction
	timer   *time.Timer
	first   atomic.Int32  // a firstResponse; decide sets it once
	sent    chan struct{} // closed once the attempt to send the deferral has ended
	err     error         // the error of that attempt; set before sent is closed
}

// deferLater arranges that a deferral is sent deferAfter after the arrival of i. It does not block. The caller must
// call cancel.
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

// sendDeferrals sends the deferrals that are due, until Sends is done. It runs in api.MaxFirst goroutines. If a service
// is slow, thousands of deferrals may be due in the same second, and a goroutine for each would need too much memory.
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
	d.err = api.ErrOutcomeUnknown // in case sendDeferral panics
	d.err = d.session.sendDeferral(d.i, d.i.target.reader)
}

// overtake makes the answer the first response, unless the deferral already is. It returns what the first response is.
// If that is the deferral, overtake blocks until the attempt to send it has ended, and returns the error of the
// attempt. Later calls return the same.
func (d *deferral) overtake() (firstResponse, error) {
	d.timer.Stop()
	d.decide(theAnswer)
	if firstResponse(d.first.Load()) == theAnswer {
		return theAnswer, nil
	}
	<-d.sent
	return theDeferral, d.err
}

// cancel keeps the deferral from being sent. If it is being sent now, cancel blocks until that has ended.
func (d *deferral) cancel() { _, _ = d.overtake() }

// decide makes f the first response. It returns false if the first response was decided before.
func (d *deferral) decide(f firstResponse) bool {
	return d.first.CompareAndSwap(int32(undecided), int32(f))
}

// sendDeferral sends a deferral now. r is who can read the answer if it is a new message; the answer cannot change that
// later. Once Discord has the deferral, or may have it, sendDeferral marks the claim as done, because the command may
// run for longer than claim.Lasts.
func (s *session) sendDeferral(i *interaction, r reader) error {
	s.count("deferred")
	err := s.respond(i, i.target.deferredResponse(r))
	if err == nil || errors.Is(err, api.ErrOutcomeUnknown) {
		s.markDone(i)
	}
	return err
}
