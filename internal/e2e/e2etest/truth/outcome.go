package truth

import (
	"strings"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// Outcome is what an answer says about one service's part in it: one of the constants, or a fault.Reason.
// An honest answer has no other outcome.
type Outcome string

const (
	Right Outcome = "right"
	Stale Outcome = "right and marked old"
	// Partial says that a wallet stakes, and that some pools are unread.
	Partial Outcome = "right as far as could be read"
	// Undecided says that the wallet stakes nothing in the pools that could be read.
	Undecided Outcome = "cannot be told from the pools that could be read"
	// Omitted leaves out the value of a stake, or the total of all stakes.
	Omitted Outcome = "left out"
)

// Outcomes is what an answer says about each service.
type Outcomes map[fault.Target]Outcome

// All reports whether there are outcomes, and every one is want.
func (o Outcomes) All(want Outcome) bool {
	for _, got := range o {
		if got != want {
			return false
		}
	}
	return len(o) > 0
}

var table = commands.All(commandstest.Healthy().Sources(), commands.Options{})

// Uses returns the services that a command needs if its wallet stakes. If the first is unavailable, there is
// no answer, except to /verify. If another one is, the answer leaves something out. Uses panics if the
// command is not in the table.
func Uses(command string) (services []fault.Target) {
	c, known := table.Find(command)
	if !known {
		panic("/" + command + " is not in the table of tests: add its source to Sources, in commands/commandstest/answers.go")
	}
	for _, name := range c.Asks {
		services = append(services, fault.Target(name))
	}
	return services
}

// Texts about a service that is not asked now, with their outcomes, by service. The outcome is "" if there
// is no fault.Reason for it.
var (
	// reasons say why there is no answer, as in "The price provider can't be reached. Try again in a minute."
	reasons = map[fault.Target]map[string]Outcome{}
	// overdueReasons say why an answer is not newer, as in "The price provider isn't answering".
	overdueReasons = map[fault.Target]map[string]Outcome{}
)

func init() {
	overdueKeys := map[string]fault.Reason{
		"why.silent":    fault.Unreachable,
		"why.limited":   fault.Limited,
		"why.no_data":   fault.NoData,
		"why.wrong":     fault.Nonsense,
		"why.refused":   fault.Denied,
		"why.unchanged": "",
	}
	for _, service := range fault.Targets {
		reasons[service], overdueReasons[service] = map[string]Outcome{}, map[string]Outcome{}
		name := chat.Values{"service": chat.Say("service." + string(service))}
		for _, reason := range fault.Reasons {
			reasons[service][e2etest.Say(string(reason), name)] = Outcome(reason)
		}
		for key, reason := range overdueKeys {
			overdueReasons[service][e2etest.Say(key, name)] = Outcome(reason)
		}
	}
	// Only the price provider has a plan with credits.
	overdueReasons[fault.Price][e2etest.Say("why.used_up", nil)] = Outcome(fault.UsedUp)
	overdueReasons[fault.Price][e2etest.Say("why.no_credit", nil)] = ""
	reasons[fault.Price][e2etest.Say("reason.no_credit", nil)] = "reason.no_credit"
}

// nextRequest begins the sentence that says when a service will be asked again.
const nextRequest = ". Next request "

// overdueReason returns the outcome of a text that says why a service's answer is not newer. The text may
// end with nextRequest and a time. known is false for any other text.
func overdueReason(text string, service fault.Target) (o Outcome, known bool) {
	text, _, _ = strings.Cut(text, nextRequest)
	o, known = overdueReasons[service][text]
	return o, known
}

// reason returns the outcome of a text that says why a service could not be asked.
func reason(text string, service fault.Target) (Outcome, error) {
	if o, known := reasons[service][text]; known {
		return o, nil
	}
	if o, known := overdueReason(text, service); known && strings.Contains(text, nextRequest) {
		return o, nil
	}
	return "", wrong("%q is no reason of the %s service", text, service)
}
