package core

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Service describes a service that Herald asks. Each is declared once, in its own
// package.
type Service struct {
	// Name stands in logs and metrics, as in "price". Members read the message
	// "service." and Name of package words.
	Name string
	// Title stands in the table of `bot check`: "price provider".
	Title string
	// Settings are the ones to look at when the service fails for a reason; "" is
	// every reason that is not listed.
	Settings map[Reason]string
}

// SettingsFor are the settings to look at when the service fails for reason.
func (s *Service) SettingsFor(reason Reason) string {
	return cmp.Or(s.Settings[reason], s.Settings[""])
}

// Fail returns the error of a service that failed for reason.
func (s *Service) Fail(reason Reason, err error) *Error {
	return &Error{Service: s, Reason: reason, Err: err}
}

// Reason is why a service did not answer a question.
type Reason string

// The reasons.
const (
	// Unreachable: no connection, one that broke, or a 5xx.
	Unreachable Reason = "unreachable"
	// SlowAnswer: no whole answer within the time limit.
	SlowAnswer Reason = "slow"
	// Limited: the service asks for fewer calls (429 and the like).
	Limited Reason = "limited"
	// UsedUp: it answers no more calls until the limit of a day or a month is
	// reset.
	UsedUp Reason = "used_up"
	// NoCredit: it was not called. The calls that it allows are spread over the
	// month, and the next one is not due yet.
	NoCredit Reason = "no_credit"
	// Denied: it refuses the credentials or the signature, or it is not the service
	// that was configured. Only an operator can fix that.
	Denied Reason = "denied"
	// Rejected: it understood and answered with an error of its own.
	Rejected Reason = "rejected"
	// Malformed: it sent something else than an answer: HTML, a wrong type, an
	// impossible number.
	Malformed Reason = "malformed"
	// Behind: what it knows is too old, as with a node that is frozen or catching
	// up.
	Behind Reason = "behind"
	// Paused: it was not called. It has just failed repeatedly, or too many calls
	// are in flight.
	Paused Reason = "paused"
)

// Reasons are all of them.
func Reasons() []Reason {
	return []Reason{Unreachable, SlowAnswer, Limited, UsedUp, NoCredit, Denied, Rejected, Malformed, Behind, Paused}
}

// Error is how every service fails. Err says what was attempted and never holds
// a URL's path or query, a secret, personal data, or text of the service.
type Error struct {
	Service *Service
	Reason  Reason
	// RetryAfter is how long the service asked to wait, or how long it is not
	// called; 0 if that is not known.
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Service.Name, e.Reason, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// ReasonOf is the Reason of the first *Error in err, or "" without one.
func ReasonOf(err error) Reason {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Reason
	}
	return ""
}

// During returns a copy of e that says what was attempted.
func (e *Error) During(attempt string) *Error {
	failed := *e
	failed.Err = fmt.Errorf("%s: %w", attempt, e.Err)
	return &failed
}

// InvalidError says what is wrong with something a person typed, without
// repeating it.
type InvalidError struct {
	Flaw Flaw
	// Platform and Example, of an ID: whose IDs have another form, and one of them.
	// Platform, of a wallet: the chain that it is on instead.
	Platform, Example string
	// Length, of a wallet, is how many bytes were typed.
	Length int
}

func (e *InvalidError) Error() string { return "invalid: " + string(e.Flaw) }

// Flaw is what is wrong with something a person typed. Members read the message
// "invalid." and Flaw of package words.
type Flaw string

// The flaws of a platform's name and of a wallet.
const (
	UnknownPlatform Flaw = "platform"
	// HiddenCharacters: characters that no address has, perhaps invisible ones.
	HiddenCharacters Flaw = "wallet.hidden"
	// NameForAddress: a name, such as an ENS name.
	NameForAddress Flaw = "wallet.name"
	// AnotherChain: an address of a chain without the EVM.
	AnotherChain  Flaw = "wallet.chain"
	NoPrefix      Flaw = "wallet.prefix"
	WrongLength   Flaw = "wallet.length"
	WrongDigits   Flaw = "wallet.digits"
	WrongChecksum Flaw = "wallet.checksum"
)

// Flaws are all of them: those above, and one for each form of an ID.
func Flaws() []Flaw {
	flaws := []Flaw{UnknownPlatform, HiddenCharacters, NameForAddress, AnotherChain,
		NoPrefix, WrongLength, WrongDigits, WrongChecksum}
	for _, r := range platformRules {
		flaws = append(flaws, r.flaw)
	}
	return flaws
}
