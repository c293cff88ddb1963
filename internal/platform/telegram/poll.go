package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"herald/internal/platform/telegram/botapi"
)

const (
	// longPoll is how long Telegram may take to answer a getUpdates if nothing comes.
	longPoll = 50 * time.Second
	// batchSize is the most that one getUpdates answers,
	// https://core.telegram.org/bots/api#getupdates.
	batchSize = 100
	// stuckAfter is how long an update is in flight before it counts as stuck.
	stuckAfter = 300 * time.Millisecond
	// commitTimeout bounds the last getUpdates.
	commitTimeout = 900 * time.Millisecond
)

// Updates in flight are still queued, so the next getUpdates returns at once, mostly with
// known ones. It waits until half of a batch is answered, for minGap at least and for
// gapPerUpdate times the batch at most.
//
// If a poll repeats the offset of the last one within half a second, Telegram returns only
// one update (tdlib/telegram-bot-api 10.0, Client.cpp, process_get_updates_query). One that
// hangs would hide all others. So that poll waits for sameOffsetGap.
const (
	gapPerUpdate  = 100 * time.Microsecond
	minGap        = 2 * time.Millisecond
	sameOffsetGap = 600 * time.Millisecond
)

// poll takes updates until ctx is done, each answered in a goroutine of its own. An
// update is acknowledged once it and all before it are answered.
//
// There is one exception. Telegram shows the first 100 updates that are not
// acknowledged, and one that takes long would hide all others from the hundredth on.
// If such a batch has brought nothing new, what is stuck at its head is acknowledged.
// It is still answered, also on SIGTERM. It is lost if the process is killed, or if
// Telegram does not take the answer before the drain ends.
func (s *session) poll(ctx context.Context) {
	// A webhook left by an earlier run goes. One that is set later belongs to another
	// process, and polls fail with a conflict until it is gone.
	_ = s.repeat(ctx, func() error { return s.api.DeleteWebhook(ctx) })
	polledFrom, polledAt, passStuck := int64(-1), time.Time{}, false
	// At first, and after a failure, a getUpdates is a short one: its answer
	// shows at once that Telegram is there.
	wait, limit := time.Duration(0), batchSize
	for ctx.Err() == nil {
		s.await(ctx, time.Until(polledAt.Add(sameOffsetGap)), func() bool {
			offset, _ := s.offsets.offset(passStuck)
			return offset != polledFrom
		})
		offset, busy := s.offsets.offset(passStuck)
		if busy {
			wait = 0
		}
		polledFrom, polledAt = offset, time.Now()
		var batch []json.RawMessage
		err := s.repeat(ctx, func() (err error) {
			batch, err = s.api.GetUpdates(ctx, offset, limit, wait, allowedUpdates)
			if err == nil || ctx.Err() != nil {
				return err
			}
			wait = 0
			s.ready.Store(false)
			s.Count("poll_failed")
			if large, is := errors.AsType[*botapi.TooLargeError](err); is && limit == 1 {
				s.Count("update_too_large")
				s.Log.Warn("telegram: an update is too large to be read and is skipped")
				batch, err = []json.RawMessage{fmt.Appendf(nil, `{"update_id":%d}`, large.First)}, nil
			} else if is {
				limit = 1 // to find out which update it is
			}
			return err
		})
		if err != nil {
			return
		}
		s.connected()
		if len(batch) == 0 && !busy {
			s.offsets.forget()
		}
		taken := s.dispatch(ctx, batch)
		// What only the rate of all messages holds up is best left to Telegram.
		passStuck = !taken && len(batch) >= limit && !s.out.Saturated()
		wait, limit = longPoll, batchSize
		gap := max(minGap, gapPerUpdate*time.Duration(len(batch)))
		s.await(ctx, gap, func() bool { return taken && s.InFlight() <= len(batch)/2 })
	}
}

// dispatch starts an answer to each update of a batch that is not known yet, and
// reports whether any was new. It blocks while too many are in flight.
func (s *session) dispatch(ctx context.Context, batch []json.RawMessage) (taken bool) {
	for _, raw := range batch {
		u, answerable := s.read(raw)
		if u.ID == 0 || !s.offsets.begin(u.ID) {
			continue
		}
		taken = true
		if !answerable {
			s.offsets.done(u.ID)
			continue
		}
		free := s.places.take(ctx, u.chat())
		if ctx.Err() != nil {
			return taken
		}
		s.tasks.Go(func(request string) {
			done := true // An update that makes this program panic would do so again.
			defer func() {
				if free != nil {
					free()
				}
				// Before the stop nobody else would try again.
				if done || s.running.Err() == nil {
					s.offsets.done(u.ID)
				}
			}()
			done = s.respond(request, u, free)
		})
	}
	return taken
}

// await waits until something is so, which it looks at after each answer, or for d.
func (s *session) await(ctx context.Context, d time.Duration, so func() bool) {
	over := time.After(d)
	for !so() {
		select {
		case <-s.offsets.answered:
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// commit acknowledges what was answered since the last getUpdates, if there was one.
func (s *session) commit(ctx context.Context) {
	offset, _ := s.offsets.offset(false)
	if offset == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if _, err := s.api.GetUpdates(ctx, offset, 1, 0, allowedUpdates); err != nil {
		s.Log.Warn("telegram: the last answers may be repeated at the next start", "err", err)
	}
}

// offsetTracker knows which updates of Telegram's queue are answered. All updates
// before one number, the offset, are acknowledged, while answers come in any order.
type offsetTracker struct {
	mu sync.Mutex
	// next is the offset once all of taken is answered; 0 is unknown.
	next int64
	// taken are the updates from the offset on, with when each was taken, or zero once
	// it is answered.
	taken map[int64]time.Time
	// answered holds a token if an update was answered since it was last received from.
	answered chan struct{}
}

func newOffsetTracker() *offsetTracker {
	return &offsetTracker{taken: map[int64]time.Time{}, answered: make(chan struct{}, 1)}
}

// begin takes an update. It returns false for one that is known.
func (o *offsetTracker) begin(id int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.taken[id]; known || id < o.next {
		return false
	}
	o.taken[id] = time.Now()
	return true
}

// done marks an update as answered.
func (o *offsetTracker) done(id int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.taken[id]; known {
		o.taken[id] = time.Time{}
	}
	select {
	case o.answered <- struct{}{}:
	default:
	}
}

// offset returns the first update that is not answered, or the one after the last, and
// whether any is in flight. With passStuck, those that are stuck at the head count as
// answered.
func (o *offsetTracker) offset(passStuck bool) (offset int64, busy bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(o.taken)) {
		since := o.taken[id]
		if !since.IsZero() && (!passStuck || time.Since(since) <= stuckAfter) {
			return id, true
		}
		delete(o.taken, id)
		o.next = id + 1
	}
	return o.next, false
}

// forget drops the offset when Telegram's queue is empty: after a week without an
// update the next number is random and may be lower,
// https://core.telegram.org/bots/api#update.
func (o *offsetTracker) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next = 0
}
