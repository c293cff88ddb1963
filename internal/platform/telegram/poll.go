package telegram

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"
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
// known ones. The poll after a batch waits until half of it is answered: for minGap at
// least, and for gapPerUpdate times the batch at most.
//
// If a poll repeats the offset of the last one within half a second, Telegram returns only
// one update (tdlib/telegram-bot-api 10.0, Client.cpp, process_get_updates_query). An
// update that hangs would then hide all others. So that poll waits for sameOffsetGap.
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
// If such a batch has brought nothing new, the stuck updates at its head are acknowledged.
// They are still answered, also on SIGTERM. They are lost if the process is killed, or if
// Telegram does not take the answer before the drain ends.
func (s *session) poll(ctx context.Context) {
	// A webhook left by an earlier run goes. One that is set later belongs to another
	// process, and polls fail with a conflict until it is gone.
	_ = s.repeat(ctx, func() error { return s.a.api.DeleteWebhook(ctx) })
	lastOffset, lastPoll, passStuck := int64(-1), time.Time{}, false
	// The first getUpdates is a short one: its answer shows at once that Telegram is there.
	wait := time.Duration(0)
	for ctx.Err() == nil {
		s.await(ctx, time.Until(lastPoll.Add(sameOffsetGap)), func() bool {
			offset, _ := s.offsets.offset(passStuck)
			return offset != lastOffset
		})
		offset, busy := s.offsets.offset(passStuck)
		if busy {
			wait = 0
		}
		lastOffset, lastPoll = offset, time.Now()
		batch, err := s.getUpdates(ctx, offset, wait)
		if err != nil {
			return
		}
		s.connected()
		if len(batch) == 0 && !busy {
			s.offsets.forget()
		}
		anyNew := s.dispatch(ctx, batch)
		// While the global rate holds messages up, updates had better stay in Telegram's queue.
		passStuck = !anyNew && len(batch) >= batchSize && !s.out.Saturated()
		wait = longPoll
		gap := max(minGap, gapPerUpdate*time.Duration(len(batch)))
		s.await(ctx, gap, func() bool { return anyNew && s.a.InFlight() <= len(batch)/2 })
	}
}

// getUpdates polls until Telegram answers. It fails if ctx is done or the token is
// refused. After a failure it polls without waiting for updates.
func (s *session) getUpdates(ctx context.Context, offset int64, wait time.Duration) (batch []json.RawMessage, err error) {
	err = s.repeat(ctx, func() (err error) {
		batch, err = s.a.api.GetUpdates(ctx, offset, batchSize, wait, allowedUpdates)
		if err != nil && ctx.Err() == nil {
			wait = 0
			s.a.ready.Store(false)
			s.a.Count("poll_failed")
		}
		return err
	})
	return batch, err
}

// dispatch starts an answer to each update of a batch that is not known yet, and
// reports whether any was new. It blocks while too many are in flight.
func (s *session) dispatch(ctx context.Context, batch []json.RawMessage) (anyNew bool) {
	for _, raw := range batch {
		u, answerable := s.a.read(raw)
		if u.ID == 0 || !s.offsets.begin(u.ID) {
			continue
		}
		anyNew = true
		if !answerable {
			s.offsets.done(u.ID)
			continue
		}
		free := s.a.places.take(ctx, u.chat())
		if ctx.Err() != nil {
			return anyNew
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
	return anyNew
}

// await blocks until done returns true, for d, or until ctx ends. It calls done after each
// answer.
func (s *session) await(ctx context.Context, d time.Duration, done func() bool) {
	over := time.After(d)
	for !done() {
		select {
		case <-s.offsets.answered:
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// commit acknowledges the updates answered since the last getUpdates, if any were polled.
func (s *session) commit(ctx context.Context) {
	offset, _ := s.offsets.offset(false)
	if offset == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if _, err := s.a.api.GetUpdates(ctx, offset, 1, 0, allowedUpdates); err != nil {
		s.a.Log.Warn("telegram: the last answers may be repeated at the next start", "err", err)
	}
}

// offsetTracker tracks which updates of Telegram's queue are answered. Telegram is told
// one number, the offset, which acknowledges all updates before it. Answers come in any
// order.
type offsetTracker struct {
	mu sync.Mutex
	// next is the offset once all of taken is answered; 0 is unknown.
	next int64
	// taken maps each update from the offset on to the time when it was taken; zero if it
	// is answered.
	taken map[int64]time.Time
	// answered holds a token if an update was answered since the last receive.
	answered chan struct{}
}

func newOffsetTracker() *offsetTracker {
	return &offsetTracker{taken: map[int64]time.Time{}, answered: make(chan struct{}, 1)}
}

// begin records an update as taken. It returns false if the update is known.
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

// offset returns the ID of the first update that is not answered, or the one after the
// last, and whether any is in flight. With passStuck, updates that are stuck at the head
// count as answered.
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

// forget drops the offset. It is called when Telegram's queue is empty: after a week
// without an update the next ID is random and may be lower,
// https://core.telegram.org/bots/api#update.
func (o *offsetTracker) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next = 0
}
