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

// Want returns what the answer to q must say about each service. staker is whether q's wallet stakes.
func (e Expectation) Want(q Question, staker bool) Outcomes {
	want := Outcomes{}
	for i, service := range Uses(q.Command) {
		isForWorth := service == fault.Price && q.Wallet != (common.Address{})
		if isForWorth {
			e.wantWorth(want, staker)
			continue
		}
		want[service] = Right
		if service != e.Service {
			continue
		}
		want[service] = e.outcome(q, staker)
		isUnanswered := i == 0 && q.Command != "verify" && want[service] == e.Reason()
		if isUnanswered {
			return Outcomes{service: want[service]}
		}
	}
	return want
}

// Reason returns why the service could not be asked.
func (e Expectation) Reason() Outcome { return Outcome(cmp.Or(e.Fault.Reason, fault.Nonsense)) }

// outcome returns what the answer to q must say about the service that has the fault.
func (e Expectation) outcome(q Question, staker bool) Outcome {
	if q.Command == "supply" && e.Service == fault.Chain && e.Fault.Effect != fault.Answerable {
		return Omitted
	}
	canShowOld := e.Warm && slices.Contains(commandstest.MayBeOld, string(e.Service))
	switch {
	case e.Fault.Effect == fault.Answerable:
		return Right
	case e.Fault.Effect == fault.OnePoolUnread && staker:
		return Partial
	case e.Fault.Effect == fault.OnePoolUnread:
		return Undecided
	case canShowOld && e.Fault.Reason == fault.UsedUp:
		return Right // until the quote is old by its own date
	case canShowOld:
		return Stale
	}
	return e.Reason()
}

// wantWorth adds to want what the answer must say about the price, which it needs to value a stake. It
// needs no price if there is no stake to value. An expired price may still be used.
func (e Expectation) wantWorth(want Outcomes, staker bool) {
	isStakeShown := want[fault.Chain] == Right || want[fault.Chain] == Partial
	if !staker || !isStakeShown {
		return
	}
	want[fault.Price] = Right
	if e.Service == fault.Price && e.Fault.Effect != fault.Answerable && !e.Warm {
		want[fault.Price] = Omitted
	}
}
