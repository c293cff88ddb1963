package truth

import (
	"slices"
	"testing"
	"time"

	"herald/internal/sandbox/fault"
)

// TestASlowNodeIsWaitedForInEveryWay has two calls, one after the other, take
// longer than UPSTREAM_TIMEOUT, which bounds each of them alone.
func TestASlowNodeIsWaitedForInEveryWay(t *testing.T) {
	t.Parallel()
	const delay, limit = 4 * time.Second, "UPSTREAM_TIMEOUT=7s"
	noBatch := findFault(t, fault.Chain, "batch answered by one error").After(delay)
	for name, test := range map[string]struct {
		fault    fault.Fault
		settings []string
		requests int64
	}{
		"multicall":                    {fault.Late(delay), nil, 1},
		"multicall, then batch":        {findFault(t, fault.Chain, "no multicall").After(delay), nil, 3},
		"multicall, batch, one by one": {noBatch, nil, 3 + 43},
		"batch":                        {fault.Late(delay), []string{"MULTICALL_ADDRESS=off"}, 2},
		"batch, then one by one":       {noBatch, []string{"MULTICALL_ADDRESS=off"}, 2 + 43},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, append(test.settings, limit, "COMMAND_TIMEOUT=2m")...)
			tr.Chain.SetFault(test.fault)
			i := slices.IndexFunc(tr.queries, func(q query) bool { return q.needs(fault.Chain) })
			if got := tr.ask(t, tr.queries[i]); !allRight(got) {
				t.Errorf("%s: %v", tr.queries[i].name, got)
			}
			if n := tr.Chain.Requests(); n != test.requests {
				t.Errorf("it took %d requests, want %d", n, test.requests)
			}
		})
	}
}

// TestTheFirstStakeTakesOneRequest is with nothing known of the node.
func TestTheFirstStakeTakesOneRequest(t *testing.T) {
	tr := newTrial(t)
	i := slices.IndexFunc(tr.queries, func(q query) bool { return q.needs(fault.Chain) })
	if got := tr.ask(t, tr.queries[i]); !allRight(got) {
		t.Errorf("%s: %v", tr.queries[i].name, got)
	}
	if n := tr.Chain.Requests(); n != 1 {
		t.Errorf("it took %d requests, want 1", n)
	}
}
