package pace

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

// crowd sends messages by Limiters and remembers when each went.
type crowd struct {
	*Limiter
	all  sync.WaitGroup
	mu   sync.Mutex
	sent map[int64][]time.Time
	late int
}

// inBubble runs a test with the Limiter of one bot, in simulated time.
func inBubble(t *testing.T, test func(*testing.T, *crowd)) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{Limiter: New(true, "bot", nil), sent: map[int64][]time.Time{}}
		test(t, c)
		c.all.Wait()
	})
}

// send sends n messages, none of which waits for longer than patience (zero is
// for ever) because of its chat.
func (c *crowd) send(n int, id int64, patience time.Duration) {
	var deadline time.Time
	if patience > 0 {
		deadline = time.Now().Add(patience)
	}
	l := c.Limiter
	for range n {
		c.all.Go(func() { c.count(id, l.Wait(context.Background(), id, id < 0, deadline)) })
		synctest.Wait() // In the order of the loop, as the test counts on it.
	}
}

func (c *crowd) count(id int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.sent[id] = append(c.sent[id], time.Now())
	case errors.Is(err, ErrNoRoom):
		c.late++
	}
}

// most is the largest number of times within any span of a length.
func most(times []time.Time, length time.Duration) (best int) {
	for _, from := range times {
		n := 0
		for _, at := range times {
			if after := at.Sub(from); after >= 0 && after < length {
				n++
			}
		}
		best = max(best, n)
	}
	return best
}

func TestAGroupHasTwentyInAnyMinute(t *testing.T) {
	for _, gap := range []time.Duration{0, 700 * time.Millisecond, 3 * time.Second} {
		inBubble(t, func(t *testing.T, c *crowd) {
			for range 150 {
				c.send(1, -1, time.Hour)
				time.Sleep(gap)
			}
			// Those that are told so, too.
			for range 20 {
				c.all.Go(func() { c.count(-1, c.WaitNotice(t.Context(), -1, true)) })
				time.Sleep(11 * time.Second)
			}
			c.all.Wait()
			if minute, second := most(c.sent[-1], time.Minute), most(c.sent[-1], time.Second); minute < 10 || minute > 20 || second > 4 {
				t.Errorf("one each %v: %d messages in a minute, and %d in a second", gap, minute, second)
			}
		})
	}
}

// Messages that the total has held up leave their chat no faster than others, also
// where two replicas share their turns.
func TestChatsKeepTheirRatesAndTogetherThirtyInAnySecond(t *testing.T) {
	for _, shared := range []chat.Turns{nil, &turns{next: map[string]time.Time{}}} {
		inBubble(t, func(t *testing.T, c *crowd) {
			replicas := []*Limiter{New(true, "bot", shared), New(true, "bot", shared)}
			for id := range int64(600) {
				if shared != nil {
					c.Limiter = replicas[id%2]
				}
				c.send(1, 1000+id, 0)
				if id%30 == id/30%2 { // of one replica and the other
					c.send(1, -1, 0)
					c.send(1, 1, 0)
				}
			}
			start := time.Now()
			c.all.Wait()
			all := slices.Concat(slices.Collect(maps.Values(c.sent))...)
			group, person, total := most(c.sent[-1], time.Minute), most(c.sent[1], time.Second), most(all, time.Second)
			if took := time.Since(start); group > 20 || person > 5 || total > 30 || len(all) != 640 || took > 2*time.Minute {
				t.Errorf("%d a minute in the group, %d a second in a chat and %d in all; %d in %v", group, person, total, len(all), took)
			}
		})
	}
}

// turns are the chat.Turns of several replicas, which refuse none.
type turns struct {
	mu   sync.Mutex
	next map[string]time.Time // when a key's bucket is full again
}

func (s *turns) Take(_ context.Context, _ time.Duration, rates ...chat.Rate) (wait time.Duration, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := time.Now()
	for _, r := range rates {
		if free := s.next[r.Key].Add(-time.Duration(r.Burst-1) * r.Every); free.After(turn) {
			turn = free
		}
	}
	for _, r := range rates {
		if s.next[r.Key].Before(turn) {
			s.next[r.Key] = turn
		}
		s.next[r.Key] = s.next[r.Key].Add(r.Every)
	}
	return time.Until(turn), true
}

func TestATurnAfterItsDeadlineIsRefusedAtOnceAndTakesNoRoom(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crowd) {
		start := time.Now()
		c.send(8, -1, 20*time.Second)
		c.send(5, -1, 5*time.Second)
		c.send(1, -1, 6*time.Second)
		if c.late != 5 || time.Since(start) != 0 {
			t.Errorf("%d refused after %v, want 5 at once, and room for the one that waits longer", c.late, time.Since(start))
		}
		c.all.Wait()
		if c.send(1, -1, 3*time.Second); c.late != 6 {
			t.Error("the chat has room, and its group has none: it is not refused")
		}
	})
}

func TestANoticeGoesBeforeThoseThatWaitAndOnceAMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crowd) {
		c.send(30, -1, 0)
		for _, step := range []struct {
			after time.Duration
			want  error
		}{{0, nil}, {59 * time.Second, ErrNoRoom}, {8 * time.Second, nil}} {
			time.Sleep(step.after)
			start := time.Now()
			if err := c.WaitNotice(t.Context(), -1, true); !errors.Is(err, step.want) || time.Since(start) > 2*time.Second {
				t.Errorf("after %v more: %v within %v, want %v", step.after, err, time.Since(start), step.want)
			}
		}
	})
}

func TestADrainEndsTheWaitingForTurnsAfterIt(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crowd) {
		start := time.Now()
		c.send(15, 1, 0)
		c.Drain(start.Add(4500 * time.Millisecond))
		synctest.Wait()
		c.send(1, 1, 0)
		took := time.Since(start)
		c.all.Wait()
		if c.late != 9 || took != 0 || len(c.sent[1]) != 7 {
			t.Errorf("%d of 16 end within %v, want 9 at once; %d went", c.late, took, len(c.sent[1]))
		}
	})
}

func TestQuietChatsAreForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crowd) {
		for id := range int64(50) {
			c.send(1, id-25, 0)
		}
		time.Sleep(3 * time.Minute)
		c.send(1, 99, 0)
		if len(c.chats) != 1 {
			t.Errorf("%d chats are remembered", len(c.chats))
		}
	})
}
