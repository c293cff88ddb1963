package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

// longPoll is how long Telegram may take to answer a getUpdates if nothing
// comes.
const longPoll = 50 * time.Second

// batchSize is the most that one getUpdates answers,
// https://core.telegram.org/bots/api#getupdates.
const batchSize = 100

// How long to wait between two polls while something is in flight. Such a poll is
// answered at once: what is in flight is still in Telegram's queue. The gap is
// pollGap, or fullGap after a full batch, which may hide more. It grows to an eighth of
// the time since the last new update, up to maxGap.
const (
	pollGap = 2 * time.Millisecond
	fullGap = 10 * time.Millisecond
	maxGap  = 100 * time.Millisecond
)

// A long poll that is answered with nothing within earlyAnswer comes from a
// server that does not wait. It is asked again after emptyGap.
const (
	earlyAnswer = 100 * time.Millisecond
	emptyGap    = 250 * time.Millisecond
)

// idleReset is after how long without an update the offset is forgotten: after
// a week Telegram numbers updates anew, from a random number that may be lower,
// https://core.telegram.org/bots/api#update.
const idleReset = 3 * 24 * time.Hour

// commitTimeout bounds the last getUpdates.
const commitTimeout = 900 * time.Millisecond

// poll takes updates until ctx is done, each answered in a goroutine of its
// own. An update is acknowledged once it and all before it are answered.
//
// There is one exception. Telegram shows the first 100 updates that are not
// acknowledged, and one that takes long would hide all others from the hundredth on.
// If such a batch has brought nothing new, what is stuck at its head is acknowledged.
// It is still answered, also on SIGTERM. It is lost if the process is killed, or if
// Telegram does not take the answer before the drain ends.
func (s *session) poll(ctx context.Context, offsets *offsetTracker) {
	// A webhook left by an earlier run goes. One that is set later belongs to another
	// process, and polls fail with a conflict until it is gone.
	_ = s.repeat(ctx, func() error { return s.api.DeleteWebhook(ctx) })
	lastUpdate := time.Now()
	// At first, and after a failure, a getUpdates is a short one: its answer
	// shows at once that Telegram is there.
	wait, limit := time.Duration(0), batchSize
	for ctx.Err() == nil {
		offset, busy := offsets.offset()
		if busy {
			wait = 0
		}
		var asked time.Time
		var batch []json.RawMessage
		err := s.repeat(ctx, func() (err error) {
			asked = time.Now()
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
		long, full := wait > 0, len(batch) >= limit
		wait, limit = longPoll, batchSize
		switch taken := s.dispatch(ctx, offsets, batch); {
		case taken > 0:
			lastUpdate = time.Now()
		case busy:
			// What only the rate of all messages holds up is best left to Telegram.
			if full && !s.out.Saturated() {
				offsets.acknowledgeStuck()
			}
		case time.Since(lastUpdate) > idleReset:
			offsets.forget()
		case long && time.Since(asked) < earlyAnswer:
			transport.Sleep(ctx, emptyGap)
		}
		awaitNews(ctx, offsets, len(batch), full, time.Since(lastUpdate))
	}
}

// dispatch starts an answer to each update of a batch that is not known yet, and
// returns how many were new. It blocks while too many are in flight.
func (s *session) dispatch(ctx context.Context, offsets *offsetTracker, batch []json.RawMessage) (taken int) {
	for _, raw := range batch {
		u, err := decode(raw)
		id := u.ID
		if id == 0 || !offsets.begin(id) {
			continue
		}
		taken++
		if err != nil {
			s.Count("update_undecodable")
		}
		if !u.answerable() {
			offsets.done(id)
			continue
		}
		select {
		case s.inFlight <- struct{}{}:
		case <-ctx.Done():
			return taken
		}
		s.tasks.Go(func(request string) {
			done := true // An update that makes this program panic would do so again.
			defer func() {
				// Before the stop nobody else would try again.
				if done || s.running.Err() == nil {
					offsets.done(id)
				}
				<-s.inFlight
			}()
			done = s.respond(request, u)
		})
	}
	return taken
}

// awaitNews waits until a poll may bring anything new: at once when nothing is
// in flight, when half of a full batch is done, or after a gap. quiet is the time
// since the last new update.
func awaitNews(ctx context.Context, offsets *offsetTracker, batch int, full bool, quiet time.Duration) {
	pending, gap := 0, pollGap
	if full {
		pending, gap = batch/2, fullGap
	}
	timer := time.NewTimer(min(max(gap, quiet/8), maxGap))
	defer timer.Stop()
	select {
	case <-offsets.whenPending(pending):
	case <-timer.C:
	case <-ctx.Done():
	}
}

// commit acknowledges what was answered since the last getUpdates.
func (s *session) commit(ctx context.Context, offsets *offsetTracker) {
	offset, _ := offsets.offset()
	if offset == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if _, err := s.api.GetUpdates(ctx, offset, 1, 0, allowedUpdates); err != nil {
		s.Log.Warn("telegram: the last answers may be repeated at the next start", "err", err)
	}
}
