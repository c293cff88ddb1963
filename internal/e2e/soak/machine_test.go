//go:build soak

package soak

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"herald/internal/transport"
)

// beBusy starts shell loops that use as much of a core as they get, until the test ends.
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

// stall is a time in which this process was not scheduled.
type stall struct {
	end    time.Time
	length time.Duration
}

// stalls records when this process was not scheduled. The bot runs in it.
type stalls struct {
	mu      sync.Mutex
	recent  []stall // in order of time
	longest time.Duration
	total   time.Duration
}

// watch records stalls until ctx is done.
func (s *stalls) watch(ctx context.Context) {
	const tick = 20 * time.Millisecond
	for last := time.Now(); transport.Sleep(ctx, tick); last = time.Now() {
		if length := time.Since(last) - tick; length > tick/2 {
			s.add(stall{end: time.Now(), length: length})
		}
	}
}

func (s *stalls) add(one stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, one.length)
	s.total += one.length
	for len(s.recent) > 0 && one.end.Sub(s.recent[0].end) > 2*patience {
		s.recent = s.recent[1:]
	}
	s.recent = append(s.recent, one)
}

// during returns the sum of stalls within a time.
func (s *stalls) during(from, to time.Time) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.recent {
		begin, end := one.end.Add(-one.length), one.end
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

func TestStallsAreCountedWithinATime(t *testing.T) {
	var s stalls
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	// There are stalls from 1 to 3 and from 5 to 6.
	s.add(stall{end: at(3), length: 2 * time.Second})
	s.add(stall{end: at(6), length: time.Second})
	for name, test := range map[string]struct{ from, to, want int }{
		"both":               {0, 10, 3},
		"begins within one":  {2, 10, 2},
		"between them":       {3, 5, 0},
		"ends within one":    {0, 2, 1},
		"exactly one":        {5, 6, 1},
		"after the last one": {7, 9, 0},
	} {
		got := s.during(at(test.from), at(test.to))
		if got != time.Duration(test.want)*time.Second {
			t.Errorf("%s: there are stalls of %v, want %d s", name, got, test.want)
		}
	}
	if s.longest != 2*time.Second || s.total != 3*time.Second {
		t.Errorf("the longest is %v of %v", s.longest, s.total)
	}
}
