package telegram

import (
	"context"
	"sync/atomic"
	"time"
)

// Join requests may come by the thousand, and only a few are checked at a time. A request is of one of two kinds:
// Telegram waits for the answer to its query, or it has no query. Each kind has a line of its own: a few requests have
// a place in the line and are checked, and the others wait for a place.
const (
	// queryChecks is how many requests with a query are checked at a time, and otherChecks how many others. Together
	// they leave most of query.MaxCalls, the calls that one service gets at a time, to commands.
	queryChecks = 6
	otherChecks = 8
	// maxQueries is how many requests with a query wait for a place, and maxOthers how many others. Further ones are
	// not checked.
	maxQueries = 1000
	maxOthers  = 10_000
	// crowdSize is the number of requests in flight above which they are a crowd.
	crowdSize = 20
)

// door counts the join requests in flight, and limits how many are checked at a time.
type door struct {
	// inFlight is the number of requests that were accepted, and are not yet answered or their users not yet told.
	inFlight atomic.Int64
	queries  joinLine
	others   joinLine
}

func newDoor() *door {
	return &door{
		queries: joinLine{places: make(chan struct{}, queryChecks), maxWaiting: maxQueries},
		others:  joinLine{places: make(chan struct{}, otherChecks), maxWaiting: maxOthers},
	}
}

// isCrowded reports whether more than crowdSize requests are in flight.
func (d *door) isCrowded() bool { return d.inFlight.Load() > crowdSize }

// line returns the line for a request.
func (d *door) line(r *joinRequest) *joinLine {
	if r.QueryID != "" {
		return &d.queries
	}
	return &d.others
}

// joinLine lets a few requests be checked at a time. Further ones wait, first come, first served.
type joinLine struct {
	places     chan struct{} // has a token for each request that is being checked
	waiting    atomic.Int64  // how many requests wait for a place
	maxWaiting int64
}

// enter waits for a place and returns true. The caller must call leave after the check. If too many requests wait,
// enter returns false at once. It also returns false if there is no place by the given time, or if ctx ends.
func (l *joinLine) enter(ctx context.Context, until time.Time) bool {
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.maxWaiting {
		return false
	}
	select {
	case l.places <- struct{}{}:
		return true
	case <-time.After(time.Until(until)):
		return false
	case <-ctx.Done():
		return false
	}
}

// leave frees the place for the next request.
func (l *joinLine) leave() { <-l.places }
