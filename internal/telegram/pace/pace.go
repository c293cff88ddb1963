// Package pace says when the next message may go, so that sends keep to what
// Telegram publishes: a few at once in a chat and then 1 a second, 20 in any
// minute in a group, 30 in any second in all. It knows nothing else of Telegram.
//
// A message waits twice. First for a turn that its chat's rates alone give it
// on arrival, so that one that would come too late is known at once. When its
// turn has come, it is held to the same rates once more, by the messages that
// really went, and last to the rate of all: what the latter held up would
// otherwise leave its chat in one bunch.
package pace

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Telegram's published rates are 1 message a second a chat, with short bursts
// above it, 20 a minute a group and 30 a second in all,
// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
//
// A limiter with a burst of b and r a second lets b + 60r through in a minute.
// For a group that is 18; the total may add one, and a notice is one more. For
// all it is 30 in a second.
const (
	chatRate, chatBurst   = 1, 3
	groupRate, groupBurst = 10. / 60, 8
	totalRate, totalBurst = 25, 5
	noticeGap             = time.Minute
)

// forgetAfter is longer than a chat's limiters take to be full again.
const forgetAfter = time.Minute

// ErrNoRoom is the error of a message whose turn would come too late.
var ErrNoRoom = errors.New("its turn would come too late")

// Limiter gives messages their turns. It remembers a chat for as long as
// something waits there and a minute or two longer.
type Limiter struct {
	off   bool
	total *rate.Limiter

	mu       sync.Mutex
	chats    map[int64]*chatPace
	swept    time.Time
	draining chan struct{} // closed once drainEnd is set
	drainEnd time.Time
}

// chatPace is one chat.
type chatPace struct {
	turns rates // by the turns given out
	sends rates // by the messages that went
	// next is held by the one message that is held to sends.
	next    chan struct{}
	waiting int
	idle    time.Time // since when, if nothing is waiting
	noticed time.Time // when the last notice went
}

// rates are the limiters of one chat.
type rates struct{ chat, group *rate.Limiter }

func newRates(group bool) rates {
	r := rates{chat: rate.NewLimiter(chatRate, chatBurst), group: rate.NewLimiter(rate.Inf, 0)}
	if group {
		r.group = rate.NewLimiter(groupRate, groupBurst)
	}
	return r
}

// New makes a Limiter. One that is not on never lets a message wait.
func New(on bool) *Limiter {
	return &Limiter{
		off:      !on,
		total:    rate.NewLimiter(totalRate, totalBurst),
		chats:    map[int64]*chatPace{},
		draining: make(chan struct{}),
	}
}

// Wait blocks until a message may go to a chat; the caller sends it then. It
// returns ErrNoRoom at once if the chat's rates give it a turn after deadline,
// where zero is none. A message that only the rate of all holds up goes after
// its deadline: to say instead that there is no room would take as long.
func (l *Limiter) Wait(ctx context.Context, chat int64, group bool, deadline time.Time) error {
	if l.off {
		return ctx.Err()
	}
	c, turn, err := l.takeTurn(chat, group, deadline)
	if err != nil {
		return err
	}
	defer l.leave(c)
	if err := l.sleepUntil(ctx, turn); err != nil {
		return err
	}
	return l.pass(ctx, c, c.sends.chat, c.sends.group)
}

// WaitNotice is Wait for the message that tells a chat that there is no room.
// It goes before those that wait, and returns ErrNoRoom at once if the chat
// was told within a minute.
func (l *Limiter) WaitNotice(ctx context.Context, chat int64, group bool) error {
	c, err := l.claimNotice(chat, group)
	if err != nil {
		return err
	}
	defer l.leave(c)
	err = l.pass(ctx, c, c.sends.chat)
	l.mu.Lock()
	c.noticed = time.Now()
	l.mu.Unlock()
	return err
}

// Saturated reports whether messages wait for the rate of all.
func (l *Limiter) Saturated() bool { return l.total.Tokens() < 0 }

// Drain ends, at once, the waiting of messages whose turn comes after end. It
// is called once.
func (l *Limiter) Drain(end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drainEnd = end
	close(l.draining)
}

// takeTurn gives a message the chat's next turn. The caller leaves the chat
// afterwards, unless there is an error.
func (l *Limiter) takeTurn(chat int64, group bool, deadline time.Time) (c *chatPace, turn time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	c = l.find(chat, group, now)
	byChat, byGroup := c.turns.chat.ReserveN(now, 1), c.turns.group.ReserveN(now, 1)
	turn = now.Add(max(byChat.DelayFrom(now), byGroup.DelayFrom(now)))
	if isAfter(turn, deadline) || isAfter(turn, l.drainEnd) {
		byChat.CancelAt(now)
		byGroup.CancelAt(now)
		return nil, turn, ErrNoRoom
	}
	c.waiting++
	return c, turn, nil
}

// isAfter reports whether turn is after end, where zero is no end.
func isAfter(turn, end time.Time) bool { return !end.IsZero() && turn.After(end) }

func (l *Limiter) claimNotice(chat int64, group bool) (*chatPace, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	c := l.find(chat, group, now)
	if now.Sub(c.noticed) < noticeGap {
		return nil, ErrNoRoom
	}
	c.noticed = now
	c.waiting++
	return c, nil
}

func (l *Limiter) sleepUntil(ctx context.Context, turn time.Time) error {
	timer := time.NewTimer(time.Until(turn))
	defer timer.Stop()
	for draining := l.draining; ; {
		select {
		case <-timer.C:
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		case <-draining:
			if isAfter(turn, l.drainEnd) {
				return ErrNoRoom
			}
			draining = nil
		}
	}
}

// pass lets one message of the chat at a time through its limiters and the
// total, in this order: the total's turn is the moment of sending.
func (l *Limiter) pass(ctx context.Context, c *chatPace, limiters ...*rate.Limiter) error {
	select {
	case c.next <- struct{}{}:
		defer func() { <-c.next }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, limiter := range append(limiters, l.total) {
		if err := limiter.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// find returns the chat, with l.mu held.
func (l *Limiter) find(chat int64, group bool, now time.Time) *chatPace {
	if now.Sub(l.swept) > forgetAfter {
		l.swept = now
		for id, c := range l.chats {
			if c.waiting == 0 && now.Sub(c.idle) > forgetAfter && now.Sub(c.noticed) > noticeGap {
				delete(l.chats, id)
			}
		}
	}
	c := l.chats[chat]
	if c == nil {
		c = &chatPace{turns: newRates(group), sends: newRates(group), next: make(chan struct{}, 1), idle: now}
		l.chats[chat] = c
	}
	return c
}

func (l *Limiter) leave(c *chatPace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.waiting--
	c.idle = time.Now()
}
