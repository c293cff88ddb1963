// Package fault makes the fakes of internal/demo/fake/services fail. Start serves the fakes, Of lists the faults
// of each, and SetFault gives one to a fake. An Echo is a fault that any server can have. Only tests may import
// the package.
package fault

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"herald/internal/demo/fake/services"
)

// Fault is one way in which a service fails. The zero Fault changes nothing.
type Fault struct {
	// Name is unique among the faults of a service.
	Name   string
	Effect Effect
	// Reason is what the bot tells people about the fault. "" means Nonsense.
	Reason Reason
	// Wait is how long the service asks callers to wait.
	Wait time.Duration

	serve serve // answers in place of the service; nil in the zero Fault
}

// Effect is what an honest bot can still answer during a fault. A wrong answer is never allowed.
type Effect int

const (
	// Unanswerable means that the bot can only say that it could not ask the service, or show the latest good
	// answer, marked as old.
	Unanswerable Effect = iota
	// OnePoolUnread means that the bot cannot read one pool. A wallet that stakes in another pool is still a
	// staker. Of other wallets, the bot cannot tell.
	OnePoolUnread
	// Answerable means that there is a way to the right answer, such as single calls instead of a batch. The
	// bot must take it.
	Answerable
)

// Reason is the key of the message that says why a service could not be asked.
type Reason string

const (
	Unreachable Reason = "reason.unreachable"
	Slow        Reason = "reason.slow"
	Limited     Reason = "reason.limited"
	UsedUp      Reason = "reason.used_up"
	Denied      Reason = "reason.denied"
	Rejected    Reason = "reason.rejected"
	Nonsense    Reason = "reason.malformed"
	NoData      Reason = "reason.no_data"
	Behind      Reason = "reason.behind"
	Paused      Reason = "reason.paused"
	TimedOut    Reason = "reason.timeout"
)

// Reasons lists all of them.
var Reasons = []Reason{Unreachable, Slow, Limited, UsedUp, Denied, Rejected, Nonsense, NoData, Behind, Paused, TimedOut}

// Target identifies a service that can fail, by the Name of its core.Service.
type Target string

const (
	Partner Target = "partner"
	Price   Target = "price"
	Supply  Target = "supply"
	Chain   Target = "chain"
)

// Targets lists the targets of all fakes.
var Targets = targets()

func targets() (all []Target) {
	for _, s := range services.New().Services() {
		all = append(all, Target(s.Name))
	}
	return all
}

// Answer returns a fault that answers everything with this status, content type and body.
func Answer(status int, contentType, body string) Fault {
	return Fault{Name: fmt.Sprintf("%d %s as given", status, contentType), serve: answering(status, contentType, body)}
}

// Late returns a fault that delays the right answer.
func Late(delay time.Duration) Fault {
	return Fault{Name: "right after " + delay.String(), Effect: Answerable, serve: func(x exchange) {
		x.wait(delay)
		x.service.right.ServeHTTP(x.w, x.r)
	}}
}

// LateUntil returns a fault that delays the right answer until ready is closed.
func LateUntil(ready <-chan struct{}) Fault {
	return Fault{Name: "right when told", Effect: Answerable, serve: func(x exchange) {
		select {
		case <-ready:
			x.service.right.ServeHTTP(x.w, x.r)
		case <-x.r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}}
}

// Hang returns a fault that accepts requests and never answers.
func Hang() Fault {
	return Fault{Name: "never answers", Reason: Slow, serve: func(x exchange) { x.wait(math.MaxInt64) }}
}

// Drop returns a fault that closes each connection without an answer.
func Drop() Fault {
	return Fault{Name: "closed without an answer", Reason: Unreachable, serve: func(x exchange) { x.breakOff("") }}
}
