package truth

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"herald/internal/sandbox/fault"
)

// expectation is what must be answered while a service has a fault.
type expectation struct {
	service fault.Target
	fault   fault.Fault
	// warm is once a right answer is cached and its TTL over.
	warm bool
}

// unanswered are the reasons for faults without an answer. What an answer is taken
// for goes by its status, see byStatus.
var unanswered = map[string]outcome{
	"connection refused":       unreachable,
	"closed without an answer": unreachable,
	"reset without an answer":  unreachable,
	"closed midway":            unreachable,
	"reset midway":             unreachable,
	"not HTTP":                 unreachable,
	"never answers":            slow,
	"a byte a second":          slow,
	"redirect 302":             nonsense,
	"redirect 307":             nonsense,
}

var byStatus = map[int]outcome{
	200: nonsense, 204: nonsense,
	401: denied, 403: denied, 404: rejected, 429: limited,
	500: unreachable, 502: unreachable, 503: unreachable, 504: unreachable,
}

// particular are the reasons for faults that only one service has, where it is
// not that its answer makes no sense.
var particular = map[fault.Target]map[string]outcome{
	fault.Partner: {
		"signature refused":   denied,
		"application refused": denied,
		"code 40001":          rejected,
		`code "40001"`:        rejected,
		"code -1":             rejected,
		"code 1e400":          rejected,
	},
	fault.Price: {
		"200 with error code 1001":   denied,
		`200 with error code "1001"`: denied,
		"200 with error code 1008":   limited,
		"200 with error code 1009":   usedUp,
		"200 with error code 1010":   usedUp,
		"200 with error code 1011":   limited,
	},
	fault.Chain: {
		"every pool reverts":    rejected,
		"200 with error -32005": limited,
		"lagging an hour":       behind,
		"frozen an hour ago":    behind,
	},
}

// asksToWait is how long a service asks callers to wait, by its fault.
var asksToWait = map[string]time.Duration{
	"429 application/json with Retry-After 2":                      2 * time.Second,
	"429 text/html with Retry-After Fri, 31 Dec 9999 23:59:59 GMT": 31 * 24 * time.Hour,
	"503 text/html with Retry-After 5":                             5 * time.Second,
	"200 with error code 1008":                                     time.Minute,
	"200 with error code 1009":                                     time.Minute, // or more, by the time of day
	"200 with error code 1010":                                     time.Minute, // or more, by the day of the month
	"200 with error code 1011":                                     time.Minute,
}

// longestWait is what a trial waits for.
const longestWait = 5 * time.Second

// wait is how long the fault asks callers to wait, and whether that is longer
// than a trial lasts.
func (e expectation) wait() (d time.Duration, long bool) {
	d = asksToWait[e.fault.Name]
	return d, d > longestWait
}

// reason is why the service could not be asked.
func (e expectation) reason() outcome {
	if why, named := particular[e.service][e.fault.Name]; named {
		return why
	}
	if why, named := unanswered[e.fault.Name]; named {
		return why
	}
	digits, _, _ := strings.Cut(e.fault.Name, " ")
	if status, err := strconv.Atoi(digits); err == nil {
		return byStatus[status]
	}
	return nonsense
}

// outcome is that of the service in the answer to q.
func (e expectation) outcome(q query) outcome {
	last := e.service == fault.Price || e.service == fault.Supply
	switch {
	case e.fault.Name == "batch answers without results":
		// Single calls would tell. A node that is so much at odds with itself
		// is not trusted with them.
		return nonsense
	case e.fault.Effect == fault.Answerable:
		return right
	case e.fault.Effect == fault.OnePoolUnread && q.staker:
		return partial
	case e.fault.Effect == fault.OnePoolUnread:
		return undecided
	case e.warm && last && !q.tells(e.service):
		return stale
	}
	return e.reason()
}

// want is the whole answer to q.
func (e expectation) want(q query) outcomes {
	want := outcomes{}
	for i, service := range q.uses {
		want[service] = right
		if service != e.service {
			continue
		}
		want[service] = e.outcome(q)
		if answered := want[service] != e.reason(); i == 0 && !answered && !q.apart {
			return outcomes{service: want[service]}
		}
	}
	return want
}

// check compares an answer with the one that is expected.
func (e expectation) check(t *testing.T, q query, got outcomes) {
	t.Helper()
	if want := e.want(q); !maps.Equal(got, want) {
		t.Errorf("%s: the answer is %v, want %v", q.name, got, want)
	}
}

// checkAfterFailures is check for a service that has failed repeatedly, or may be
// well again.
func (e expectation) checkAfterFailures(t *testing.T, q query, got outcomes) {
	t.Helper()
	if got[e.service] == paused && e.want(q)[e.service] == e.reason() {
		return
	}
	e.check(t, q, got)
}
