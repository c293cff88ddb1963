package pace

import (
	"context"
	"errors"
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
	for range n {
		var deadline time.Time
		if patience > 0 {
			deadline = time.Now().Add(patience)
		}
		l := c.Limiter
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
	slices.SortFunc(times, time.Time.Compare)
	from := 0
	for i, at := range times {
		for at.Sub(times[from]) >= length {
			from++
		}
		best = max(best, i-from+1)
	}
	return best
}

func TestAGroupHasTwentyInAnyMinute(t *testing.T) {
	for name, gap := range map[string]time.Duration{"at once": 0, "steadily": 700 * time.Millisecond, "slowly": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
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
					t.Errorf("%d messages in a minute, and %d in a second", minute, second)
				}
			})
		})
	}
}

// Messages that the total has held up leave their chat no faster than others, also
// where two replicas share their turns.
func TestChatsKeepTheirRatesAndTogetherThirtyInAnySecond(t *testing.T) {
	for name, shared := range map[string]chat.Turns{"alone": nil, "two replicas": &turns{next: map[string]time.Time{}}} {
		t.Run(name, func(t *testing.T) {
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
				var all []time.Time
				for _, times := range c.sent {
					all = append(all, times...)
				}
				group, person, total := most(c.sent[-1], time.Minute), most(c.sent[1], time.Second), most(all, time.Second)
				if group > 20 || person > 5 || total > 30 {
					t.Errorf("%d a minute in the group, %d a second in a chat and %d in all", group, person, total)
				}
				if took := time.Since(start); len(all) != 640 || took > 2*time.Minute {
					t.Errorf("%d messages in %v", len(all), took)
				}
			})
		})
	}
}

// turns are the chat.Turns of several replicas.
type turns struct {
	mu   sync.Mutex
	next map[string]time.Time // when a key's bucket is full again
}

func (s *turns) Take(_ context.Context, within time.Duration, rates ...chat.Rate) (wait time.Duration, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, r := range rates {
		if next := s.next[r.Key]; !next.IsZero() {
			wait = max(wait, next.Sub(now)-time.Duration(r.Burst-1)*r.Every)
		}
	}
	if wait > within {
		return wait, true
	}
	for _, r := range rates {
		if turn := now.Add(wait); s.next[r.Key].Before(turn) {
			s.next[r.Key] = turn
		}
		s.next[r.Key] = s.next[r.Key].Add(r.Every)
	}
	return wait, true
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
		start := time.Now()
		c.send(30, -1, 0)
		if err := c.WaitNotice(t.Context(), -1, true); err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(59 * time.Second)
		if err := c.WaitNotice(t.Context(), -1, true); !errors.Is(err, ErrNoRoom) {
			t.Errorf("within a minute: %v", err)
		}
		time.Sleep(8 * time.Second)
		if err := c.WaitNotice(t.Context(), -1, true); err != nil {
			t.Errorf("after more than a minute: %v", err)
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
		if c.late != 9 || time.Since(start) != 0 {
			t.Errorf("%d of 16 end at once, want 9", c.late)
		}
		c.all.Wait()
		if len(c.sent[1]) != 7 {
			t.Errorf("%d messages went, want 7", len(c.sent[1]))
		}
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crowd) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		c.send(3, 1, 0)
		if err := c.Wait(ctx, 1, false, time.Time{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
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
