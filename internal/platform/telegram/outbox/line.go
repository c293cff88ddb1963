package outbox

import (
	"context"
	"math"
	"slices"
	"time"

	"herald/internal/ratelimit"
)

// line holds the messages of one chat behind the one that waits for its slot, the next
// one first. Senders are served in rounds of one message each. Outbox.mu guards a line.
type line []*delivery

// position is the round in which a message is served, and whose message of that round it
// is. A line is ordered by round, then by arrival.
type position struct {
	sender int64
	round  int
}

// advance moves d forward in the line to the first round in which sender has no message,
// if that round is before d's.
func (l line) advance(d *delivery, sender int64) {
	at := slices.Index(l, d)
	if at < 1 {
		return
	}
	p := position{sender, l[0].position.round}
	for _, other := range l[:at] {
		if other.position.sender == sender {
			p.round = other.position.round + 1
		}
	}
	if p.round >= d.position.round {
		return
	}
	d.position = p
	for ; at > 0 && l[at-1].position.round > p.round; at-- {
		l[at-1], l[at] = d, l[at-1]
	}
}

// enter blocks until no message of the chat is before this one; after nil, the caller must
// call leave. enter fails with ctx's error, or at once with errNoRoom if the line is too
// long for the deadline.
func (d *delivery) enter(ctx context.Context, limits []ratelimit.Limit) error {
	within := d.patience()
	d.mu.Lock()
	l, busy := d.lines[d.m.To.Chat]
	if !busy {
		d.lines[d.m.To.Chat] = nil
		d.mu.Unlock()
		return nil
	}
	d.next, d.position = make(chan struct{}), position{sender: d.senders[0]}
	if len(l) > 0 {
		d.position.round = math.MaxInt
	}
	l = append(l, d)
	for _, sender := range d.senders {
		l.advance(d, sender)
	}
	d.lines[d.m.To.Chat] = l
	at := slices.Index(l, d)
	d.mu.Unlock()
	for _, limit := range limits {
		if earliest(limit, at) > within {
			d.leave()
			return errNoRoom
		}
	}
	d.m.Waits()
	select {
	case <-d.next:
		return nil
	case <-ctx.Done():
		d.leave()
		return ctx.Err()
	}
}

// leave takes the message out of its line. If enter has returned nil, leave lets the first
// message of the line go on.
func (d *delivery) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lines[d.m.To.Chat]
	switch at := slices.Index(l, d); {
	case at >= 0:
		d.lines[d.m.To.Chat] = slices.Delete(l, at, at+1)
	case len(l) == 0:
		delete(d.lines, d.m.To.Chat)
	default:
		d.lines[d.m.To.Chat] = l[1:]
		close(l[0].next)
	}
}

// earliest returns the shortest wait for a limit's slot that has so many events before it.
func earliest(l ratelimit.Limit, events int) time.Duration {
	return time.Duration(events+1-l.Burst) * l.Every
}
