package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/go-telegram/bot"

	"herald/internal/platform/telegram/botapi"
)

const (
	// longPoll is how long Telegram may take to answer a getUpdates if nothing comes.
	longPoll = 50 * time.Second
	// batchSize is the largest number of updates that one getUpdates returns,
	// https://core.telegram.org/bots/api#getupdates.
	batchSize = 100
	// stuckAfter is how long an update is in flight before it counts as stuck.
	stuckAfter = 300 * time.Millisecond
	// passWaiting and passNone are arguments of offsetTracker.offset: the first is longer
	// than any update is in flight, and shorter than the time since waitingSince.
	passWaiting = 24 * time.Hour
	passNone    = time.Duration(math.MaxInt64)
	// commitTimeout bounds the getUpdates of commit.
	commitTimeout = 900 * time.Millisecond
)

// Updates that are not acknowledged are still queued, so the next getUpdates returns at once,
// with known ones first. After a batch with new updates, poll therefore waits until no command
// is in flight, or only a quarter of the batch would be returned again. It waits no longer than
// gapPerUpdate for each update of the batch, or minGap if that is more. After any other batch
// poll waits that long.
//
// While the offset stays, polls are sameOffsetGap apart. If one repeats the offset of the last
// within half a second, Telegram returns only one update (tdlib/telegram-bot-api 10.0,
// Client.cpp, process_get_updates_query), and an update that hangs would hide all others. An
// offset one lower returns the same updates, because that one is acknowledged already. poll
// alternates between the two.
const (
	gapPerUpdate  = 200 * time.Microsecond
	minGap        = 2 * time.Millisecond
	sameOffsetGap = 100 * time.Millisecond
)

