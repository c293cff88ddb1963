//go:build speed

package speed

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// answerTime is how long all answers to a load may take before those that are
// missing count as lost.
const answerTime = 2 * time.Minute

// load is a number of commands asked of one bot, each known by its number.
type load struct {
	first int64
	// states are those of the commands by number: 0, isAsked or isAnswered.
	states []atomic.Int32
	// inFlight holds a token for each command asked and not answered.
	inFlight chan struct{}
	left     atomic.Int64
	answered chan struct{} // closed once left is 0
	wrong    atomic.Pointer[string]
}

const (
	isAsked int32 = 1 + iota
	isAnswered
)

// newLoad makes a load of n commands, numbered from first. At most inFlight are
// in flight at a time.
func newLoad(first int64, n, inFlight int) *load {
	l := &load{first: first, states: make([]atomic.Int32, n), inFlight: make(chan struct{}, inFlight), answered: make(chan struct{})}
	l.left.Store(int64(n))
	return l
}

// ask has each command asked, as soon as the bound allows it. It returns once
// all are answered, with the time that took.
func (l *load) ask(ask func(number int64)) (time.Duration, error) {
	began, lost := time.Now(), time.After(answerTime)
	for i := range l.states {
		select {
		case l.inFlight <- struct{}{}:
		case <-lost:
			return 0, l.failure()
		}
		l.states[i].Store(isAsked)
		ask(l.first + int64(i))
	}
	select {
	case <-l.answered:
		return time.Since(began), l.problem()
	case <-lost:
		return 0, l.failure()
	}
}

// answer takes the answer to a command, nil if it is the right one.
func (l *load) answer(number int64, wrong error) {
	i := number - l.first
	if i < 0 || i >= int64(len(l.states)) || l.states[i].Load() == 0 {
		l.fail(fmt.Errorf("command %d was answered and is not asked here", number))
		return
	}
	if wrong != nil {
		l.fail(fmt.Errorf("command %d: %w", number, wrong))
	}
	if !l.states[i].CompareAndSwap(isAsked, isAnswered) {
		l.fail(fmt.Errorf("command %d was answered twice", number))
		return
	}
	<-l.inFlight
	if l.left.Add(-1) == 0 {
		close(l.answered)
	}
}

// isAnswered reports whether a command was answered, in this load or before.
func (l *load) isAnswered(number int64) bool {
	i := number - l.first
	return i < 0 || i < int64(len(l.states)) && l.states[i].Load() == isAnswered
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
	return errors.Join(fmt.Errorf("%d of %d commands were not answered within %v", l.left.Load(), len(l.states), answerTime), l.problem())
}
