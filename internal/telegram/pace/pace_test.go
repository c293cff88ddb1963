package pace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crowd sends messages by one Limiter and remembers when each went.
type crowd struct {
	*Limiter
	all  sync.WaitGroup
	mu   sync.Mutex
	sent map[int64][]time.Time
	late int
}

func newCrowd() *crowd { return &crowd{Limiter: New(true, "bot", nil), sent: map[int64][]time.Time{}} }

// send sends n messages, none of which waits for longer than patience (zero is
// for ever) because of its chat.
func (c *crowd) send(ctx context.Context, n int, chat int64, group bool, patience time.Duration) {
	for range n {
		var deadline time.Time
		if patience > 0 {
			deadline = time.Now().Add(patience)
		}
		c.all.Go(func() { c.count(chat, c.Wait(ctx, chat, group, deadline)) })
		// In the order of the loop, as the test counts on it.
		synctest.Wait()
	}
}

func (c *crowd) count(chat int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.sent[chat] = append(c.sent[chat], time.Now())
	case errors.Is(err, ErrNoRoom):
		c.late++
	}
}

// most is the largest number of times within any span of a length.
func most(times []time.Time, length time.Duration) (best int) {
	times = slices.SortedFunc(slices.Values(times), time.Time.Compare)
	for i, first := range times {
		n := 0
		for _, at := range times[i:] {
			if at.Sub(first) < length {
				n++
			}
		}
		best = max(best, n)
	}
	return best
}

func (c *crowd) everything() (all []time.Time) {
	for _, times := range c.sent {
		all = append(all, times...)
	}
	return all
}

func TestAChatHasABurstAndThenOneASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, start := newCrowd(), time.Now()
		c.send(t.Context(), 40, 1, false, 0)
		c.all.Wait()
		sent := c.sent[1]
		if n := most(sent, time.Second); n != 3 {
			t.Errorf("%d messages in the first second, want 3", n)
		}
		for i, at := range sent {
			if want := time.Duration(max(0, i-2)) * time.Second; at.Sub(start).Round(time.Millisecond) != want {
				t.Errorf("message %d went after %v, want %v", i, at.Sub(start), want)
			}
		}
	})
}

func TestAGroupHasTwentyInAnyMinute(t *testing.T) {
	for name, gap := range map[string]time.Duration{"at once": 0, "steadily": 700 * time.Millisecond, "slowly": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd()
				for range 300 {
					c.send(t.Context(), 1, -1, true, time.Hour)
					if gap > 0 {
						time.Sleep(gap)
					}
				}
				// Those that are told so, too.
				for range 20 {
					c.all.Go(func() { c.count(-1, c.WaitNotice(t.Context(), -1, true)) })
					time.Sleep(11 * time.Second)
				}
				c.all.Wait()
				if n := most(c.sent[-1], time.Minute); n < 10 || n > 20 {
					t.Errorf("%d messages in a minute", n)
				}
				if n := most(c.sent[-1], time.Second); n > 4 {
					t.Errorf("%d messages in a second", n)
				}
			})
		})
	}
}

func TestAllChatsTogetherHaveThirtyInAnySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, start := newCrowd(), time.Now()
		for chat := range int64(2000) {
			c.send(t.Context(), 1, chat, false, time.Second)
		}
		c.all.Wait()
		if n := most(c.everything(), time.Second); n > 30 {
			t.Errorf("%d messages in a second", n)
		}
		if took := time.Since(start); len(c.sent) != 2000 || took > 101*time.Second {
			t.Errorf("%d chats were written to in %v", len(c.sent), took)
		}
	})
}

// Messages that the total has held up leave their chat no faster than others.
func TestAChatKeepsItsRatesWhenTheTotalIsExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		for chat := range int64(600) {
			c.send(t.Context(), 1, 1000+chat, false, 0)
			if chat%30 == 0 {
				c.send(t.Context(), 1, -1, true, 0)
				c.send(t.Context(), 1, 1, false, 0)
			}
		}
		c.all.Wait()
		if n := most(c.sent[-1], time.Minute); n > 19 {
			t.Errorf("%d messages in a minute in the group", n)
		}
		if n := most(c.sent[1], time.Second); n > 5 {
			t.Errorf("%d messages in a second in a chat", n)
		}
		if n := most(c.everything(), time.Second); n > 30 {
			t.Errorf("%d messages in a second", n)
		}
		if len(c.sent[-1]) != 20 || len(c.sent[1]) != 20 {
			t.Errorf("%d and %d messages, want 20", len(c.sent[-1]), len(c.sent[1]))
		}
	})
}

func TestATurnAfterItsDeadlineIsRefusedAtOnceAndTakesNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, start := newCrowd(), time.Now()
		c.send(t.Context(), 8, -1, true, 20*time.Second)
		c.send(t.Context(), 5, -1, true, 5*time.Second)
		if c.late != 5 || time.Since(start) != 0 {
			t.Errorf("%d refused after %v, want 5 at once", c.late, time.Since(start))
		}
		c.send(t.Context(), 1, -1, true, 6*time.Second)
		if c.late != 5 {
			t.Error("those that were refused take room all the same")
		}
		c.all.Wait()
	})
}

func TestANoticeGoesBeforeThoseThatWaitAndOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, start := newCrowd(), time.Now()
		c.send(t.Context(), 30, -1, true, 0)
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
		c.all.Wait()
	})
}

func TestADrainEndsTheWaitingForTurnsAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, start := newCrowd(), time.Now()
		c.send(t.Context(), 15, 1, false, 0)
		c.Drain(start.Add(4500 * time.Millisecond))
		synctest.Wait()
		if c.late != 8 || time.Since(start) != 0 {
			t.Errorf("%d of 15 end at once, want 8", c.late)
		}
		c.send(t.Context(), 1, 1, false, 0)
		if c.late != 9 {
			t.Error("one that comes while draining waits for a turn after the end")
		}
		c.all.Wait()
		if len(c.sent[1]) != 7 {
			t.Errorf("%d messages went, want 7", len(c.sent[1]))
		}
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newCrowd()
		c.send(t.Context(), 3, 1, false, 0)
		ended := make(chan error, 1)
		go func() { ended <- c.Wait(ctx, 1, false, time.Time{}) }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestQuietChatsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		for chat := range int64(50) {
			c.send(t.Context(), 1, chat, chat%2 == 0, 0)
		}
		c.all.Wait()
		if err := c.WaitNotice(t.Context(), 7, false); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * time.Minute)
		c.send(t.Context(), 1, 99, false, 0)
		c.all.Wait()
		if len(c.chats) != 1 {
			t.Errorf("%d chats are remembered", len(c.chats))
		}
	})
}

func TestSwitchedOffNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := New(false, "bot", nil), time.Now()
		for i := range 500 {
			if err := l.Wait(t.Context(), 1, true, start); err != nil {
				t.Fatal(fmt.Errorf("message %d: %w", i, err))
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("500 messages took %v", took)
		}
	})
}
