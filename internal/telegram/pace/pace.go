// Package pace says when the next message may go, so that sends keep to what
// Telegram publishes: a few at once in a chat and then 1 a second, 20 in any
// minute in a group, 30 in any second in all. It knows nothing else of Telegram.
//
// The messages of a chat wait in a line. The first in it waits for the chat's
// own rates, then for the rate of all, and goes; only then comes the next. So a
// chat keeps its rates also after the rate of all has held it up.
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
// For a group that is 18; the rate of all may add one, and a notice is one more.
// For all it is 25 in a second, which leaves room for messages that take longer
// to arrive than those behind them.
const (
	chatRate, chatBurst   = 1, 3
	groupRate, groupBurst = 10. / 60, 8
	totalRate, totalBurst = 20, 5
	noticeGap             = time.Minute
)

// forgetAfter is no shorter than noticeGap, and longer than a chat's limiters
// take to be full again.
const forgetAfter = time.Minute

// ErrNoRoom is the error of a message whose turn would come too late.
var ErrNoRoom = errors.New("its turn would come too late")

// Limiter gives messages their turns. It remembers a chat for as long as
// something waits there and a minute or two longer.
type Limiter struct {
	off   bool
	total *rate.Limiter

	mu       sync.Mutex
	chats    map[int64]*line
	swept    time.Time
	draining chan struct{} // closed once drainEnd is set
	drainEnd time.Time
}

// line is the messages that wait in one chat.
type line struct {
	chat, group *rate.Limiter
	// first is held by the first in the line until it goes.
	first   chan struct{}
	waiting int       // behind the first
	used    time.Time // when the line last changed
	noticed time.Time // when the last notice goes
}

// New makes a Limiter. One that is not on never lets a message wait.
func New(on bool) *Limiter {
	return &Limiter{
		off:      !on,
		total:    rate.NewLimiter(totalRate, totalBurst),
		chats:    map[int64]*line{},
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
	c, turn, err := l.join(chat, group, deadline)
	if err != nil {
		return err
	}
	err = l.awaitFirst(ctx, c, turn)
	l.advance(c)
	if err != nil {
		return err
	}
	defer func() { <-c.first }()
	return waitAll(ctx, c.group, c.chat, l.total)
}

// WaitNotice is Wait for the message that tells a chat that there is no room.
// It goes before the line, and returns ErrNoRoom at once if the chat was told
// within a minute.
func (l *Limiter) WaitNotice(ctx context.Context, chat int64, group bool) error {
	c, ok := l.claimNotice(chat, group)
	if !ok {
		return ErrNoRoom
	}
	return waitAll(ctx, c.chat, l.total)
}

func waitAll(ctx context.Context, limiters ...*rate.Limiter) error {
	for _, limiter := range limiters {
		if err := limiter.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
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

// join puts a message at the end of its chat's line, and says when its turn
// comes if the rate of all holds up none.
func (l *Limiter) join(chat int64, group bool, deadline time.Time) (c *line, turn time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c = l.find(chat, group)
	c.waiting++
	turn = time.Now().Add(max(delay(c.chat, c.waiting), delay(c.group, c.waiting)))
	if isAfter(turn, deadline) || isAfter(turn, l.drainEnd) {
		c.waiting--
		return nil, turn, ErrNoRoom
	}
	return c, turn, nil
}

// delay is how long a limiter has the n-th of those that come now wait.
func delay(l *rate.Limiter, n int) time.Duration {
	missing := float64(n) - l.Tokens()
	return time.Duration(missing / float64(l.Limit()) * float64(time.Second))
}

// isAfter reports whether turn is after end, where zero is no end.
func isAfter(turn, end time.Time) bool { return !end.IsZero() && turn.After(end) }

// awaitFirst blocks until a message is the first in its line.
func (l *Limiter) awaitFirst(ctx context.Context, c *line, turn time.Time) error {
	for draining := l.draining; ; {
		select {
		case c.first <- struct{}{}:
			return nil
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

// advance makes the line behind the first one message shorter.
func (l *Limiter) advance(c *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.waiting--
	c.used = time.Now()
}

func (l *Limiter) claimNotice(chat int64, group bool) (c *line, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c = l.find(chat, group)
	if time.Since(c.noticed) < noticeGap {
		return nil, false
	}
	c.noticed = time.Now().Add(max(delay(c.chat, 1), delay(l.total, 1)))
	return c, true
}

// find returns the chat's line, with l.mu held.
func (l *Limiter) find(chat int64, group bool) *line {
	now := time.Now()
	if now.Sub(l.swept) > forgetAfter {
		l.swept = now
		for id, c := range l.chats {
			if c.waiting+len(c.first) == 0 && now.Sub(c.used) > forgetAfter {
				delete(l.chats, id)
			}
		}
	}
	c := l.chats[chat]
	if c == nil {
		c = &line{
			chat:  rate.NewLimiter(chatRate, chatBurst),
			group: rate.NewLimiter(rate.Inf, 0),
			first: make(chan struct{}, 1),
		}
		if group {
			c.group = rate.NewLimiter(groupRate, groupBurst)
		}
		l.chats[chat] = c
	}
	c.used = now
	return c
}
