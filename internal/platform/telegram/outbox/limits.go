package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	// chatLimit is the limit of a private chat.
	chatLimit = ratelimit.Limit{Burst: 8, Every: time.Second}
	// groupLimit allows at most 4 + 61/3.8 = 20 messages in any 61 seconds.
	groupLimit = ratelimit.Limit{Burst: 4, Every: 3800 * time.Millisecond}
	// answerLimit leaves a slot of groupLimit to a Notice. After a Notice, the slot comes back within
	// 3.8*4/(4-3.8) = 76 seconds, however many answers wait.
	answerLimit = ratelimit.Limit{Burst: 3, Every: 4 * time.Second}
	noticeLimit = ratelimit.Limit{Burst: 1, Every: 61 * time.Second}
	// senderLimit leaves slots of a group to other senders.
	senderLimit = ratelimit.Limit{Burst: 3, Every: 10 * time.Second}
	totalLimit  = ratelimit.Limit{Burst: 2, Every: time.Second / 26}
)

const (
	// takeAhead is how far ahead the slots of a chat may be taken: longer than the interval of totalLimit
	// (38.5 ms), but short, since the message keeps its permit meanwhile.
	takeAhead = 100 * time.Millisecond
	// maxTaking is the maximum number of messages that take their slots at once. With a Redis 80 ms away, 8
	// still reach the global rate, and none is sent more than 0.3 seconds after its chat's slot.
	maxTaking = 8
	// afterPause is how long after the end of a 429 the messages of its chat may still wait for a slot.
	afterPause = 30 * time.Second
	// noDeadline is longer than any message waits.
	noDeadline = 24 * time.Hour
)

var (
	errNoRoom = errors.New("its slot would come too late")
	errPaused = errors.New("a 429 holds its chat back for too long")
)

// resultOf returns the result of a message for which a wait failed with err.
func resultOf(err error) Result {
	switch {
	case errors.Is(err, errNoRoom):
		return Dropped
	case errors.Is(err, errPaused):
		return Lost
	}
	return NotSent
}

// limits are the limits that hold for one message. A limit that does not hold has no Key.
type limits struct {
	// sender is the limit of the user who asked in a group.
	sender ratelimit.Limit
	// chat is the limit of the private chat, or of the answers in a group.
	chat ratelimit.Limit
	// group is the limit of answers and Notices in a group.
	group  ratelimit.Limit
	notice ratelimit.Limit
}

func (o *Outbox) limitsOf(m *Message) limits {
	var l limits
	to := m.To.Chat
	if m.Notice != "" {
		l.notice = noticeLimit
		l.notice.Key = fmt.Sprintf("%s notice %s %d %d", o.Bot, m.Notice, m.To.DirectTopic, to)
	}
	if !o.Pacing {
		return l
	}
	isPrivate := to > 0
	if isPrivate {
		l.chat = chatLimit
		l.chat.Key = fmt.Sprintf("%s chat %d", o.Bot, to)
		return l
	}
	l.group = groupLimit
	l.group.Key = fmt.Sprintf("%s group %d", o.Bot, to)
	if m.Notice != "" {
		return l
	}
	l.chat = answerLimit
	l.chat.Key = fmt.Sprintf("%s answers %d", o.Bot, to)
	if !m.Deadline.IsZero() {
		l.sender = senderLimit
		l.sender.Key = fmt.Sprintf("%s sender %d %d", o.Bot, m.Sender, to)
	}
	return l
}

// A message waits for one thing after another, the narrowest first, and with one timer at a time:
//
//   - the slot of its sender, which delays nobody else,
//   - the end of a 429 of its chat,
//   - its time in the plan, in which this process spaces the messages of a chat. The plan tells at once whether
//     that time is after the deadline, and keeps the messages from waking up together,
//   - the slots of its chat, which replicas share. At that time they are usually due. If the global rate has
//     delayed earlier messages, or another replica has used them, the message waits again,
//   - the global slot.
//
// The plan is not enough: messages that have waited for the global rate would be sent all together. So a message
// takes the slots of its chat only when its global slot is near: few messages may take slots at once.

// waitForShare blocks until the sender has a slot. It fails with errNoRoom, and takes no slot, if the slot of the
// sender or of the chat would come after the deadline.
func (d *delivery) waitForShare(ctx context.Context) error {
	if d.limits.sender.Key == "" {
		return nil
	}
	if d.out.plan.Peek(ctx, d.limits.chat) > d.patience() {
		return errNoRoom
	}
	return d.book(ctx, d.out.Limiter, d.limits.sender)
}

