package telegram

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// Bounds on join requests, which may come by the thousand.
const (
	// maxChecks bounds those that are checked at a time, so that commands find the
	// services free: it is a quarter of query.MaxCalls.
	maxChecks = 8
	// maxQueries and maxWaiting bound those that wait to be checked, with a query and without.
	// Further ones are not checked. Queries whose time is up are all answered at once.
	maxQueries, maxWaiting = 1000, 10_000
	// refusals and admissions are how many people a second are told how their request ended, or
	// that they are being let in: together a third of the messages that Telegram allows for all
	// chats. In contactTime, refusals reaches more people than 2,000 who ask at once.
	refusals, admissions = 8, 2
)

// The times of a join request. Telegram waits 10 seconds from the request's date for the
// answer to a query, and lets the bot write to the person for 5 minutes,
// https://core.telegram.org/bots/api#chatjoinrequest.
const (
	answerWithin = 10 * time.Second
	// minAnswerTime is how long the answer to a query may take however old its date is: the
	// clocks may differ.
	minAnswerTime = 5 * time.Second
	// approveTime is the end of that time, kept for the first message and the approval.
	approveTime = 3 * time.Second
	// patience is how long a request without a query waits to be checked.
	patience = 4 * time.Minute
	// contactTime is how long after the request a message to the person may begin.
	contactTime = 5*time.Minute - 10*time.Second
)

// joinTimes holds the latest end of each step of a join request.
type joinTimes struct {
	giveUpWaiting time.Time // the wait to be checked
	check         time.Time // the check
	approve       time.Time // the calls that answer the request
	tell          time.Time // the wait of a person who is left out to be told why
}

// timesOf returns the times of a request that arrived, and whose turn to be checked came, at
// these times. A query has its times by its date; turn changes nothing for it.
func timesOf(arrived, turn, date time.Time, query bool) joinTimes {
	t := joinTimes{giveUpWaiting: arrived.Add(patience), approve: turn.Add(answerWithin), tell: arrived.Add(contactTime)}
	if query {
		byDate := date.Add(answerWithin).Sub(arrived)
		t.approve = arrived.Add(min(max(byDate, minAnswerTime), answerWithin))
		t.giveUpWaiting = t.approve.Add(-approveTime)
	}
	t.check = t.approve.Add(-approveTime)
	return t
}

// joinQueue holds the join requests in flight. A request that waits has no goroutine. The zero
// value is empty.
type joinQueue struct {
	inFlight atomic.Int64
	mu       sync.Mutex
	// checking counts the requests that are being checked, at most maxChecks.
	checking int
	// queries and others hold the *joinTasks that wait to be checked.
	queries, others list.List
}

// acceptJoin takes a join request for one of JoinChats. Whoever has what the group requires is let in. Any other
// request stays open for moderators, and the person is told why. acceptJoin does not block. It returns false, and
// takes nothing, if the drain has begun.
func (s *session) acceptJoin(r *joinRequest) bool {
	if _, listed := s.a.Settings.JoinChats[r.Chat.ID]; !listed {
		return true
	}
	if !s.work.Hold() {
		return false
	}
	s.a.seeGroup(r.Chat)
	j := &joinTask{s: s, join: r, arrived: time.Now()}
	j.times = j.timesAt(j.arrived)
	q := &s.a.joins
	q.inFlight.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	line, room := &q.others, maxWaiting
	if r.QueryID != "" {
		line, room = &q.queries, maxQueries
	}
	switch {
	case r.From.IsBot, line.Len() >= room:
		go j.run(j.giveUp)
	case q.checking < maxChecks:
		q.checking++
		go j.run(j.answer)
	default:
		place := line.PushBack(j)
		j.timer = time.AfterFunc(time.Until(j.times.giveUpWaiting), func() {
			q.mu.Lock()
			line.Remove(place) // unless next has removed it
			q.mu.Unlock()
			j.run(j.giveUp)
		})
	}
	return true
}

// count returns how many requests are in flight.
func (q *joinQueue) count() int { return int(q.inFlight.Load()) }

// next ends a check, and begins that of the next request, one with a query first.
func (q *joinQueue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, line := range []*list.List{&q.queries, &q.others} {
		for line.Len() > 0 {
			if j := line.Remove(line.Front()).(*joinTask); j.timer.Stop() { // otherwise it gives up now
				go j.run(j.answer)
				return
			}
		}
	}
	q.checking--
}

// tellLater has the person told how their request ended, once refusals allows it. It returns
// false, and tells nothing, if that would be too late.
func (j *joinTask) tellLater(outcome *chat.Reply) (more bool) {
	wait, ok := j.s.a.Limiter.Reserve(j.s.work.Sends, time.Until(j.times.tell), j.s.joinMessages("refusals", refusals))
	if !ok {
		return false
	}
	due, cancel := context.WithTimeout(j.s.work.Sends, wait) // A drain does not wait for long.
	context.AfterFunc(due, func() {
		defer cancel()
		j.run(func(string) (more bool) {
			j.tellOutcome(outcome)
			return false
		})
	})
	return true
}

// joinMessages returns the limit of messages of a kind about join requests.
func (s *session) joinMessages(kind string, perSecond int) ratelimit.Limit {
	key := fmt.Sprint("join ", kind, " ", s.me().ID)
	return ratelimit.Limit{Key: key, Burst: 1, Every: time.Second / time.Duration(perSecond)}
}

// personLimit returns the limit of messages to one person about their requests to join one group.
// Unless Telegram delays it for longer, a message is out messageTime after its slot.
func (j *joinTask) personLimit() ratelimit.Limit {
	key := fmt.Sprint("join message ", j.s.me().ID, " ", j.join.UserChatID, " ", j.join.Chat.ID)
	return ratelimit.Limit{Key: key, Burst: 1, Every: time.Minute + messageTime}
}

// run runs one step of the request. A step that returns false, or panics, is the last.
func (j *joinTask) run(step func(id string) (more bool)) {
	more := false
	j.s.work.Run(func(id string) { more = step(id) }) // which recovers from a panic
	if !more {
		j.end()
	}
}

// end ends the request.
func (j *joinTask) end() {
	j.s.a.joins.inFlight.Add(-1)
	j.s.work.Release()
}
