package core

import (
	"fmt"
	"time"
)

// Service names one of the services that Herald asks, in logs and metrics.
type Service string

// The services.
const (
	Partner     Service = "partner"
	Price       Service = "price"
	TokenSupply Service = "supply"
	Chain       Service = "chain"
)

// Reason is why a service did not answer a question.
type Reason string

// The reasons.
const (
	// Unreachable: no connection, one that broke, or a 5xx.
	Unreachable Reason = "unreachable"
	// SlowAnswer: no whole answer within the time limit.
	SlowAnswer Reason = "slow"
	// Limited: the service asks to be asked less (429 and the like).
	Limited Reason = "limited"
	// Denied: it refuses the credentials or the signature. Only an operator
	// can mend it.
	Denied Reason = "denied"
	// Rejected: it understood and answered with an error of its own.
	Rejected Reason = "rejected"
	// Malformed: it answered what is no answer: HTML, a wrong type, an
	// impossible number.
	Malformed Reason = "malformed"
	// Paused: it was not asked, because it has just failed repeatedly or too
	// many calls to it are under way.
	Paused Reason = "paused"
)

// Error is how every source fails. Err says what was attempted and never holds
// a URL's path or query, a secret, personal data, or text of the service.
type Error struct {
	Service Service
	Reason  Reason
	// RetryAfter is how long the service asked to be left alone; 0 if it did
	// not say.
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Service, e.Reason, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// InvalidError says what is wrong with something a person typed: a whole
// sentence for that person, which never repeats what they typed.
type InvalidError struct{ Problem string }

func (e *InvalidError) Error() string { return "invalid: " + e.Problem }

func invalidf(format string, args ...any) error {
	return &InvalidError{fmt.Sprintf(format, args...)}
}
