// Package truth is that an answer of the whole bot is right, or marked as old, or
// says that it could not be checked, whatever its services do.
package truth

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/sandbox/fault"
)

// atOnce is how many faults are tried at a time: most of a trial is waiting.
const atOnce = 16

// repeats is how often a failing service is asked again before its fault ends:
// often enough for the client to leave it alone for a while.
const repeats = 5

// failuresToPause in a row have a service left alone for a while.
const failuresToPause = 5

// shortTimeout is for faults without an end. What has one gets all the time
// that a loaded machine may need.
const (
	shortTime    = 5 * time.Second
	shortTimeout = "UPSTREAM_TIMEOUT=5s"
)

// TestTruth crosses every command with every fault of every service. Each
// answer must be the one that expectations name for it, and no other.
func TestTruth(t *testing.T) {
	t.Parallel()
	var trials errgroup.Group
	trials.SetLimit(atOnce)
	try := func(service fault.Target, f fault.Fault, name string, settings ...string) {
		trials.Go(func() error {
			t.Run(name+"/cold", func(t *testing.T) { tryCold(t, service, f, settings) })
			t.Run(name+"/warm", func(t *testing.T) { tryWarm(t, service, f, settings) })
			return nil
		})
	}
	for _, silent := range []bool{true, false} { // those that take long first
		for _, service := range fault.Targets {
			for _, f := range fault.Of(service) {
				var settings []string
				if (unanswered[f.Name] == slow) != silent {
					continue
				}
				if silent {
					settings = append(settings, shortTimeout)
				}
				try(service, f, fmt.Sprintf("%s/%s", service, f.Name), settings...)
				if service == fault.Chain {
					try(service, f, "chain by batch/"+f.Name, append(settings, "MULTICALL_ADDRESS=off")...)
				}
			}
		}
	}
	_ = trials.Wait() // trials report to t
}

// tryCold asks while nothing is cached, then ends the fault.
func tryCold(t *testing.T, service fault.Target, f fault.Fault, settings []string) {
	tr := newTrial(t, settings...)
	want := expectation{service: service, fault: f}
	tr.At(service).SetFault(f)
	// Those that ask a service twice may find it left alone.
	twice := slices.IndexFunc(tr.queries, func(q query) bool { return q.apart })
	for i, got := range tr.askAll(t, tr.queries[:twice]) {
		want.check(t, tr.queries[i], got)
	}
	for _, q := range tr.queries[twice:] {
		want.checkAfterFailures(t, q, tr.ask(t, q))
	}
	i := slices.IndexFunc(tr.queries, func(q query) bool { return q.needs(service) })
	for range repeats {
		want.checkAfterFailures(t, tr.queries[i], tr.ask(t, tr.queries[i]))
	}
	tr.recover(t, want)
}

// tryWarm asks once everything is cached, until the fault shows in the answers
// to all that need the service, then ends it.
func tryWarm(t *testing.T, service fault.Target, f fault.Fault, settings []string) {
	tr := newTrial(t, settings...)
	want := expectation{service: service, fault: f, warm: true}
	for i, got := range tr.askAll(t, tr.queries) {
		if !allRight(got) {
			t.Fatalf("%s: %v before any fault", tr.queries[i].name, got)
		}
	}
	stand := tr.At(service)
	stand.SetFault(f)
	began := time.Now()
	unpaused := failuresToPause
	if want.reason() == unreachable {
		unpaused-- // A trial has saved up two retries, of which the second comes soon.
	}
	failures := 0
	for _, q := range tr.queries {
		if !q.needs(service) {
			want.check(t, q, tr.ask(t, q))
			continue
		}
		before := stand.Requests()
		within := trialTTL + slack
		if want.reason() == slow {
			// An answer that is refreshed early stays right until that call has ended.
			within += shortTime
		}
		tr.askUntil(t, q, within, func(got outcomes) bool {
			asked := stand.Requests() != before && time.Since(began) > trialTTL
			if fromCache := allRight(got) && (!asked || !allRight(want.want(q))); fromCache {
				return q.tells(service)
			}
			if failures += q.calls(service); failures < unpaused {
				want.check(t, q, got)
			} else {
				want.checkAfterFailures(t, q, got)
			}
			return true
		})
	}
	tr.recover(t, want)
}

func allRight(got outcomes) bool {
	for _, o := range got {
		if o != right {
			return false
		}
	}
	return len(got) > 0
}

// recover ends the fault. Within a TTL what it spoiled must be right again, or
// after the time that the service asked for if that is longer. A time longer
// than a test is only seen to be kept.
func (tr *trial) recover(t *testing.T, e expectation) {
	t.Helper()
	stand := tr.At(e.service)
	stand.SetFault(fault.Fault{})
	spoiled := slices.DeleteFunc(slices.Clone(tr.queries), func(q query) bool { return !q.needs(e.service) })
	wait, long := e.wait()
	if long {
		before := stand.Requests()
		for _, q := range spoiled {
			e.checkAfterFailures(t, q, tr.ask(t, q))
		}
		if asked := stand.Requests() - before; asked != 0 {
			t.Errorf("asked %d times though it asked to wait", asked)
		}
		return
	}
	deadline := time.Now().Add(max(wait, trialTTL) + slack)
	for _, q := range spoiled {
		tr.askUntil(t, q, time.Until(deadline), func(got outcomes) bool {
			if allRight(got) {
				return true
			}
			e.checkAfterFailures(t, q, got)
			return false
		})
	}
}

// TestTrialsAskEveryCommand names the command that the truth table lacks.
func TestTrialsAskEveryCommand(t *testing.T) {
	tr := newTrial(t)
	tr.askAll(t, tr.queries)
	for _, c := range tr.bot.Router.Commands() {
		asked := slices.ContainsFunc(tr.queries, func(q query) bool { return q.command == c.Name })
		if !asked && c.Name != "help" {
			t.Errorf("no query asks /%s: add one to enquiries", c.Name)
		}
		if asked && !strings.Contains(tr.log.String(), "command="+c.Name) {
			t.Errorf("/%s is not in the log in which trials look for secrets", c.Name)
		}
	}
}
