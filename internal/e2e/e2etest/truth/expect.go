package truth

import (
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/e2e/fault"
)

// Expectation is what must be answered while a service has a fault.
type Expectation struct {
	Service fault.Target
	Fault   fault.Fault
	// Warm means that a right answer is cached and its TTL over.
	Warm bool
}

// unanswered are the reasons for faults without an answer. What an answer is taken
// for goes by its status, see byStatus.
var unanswered = map[string]Outcome{
	"closed without an answer": Unreachable,
	"reset midway":             Unreachable,
	"not HTTP":                 Unreachable,
	"never answers":            Slow,
}

var byStatus = map[int]Outcome{
	200: Nonsense, 204: Nonsense,
	401: Denied, 404: Rejected, 429: Limited,
	500: Unreachable, 502: Unreachable, 503: Unreachable,
}

// particular are the reasons for faults that only one service has, where it is
// not that its answer makes no sense.
var particular = map[fault.Target]map[string]Outcome{
	fault.Partner: {
		"signature refused":   Denied,
		"application refused": Denied,
		"code 40001":          Rejected,
	},
	fault.Price: {
		"200 with error code 1001": Denied,
		"200 with error code 1008": Limited,
		"200 with error code 1009": UsedUp,
	},
	fault.Chain: {
		"every pool reverts":    Rejected,
		"200 with error -32005": Limited,
		"lagging an hour":       Behind,
		"frozen an hour ago":    Behind,
		"another chain":         Denied,
	},
}

// asksToWait is how long a service asks callers to wait, by its fault.
var asksToWait = map[string]time.Duration{
	"429 application/json with Retry-After 2":                      2 * time.Second,
	"429 text/html with Retry-After Fri, 31 Dec 9999 23:59:59 GMT": 31 * 24 * time.Hour,
	"503 text/html with Retry-After 5":                             5 * time.Second,
	"200 with error code 1008":                                     time.Minute,
	"200 with error code 1009":                                     time.Minute, // or more, by the time of day
}

// Wait is how long the fault asks callers to wait.
func (e Expectation) Wait() time.Duration { return asksToWait[e.Fault.Name] }

// Reason is why the service could not be asked.
func (e Expectation) Reason() Outcome {
	if why, named := particular[e.Service][e.Fault.Name]; named {
		return why
	}
	if why, named := unanswered[e.Fault.Name]; named {
		return why
	}
	digits, _, _ := strings.Cut(e.Fault.Name, " ")
	if status, err := strconv.Atoi(digits); err == nil {
		return byStatus[status]
	}
	return Nonsense
}

// Class names the faults that are expected to show alike in every answer.
func (e Expectation) Class() string {
	waits := ""
	if e.Wait() > 0 {
		waits = " and asks to wait"
	}
	switch e.Fault.Effect {
	case fault.Answerable:
		return "answerable"
	case fault.OnePoolUnread:
		return "one pool unread"
	}
	return string(e.Reason()) + waits
}

// outcome is what the answer to q says of the service. More can be told of a staker
// than of others.
func (e Expectation) outcome(q Question, staker bool) Outcome {
	unread := e.Fault.Effect == fault.OnePoolUnread
	hasLast := e.Service == fault.Price || e.Service == fault.Supply
	switch {
	case e.Fault.Effect == fault.Answerable:
		return Right
	case unread && staker:
		return Partial
	case unread:
		return Undecided
	case e.Warm && hasLast:
		return Stale
	}
	return e.Reason()
}

// wantWorth adds whether the price tells what a stake is worth: not an old one.
func (e Expectation) wantWorth(want Outcomes, staker bool) {
	switch chain := want[fault.Chain]; {
	case !staker || chain != Right && chain != Partial:
	case e.Service == fault.Price && e.Fault.Effect != fault.Answerable:
		want[fault.Price] = Omitted
	default:
		want[fault.Price] = Right
	}
}

// Want is what must be said in the answer to q.
func (e Expectation) Want(q Question, staker bool) Outcomes {
	want, use := Outcomes{}, uses[q.Command]
	for i, service := range use.services {
		if service == fault.Price && q.Wallet != (common.Address{}) {
			e.wantWorth(want, staker)
			continue
		}
		want[service] = Right
		if service != e.Service {
			continue
		}
		want[service] = e.outcome(q, staker)
		if i == 0 && !use.apart && want[service] == e.Reason() {
			return Outcomes{service: want[service]}
		}
	}
	return want
}