// poll takes updates and starts a goroutine for each. It blocks until ctx is done or the
// token is refused. It acknowledges an update once that one and all before it are answered.
//
// There are exceptions. A getUpdates returns the first batchSize updates that are not
// acknowledged, so an update that takes long would hide all others behind these. If a batch is
// full, poll acknowledges the updates at its head that wait for their chat's rate, a 429 or
// another message, as a webhook's are; if it has nothing new, or has join requests, also the
// stuck ones. What is acknowledged is still answered, also on SIGTERM. It is lost if the
// process is killed, or if Telegram does not take the answer before the drain ends.
//
// A join request is acknowledged as soon as it is accepted.
func (s *session) poll(ctx context.Context) {
	// This deletes the webhook of an earlier run. A webhook set later belongs to another
	// process: polls then fail with a conflict until that process deletes it.
	_ = s.repeat(ctx, func() error {
		_, err := botapi.Change(ctx, s.a.api, (*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{})
		return err
	})
	lastOffset, lastSent, lastPoll, pass := int64(-1), int64(-1), time.Time{}, passNone
	// The first getUpdates returns at once, which shows early that Telegram can be reached.
	wait := time.Duration(0)
	for ctx.Err() == nil {
		s.await(ctx, time.Until(lastPoll.Add(sameOffsetGap)), func() bool {
			offset, _ := s.offsets.offset(pass)
			return offset != lastOffset
		})
		offset, busy := s.offsets.offset(pass)
		if busy { // An update in flight is still queued, so there is nothing to wait for.
			wait = 0
		}
		lastOffset, lastPoll = offset, time.Now()
		if offset == lastSent && offset > 1 { // Below 0, Telegram would drop updates.
			offset--
		}
		lastSent = offset
		batch, err := s.getUpdates(ctx, offset, wait)
		if err != nil {
			return
		}
		s.connected()
		if len(batch) == 0 && !busy {
			s.offsets.forget()
		}
		anyNew, raid := s.dispatch(ctx, batch)
		pass = s.passAfter(len(batch) >= batchSize, anyNew, raid)
		wait = longPoll
		gap := max(minGap, gapPerUpdate*time.Duration(len(batch)))
		s.await(ctx, gap, func() bool {
			return anyNew && (s.a.InFlight() == 0 || s.offsets.unacknowledged() <= len(batch)/4)
		})
	}
}

// passAfter returns how long updates must be in flight for the next poll to acknowledge them: after
// a batch that is full or not, with updates that are new or none, in a raid or not.
func (s *session) passAfter(full, anyNew, raid bool) time.Duration {
	switch {
	// While the global rate delays messages, updates are safer in Telegram's queue.
	case (raid || full && !anyNew) && !s.out.Saturated():
		return stuckAfter
	case full:
		return passWaiting
	}
	return passNone
}

// getUpdates calls Telegram until a call succeeds. The first call blocks for up to wait if no
// update is queued. getUpdates fails if ctx is done or the token is refused.
func (s *session) getUpdates(
	ctx context.Context, offset int64, wait time.Duration,
) (batch []json.RawMessage, err error) {
	err = s.repeat(ctx, func() (err error) {
		batch, err = s.a.api.GetUpdates(ctx, offset, batchSize, wait, s.a.allowedUpdates())
		if err != nil && ctx.Err() == nil {
			wait = 0
			s.a.ready.Store(false)
			s.a.Count("poll_failed")
		}
		return err
	})
	return batch, err
}

// dispatch starts a goroutine for each new update of a batch, and reports whether there was
// one. It blocks while all places are taken. raid is true if the batch is full and has join
// requests.
func (s *session) dispatch(ctx context.Context, batch []json.RawMessage) (anyNew, raid bool) {
	for _, raw := range batch {
		u, answerable := s.a.read(raw)
		if u.ID != 0 && s.offsets.begin(u.ID) {
			anyNew = true
			if !answerable {
				s.offsets.done(u.ID)
			} else if !s.start(ctx, u) {
				return anyNew, raid
			}
		}
		raid = raid || u.Join != nil && len(batch) >= batchSize
	}
	return anyNew, raid
}

// start starts a goroutine that answers an update. It blocks while all places are taken. It
// returns false and starts none if ctx ends.
func (s *session) start(ctx context.Context, u *update) bool {
	if u.Join != nil {
		accepted := s.acceptJoin(u.Join)
		if accepted {
			s.offsets.done(u.ID)
		}
		return accepted
	}
	u.waits = func() { s.offsets.mark(u.ID, waitingSince) }
	p := s.a.places.hold(ctx, u.chat())
	if p == nil {
		return false
	}
	return s.work.Go(func(request string) {
		done := true // even after a panic, which would come again
		defer func() {
			p.Free()
			// While the session runs, no other process would get the update.
			if done || s.running.Err() == nil {
				s.offsets.done(u.ID)
			}
		}()
		u.command = s.parseRenamed(u)
		done = s.respond(request, u, p)
	})
}

// await blocks until done returns true or ctx ends, but for d at most. It calls done at the
// start and after each answer.
func (s *session) await(ctx context.Context, d time.Duration, done func() bool) {
	timeout := time.After(d)
	for !done() {
		select {
		case <-s.offsets.answered:
		case <-timeout:
			return
		case <-ctx.Done():
			return
		}
	}
}

// commit acknowledges the updates answered since the last getUpdates, within commitTimeout.
func (s *session) commit(ctx context.Context) {
	offset, _ := s.offsets.offset(passNone)
	if offset == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if _, err := s.a.api.GetUpdates(ctx, offset, 1, 0, s.a.allowedUpdates()); err != nil {
		s.a.Log.Warn("telegram: the last answers may be repeated at the next start", "err", err)
	}
}

// offsetTracker tracks which polled updates are answered, in any order. A getUpdates sends
// one ID, the offset, which acknowledges all updates with lower IDs.
type offsetTracker struct {
	mu sync.Mutex
	// next is the offset once all of taken are answered; 0 is unknown.
	next int64
	// taken holds each update from the offset on, by ascending IDs.
	taken []takenUpdate
	// answered holds a token if an update was answered since the last receive.
	answered chan struct{}
}

// takenUpdate is an update that was polled. begun is the time of begin, or waitingSince; the
// zero time is an answered update.
type takenUpdate struct {
	id    int64
	begun time.Time
}

func newOffsetTracker() *offsetTracker {
	return &offsetTracker{answered: make(chan struct{}, 1)}
}

// begin records an update as in flight. It returns false if the update is known.
func (o *offsetTracker) begin(id int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	i, known := o.find(id)
	if known || id < o.next {
		return false
	}
	o.taken = slices.Insert(o.taken, i, takenUpdate{id: id, begun: time.Now()})
	return true
}

// find returns the index of an update in taken, or the one at which it would be inserted.
func (o *offsetTracker) find(id int64) (i int, found bool) {
	return slices.BinarySearchFunc(o.taken, id, func(u takenUpdate, id int64) int { return cmp.Compare(u.id, id) })
}

// waitingSince is the time of an update that waits, long before any other.
var waitingSince = time.Unix(0, 0)

// done marks an update as answered.
func (o *offsetTracker) done(id int64) { o.mark(id, time.Time{}) }

// mark sets the time of an update in taken, if the update is there and not answered.
func (o *offsetTracker) mark(id int64, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i, known := o.find(id); known && !o.taken[i].begun.IsZero() {
		o.taken[i].begun = at
	}
	select {
	case o.answered <- struct{}{}:
	default:
	}
}

// offset returns the ID of the first update in flight and true. If none is in flight, it
// returns the ID after the last update, or 0 if that is unknown. Updates that are in flight for
// longer than pass count as answered, up to the first one that is not.
func (o *offsetTracker) offset(pass time.Duration) (offset int64, busy bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.taken) > 0 {
		first := o.taken[0]
		if !first.begun.IsZero() && time.Since(first.begun) <= pass {
			return first.id, true
		}
		o.taken = o.taken[1:]
		o.next = first.id + 1
	}
	return o.next, false
}

// unacknowledged returns how many updates the next getUpdates would return again.
func (o *offsetTracker) unacknowledged() int {
	o.offset(passNone) // drops those that it acknowledges
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.taken)
}

// forget sets next to unknown. poll calls it when Telegram's queue is empty, because after a
// week without an update the next ID is random and may be lower,
// https://core.telegram.org/bots/api#update.
func (o *offsetTracker) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next = 0
}
