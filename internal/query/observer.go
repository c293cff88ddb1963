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
	// Hit is an answer from the Cache that is fresh or held.
	Hit LookupResult = "hit"
	// Miss is a new answer of the service, or of another replica.
	Miss LookupResult = "miss"
	// Stale is an old answer, because there is no newer one.
	Stale LookupResult = "stale"
	// Failed is no answer.
	Failed LookupResult = "failed"
)
