//go:build soak

package soak

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// shown bounds how many faults of each kind are told in full.
const shown = 10

// tally counts what became of the questions. It may be used by many
// goroutines.
type tally struct {
	mu       sync.Mutex
	asked    map[string]int // by platform
	verdicts map[verdict]int
	// doubled, lost and leaked must stay 0. unclear are answers that never
	// arrived and may not be sent again, repeated those that arrived more than
	// once because it was unclear whether they had.
	doubled, lost, leaked, unclear, repeated int
	found                                    map[string][]string
}

func newTally() *tally {
	return &tally{asked: map[string]int{}, verdicts: map[verdict]int{}, found: map[string][]string{}}
}

func (t *tally) ask(platform string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked[platform]++
}

// answer judges one.
func (t *tally) answer(q *question, lines []string) {
	v, err := q.judge(lines)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.verdicts[v]++
	if err != nil {
		t.note("wrong", fmt.Sprintf("%v: %v: %q", q, err, lines))
	}
}

func (t *tally) double(what any) { t.count(&t.doubled, "doubled", what) }
func (t *tally) lose(what any)   { t.count(&t.lost, "lost", what) }
func (t *tally) leak(what any)   { t.count(&t.leaked, "leaked", what) }
func (t *tally) unsure(what any) { t.count(&t.unclear, "unclear", what) }
func (t *tally) repeat(what any) { t.count(&t.repeated, "repeated", what) }

func (t *tally) count(n *int, kind string, what any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*n++
	t.note(kind, fmt.Sprint(what))
}

// note keeps the first of a kind, with t.mu held.
func (t *tally) note(kind, what string) {
	if len(t.found[kind]) < shown {
		what = what[:min(len(what), 1000)]
		t.found[kind] = append(t.found[kind], time.Now().Format(time.TimeOnly)+" "+what)
	}
}

func (t *tally) bad() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.verdicts[untrue]+t.doubled+t.lost+t.leaked > 0
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	total, answers := 0, 0
	for _, n := range t.asked {
		total += n
	}
	for _, n := range t.verdicts {
		answers += n
	}
	return fmt.Sprintf("commands %d (telegram %d, discord %d)  answers %d: right %d, old %d, could not be checked %d, refused input %d\n"+
		"wrong %d  lost %d  doubled %d  repeated %d  unclear %d  leaks %d",
		total, t.asked["Telegram"], t.asked["Discord"], answers,
		t.verdicts[asItIs], t.verdicts[markedOld], t.verdicts[unchecked], t.verdicts[refused],
		t.verdicts[untrue], t.lost, t.doubled, t.repeated, t.unclear, t.leaked)
}

// details are the first of what was found of each kind.
func (t *tally) details() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(t.found)) {
		for _, what := range t.found[kind] {
			fmt.Fprintf(&b, "%s: %s\n", kind, what)
		}
	}
	return b.String()
}

// figures are what the process uses, the fakes and the sandbox included.
type figures struct {
	goroutines int
	heap, rss  uint64 // bytes
}

// measure collects the garbage first.
func measure() figures {
	runtime.GC()
	runtime.GC()
	return glance()
}

func glance() figures {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return figures{goroutines: runtime.NumGoroutine(), heap: m.HeapInuse, rss: residentSet()}
}

// residentSet is 0 where the system does not tell.
func residentSet() uint64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident uint64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		return 0
	}
	return resident * uint64(os.Getpagesize())
}

func (f figures) String() string {
	return fmt.Sprintf("goroutines %d, heap in use %.1f MiB, RSS %.1f MiB", f.goroutines, mib(f.heap), mib(f.rss))
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// The most that may be more at the end than after the warm-up. The heap may
// hold what the bot keeps by design: it remembers each of Discord's
// interactions for a day, 108,000 at most. An idle connection has three
// goroutines, the fake's included, and a burst at the end leaves up to 128 to
// each platform.
const (
	moreGoroutines  = 400
	moreHeap        = 16 << 20
	heapInteraction = 400
	mostRemembered  = 108000
)

// grown returns an error for what is beyond the bound.
func (f figures) grown(since figures, interactions int) error {
	heap := since.heap + moreHeap + heapInteraction*uint64(min(interactions, mostRemembered))
	if f.goroutines > since.goroutines+moreGoroutines || f.heap > heap {
		return fmt.Errorf("more than %d goroutines or %.1f MiB of heap", since.goroutines+moreGoroutines, mib(heap))
	}
	return nil
}
