package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	// afterPause is how long after the end of a pause the messages of its chat may still wait for a slot. In a group
	// that is time for ten messages.
	afterPause = 30 * time.Second
	// noDeadline is longer than any message waits: Telegram asks for 12 days at most.
	noDeadline = 30 * 24 * time.Hour
)

var (
	errNoRoom = errors.New("its slot would come too late")
	errPaused = errors.New("a 429 holds its chat back for too long")
	// errPauseBegan makes waitForSlots begin again. It never leaves waitForSlots.
	errPauseBegan = errors.New("a 429 has come")
)

// resultOf returns the result of a message for which a wait failed with err.
func resultOf(err error) Result {
	switch {
	case errors.Is(err, errNoRoom):
		return Dropped
	case errors.Is(err, errPaused):
		return Lost
	}
	return Retryable
}

// limits are the limits that hold for one message. A limit that does not hold is zero (holds).
type limits struct {
	// sender is the limit of the user who asked in a group. An edit has none: only one of a message's edits waits,
	// and a newer one must not overtake it while it waits for a slot of its sender.
	sender ratelimit.Limit
	// planned is the narrowest limit of the chat. A Notice has none, because it does not wait for the others.
	planned ratelimit.Limit
	// chat has the limits of the chat, the narrowest first.
	chat []ratelimit.Limit
	// notice is the limit of a kind of Notice.
	notice ratelimit.Limit
}

// holds reports whether a limit of limits holds.
func holds(l ratelimit.Limit) bool { return l.Key != "" }

// limitsOf returns the limits that hold for m.
func (o *Outbox) limitsOf(m *Message) (l limits) {
	isNotice := m.Notice != ""
	isPrivate := m.To.Chat > 0
	if isNotice {
		kind := fmt.Sprintf("notice %s %d", m.Notice, m.To.DirectTopic)
		l.notice = o.limit(noticeLimit, kind, m.To.Chat)
	}
	switch {
	case !o.Pacing:
		return l
	case isPrivate:
		l.chat = []ratelimit.Limit{o.limit(chatLimit, "chat", m.To.Chat)}
	case isNotice:
		l.chat = []ratelimit.Limit{o.limit(groupLimit, "group", m.To.Chat)}
	default:
		l.chat = []ratelimit.Limit{
			o.limit(answerLimit, "answers", m.To.Chat),
			o.limit(groupLimit, "group", m.To.Chat),
		}
	}
	if !isNotice {
		l.planned = l.chat[0]
	}
	isGroupAnswer := !isNotice && !isPrivate
	isNewMessage := m.EditID == 0
	if isGroupAnswer && isNewMessage && !m.Deadline.IsZero() {
		l.sender = o.limit(senderLimit, fmt.Sprint("sender ", m.Sender), m.To.Chat)
	}
	return l
}

// limit returns l with the key of this bot and the chat.
func (o *Outbox) limit(l ratelimit.Limit, kind string, chat int64) ratelimit.Limit {
	l.Key = o.Bot + " " + kind + " " + strconv.FormatInt(chat, 10)
	return l
}

// A message waits for one thing after another, with one timer at a time:
//
//   - the slot of its sender (waitForSender). Meanwhile it delays nobody else,
//   - the previous message with its Key (waitForPrevious, in share.go),
//   - the end of its chat's pause (waitForPause),
//   - its time in the plan, by which this process spaces the messages of a chat (book). The plan shows at once whether
//     that time is after the deadline, and the messages do not all wake up for the same slot,
//   - the slots of its chat, which replicas share, and then the global slot (take). Usually the chat's are due at the
//     planned time. If another replica has used them, or the global rate has delayed earlier messages of the chat, the
//     message waits again.
//
// A chat's messages must not take the chat's slots in time and then all wait for the global rate: they would be sent
// together at the end of that wait. So only maxTaking messages take slots at once, and the global slot of each is then
// near.

// waitForSender blocks until the sender has a slot. It fails with errNoRoom, and takes no slot, if the slot of the
// sender or of the chat would come after the deadline.
func (d *delivery) waitForSender(ctx context.Context) error {
	if !holds(d.limits.sender) {
		return nil
	}
	if d.out.plan.Peek(ctx, d.limits.planned) > d.patience() {
		return errNoRoom
	}
	return d.book(ctx, d.out.Limiter, d.limits.sender)
}

