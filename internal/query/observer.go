package query

import (
	"time"

	"herald/internal/core"
)

// Observer counts calls and lookups. Its methods must not block.
type Observer interface {
	// Call reports a call to a service.
	Call(service *core.Service, result CallResult, took time.Duration)
	// Lookup reports how Query.Get ended. age is the age of the answer, and 0 if the lookup Failed.
	Lookup(question string, result LookupResult, age time.Duration)
}

// CallResult is how a call to a service ended: Succeeded, or the core.Reason of its failure.
type CallResult string

// Succeeded is the CallResult of a call that the service answered.
const Succeeded CallResult = "ok"

// LookupResult is how a lookup ended.
type LookupResult string

const (
	// Hit means that the Cache had an answer that is fresh or held.
	Hit LookupResult = "hit"
	// Miss means that the answer came from the service or from another replica.
	Miss LookupResult = "miss"
	// Stale means that the answer is a stand-in.
	Stale LookupResult = "stale"
	// Failed means that there was no answer.
	Failed LookupResult = "failed"
)
