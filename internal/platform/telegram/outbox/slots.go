package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"herald/internal/chat"
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
	// A group's other answers are for those who come after one who asks a lot.
	personLimit = chat.Limit{Count: 15, Window: 61 * time.Second}
	totalLimit  = chat.Limit{Count: 2, Window: 2 * time.Second / 26, Refill: true}
)

const (
	// soon is how far ahead a slot is taken: more than what the rate of all messages
	// asks for between two of them, and no more, since it holds up all others.
	soon = 100 * time.Millisecond
	// recheck is how often a message that waits looks for a 429.
	recheck = 2 * time.Second
	// afterHold is how long after a 429 is over the messages that it held back may
	// still wait for a slot.
	afterHold = 20 * time.Second
	// noDeadline is longer than any message waits.
	noDeadline = 24 * time.Hour
)

var (
	errNoRoom = errors.New("its slot would come too late")
	errHeld   = errors.New("a 429 holds its chat back for too long")
)

// waiter is a message that waits for others of its chat. Those who asked are served
// in turn: each has one message a round.
type waiter struct {
	user  int64
	round int
	next  chan struct{} // closed when it is the next one
}

// limits are those that a message has to keep.
func (o *Outbox) limits(m *Message) []chat.Limit {
	if !o.Pacing {
		return nil
	}
	limits := []chat.Limit{chatLimit, groupLimit, answerLimit}
	if m.To.Chat > 0 {
		limits = limits[:1]
	} else if m.Notice != "" {
		limits = limits[:2]
	}
	for i := range limits {
		limits[i].Key = fmt.Sprintf("%s %s %d", o.Bot, limits[i].Key, m.To.Chat)
	}
	total := totalLimit
	total.Key = o.Bot + " all"
	return append(limits, total)
}

// slot waits until the message may go to its chat; the caller sends it then. It
// fails with errNoRoom if its chat has no slot before its deadline. A message that only
// the rate of all messages holds up goes after its deadline: to say instead that there
// is no room would take as long.
func (o *Outbox) slot(ctx context.Context, m *Message) error {
	limits := o.limits(m)
	own, of := personLimit, fmt.Sprint("person ", m.User)
	if m.Notice != "" {
		own, of = noticeLimit, "notice "+m.Notice
	}
	own.Key = fmt.Sprintf("%s %s %d", o.Bot, of, m.To.Chat)
	if m.Notice != "" || o.Pacing && m.To.Chat < 0 && !m.Deadline.IsZero() {
		if _, ok := o.Limiter.Reserve(ctx, 0, own); !ok {
			return errNoRoom
		}
	}
	if m.Notice == "" {
		if !o.enter(m, limits) {
			return errNoRoom
		}
		defer o.leave(m.To.Chat)
	}
	for {
		wait, err := o.reserve(ctx, m.To.Chat, limits)
		if wait <= 0 || err != nil {
			return err
		}
		if wait > max(o.within(m), 2*soon) {
			return errNoRoom
		}
		transport.Sleep(ctx, min(wait, recheck))
	}
}

// reserve takes a slot that is due, one message after another: whatever waits for the
// rate of all messages takes no slot of its chat before its own turn, so that a chat
// gets no bunch of messages. If there is no slot yet, or a 429 holds the chat back, it
// returns how long to wait.
func (o *Outbox) reserve(ctx context.Context, chatID int64, limits []chat.Limit) (wait time.Duration, err error) {
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-o.turn }()
	o.mu.Lock()
	wait = time.Until(o.held[chatID])
	o.mu.Unlock()
	switch {
	case wait > deliveryLimit:
		return wait, errHeld
	case wait > 0, !o.Pacing:
		return wait, nil
	}
	wait, ok := o.Limiter.Reserve(ctx, soon, limits...)
	if !ok {
		return wait, nil
	}
	transport.Sleep(ctx, wait)
	return 0, ctx.Err()
}

// within is how long a message may wait for its slot.
func (o *Outbox) within(m *Message) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	end := m.Deadline
	if end.IsZero() {
		end = time.Now().Add(noDeadline)
	}
	if late := o.held[m.To.Chat].Add(afterHold); late.After(end) {
		end = late
	}
	return time.Until(end)
}

// enter waits until the message is the next one of its chat; leave lets the one
// after it go on. It returns false at once if so many are to be served before that
// its slot must come too late.
func (o *Outbox) enter(m *Message, limits []chat.Limit) bool {
	within := o.within(m)
	o.mu.Lock()
	line, busy := o.lines[m.To.Chat]
	if !busy {
		o.lines[m.To.Chat] = nil
		o.mu.Unlock()
		return true
	}
	w := waiter{user: m.User, next: make(chan struct{})}
	if len(line) > 0 {
		w.round = line[0].round
	}
	before := 0
	for i, other := range line {
		if other.user == w.user {
			w.round = other.round + 1
		}
		if other.round <= w.round {
			before = i + 1
		}
	}
	for _, limit := range limits {
		if earliest(limit, before) > within {
			o.mu.Unlock()
			return false
		}
	}
	o.lines[m.To.Chat] = slices.Insert(line, before, w)
	o.mu.Unlock()
	<-w.next // Who is before it ends with ctx at the latest.
	return true
}

// earliest is how long it takes at least until so many events of a limit are over.
func earliest(l chat.Limit, events int) time.Duration {
	if l.Refill {
		return time.Duration(events+1-l.Count) * l.Every()
	}
	return time.Duration(events/l.Count) * l.Window
}

func (o *Outbox) leave(chatID int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line := o.lines[chatID]
	if len(line) == 0 {
		delete(o.lines, chatID)
		return
	}
	close(line[0].next)
	o.lines[chatID] = line[1:]
}

// Saturated reports whether a message waits for the rate of all messages alone.
func (o *Outbox) Saturated() bool { return o.Pacing && len(o.turn) > 0 }
