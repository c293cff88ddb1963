package truth

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"herald/internal/sandbox"
	"herald/internal/sandbox/fault"
)

const (
	// randomFor is how long faults are drawn.
	randomFor = 5 * time.Second
	// worldsAtOnce are so many worlds at a time: most of what happens is waiting.
	worldsAtOnce = 12
)

// TestTruthUnderAnyFaults draws faults, ends and questions in any order. Every
// answer is right, or marked old with the right value, or could not be
// checked; and it is right if the service has not failed yet, or was only too
// slow on a loaded machine.
func TestTruthUnderAnyFaults(t *testing.T) {
	t.Parallel()
	deadline := time.Now().Add(randomFor)
	var worlds atomic.Int64
	var living sync.WaitGroup
	for i := range worldsAtOnce {
		living.Go(func() {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				var failed atomic.Bool // then go on, for the shortest way to it
				rapid.Check(t, func(t *rapid.T) {
					if time.Now().After(deadline) && !failed.Load() {
						return
					}
					defer func() { failed.CompareAndSwap(false, t.Failed()) }()
					worlds.Add(1)
					tryWorld(t)
				})
			})
		})
	}
	living.Wait()
	if n := worlds.Load(); n < worldsAtOnce {
		t.Errorf("only %d worlds", n)
	}
	t.Logf("%d worlds", worlds.Load())
}

// tryWorld is one world and what happens in it.
func tryWorld(t *rapid.T) {
	multicall := rapid.SampledFrom([]string{"MULTICALL_ADDRESS=off", "MULTICALL_ADDRESS=" + sandbox.MulticallAddress.Hex()})
	tr := newTrial(t, multicall.Draw(t, "multicall"), "UPSTREAM_TIMEOUT=500ms")
	failed := map[fault.Target]bool{}
	service := rapid.SampledFrom(fault.Targets)
	askAny := func(t *rapid.T) {
		several := rapid.SliceOfNDistinct(rapid.IntRange(0, len(tr.queries)-1), 1, 4, rapid.ID)
		tr.askSome(t, several.Draw(t, "enquiries"), failed)
	}
	t.Repeat(map[string]func(*rapid.T){
		"fail": func(t *rapid.T) {
			s := service.Draw(t, "service")
			f := faultOf(s).Draw(t, "fault")
			failed[s] = true
			tr.At(s).SetFault(f.Fault)
			askAny(t)
		},
		"end":       func(t *rapid.T) { tr.At(service.Draw(t, "service")).SetFault(fault.Fault{}) },
		"ask":       askAny,
		"ask again": askAny,
		"wait a TTL": func(t *rapid.T) {
			select {
			case <-time.After(trialTTL):
			case <-t.Context().Done():
			}
		},
	})
}

// named is a fault that is drawn, and shown, by its name.
type named struct{ fault.Fault }

func (n named) String() string   { return n.Name }
func (n named) GoString() string { return fmt.Sprintf("%q", n.Name) }

func faultOf(s fault.Target) *rapid.Generator[named] {
	var all []named
	for _, f := range fault.Of(s) {
		all = append(all, named{f})
	}
	return rapid.SampledFrom(all)
}

// slowOutcomes are the outcomes of a service without a fault on a loaded
// machine, where even a connection may take longer than a call.
var slowOutcomes = []outcome{right, stale, slow, unreachable, paused}

// askSome puts some of the queries at once.
func (tr *trial) askSome(t *rapid.T, which []int, failed map[fault.Target]bool) {
	t.Helper()
	var askers sync.WaitGroup
	for _, i := range which {
		askers.Go(func() {
			q := tr.queries[i]
			got := tr.ask(t, q)
			for service, o := range got {
				if !failed[service] && !slices.Contains(slowOutcomes, o) {
					t.Errorf("%s: %v, and %s has not failed", q.name, got, service)
				}
			}
		})
	}
	askers.Wait()
}
