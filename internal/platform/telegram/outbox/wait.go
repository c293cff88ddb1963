package outbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// A message waits for the following, one after another:
//
//  1. A slot of its sender (waitForSender). Meanwhile it delays no other message.
//  2. The previous message with its Key (waitForPrevious, in share.go).
//  3. The end of its chat's pause (waitForPause).
//  4. Its time in the plan (waitForPlan). The plan spaces the messages of a chat within this process. It shows at once
//     whether a message would miss its deadline, and the messages do not all wake up for the same slot.
//  5. The slots of its chat, which replicas share, and then a slot of the global limit (takeSlots). Usually the chat's
//     slots are due at the planned time. If another replica has used them, or the global limit has delayed earlier
//     messages of the chat, the message waits again.
//
// If the messages of a chat all took the chat's slots in time, and only then waited for the global limit, they would be
// sent together at the end of that wait. So only maxTaking messages take slots at once: the global slot of each is then
// due soon.

const (
	// takeAhead is how far ahead the slots of a chat may be taken: longer than the interval of globalLimit
	// (38.5 ms), but short, since the message keeps its permit meanwhile.
	takeAhead = 100 * time.Millisecond
	// maxTaking is the maximum number of messages that take their slots at once. With a Redis 80 ms away, 8
	// still reach the global rate, and none is sent more than 0.3 seconds after its chat's slot.
	maxTaking = 8
	// afterPause is how long after the end of a pause the messages of its chat may still wait for a slot. In a group
	// that is time for ten messages.
	afterPause = 30 * time.Second
	// noDeadline is longer than any message waits: Telegram asks for 12 days at most.
	noDeadline = 30 * 24 * time.Hour
)

// The errors of a wait, besides the error of ctx.
var (
	errTooLate       = errors.New("its slot would come too late")
	errPauseTooLong  = errors.New("a 429 holds its chat back for too long")
	errPauseHasBegun = errors.New("a 429 has come") // only within waitForSlots, which then begins again
)

// resultOf returns the result of a message for which a wait failed with err.
func resultOf(err error) Result {
	switch {
	case errors.Is(err, errTooLate):
		return Dropped
	case errors.Is(err, errPauseTooLong):
		return Lost
	}
	return Retryable
}

// waitForSender blocks until the sender has a slot. If the slot of the sender or of the chat would come after the
// deadline, it takes none and fails with errTooLate.
func (d *delivery) waitForSender(ctx context.Context) error {
	if !isSet(d.limits.sender) {
		return nil
	}
	if d.out.plan.Peek(ctx, d.limits.planned) > d.maxWait() {
		return errTooLate
	}
	return d.reserveAndWait(ctx, d.out.Limiter, d.limits.sender)
}

// waitForSlots blocks until the message may be sent at once. It fails with errTooLate if the slots of the chat come
// after the deadline, or another Notice has used the slot of this kind. It fails with errPauseTooLong if a pause is too
// long. The global limit may delay the message past its deadline: a notice that the bot is busy would be just as late.
func (d *delivery) waitForSlots(ctx context.Context) error {
	for {
		if err := d.waitForPause(ctx); err != nil {
			return err
		}
		if err := d.waitForPlan(ctx); err != nil {
			return err
		}
		err := d.takeSlots(ctx)
		if !errors.Is(err, errPauseHasBegun) {
			return err
		}
		if isSet(d.limits.planned) {
			d.out.plan.GiveBack(d.limits.planned) // The message gets a new time after the pause.
		}
	}
}

// waitForPause blocks until the chat is not paused. If the pause is longer than deliveryLimit, it fails with
// errPauseTooLong, except for a Notice.
func (d *delivery) waitForPause(ctx context.Context) error {
	pause := d.out.pauseLeft(d.m.To.Chat)
	if pause > deliveryLimit && d.m.Notice == "" {
		return errPauseTooLong
	}
	return d.wait(ctx, pause)
}

// waitForPlan gives the message a time in the plan, and blocks until then. It fails with errTooLate if that is after
// the deadline.
func (d *delivery) waitForPlan(ctx context.Context) error {
	if !isSet(d.limits.planned) {
		return nil
	}
	return d.reserveAndWait(ctx, d.out.plan, d.limits.planned)
}

