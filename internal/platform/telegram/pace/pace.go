// Package pace says when the next message may go, so that sends keep to what
// Telegram publishes: a few at once in a chat and then 1 a second, 20 in any
// minute in a group, 30 in any second in all. It knows nothing else of Telegram.
//
// A message waits twice. First for a turn that its chat's rates alone give it
// on arrival, so that one that would come too late is known at once. When its
// turn has come, it is held to the same rates once more, by the messages that
// really went, and last to the rate of all: what the latter held up would
// otherwise leave its chat in one bunch.
//
// All of these rates are those of the replicas together, as far as chat.Turns
// knows of the others' turns; otherwise each replica keeps them by itself.
package pace

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"herald/internal/chat"
)

// Telegram's published rates are 1 message a second a chat, with short bursts
// above it, 20 a minute a group and 30 a second in all,
// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
//
// A rate with a burst of b lets through b messages more in a minute than its
// interval fits into one. For a group that is 18; the rate of all may add one,
// and a notice is one more: it may go some seconds after its turn, so that its
// rate is below one a minute. For all it is 28 in a second, and not 30: one
// message may take longer to arrive than the next.
var (
	chatRate   = chat.Rate{Every: time.Second, Burst: 3}
	groupRate  = chat.Rate{Every: 6 * time.Second, Burst: 8}
	totalRate  = chat.Rate{Every: time.Second / 25, Burst: 3}
	noticeRate = chat.Rate{Every: 66 * time.Second, Burst: 1}
)

// forgetAfter is longer than any of a chat's buckets takes to be full again.
const forgetAfter = 2 * time.Minute

// ErrNoRoom is the error of a message whose turn would come too late.
var ErrNoRoom = errors.New("its turn would come too late")

// Limiter gives messages their turns. It remembers a chat for as long as
// something waits there and some minutes longer.
type Limiter struct {
	off    bool
	bot    string
	shared chat.Turns
	total  *buckets

	mu       sync.Mutex
	chats    map[int64]*chatPace
	swept    time.Time
	draining chan struct{} // closed once drainEnd is set
	drainEnd time.Time
}

// chatPace is one chat.
type chatPace struct {
	// turns are given out on arrival, by the chat's and the group's rate.
	turns *buckets
	// sendsOfChat and sendsOfGroup hold the messages that really go to each of
	// these rates.
	sendsOfChat, sendsOfGroup *buckets
	notices                   *buckets
	// next is held by the one message that waits for sends.
	next    chan struct{}
	waiting int
	idle    time.Time // since when, if nothing is waiting
}

// New makes a Limiter for the bot of this name. One that is not on never lets
// a message wait. shared is nil for a bot without replicas.
func New(on bool, bot string, shared chat.Turns) *Limiter {
	l := &Limiter{
		off:      !on,
		bot:      bot,
		shared:   shared,
		chats:    map[int64]*chatPace{},
		draining: make(chan struct{}),
	}
	l.total = l.buckets("all", totalRate)
	return l
}

// Wait blocks until a message may go to a chat; the caller sends it then. It
// returns ErrNoRoom at once if the chat's rates give it a turn after deadline,
// where zero is none. A message that only the rate of all holds up goes after
// its deadline: to say instead that there is no room would take as long.
func (l *Limiter) Wait(ctx context.Context, chatID int64, group bool, deadline time.Time) error {
	if l.off {
		return ctx.Err()
	}
	c := l.enter(chatID, group)
	defer l.leave(c)
	wait, taken := c.turns.take(ctx, l.longest(deadline))
	if !taken {
		return ErrNoRoom
	}
	if err := l.sleepUntil(ctx, time.Now().Add(wait)); err != nil {
		return err
	}
	return l.pass(ctx, c, c.sendsOfChat, c.sendsOfGroup)
}

// WaitNotice is Wait for the message that tells a chat that there is no room.
// It goes before those that wait, and returns ErrNoRoom at once if the chat
// was told within the last 66 seconds.
func (l *Limiter) WaitNotice(ctx context.Context, chatID int64, group bool) error {
	c := l.enter(chatID, group)
	defer l.leave(c)
	if _, taken := c.notices.take(ctx, 0); !taken {
		return ErrNoRoom
	}
	return l.pass(ctx, c, c.sendsOfChat)
}

// Saturated reports whether messages of this process wait for the rate of all.
func (l *Limiter) Saturated() bool { return l.total.alone[0].Tokens() < 0 }

// Drain ends, at once, the waiting of messages whose turn comes after end. It
// is called once.
func (l *Limiter) Drain(end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drainEnd = end
	close(l.draining)
}

// longest is how long a message may wait for its turn.
func (l *Limiter) longest(deadline time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := time.Duration(math.MaxInt64)
	for _, end := range []time.Time{deadline, l.drainEnd} {
		if !end.IsZero() {
			longest = min(longest, time.Until(end))
		}
	}
	return longest
}

func (l *Limiter) sleepUntil(ctx context.Context, turn time.Time) error {
	come := time.After(time.Until(turn))
	select {
	case <-l.draining:
		if turn.After(l.drainEnd) {
			return ErrNoRoom
		}
		select {
		case <-come:
		case <-ctx.Done():
		}
	case <-come:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// pass lets one message of the chat at a time through these rates and that of
// all, in this order: the turn of all is the moment of sending.
func (l *Limiter) pass(ctx context.Context, c *chatPace, rates ...*buckets) error {
	select {
	case c.next <- struct{}{}:
		defer func() { <-c.next }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, b := range append(rates, l.total) {
		if err := b.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// enter returns the chat, in which something waits until leave.
func (l *Limiter) enter(chatID int64, group bool) *chatPace {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.swept) > forgetAfter {
		l.swept = now
		for id, c := range l.chats {
			if c.waiting == 0 && now.Sub(c.idle) > forgetAfter {
				delete(l.chats, id)
			}
		}
	}
	c := l.chats[chatID]
	if c == nil {
		c = l.newChat(strconv.FormatInt(chatID, 10), group)
		l.chats[chatID] = c
	}
	c.waiting++
	return c
}

func (l *Limiter) newChat(id string, group bool) *chatPace {
	c := &chatPace{
		turns:        l.buckets("turns "+id, chatRate),
		sendsOfChat:  l.buckets("sends of chat "+id, chatRate),
		sendsOfGroup: l.buckets("sends of group " + id),
		notices:      l.buckets("notices "+id, noticeRate),
		next:         make(chan struct{}, 1),
	}
	if group {
		c.turns = l.buckets("turns "+id, chatRate, groupRate)
		c.sendsOfGroup = l.buckets("sends of group "+id, groupRate)
	}
	return c
}

func (l *Limiter) leave(c *chatPace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.waiting--
	c.idle = time.Now()
}
