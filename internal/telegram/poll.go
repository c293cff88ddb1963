package telegram

import (
	"context"
	"encoding/json"
	"time"

	"herald/internal/retry"
	"herald/internal/telegram/botapi"
)

// longPoll is how long Telegram may take to answer a getUpdates if nothing
// comes.
const longPoll = 50 * time.Second

// batchSize is the most that one getUpdates answers,
// https://core.telegram.org/bots/api#getupdates.
const batchSize = 100

// How often Telegram is asked while something is in hand: the answer then
// comes at once, since what is in hand is still in Telegram's queue.
const (
	pollGap  = 20 * time.Millisecond
	pollTick = 100 * time.Millisecond
)

// stuckAfter is how long an update may keep those behind a full batch from
// being seen.
const stuckAfter = time.Second

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
// acknowledged, so that one that is not answered for long would hide all
// others from the hundredth on. If such a batch has brought nothing new, what
// is in hand at its head for longer than stuckAfter is acknowledged. It is
// still answered, also on SIGTERM. It is lost if the process is killed, or if
// Telegram does not take the answer before the drain ends.
func (s *session) poll(ctx context.Context, offsets *offsetTracker) {
	s.dropWebhook(ctx)
	lastUpdate := time.Now()
	// At first, and after a failure, a getUpdates is a short one: its answer
	// shows at once that Telegram is there.
	wait := time.Duration(0)
	for ctx.Err() == nil {
		offset, busy := offsets.offset()
		if busy {
			wait = 0
		}
		var batch []json.RawMessage
		err := s.repeat(ctx, func() (err error) {
			batch, err = s.api.GetUpdates(ctx, offset, batchSize, wait, allowedUpdates)
			if err != nil && ctx.Err() == nil {
				wait = 0
				s.pollFailed(ctx, err)
			}
			return err
		})
		if err != nil {
			return
		}
		s.connected()
		wait = longPoll
		if len(batch) == 0 {
			if !busy && time.Since(lastUpdate) > idleReset {
				offsets.forget()
			}
			continue
		}
		lastUpdate = time.Now()
		taken := s.take(ctx, offsets, batch)
		// What only the rate of all chats holds up is best left to Telegram.
		if taken == 0 && len(batch) >= batchSize && !s.pace.Saturated() {
			offsets.acknowledgeStuck(time.Now().Add(-stuckAfter))
		}
		awaitNews(ctx, offsets, taken)
	}
}

func (s *session) pollFailed(ctx context.Context, err error) {
	s.ready.Store(false)
	s.Count("poll_failed")
	if botapi.ErrorOf(err).Kind == botapi.Conflict {
		s.dropWebhook(ctx)
	}
}

// take starts an answer to each update of a batch that is not known yet, and
// returns how many were new. It blocks while too many are in hand.
func (s *session) take(ctx context.Context, offsets *offsetTracker, batch []json.RawMessage) (taken int) {
	for _, raw := range batch {
		u, err := decode(raw)
		if u.ID == 0 || !offsets.begin(u.ID) {
			continue
		}
		taken++
		if err != nil {
			s.Count("update_undecodable")
		}
		if u.Message == nil {
			offsets.done(u.ID)
			continue
		}
		select {
		case s.inHand <- struct{}{}:
		case <-ctx.Done():
			return taken
		}
		s.work.Go(func(id string) {
			settled := true // An update that makes this program panic would do so again.
			defer func() {
				// While this process runs nobody else tries again.
				if settled || s.work.Sends.Err() == nil {
					offsets.done(u.ID)
				}
				<-s.inHand
			}()
			settled = s.answer(id, u.Message)
		})
	}
	return taken
}

// awaitNews waits until asking again may bring anything new: the earliest
// update in hand is answered, or a moment has passed. A batch that brought
// nothing is not asked for again at once.
func awaitNews(ctx context.Context, offsets *offsetTracker, taken int) {
	if !retry.Sleep(ctx, pollGap) || taken > 0 {
		return
	}
	select {
	case <-offsets.moved:
	case <-time.After(pollTick):
	case <-ctx.Done():
	}
}

// dropWebhook ends a webhook of before, beside which Telegram answers no poll.
// After a failure the next 409 brings it back here.
func (s *session) dropWebhook(ctx context.Context) {
	err := s.api.DeleteWebhook(ctx)
	if err != nil && ctx.Err() == nil && !s.tokenRefused(err) {
		s.Log.Warn("telegram: a webhook that may be set could not be deleted", "err", err)
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
