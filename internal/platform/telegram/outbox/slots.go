package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"herald/internal/chat"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/transport"
)

// Telegram's published rates are 1 message a second in a chat, with short bursts
// above it, 20 a minute in a group and 30 a second in all,
// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
//
// Telegram counts what arrives, and messages take different times to arrive: a
// minute has a second more here, and a second two messages less. The group's
// twentieth message is for a Notice.
var (
	chatLimit   = chat.Limit{Key: "chat", Count: 8, Window: 8 * time.Second, Refill: true}
	groupLimit  = chat.Limit{Key: "group", Count: 20, Window: 61 * time.Second}
	answerLimit = chat.Limit{Key: "answers", Count: 19, Window: 61 * time.Second}
	noticeLimit = chat.Limit{Count: 1, Window: 61 * time.Second}
	totalLimit  = chat.Limit{Key: "all", Count: 2, Window: 2 * time.Second / 26, Refill: true}
)

// afterHold is how long after a 429 is over the messages that it held back may
// still wait for a slot.
const afterHold = 20 * time.Second

// manyHeld is how many chats have a 429 at a time if it is for all of the bot's
// messages: Telegram does not say which it is.
const manyHeld = 3

// maxHeldAll bounds how long all messages are held back: some chats may have broken
// their own limits at the same time.
const maxHeldAll = time.Minute

var errNoRoom = errors.New("its slot would come too late")

// line is the messages of a chat that wait for the one that is next to send. Those
// who asked are served in turn.
type line struct {
	waiting map[int64][]chan struct{} // by user
	users   []int64                   // in the order in which they are served
}

// hold is until when a 429 holds messages back, and that error.
type hold struct {
	until time.Time
	err   *botapi.Error
}

// limits are those that a message has to keep in its chat.
func (o *Outbox) limits(m *Message) []chat.Limit {
	if !o.Pacing {
		return nil
	}
	limits := []chat.Limit{chatLimit}
	if m.To.Chat < 0 {
		limits = append(limits, groupLimit)
	}
	if m.To.Chat < 0 && m.Notice == "" {
		limits = append(limits, answerLimit)
	}
	for i := range limits {
		limits[i].Key = fmt.Sprintf("%s %s %d", o.Bot, limits[i].Key, m.To.Chat)
	}
	return limits
}

// slot waits until the message may go to its chat; the caller sends it then. It
// fails with errNoRoom if its chat's rates have no slot before deadline, where zero
// is no deadline. A message that only the rate of all messages holds up goes after
// its deadline: to say instead that there is no room would take as long.
//
// The slot of the chat is only asked for at first, and taken when the message goes:
// else what the rate of all messages holds up would leave its chat in one bunch.
func (o *Outbox) slot(ctx context.Context, m *Message, deadline time.Time) error {
	limits := o.limits(m)
	if m.Notice != "" {
		once := noticeLimit
		once.Key = fmt.Sprintf("%s notice %s %d", o.Bot, m.Notice, m.To.Chat)
		if _, ok := o.Limiter.Reserve(ctx, 0, once); !ok {
			return errNoRoom
		}
	} else {
		if !o.enter(m, limits, deadline) {
			return errNoRoom
		}
		defer o.leave(m.To.Chat)
	}
	if !o.Pacing {
		_, err := o.waitHeld(ctx, m.To.Chat)
		return err
	}
	const askOnly = -1
	wait, _ := o.Limiter.Reserve(ctx, askOnly, limits...)
	if wait > o.within(m.To.Chat, deadline) {
		return errNoRoom
	}
	if err := o.sleepUnlessDrained(ctx, wait); err != nil {
		return err
	}
	total := totalLimit
	total.Key = o.Bot + " " + total.Key
	for held := true; held; {
		wait, _ := o.Limiter.Reserve(ctx, math.MaxInt64, total)
		o.queued.Add(1)
		transport.Sleep(ctx, wait)
		o.queued.Add(-1)
		// What was held back needs another slot: else it would all go at once.
		var err error
		if held, err = o.waitHeld(ctx, m.To.Chat); err != nil {
			return err
		}
	}
	// The slot of the chat is free now, unless another replica has taken it.
	wait, ok := o.Limiter.Reserve(ctx, max(o.within(m.To.Chat, deadline), 0), limits...)
	if !ok {
		return errNoRoom
	}
	transport.Sleep(ctx, wait)
	return ctx.Err()
}