// takeSlots blocks until the message has all its slots and they are due. It fails with errPauseHasBegun if the chat is
// paused meanwhile, and with errTooLate if another Notice has used the slot of this kind.
func (d *delivery) takeSlots(ctx context.Context) error {
	for {
		retryAfter, err := d.tryTakeSlots(ctx)
		if err != nil || retryAfter <= 0 {
			return err
		}
		if err := d.wait(ctx, retryAfter); err != nil {
			return err
		}
	}
}

// tryTakeSlots is one attempt of takeSlots. If the chat has no slot within takeAhead, it takes none, and returns after
// how long to call it again. Otherwise it takes the slots, blocks until they are due, and returns 0.
func (d *delivery) tryTakeSlots(ctx context.Context) (retryAfter time.Duration, err error) {
	if d.out.Pacing {
		select {
		case d.out.permits <- struct{}{}:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		defer func() { <-d.out.permits }()
	}
	if d.out.pauseLeft(d.m.To.Chat) > 0 {
		return 0, errPauseHasBegun
	}
	wait, taken := d.reserveChatSlots(ctx)
	if !taken {
		if d.takesNoticeSlot() && d.out.Limiter.Peek(ctx, d.limits.notice) > 0 {
			return 0, errTooLate
		}
		return wait, nil
	}
	transport.Sleep(ctx, wait)
	if d.out.Pacing {
		globalWait, _ := d.out.Limiter.Reserve(ctx, ratelimit.MaxAhead, d.out.global)
		transport.Sleep(ctx, globalWait)
	}
	return 0, ctx.Err() // The end of ctx may have cut off either Sleep.
}

// reserveChatSlots reserves all slots but the global one. They are due after wait. If that is longer than takeAhead, it
// reserves none and returns false.
func (d *delivery) reserveChatSlots(ctx context.Context) (wait time.Duration, taken bool) {
	all := d.limits.chat
	if d.takesNoticeSlot() {
		all = append(slices.Clip(all), d.limits.notice)
	}
	if len(all) == 0 {
		return 0, true
	}
	return d.out.Limiter.Reserve(ctx, takeAhead, all...)
}

// takesNoticeSlot reports whether the message takes the slot of its kind of Notice. Only the first attempt does.
func (d *delivery) takesNoticeSlot() bool { return d.m.Notice != "" && d.attempts == 0 }

// reserveAndWait reserves one slot, however far ahead, and blocks until it is due. It does not block if the slot is due
// within takeAhead. It fails with errTooLate if the slot would be due later than the message may wait.
func (d *delivery) reserveAndWait(ctx context.Context, limiter ratelimit.Limiter, l ratelimit.Limit) error {
	wait, ok := limiter.Reserve(ctx, d.maxWait(), l)
	if !ok {
		return errTooLate
	}
	if wait <= takeAhead {
		return nil
	}
	return d.wait(ctx, wait)
}

// wait calls OnWait, and blocks until the time has passed. If the time is not positive, wait does nothing. If the
// message may not wait that long, wait fails with errTooLate at once.
func (d *delivery) wait(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	if wait > d.maxWait() {
		return errTooLate
	}
	d.m.OnWait()
	if !transport.Sleep(ctx, wait) {
		return ctx.Err()
	}
	return nil
}

// maxWait returns how much longer the message may wait for its slots. A first attempt may wait until the latest
// deadline of those who share it or, if later, until afterPause is over. A retry may wait for ever.
func (d *delivery) maxWait() time.Duration {
	deadline := d.latestDeadline()
	if deadline.IsZero() || d.attempts > 0 {
		return noDeadline
	}
	left := max(0, time.Until(deadline)) // A message that need not wait may be sent late.
	if d.m.Ephemeral.Arrived() {
		return left
	}
	return max(left, d.out.pauseLeft(d.m.To.Chat)+afterPause)
}

// pause pauses a chat: no message to it is sent for wait, or for longer if an earlier 429 asked for that.
func (o *Outbox) pause(chat int64, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.pausedUntil, func(_ int64, until time.Time) bool { return time.Since(until) > afterPause })
	until := time.Now().Add(wait)
	if until.After(o.pausedUntil[chat]) {
		o.pausedUntil[chat] = until
	}
}

// pauseLeft returns how much longer a chat is paused. If the chat is not paused, the result is negative: it is how long
// ago the last pause ended, or very long ago if there was none.
func (o *Outbox) pauseLeft(chat int64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Until(o.pausedUntil[chat])
}

// Saturated reports whether the global limit delays messages: maxTaking of them are taking their slots.
func (o *Outbox) Saturated() bool { return len(o.permits) == cap(o.permits) }
