//go:build speed

package speed

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// answerTime is how long all answers to a load may take before those that are
// missing count as lost.
const answerTime = 2 * time.Minute

// load is a number of commands asked of one bot, each known by its number.
type load struct {
	first int64
	began time.Time
	// asked and took are, by number, when a command was asked, and how long it
	// took to be answered; in nanoseconds, 0 before.
	asked, took []atomic.Int64
	// inFlight holds a token for each command asked and not answered, where
	// their number is bounded.
	inFlight chan struct{}
	left     atomic.Int64
	answered chan struct{} // closed once left is 0
	wrong    atomic.Pointer[string]
}

// newLoad makes a load of n commands, numbered from first. At most inFlight are
// in flight at a time; 0 is no bound.
func newLoad(first int64, n, inFlight int) *load {
	l := &load{first: first, asked: make([]atomic.Int64, n), took: make([]atomic.Int64, n), answered: make(chan struct{})}
	if inFlight > 0 {
		l.inFlight = make(chan struct{}, inFlight)
	}
	l.left.Store(int64(n))
	return l
}

// ask has each command asked, as soon as the bound allows it, but no sooner
// than gap after the one before. It returns once all are answered, with the
// time that took.
func (l *load) ask(gap time.Duration, ask func(number int64)) (time.Duration, error) {
	l.began = time.Now()
	lost := time.After(answerTime)
	for i := range l.asked {
		// The sleep sets the rate of asking; no event is waited for.
		time.Sleep(time.Until(l.began.Add(time.Duration(i) * gap)))
		if l.inFlight != nil {
			select {
			case l.inFlight <- struct{}{}:
			case <-lost:
				return 0, l.failure()
			}
		}
		l.asked[i].Store(l.now())
		ask(l.first + int64(i))
	}
	select {
	case <-l.answered:
		elapsed := time.Since(l.began)
		return elapsed, l.problem()
	case <-lost:
		return 0, l.failure()
	}
}

// now is the nanoseconds since just before the load began, and so never 0.
func (l *load) now() int64 { return 1 + int64(time.Since(l.began)) }

// answer takes the answer to a command, nil if it is the right one.
func (l *load) answer(number int64, wrong error) {
	i := number - l.first
	if i < 0 || i >= int64(len(l.asked)) || l.asked[i].Load() == 0 {
		l.fail(fmt.Errorf("command %d was answered and is not asked here", number))
		return
	}
	if wrong != nil {
		l.fail(fmt.Errorf("command %d: %w", number, wrong))
	}
	if !l.took[i].CompareAndSwap(0, max(1, l.now()-l.asked[i].Load())) {
		l.fail(fmt.Errorf("command %d was answered twice", number))
		return
	}
	if l.inFlight != nil {
		<-l.inFlight
	}
	if l.left.Add(-1) == 0 {
		close(l.answered)
	}
}

// isAnswered reports whether a command was answered, in this load or before.
func (l *load) isAnswered(number int64) bool {
	i := number - l.first
	return i < 0 || i < int64(len(l.took)) && l.took[i].Load() != 0
}

// fail keeps the first problem.
func (l *load) fail(err error) {
	text := err.Error()
	l.wrong.CompareAndSwap(nil, &text)
}

func (l *load) problem() error {
	if text := l.wrong.Load(); text != nil {
		return errors.New(*text)
	}
	return nil
}

// failure is the problem of a load that was not answered in time.
func (l *load) failure() error {
	return errors.Join(fmt.Errorf("%d of %d commands were not answered within %v", l.left.Load(), len(l.asked), answerTime), l.problem())
}

// quantile is how long the given share of the answers took at most.
func (l *load) quantile(share float64) time.Duration {
	took := make([]time.Duration, len(l.took))
	for i := range l.took {
		took[i] = time.Duration(l.took[i].Load())
	}
	slices.Sort(took)
	return took[int(share*float64(len(took)-1))]
}
