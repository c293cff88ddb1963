package telegram

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Telegram's published rates,
// https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
const (
	chatGap     = time.Second // between two messages in a chat
	groupWindow = time.Minute
	groupLimit  = 20 // messages in any groupWindow in a group
	totalWindow = time.Second
	totalLimit  = 30 // messages in any totalWindow in all
)

// regularLimit leaves one message of a group's minute for the one that says
// that there is no more room.
const regularLimit = groupLimit - 1

// errShed is a message whose turn would come too late.
var errShed = errors.New("its turn would come too late")

// pacer gives each message its turn. A message counts from when its call
// ended, which is after Telegram received it, so the limits hold as Telegram
// measures them, whatever the connection's delay.
//
// It remembers a chat for as long as the chat's minute lasts, so its memory is
// bounded by totalLimit: 1,800 chats a minute.
type pacer struct {
	off bool

	mu       sync.Mutex
	flying   int         // calls under way
	recent   []time.Time // ends of the calls within totalWindow
	lanes    map[int64]*lane
	swept    time.Time
	drainEnd time.Time // zero while not draining
}

// lane is one chat.
type lane struct {
	group  bool
	flying bool
	last   time.Time   // end of the last call
	sent   []time.Time // ends of the regular calls within groupWindow
	queue  []*turn     // first come, first served; a notice before all
	noted  time.Time   // when the chat was last told that there is no room
}

// turn is one message that waits.
type turn struct {
	notice   bool
	deadline time.Time
	wake     chan struct{}
}

func newPacer(on bool) *pacer { return &pacer{off: !on, lanes: map[int64]*lane{}} }

// wait blocks until a message may go to p and returns what to call once its
// call has ended. It fails with errShed as soon as it is known that the turn
// would come after the deadline (zero is none), or when shed is closed and it
// is the chat's own rate that keeps the message waiting.
func (p *pacer) wait(ctx context.Context, to place, deadline time.Time, shed <-chan struct{}) (ended func(), err error) {
	if p.off {
		return func() {}, ctx.Err()
	}
	return p.queue(ctx, to, &turn{deadline: deadline, wake: make(chan struct{}, 1)}, shed)
}

// claimNotice tells whether the caller is the one to say in this chat that
// there is no room, and if so waits for the turn of that message.
func (p *pacer) claimNotice(ctx context.Context, to place) (ended func(), err error) {
	p.mu.Lock()
	l := p.lane(to)
	now := time.Now()
	if !l.noted.IsZero() && now.Sub(l.noted) < groupWindow {
		p.mu.Unlock()
		return nil, errShed
	}
	l.noted = now
	p.mu.Unlock()
	return p.queue(ctx, to, &turn{notice: true, wake: make(chan struct{}, 1)}, nil)
}

func (p *pacer) queue(ctx context.Context, to place, t *turn, shed <-chan struct{}) (func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lane(to)
	if t.notice {
		l.queue = slices.Insert(l.queue, 0, t)
		l.wakeAll() // everybody else's turn comes later now
	} else {
		l.queue = append(l.queue, t)
	}
	for {
		now := time.Now()
		position := slices.Index(l.queue, t)
		at := l.slot(position, now, p.free(now))
		if p.tooLate(t, at) {
			p.leave(l, t)
			return nil, errShed
		}
		first := position == 0 && !l.flying && p.flying < totalLimit
		if first && !at.After(now) {
			p.leave(l, t)
			l.flying = true
			p.flying++
			return func() { p.ended(l, t) }, nil
		}
		delay := time.Hour // until woken: the turn before this one is not over
		if first {
			delay = at.Sub(now)
		}
		p.mu.Unlock()
		err := t.await(ctx, shed, delay)
		p.mu.Lock()
		// One whose chat has room waits for the total alone; to say instead
		// that there is none would take the same turn.
		if errors.Is(err, errShed) && l.ready(t, time.Now()) {
			shed = nil
			continue
		}
		if err != nil {
			p.leave(l, t)
			return nil, err
		}
	}
}

func (t *turn) await(ctx context.Context, shed <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-shed:
		return errShed
	case <-t.wake:
	case <-timer.C:
	}
	return nil
}

// lane finds or makes the lane of a chat, with p.mu held.
func (p *pacer) lane(to place) *lane {
	now := time.Now()
	if now.Sub(p.swept) > groupWindow {
		p.swept = now
		for id, l := range p.lanes {
			if len(l.queue) == 0 && !l.flying && now.Sub(l.last) > groupWindow && now.Sub(l.noted) > groupWindow {
				delete(p.lanes, id)
			}
		}
	}
	l := p.lanes[to.chat]
	if l == nil {
		l = &lane{group: to.group}
		p.lanes[to.chat] = l
	}
	return l
}

// free is when the total has room again, with p.mu held.
func (p *pacer) free(now time.Time) time.Time {
	p.recent = within(p.recent, now, totalWindow)
	if len(p.recent)+p.flying >= totalLimit && len(p.recent) > 0 {
		return p.recent[0].Add(totalWindow)
	}
	return now
}

// ready tells whether only the total can keep t waiting.
func (l *lane) ready(t *turn, now time.Time) bool {
	return l.queue[0] == t && !l.flying && !l.slot(0, now, now).After(now)
}

// slot is when the turn at a position of the queue comes, not before at, if
// nothing else joins the queue before it.
func (l *lane) slot(position int, now, at time.Time) time.Time {
	l.sent = within(l.sent, now, groupWindow)
	last := l.last
	if l.flying {
		last = now
	}
	sent := slices.Clone(l.sent)
	for i := range position + 1 {
		if gap := last.Add(chatGap); at.Before(gap) {
			at = gap
		}
		regular := !l.queue[i].notice
		if n := len(sent); l.group && regular && n >= regularLimit {
			if free := sent[n-regularLimit].Add(groupWindow); at.Before(free) {
				at = free
			}
		}
		if regular {
			sent = append(sent, at)
		}
		last = at
	}
	return at
}

func (p *pacer) tooLate(t *turn, at time.Time) bool {
	return !t.deadline.IsZero() && at.After(t.deadline) || !p.drainEnd.IsZero() && at.After(p.drainEnd)
}

// ended counts a call that is over and lets the next go.
func (p *pacer) ended(l *lane, t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.flying--
	p.recent = append(p.recent, now)
	l.flying = false
	l.last = now
	if t.notice {
		l.noted = now
	} else {
		l.sent = append(l.sent, now)
	}
	l.wakeAll()
	if p.flying == totalLimit-1 {
		p.wakeAll()
	}
}

func (p *pacer) leave(l *lane, t *turn) {
	i := slices.Index(l.queue, t)
	l.queue = slices.Delete(l.queue, i, i+1)
	l.wakeAll()
}

// drain sets when the last turn may come.
func (p *pacer) drain(end time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drainEnd = end
	p.wakeAll()
}

func (p *pacer) wakeAll() {
	for _, l := range p.lanes {
		l.wakeAll()
	}
}

func (l *lane) wakeAll() {
	for _, t := range l.queue {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// within drops the times that are no longer within a window that ends now.
func within(times []time.Time, now time.Time, window time.Duration) []time.Time {
	i := 0
	for i < len(times) && now.Sub(times[i]) >= window {
		i++
	}
	return times[i:]
}
