package telegram

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"herald/internal/ratelimit"
)

// Join requests may come by the thousand. These are the limits on checking them. A request is of one of two kinds: it
// has a query, or it does not. Each kind has a line: a few requests have a place in it and are checked, and the others
// wait for a place.
const (
	// queryChecks is how many requests with a query are checked at a time, and otherChecks how many others. Together
	// they leave most of query.MaxCalls, the calls that one service gets at a time, to commands.
	queryChecks = 6
	otherChecks = 8
	// maxQueries is how many requests with a query wait to be checked, and maxOthers how many others. Further ones
	// are not checked.
	maxQueries = 1000
	maxOthers  = 10_000
	// crowdSize is the maximum number of requests in flight that is not a crowd.
	crowdSize = 20
)

// These are the limits on messages about join requests. With the edits of these messages, they add up to less than half
// of what Telegram allows for all chats.
const (
	// joinMessages is how many new messages are sent in a second. In contactTime, that is more than 2,000 messages:
	// so many people can ask at once, and are all told.
	joinMessages = 8
	// crowdMessages is how many more are sent in a second before approvals in a crowd, and crowdBurst how many of
	// these at once.
	crowdMessages = 2
	crowdBurst    = 4
)

// door limits the join requests that are answered at the same time.
type door struct {
	// inFlight counts the requests that were accepted, until they are answered and their users told.
	inFlight atomic.Int64
	queries  joinLine
	others   joinLine
}

func newDoor() *door {
	return &door{
		queries: joinLine{places: make(chan struct{}, queryChecks), room: maxQueries},
		others:  joinLine{places: make(chan struct{}, otherChecks), room: maxOthers},
	}
}

// isCrowded reports whether more than crowdSize requests are in flight.
func (d *door) isCrowded() bool { return d.inFlight.Load() > crowdSize }

// line returns the line in which a request waits to be checked.
func (d *door) line(r *joinRequest) *joinLine {
	if r.QueryID != "" {
		return &d.queries
	}
	return &d.others
}

// joinLine lets a few requests be checked at a time. Further ones wait, first come, first served.
type joinLine struct {
	places  chan struct{} // a token for each request that is being checked
	room    int64         // the maximum of waiting
	waiting atomic.Int64  // how many requests wait for a place
}

// enter waits for a place and returns true. The caller must call leave after the check. enter returns false at once if
// too many requests wait, and it returns false if there is no place until the given time, or if ctx ends.
func (l *joinLine) enter(ctx context.Context, until time.Time) bool {
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.room {
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

// leave gives the place to the next request.
func (l *joinLine) leave() { <-l.places }

// joinLimit returns the limit of new messages about join requests.
func (s *session) joinLimit() ratelimit.Limit {
	return ratelimit.Limit{
		Key:   fmt.Sprint("join messages ", s.me().ID),
		Burst: 1,
		Every: time.Second / joinMessages,
	}
}

// crowdLimit returns the limit of messages before approvals in a crowd. In a raid, most people are not let in, so that
// even this limit suffices to tell those who are.
func (s *session) crowdLimit() ratelimit.Limit {
	return ratelimit.Limit{
		Key:   fmt.Sprint("join crowd ", s.me().ID),
		Burst: crowdBurst,
		Every: time.Second / crowdMessages,
	}
}

// personLimit returns the limit of new messages to one person about their requests to join one group: one a minute.
// A message is sent within minOutcomeTime after its slot, unless Telegram delays it for longer. So two messages are at
// least a minute apart.
func (j *joining) personLimit() ratelimit.Limit {
	return ratelimit.Limit{
		Key:   fmt.Sprint("join message ", j.s.me().ID, " ", j.request.UserChatID, " ", j.request.Chat.ID),
		Burst: 1,
		Every: time.Minute + minOutcomeTime,
	}
}
