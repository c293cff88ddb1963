package truth

import (
	"cmp"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands/commandstest"
	"herald/internal/e2e/fault"
)

// Expectation computes what the bot must answer while a service has a fault.
type Expectation struct {
	Service fault.Target
	Fault   fault.Fault
	// Warm means that a correct answer is cached, and has expired.
	Warm bool
}

// Reason returns why the service could not be asked.
func (e Expectation) Reason() Outcome { return Outcome(cmp.Or(e.Fault.Reason, fault.Nonsense)) }

// outcome returns what the answer to q must say about the service. It depends on whether the wallet stakes.
func (e Expectation) outcome(q Question, staker bool) Outcome {
	unread := e.Fault.Effect == fault.OnePoolUnread
	if q.Command == "supply" && e.Service == fault.Chain && e.Fault.Effect != fault.Answerable {
		return Omitted
	}
	hasLast := slices.Contains(commandstest.MayBeOld, string(e.Service))
	switch {
	case e.Fault.Effect == fault.Answerable:
		return Right
	case unread && staker:
		return Partial
	case unread:
		return Undecided
	case e.Warm && hasLast && e.Fault.Reason == fault.UsedUp:
		return Right // until the quote is old by its own date
	case e.Warm && hasLast:
		return Stale
	}
	return e.Reason()
}

// wantWorth adds to want whether the value of a stake is shown. The latest price is used for a while.
func (e Expectation) wantWorth(want Outcomes, staker bool) {
	switch chain := want[fault.Chain]; {
	case !staker || chain != Right && chain != Partial:
	case e.Service == fault.Price && e.Fault.Effect != fault.Answerable && !e.Warm:
		want[fault.Price] = Omitted
	default:
		want[fault.Price] = Right
	}
}

// Want returns what the answer to q must say about each service.
func (e Expectation) Want(q Question, staker bool) Outcomes {
	want := Outcomes{}
	for i, service := range Uses(q.Command) {
		if service == fault.Price && q.Wallet != (common.Address{}) {
			e.wantWorth(want, staker)
			continue
		}
		want[service] = Right
		if service != e.Service {
			continue
		}
		want[service] = e.outcome(q, staker)
		if i == 0 && q.Command != "verify" && want[service] == e.Reason() {
			return Outcomes{service: want[service]}
		}
	}
	return want
}