// waitForSlots blocks until the message may be sent at once. It fails with errNoRoom if its slots come after the
// deadline, or if a Notice has used its own limit; with errPaused if a 429 lasts too long; and with ctx's error. The
// global rate may delay the message past its deadline: the notice "busy" would be just as late.
func (d *delivery) waitForSlots(ctx context.Context) error {
	if err := d.waitForPause(ctx); err != nil {
		return err
	}
	if d.limits.chat.Key != "" && d.m.Notice == "" {
		if err := d.book(ctx, d.out.plan, d.limits.chat); err != nil {
			return err
		}
	}
	for {
		if err := d.waitForPause(ctx); err != nil {
			return err
		}
		wait, err := d.take(ctx)
		if wait <= 0 || err != nil {
			return err
		}
		if err := d.wait(ctx, wait); err != nil {
			return err
		}
	}
}

// book reserves a slot ahead and blocks until it is due, or nearly so.
func (d *delivery) book(ctx context.Context, limiter ratelimit.Limiter, l ratelimit.Limit) error {
	wait, ok := limiter.Reserve(ctx, d.patience(), l)
	if !ok {
		return errNoRoom
	}
	if wait <= takeAhead {
		return nil
	}
	return d.wait(ctx, wait)
}

// take takes the slots of the message, blocks until they are due, and returns 0. If the chat has no slot soon, or
// a 429 holds it back, take returns the wait before the next try. It fails with errNoRoom if the Notice has used its
// limit, and with ctx's error.
func (d *delivery) take(ctx context.Context) (wait time.Duration, err error) {
	if d.out.Pacing {
		select {
		case d.out.permits <- struct{}{}:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		defer func() { <-d.out.permits }()
	}
	paused := d.out.pauseOf(d.m.To.Chat)
	if paused > 0 {
		return paused, nil
	}
	wait, ok := d.takeOwn(ctx)
	if !ok {
		if d.takesNotice() && d.out.Limiter.Peek(ctx, d.limits.notice) > 0 {
			return 0, errNoRoom
		}
		return wait, nil
	}
	transport.Sleep(ctx, wait)
	if d.out.Pacing {
		wait, _ = d.out.Limiter.Reserve(ctx, ratelimit.MaxAhead, d.out.total)
		transport.Sleep(ctx, wait)
	}
	return 0, ctx.Err()
}

// takeOwn takes the slots that belong to the chat: all but the global one.
func (d *delivery) takeOwn(ctx context.Context) (wait time.Duration, ok bool) {
	own := make([]ratelimit.Limit, 0, 2)
	if d.limits.chat.Key != "" {
		own = append(own, d.limits.chat)
	}
	if d.limits.group.Key != "" {
		own = append(own, d.limits.group)
	}
	if d.takesNotice() {
		own = append(own, d.limits.notice)
	}
	if len(own) == 0 {
		return 0, true
	}
	return d.out.Limiter.Reserve(ctx, takeAhead, own...)
}

// takesNotice reports whether the message takes the slot of its kind of Notice. A repetition does not need another one.
func (d *delivery) takesNotice() bool { return d.m.Notice != "" && d.attempts == 0 }

// wait tells the caller that the message waits, and blocks for so long. It fails at once with errNoRoom if the message
// may not wait for so long, and with ctx's error.
func (d *delivery) wait(ctx context.Context, wait time.Duration) error {
	if wait > d.patience() {
		return errNoRoom
	}
	d.m.Waits()
	if !transport.Sleep(ctx, wait) {
		return ctx.Err()
	}
	return nil
}

// patience returns how much longer the message may wait for its slots. A first attempt may wait until the deadline
// or, if later, until afterPause is over. A repetition may wait for ever.
func (d *delivery) patience() time.Duration {
	if d.m.Deadline.IsZero() || d.attempts > 0 {
		return noDeadline
	}
	left := max(0, time.Until(d.m.Deadline)) // Without a wait, a message may be late.
	if d.m.Ephemeral.Arrived() {
		return left
	}
	return max(left, d.out.pauseOf(d.m.To.Chat)+afterPause)
}

// waitForPause blocks until no 429 holds back the chat.
func (d *delivery) waitForPause(ctx context.Context) error {
	for {
		wait := d.out.pauseOf(d.m.To.Chat)
		if wait <= 0 {
			return nil
		}
		if wait > deliveryLimit && d.m.Notice == "" {
			return errPaused
		}
		if err := d.wait(ctx, wait); err != nil {
			return err
		}
	}
}

// pause holds back all messages to a chat for wait, or longer if an earlier 429 asked for that.
func (o *Outbox) pause(chat int64, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.pausedUntil, func(_ int64, until time.Time) bool { return time.Since(until) > afterPause })
	until := time.Now().Add(wait)
	if until.After(o.pausedUntil[chat]) {
		o.pausedUntil[chat] = until
	}
}

// pauseOf returns how much longer a 429 holds back the messages to a chat. It is negative after the end of a 429.
func (o *Outbox) pauseOf(chat int64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Until(o.pausedUntil[chat])
}

// Saturated reports whether only the global rate delays messages.
func (o *Outbox) Saturated() bool { return len(o.permits) == cap(o.permits) }
