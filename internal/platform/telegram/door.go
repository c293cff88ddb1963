package telegram

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"herald/internal/ratelimit"
)

// Limits on join requests, which may come by the thousand.
const (
	// queryChecks and otherChecks are how many requests with a query, and without one, are checked at a time.
	// Together they leave most of query.MaxCalls, the calls that one service gets at a time, to commands.
	queryChecks = 6
	otherChecks = 8
	// maxQueries and maxOthers are how many requests with a query, and without one, wait to be checked. Further ones
	// are not checked.
	maxQueries = 1000
	maxOthers  = 10_000
	// crowdSize is how many requests in flight are not a crowd yet.
	crowdSize = 20
	// joinMessages is how many new messages about join requests are sent in a second. In contactTime, they reach more
	// people than 2,000 who ask at once. crowdMessages is how many more are sent in a crowd, before approvals, and
	// crowdBurst how many of them at once. With their edits, that is less than half of what Telegram allows for all
	// chats.
	joinMessages  = 8
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
	room    int64         // how many may wait
	waiting atomic.Int64
}

// enter waits for a place and returns true; the caller must call leave after the check. It returns false at once if
// too many requests wait, and otherwise at the given time or once ctx is done.
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

// crowdLimit returns the limit of messages before an approval in a crowd. In a raid, few can come in, and all of them
// are told.
func (s *session) crowdLimit() ratelimit.Limit {
	return ratelimit.Limit{
		Key:   fmt.Sprint("join crowd ", s.me().ID),
		Burst: crowdBurst,
		Every: time.Second / crowdMessages,
	}
}

// personLimit returns the limit of new messages to one person about their requests to join one group: one a minute.
// A message is out within messageTime after its slot, unless Telegram delays it for longer.
func (j *joining) personLimit() ratelimit.Limit {
	return ratelimit.Limit{
		Key:   fmt.Sprint("join message ", j.s.me().ID, " ", j.request.UserChatID, " ", j.request.Chat.ID),
		Burst: 1,
		Every: time.Minute + minOutcomeTime,
	}
}
