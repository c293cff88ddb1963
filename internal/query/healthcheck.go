package query

import "context"

// HealthCheck asks a service a question that is not about a person, to find out whether the service answers. It also
// finds EndedEndpoints, so that operators learn of them.
type HealthCheck struct {
	*Upstream
	ping      func(context.Context) (Snapshot[any], error)
	findEnded FindEnded
}

// FindEnded finds the endpoints that the service has ended, in the result of a Ping: its answer or its error.
type FindEnded func(answer any, err error) []EndedEndpoint

// EndedEndpoint is an endpoint that a service no longer has, such as an old version of its API. Another endpoint is
// called in its place.
type EndedEndpoint struct {
	// Path is the path of the ended endpoint, and Replacement the path that is called in its place.
	Path, Replacement string
	// State is how the last call of the replacement ended.
	State ReplacementState
	// Status is the replacement's HTTP status if it refuses calls, and 0 otherwise.
	Status int
}

// ReplacementState is whether the replacement of an EndedEndpoint works.
type ReplacementState int

const (
	// ReplacementWorks: it answers.
	ReplacementWorks ReplacementState = iota
	// ReplacementRefuses: it answers with an HTTP status that is a failure.
	ReplacementRefuses
	// ReplacementBroken: it does not give a valid answer.
	ReplacementBroken
)

// NewHealthCheck returns a HealthCheck that asks source. It has no EndedEndpoints; WithEnded sets how to find them.
func NewHealthCheck[V any](u *Upstream, source Source[struct{}, V]) HealthCheck {
	ping := func(ctx context.Context) (Snapshot[any], error) {
		s, err := source.Get(ctx, struct{}{})
		return Snapshot[any]{Value: s.Value, At: s.At, Stale: s.Stale, Why: s.Why}, err
	}
	findNone := func(any, error) []EndedEndpoint { return nil }
	return HealthCheck{Upstream: u, ping: ping, findEnded: findNone}
}

// WithEnded returns a copy of c that finds its EndedEndpoints with find.
func (c HealthCheck) WithEnded(find FindEnded) HealthCheck {
	c.findEnded = find
	return c
}

// Ping asks the question. It blocks as Source.Get does.
func (c HealthCheck) Ping(ctx context.Context) (Snapshot[any], error) { return c.ping(ctx) }

// EndedEndpoints returns the endpoints that the service has ended, as the result of Ping shows.
func (c HealthCheck) EndedEndpoints(answer any, err error) []EndedEndpoint {
	return c.findEnded(answer, err)
}
