//go:build soak

package soak

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"herald/internal/transport"
)

// beBusy starts this many shell loops. Each uses a whole processor, if it gets one, until the test ends.
func beBusy(t *testing.T, loops int) {
	for range loops {
		// The loop ends even if the test is killed.
		const spin = `while kill -0 "$1"; do :; done`
		loop := exec.CommandContext(t.Context(), "sh", "-c", spin, "sh", strconv.Itoa(os.Getpid()))
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = loop.Wait() }) // t.Context, which is done by now, has killed it.
	}
}

// stall is a time in which the machine did not let this process run.
type stall struct {
	end    time.Time
	length time.Duration
}

// stalls records the stalls of this process, in which the bot runs, too.
type stalls struct {
	mu      sync.Mutex
	recent  []stall // oldest first
	longest time.Duration
	total   time.Duration
}

// watch records stalls until ctx is done. A short sleep that takes longer than it should was a stall.
func (s *stalls) watch(ctx context.Context) {
	const tick = 20 * time.Millisecond
	for last := time.Now(); transport.Sleep(ctx, tick); last = time.Now() {
		excess := time.Since(last) - tick
		if excess > tick/2 {
			s.add(stall{end: time.Now(), length: excess})
		}
	}
}

// add records a stall that has just ended. It forgets stalls from before the oldest question that may still
// be unanswered.
func (s *stalls) add(latest stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, latest.length)
	s.total += latest.length
	for len(s.recent) > 0 && latest.end.Sub(s.recent[0].end) > 2*patience {
		s.recent = s.recent[1:]
	}
	s.recent = append(s.recent, latest)
}

// between returns how long this process was stalled between two times, in total.
func (s *stalls) between(from, to time.Time) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, recent := range s.recent {
		begin, end := recent.end.Add(-recent.length), recent.end
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		sum += max(end.Sub(begin), 0)
	}
	return sum
}

func TestStallsAreSummedBetweenTwoTimes(t *testing.T) {
	var s stalls
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	// There are stalls from second 1 to 3 and from second 5 to 6.
	s.add(stall{end: at(3), length: 2 * time.Second})
	s.add(stall{end: at(6), length: time.Second})
	for name, test := range map[string]struct{ from, to, want int }{ // in seconds
		"both":               {from: 0, to: 10, want: 3},
		"begins within one":  {from: 2, to: 10, want: 2},
		"between them":       {from: 3, to: 5, want: 0},
		"ends within one":    {from: 0, to: 2, want: 1},
		"exactly one":        {from: 5, to: 6, want: 1},
		"after the last one": {from: 7, to: 9, want: 0},
	} {
		got := s.between(at(test.from), at(test.to))
		if got != time.Duration(test.want)*time.Second {
			t.Errorf("%s: there are stalls of %v, want %d s", name, got, test.want)
		}
	}
	if s.longest != 2*time.Second || s.total != 3*time.Second {
		t.Errorf("the longest is %v of %v", s.longest, s.total)
	}
}

// figures is what this process uses: the bot, the fakes and the test.
type figures struct {
	goroutines int
	heap       uint64 // bytes in use
}

// measure collects garbage and returns the figures.
func measure() figures {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return figures{goroutines: runtime.NumGoroutine(), heap: m.HeapInuse}
}

func (f figures) String() string {
	return fmt.Sprintf("goroutines %d, heap in use %.1f MiB", f.goroutines, float64(f.heap)/(1<<20))
}

// grown reports whether f exceeds earlier by more than is allowed after this many commands and presses.
func (f figures) grown(earlier figures, asked int) bool {
	const (
		// An idle connection has three goroutines, including the fake's, and a burst leaves up to 128
		// connections to a platform.
		moreGoroutines = 400
		moreHeap       = 16 << 20
		// The bot remembers each interaction of Discord for a day, at most maxRemembered of them.
		heapPerInteraction = 400
		maxRemembered      = 108_000
	)
	maxHeap := earlier.heap + moreHeap + heapPerInteraction*uint64(min(asked, maxRemembered))
	return f.goroutines > earlier.goroutines+moreGoroutines || f.heap > maxHeap
}
