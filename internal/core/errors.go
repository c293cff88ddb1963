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
	// Title stands in the table of `bot check`, as in "price provider".
	Title string
	// Settings names the settings to check, by the reason of the failure; "" stands for
	// all other reasons.
	Settings map[Reason]string
}

// SettingsFor returns the settings to check when the service fails for reason.
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
	// UsedUp: it answers no more calls until the limit of a day or a month is reset. The
	// Budget may know that without a call.
	UsedUp Reason = "used_up"
	// NoCredit: it was not called. Its plan's calls are spread over the month, and the
	// next one is not due yet.
	NoCredit Reason = "no_credit"
	// Denied: it refuses the credentials or the signature, or is another service than
	// configured. Only an operator can fix that.
	Denied Reason = "denied"
	// Rejected: it understood and answered with an error of its own.
	Rejected Reason = "rejected"
	// Malformed: it sent no valid answer, but HTML, a wrong type, or an impossible number.
	Malformed Reason = "malformed"
	// NoData: it has no figure for what was asked.
	NoData Reason = "no_data"
	// Behind: its data is too old, as on a node that is frozen or catching up.
	Behind Reason = "behind"
	// Paused: it was not called, because too many calls are in flight.
	Paused Reason = "paused"
)

// Error is the error of every service. Err says what was attempted. It never holds a URL's
// path or query, a secret, personal data, or text of the service.
type Error struct {
	Service *Service
	Reason  Reason
	// RetryAfter is the wait that the service asked for, or the rest of a pause; 0: unknown.
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Service.Name, e.Reason, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the Reason of the first *Error in err, or "" without one.
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

// InvalidError says what is wrong with a person's input, without repeating the input.
type InvalidError struct {
	Flaw Flaw
	// Platform is the platform of an invalid ID, or the chain of an address that is not
	// on an EVM chain.
	Platform string
	// Example is a valid ID of Platform; empty for a wallet.
	Example string
	// Length is the length of an invalid wallet, in bytes.
	Length int
}

func (e *InvalidError) Error() string { return "invalid: " + string(e.Flaw) }

// Flaw is what is wrong with a person's input. Members read the message "invalid." + Flaw
// of package words.
type Flaw string

// The flaws of a platform's name and of a wallet. Those of an ID stand in platformRules.
const (
	UnknownPlatform Flaw = "platform"
	// HiddenCharacters: white space, invisible or non-ASCII characters.
	HiddenCharacters Flaw = "wallet.hidden"
	// NameForAddress: a name, such as an ENS name.
	NameForAddress Flaw = "wallet.name"
	// AnotherChain: an address of a chain without the EVM.
	AnotherChain  Flaw = "wallet.chain"
	NoPrefix      Flaw = "wallet.prefix"
	WrongLength   Flaw = "wallet.length"
	WrongDigits   Flaw = "wallet.digits"
	WrongChecksum Flaw = "wallet.checksum"
	// SeveralWallets: more than one address.
	SeveralWallets Flaw = "wallet.several"
	// Transaction: the hash of a transaction, or another number of 32 bytes.
	Transaction Flaw = "wallet.transaction"
)
