package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"herald/internal/ratelimit"
	"herald/internal/transport"
)

// Telegram's published rates are 1 message a second in a chat, with short bursts above it, 20 a minute in a group
// and 30 a second in all, https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
//
// Telegram counts messages as they arrive, some faster than others. So a window of a minute is 61 seconds here, and
// all chats together get at most 28 messages in a second.
var (
	chatLimit = ratelimit.Limit{Key: "chat", Burst: 8, Every: time.Second}
	// groupLimit allows at most 4 + 61/3.8 = 20 messages in any 61 seconds.
	groupLimit = ratelimit.Limit{Key: "group", Burst: 4, Every: 3800 * time.Millisecond}
	// answerLimit leaves a slot of groupLimit to a Notice. After a Notice, the slot comes back within
	// 3.8*4/(4-3.8) = 76 seconds, however many answers wait.
	answerLimit = ratelimit.Limit{Key: "answers", Burst: 3, Every: 4 * time.Second}
	noticeLimit = ratelimit.Limit{Burst: 1, Every: 61 * time.Second}
	// senderLimit leaves slots of a group to other senders.
	senderLimit = ratelimit.Limit{Burst: 3, Every: 10 * time.Second}
	totalLimit  = ratelimit.Limit{Burst: 2, Every: time.Second / 26}
)

const (
	// reserveAhead is how far ahead a chat's slot may be reserved: longer than the interval
	// of totalLimit (38.5 ms), but short, since the message keeps its permit meanwhile.
	reserveAhead = 100 * time.Millisecond
	// maxReserving bounds the messages that reserve slots at once. With a Redis 80 ms away,
	// 8 still reach the global rate, and none is sent over 0.3 seconds after its chat's slot.
	maxReserving = 8
	// afterHold is how long after the end of a 429 the messages of its chat may still wait
	// for a slot.
	afterHold = 20 * time.Second
	// noDeadline is longer than any message waits.
	noDeadline = 24 * time.Hour
)

var (
	errNoRoom = errors.New("its slot would come too late")
	errHeld   = errors.New("a 429 holds its chat back for too long")
	// errShareUsed means that the sender's share was used since the message entered its line.
	errShareUsed = errors.New("its sender's share of the chat is used")
)

// limits returns the limits of the message's chat.
func (d *delivery) limits() []ratelimit.Limit {
	if !d.Pacing {
		return nil
	}
	limits := []ratelimit.Limit{chatLimit, groupLimit, answerLimit}
	if d.m.To.Chat > 0 {
		limits = limits[:1]
	} else if d.m.Notice != "" {
		limits = limits[:2]
	}
	for i := range limits {
		limits[i].Key = fmt.Sprintf("%s %s %d", d.Bot, limits[i].Key, d.m.To.Chat)
	}
	return limits
}

// waitForSlot blocks until the message may be sent at once. It fails with errNoRoom if the slot of its chat or of
// its sender would come after the deadline, and if a Notice has used its own limit. It fails with errHeld if a 429
// lasts too long, and with ctx's error. The global rate may delay the message past its deadline: the notice "busy"
// would be just as late.
func (d *delivery) waitForSlot(ctx context.Context) error {
	for {
		own, err := d.waitForShare(ctx)
		if err != nil {
			return err
		}
		err = d.waitForTurn(ctx, own)
		if !errors.Is(err, errShareUsed) {
			return err
		}
	}
}

