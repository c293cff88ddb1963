package telegram

import (
	"context"
	"encoding/json"
	"time"

	"github.com/go-telegram/bot"
)

// How often Telegram is asked while something is in hand: the answer then
// comes at once, since what is in hand is still in Telegram's queue.
const (
	pollGap  = 20 * time.Millisecond
	pollTick = 100 * time.Millisecond
)

// idleReset is after how long without an update the place in the queue is
// forgotten: after a week Telegram numbers updates anew, from a random number
// that may be lower, https://core.telegram.org/bots/api#update.
const idleReset = 3 * 24 * time.Hour

// commitTimeout bounds the last getUpdates.
const commitTimeout = 900 * time.Millisecond

// poll takes updates until ctx is done, each answered by a goroutine of its
// own. An update is acknowledged once it and all before it are answered.
func (s *session) poll(ctx context.Context) {
	s.dropWebhook(ctx)
	failures, lastUpdate := 0, time.Now()
	// The first question after a failure is a short one: its answer tells that
	// Telegram is there.
	wait := time.Duration(0)
	for ctx.Err() == nil {
		offset, busy := s.window.offset()
		if busy {
			wait = 0
		}
		batch, err := s.updates(ctx, offset, windowSize, wait)
		if err != nil {
			s.pollFailed(ctx, err, failures)
			failures, wait = failures+1, 0
			continue
		}
		if failures > 0 {
			s.Log.Info("telegram: polling works again", "failures", failures)
		}
		s.ready.Store(true)
		failures, wait = 0, s.longPoll
		if len(batch) == 0 {
			if !busy && time.Since(lastUpdate) > idleReset {
				s.window.forget()
			}
			continue
		}
		lastUpdate = time.Now()
		taken := s.take(offset, batch)
		if taken == 0 && len(batch) >= windowSize {
			s.window.shedWaiting()
		}
		s.awaitMove(ctx, taken)
	}
}

// dropWebhook ends a webhook of before, beside which Telegram answers no poll.
// A failure is left to the next 409.
func (s *session) dropWebhook(ctx context.Context) {
	_, err := s.api.DeleteWebhook(ctx, &bot.DeleteWebhookParams{})
	if err := clarify("deleteWebhook", err); err != nil && ctx.Err() == nil && !s.fatal(err) {
		s.Log.Warn("telegram: a webhook that may be set could not be deleted", "err", err)
	}
}

// awaitMove waits until asking again may bring anything new: the earliest
// update in hand is answered, or a moment is over. A batch that brought
// nothing is not asked for again at once.
func (s *session) awaitMove(ctx context.Context, taken int) {
	if !pause(ctx, nil, pollGap) {
		return
	}
	if taken == 0 {
		pause(ctx, s.window.moved, pollTick)
	}
}

// pollFailed waits before the next attempt and says what to do, once an outage.
func (s *session) pollFailed(ctx context.Context, err error, failures int) {
	if ctx.Err() != nil || s.fatal(err) {
		return
	}
	s.ready.Store(false)
	s.Count("poll_failed")
	if kindOf(err) == conflict {
		s.dropWebhook(ctx)
	}
	switch {
	case failures > 0:
		s.Log.Debug("telegram: polling still fails", "err", err)
	case kindOf(err) == conflict:
		s.Log.Warn("telegram: a webhook is set or another process uses this token: stop it, or give each its own token", "err", err)
	default:
		s.Log.Warn("telegram: polling fails and will be repeated", "err", err)
	}
	pause(ctx, nil, backoff(failures, err))
}

// take starts an answer to each update of a batch that is not known yet and
// tells how many were new.
func (s *session) take(offset int64, batch []json.RawMessage) (taken int) {
	for _, raw := range batch {
		u, err := decode(raw)
		if u.ID < offset || u.ID == 0 {
			continue
		}
		j := s.window.begin(u.ID)
		if j == nil {
			continue
		}
		taken++
		if err != nil {
			s.Count("update_undecodable")
		}
		if u.Message == nil {
			s.window.end(u.ID, true)
			continue
		}
		go func() {
			settled := s.handle(j, u.Message)
			// While this process runs nobody else tries again.
			s.window.end(u.ID, settled || s.sendsCtx.Err() == nil)
		}()
	}
	return taken
}

// decode reads one update. Its ID is there even when the rest is not of the
// expected form, so that it can be acknowledged.
func decode(raw []byte) (update, error) {
	var head struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return update{}, err
	}
	u := update{}
	if err := json.Unmarshal(raw, &u); err != nil {
		return update{ID: head.ID}, err
	}
	return u, nil
}

// commit tells Telegram what was answered.
func (s *session) commit() {
	offset, _ := s.window.offset()
	if offset == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.sendsCtx), commitTimeout)
	defer cancel()
	if _, err := s.updates(ctx, offset, 1, 0); err != nil {
		s.Log.Warn("telegram: the last answers may be repeated at the next start", "err", err)
	}
}