// waitForSlots blocks until the message may be sent at once. It fails with errNoRoom if its slots come after the
// deadline, or if another Notice has used the slot of this kind. It fails with errPaused if a pause lasts too long, and
// with ctx's error. The global rate may delay the message past its deadline: the notice "busy" would be just as late.
func (d *delivery) waitForSlots(ctx context.Context) error {
	for {
		if err := d.waitForPause(ctx); err != nil {
			return err
		}
		if holds(d.limits.planned) {
			if err := d.book(ctx, d.out.plan, d.limits.planned); err != nil {
				return err
			}
		}
		err := d.takeSlots(ctx)
		if !errors.Is(err, errPauseBegan) {
			return err
		}
		if holds(d.limits.planned) {
			d.out.plan.GiveBack(d.limits.planned) // Its time in the plan was not used.
		}
	}
}

// waitForPause blocks until the chat is not paused. It fails with errPaused if the pause is longer than deliveryLimit,
// unless the message is a Notice, and with ctx's error.
func (d *delivery) waitForPause(ctx context.Context) error {
	pause := d.out.pauseOf(d.m.To.Chat)
	if pause > deliveryLimit && d.m.Notice == "" {
		return errPaused
	}
	return d.wait(ctx, pause)
}

// takeSlots takes the slots of the message as soon as it can. It fails with errPauseBegan if a 429 comes first: the
// messages of the chat then need new times in the plan.
func (d *delivery) takeSlots(ctx context.Context) error {
	for {
		retryAfter, err := d.take(ctx)
		if err != nil || retryAfter <= 0 {
			return err
		}
		if err := d.wait(ctx, retryAfter); err != nil {
			return err
		}
	}
}

// book reserves one slot, however far ahead, and blocks until it is due. It does not block if the slot is due within
// takeAhead. It fails with errNoRoom if the slot would be due later than the message may wait, and with ctx's error.
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

// take takes the slots of the message, blocks until they are due, and returns 0. If the chat has no slot within
// takeAhead, take takes none, and returns after how long to call it again. It fails with errNoRoom if another Notice
// has used the slot of this kind, with errPauseBegan if the chat is paused, and with ctx's error.
func (d *delivery) take(ctx context.Context) (retryAfter time.Duration, err error) {
	if d.out.Pacing {
		select {
		case d.out.permits <- struct{}{}:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		defer func() { <-d.out.permits }()
	}
	if d.out.pauseOf(d.m.To.Chat) > 0 {
		return 0, errPauseBegan
	}
	wait, taken := d.takeOwn(ctx)
	switch {
	case taken:
	case d.takesNotice() && d.out.Limiter.Peek(ctx, d.limits.notice) > 0:
		return 0, errNoRoom
	default:
		return wait, nil
	}
	transport.Sleep(ctx, wait)
	if d.out.Pacing {
		globalWait, _ := d.out.Limiter.Reserve(ctx, ratelimit.MaxAhead, d.out.total)
		transport.Sleep(ctx, globalWait)
	}
	return 0, ctx.Err() // The end of ctx may have cut off either Sleep.
}

// takeOwn takes the slots that belong to the chat, which are all but the global one. They are due after wait. If a slot
// is not due within takeAhead, takeOwn takes none, and returns after how long to call it again.
func (d *delivery) takeOwn(ctx context.Context) (wait time.Duration, taken bool) {
	own := d.limits.chat
	if d.takesNotice() {
		own = append(slices.Clip(own), d.limits.notice)
	}
	if len(own) == 0 {
		return 0, true
	}
	return d.out.Limiter.Reserve(ctx, takeAhead, own...)
}

// takesNotice reports whether the message takes the slot of its kind of Notice. Only the first attempt does.
func (d *delivery) takesNotice() bool { return d.m.Notice != "" && d.attempts == 0 }

// wait calls OnWait, and blocks until the time has passed. If the time is not positive, wait does nothing. It fails at
// once with errNoRoom if the message may not wait that long, and with ctx's error.
func (d *delivery) wait(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	if wait > d.patience() {
		return errNoRoom
	}
	d.m.OnWait()
	if !transport.Sleep(ctx, wait) {
		return ctx.Err()
	}
	return nil
}

// patience returns how much longer the message may wait for its slots. A first attempt may wait until the latest
// deadline of those who share it or, if later, until afterPause is over. A retry may wait for ever.
func (d *delivery) patience() time.Duration {
	deadline := d.latestDeadline()
	if deadline.IsZero() || d.attempts > 0 {
		return noDeadline
	}
	left := max(0, time.Until(deadline)) // A message that need not wait may be sent late.
	if d.m.Ephemeral.Arrived() {
		return left
	}
	return max(left, d.out.pauseOf(d.m.To.Chat)+afterPause)
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

// pauseOf returns how much longer a chat is paused. It is negative after the end of the pause, by how long ago that
// was, and if there was none.
func (o *Outbox) pauseOf(chat int64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Until(o.pausedUntil[chat])
}

// Saturated reports whether the global rate delays messages: maxTaking of them are taking their slots.
func (o *Outbox) Saturated() bool { return len(o.permits) == cap(o.permits) }