// waitForShare blocks until a sender has a slot of their own, and returns its limit. The message is not in its
// chat's line meanwhile, so it delays nobody else.
func (d *delivery) waitForShare(ctx context.Context) (own []ratelimit.Limit, err error) {
	for {
		own, wait := d.ownLimit(ctx)
		switch {
		case wait <= 0:
			return own, nil
		case d.m.Notice != "" || wait > d.patience():
			return nil, errNoRoom
		}
		d.m.Waits()
		select {
		case <-time.After(wait):
		case <-d.joined: // The new sender may have a slot.
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// waitForTurn blocks until no message of the chat is before this one, and then until the message has a slot of own
// and of its chat. It fails as waitForSlot does, or with errShareUsed.
func (d *delivery) waitForTurn(ctx context.Context, own []ratelimit.Limit) error {
	limits := d.limits()
	if d.m.Notice == "" {
		if err := d.enter(ctx, limits); err != nil {
			return err
		}
		defer d.leave()
	}
	for {
		wait, err := d.reserve(ctx, slices.Concat(limits, own))
		switch {
		case wait <= 0 || err != nil:
			return err
		case d.Limiter.Peek(ctx, own...) > 0:
			return errShareUsed
		case wait > d.patience():
			return errNoRoom
		}
		d.m.Waits()
		transport.Sleep(ctx, wait)
	}
}

// ownLimit returns the limit of the Notice or of the sender who has the next slot, and the wait for that slot. It
// returns no limit if only the chat's limits apply: to a repetition, in a private chat, or without a deadline or
// Pacing.
func (d *delivery) ownLimit(ctx context.Context) (own []ratelimit.Limit, wait time.Duration) {
	switch {
	case d.attempts > 0: // The first attempt has reserved the slot.
		return nil, 0
	case d.m.Notice != "":
		notice := d.limitOf(noticeLimit, "notice "+d.m.Notice, d.m.Sender)
		return []ratelimit.Limit{notice}, d.Limiter.Peek(ctx, notice)
	case !d.Pacing || d.m.To.Chat > 0 || d.m.Deadline.IsZero():
		return nil, 0
	}
	for i := 0; ; i++ {
		sender, more := d.sender(i)
		if !more {
			return own, wait
		}
		limit := d.limitOf(senderLimit, "sender", sender)
		due := d.Limiter.Peek(ctx, limit)
		if due <= 0 {
			return []ratelimit.Limit{limit}, 0
		}
		if own == nil || due < wait {
			own, wait = []ratelimit.Limit{limit}, due
		}
	}
}

// limitOf returns a limit of one sender, or of one topic, in the chat.
func (d *delivery) limitOf(l ratelimit.Limit, kind string, sender int64) ratelimit.Limit {
	l.Key = fmt.Sprintf("%s %s %d %d", d.Bot, kind, sender, d.m.To.Chat)
	return l
}

// sender returns senders[i], or false if fewer have joined by now.
func (d *delivery) sender(i int) (sender int64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i >= len(d.senders) {
		return 0, false
	}
	return d.senders[i], true
}

// reserve reserves a slot of the chat and then a global one, blocks until both are due, and
// returns 0. If the chat has no slot soon, or a 429 holds it back, reserve returns the wait
// before the next try. Few messages reserve at once: otherwise those of a chat would get
// its slots one by one, wait for the global rate, and be sent all together.
func (d *delivery) reserve(ctx context.Context, limits []ratelimit.Limit) (wait time.Duration, err error) {
	select {
	case d.permits <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-d.permits }()
	switch wait = d.heldFor(); {
	case wait > deliveryLimit && d.m.Notice == "":
		return wait, errHeld
	case wait > 0:
		return wait, nil
	}
	if len(limits) > 0 {
		wait, ok := d.Limiter.Reserve(ctx, reserveAhead, limits...)
		if !ok {
			return wait, nil
		}
		transport.Sleep(ctx, wait)
	}
	if d.Pacing {
		total := totalLimit
		total.Key = d.Bot + " all"
		wait, _ = d.Limiter.Reserve(ctx, ratelimit.MaxAhead, total)
		transport.Sleep(ctx, wait)
	}
	return 0, ctx.Err()
}

// hold keeps back all messages to the chat for wait, or longer if an earlier 429 asked for
// that.
func (d *delivery) hold(wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.heldUntil, func(_ int64, until time.Time) bool { return time.Since(until) > afterHold })
	if until := time.Now().Add(wait); until.After(d.heldUntil[d.m.To.Chat]) {
		d.heldUntil[d.m.To.Chat] = until
	}
}

// heldFor returns how much longer a 429 keeps back the chat's messages, or 0 or less if
// none does.
func (d *delivery) heldFor() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.heldUntil[d.m.To.Chat])
}

// patience returns how much longer the message may wait for its slot. A repetition may wait
// for ever. A first attempt may wait until the deadline or, if later, until afterHold ends.
func (d *delivery) patience() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	end := d.deadline
	if end.IsZero() || d.attempts > 0 {
		return noDeadline
	}
	if late := d.heldUntil[d.m.To.Chat].Add(afterHold); late.After(end) && !d.m.Ephemeral.Arrived() {
		end = late
	}
	return time.Until(end)
}

// Saturated reports whether only the global rate delays messages.
func (o *Outbox) Saturated() bool { return len(o.permits) == cap(o.permits) }