// within is how long a message to a chat may wait for its slot.
func (o *Outbox) within(chatID int64, deadline time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if late := o.held[chatID].until.Add(afterHold); !deadline.IsZero() && late.After(deadline) {
		deadline = late
	}
	within := time.Duration(math.MaxInt64)
	for _, end := range []time.Time{deadline, o.drainEnd} {
		if !end.IsZero() {
			within = min(within, time.Until(end))
		}
	}
	return within
}

// sleepUnlessDrained waits for d. It fails with errNoRoom at once when it turns out
// that the drain ends before.
func (o *Outbox) sleepUnlessDrained(ctx context.Context, d time.Duration) error {
	slot := time.Now().Add(d)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-o.draining:
		if slot.After(o.drainEnd) {
			return errNoRoom
		}
		transport.Sleep(ctx, time.Until(slot))
	}
	return ctx.Err()
}

// enter waits until the message is the next one of its chat; leave lets the one
// after it go on. It returns false at once if so many are to be served before that
// its slot must come too late.
func (o *Outbox) enter(m *Message, limits []chat.Limit, deadline time.Time) bool {
	within := o.within(m.To.Chat, deadline)
	o.mu.Lock()
	l := o.lines[m.To.Chat]
	if l == nil {
		o.lines[m.To.Chat] = &line{waiting: map[int64][]chan struct{}{}}
		o.mu.Unlock()
		return true
	}
	own := len(l.waiting[m.User])
	before := 0
	for _, waiting := range l.waiting {
		before += min(len(waiting), own+1)
	}
	for _, limit := range limits {
		if earliest(limit, before) > within {
			o.mu.Unlock()
			return false
		}
	}
	if own == 0 {
		l.users = append(l.users, m.User)
	}
	next := make(chan struct{})
	l.waiting[m.User] = append(l.waiting[m.User], next)
	o.mu.Unlock()
	<-next // Who is before it ends with ctx at the latest.
	return true
}

// earliest is how long it takes at least until so many events of a limit are over.
func earliest(l chat.Limit, events int) time.Duration {
	if l.Refill {
		return time.Duration(events+1-l.Count) * l.Window / time.Duration(l.Count)
	}
	return time.Duration(events/l.Count) * l.Window
}

func (o *Outbox) leave(chatID int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lines[chatID]
	if len(l.users) == 0 {
		delete(o.lines, chatID)
		return
	}
	user := l.users[0]
	l.users = l.users[1:]
	waiting := l.waiting[user]
	close(waiting[0])
	if len(waiting) == 1 {
		delete(l.waiting, user)
		return
	}
	l.waiting[user] = waiting[1:]
	l.users = append(l.users, user)
}

// hold keeps messages to a chat back after a 429, or all messages if many chats
// have one.
func (o *Outbox) hold(chatID int64, err *botapi.Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(o.held, func(_ int64, h hold) bool { return now.Sub(h.until) > afterHold })
	o.held[chatID] = hold{until: now.Add(err.RetryAfter), err: err}
	held := 0
	for _, other := range o.held {
		if other.until.After(now) {
			held++
		}
	}
	if held >= manyHeld {
		o.heldAll = hold{until: now.Add(min(err.RetryAfter, maxHeldAll)), err: err}
	}
}

// waitHeld waits until no 429 holds the chat back, and returns whether one did. It
// fails with that 429 if it holds for too long.
func (o *Outbox) waitHeld(ctx context.Context, chatID int64) (held bool, err error) {
	for ; ctx.Err() == nil; held = true {
		o.mu.Lock()
		h := o.held[chatID]
		if o.heldAll.until.After(h.until) {
			h = o.heldAll
		}
		o.mu.Unlock()
		wait := time.Until(h.until)
		if wait <= 0 {
			return held, nil
		}
		if wait > deliveryLimit {
			return held, h.err
		}
		transport.Sleep(ctx, wait)
	}
	return held, ctx.Err()
}
