package core

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Service describes a service that Herald calls. Each is declared once, in its own package.
type Service struct {
	// Name identifies the service in logs and metrics, for example "price". Members see the message "service."+Name of
	// package words instead.
	Name string
	// Title is the name of the service in the table of `bot check`, for example "price provider".
	Title string
	// Settings names the settings to check, by the reason of a failure. The key "" stands for all other reasons. For
	// example, {Denied: "PRICE_API_KEY", "": "PRICE_API_URL"}.
	Settings map[Reason]string
}

// SettingsFor returns the settings to check when the service fails for reason.
func (s *Service) SettingsFor(reason Reason) string {
	return cmp.Or(s.Settings[reason], s.Settings[""])
}

// Fail returns the error of a service that failed for reason. err must meet the contract of Error.Err.
func (s *Service) Fail(reason Reason, err error) *Error {
	return &Error{Service: s, Reason: reason, Err: err}
}

// Reason is why a service did not answer a question.
type Reason string

const (
	// Unreachable: there was no connection, the connection broke, or the status was a 5xx.
	Unreachable Reason = "unreachable"
	// SlowAnswer: the service did not send a complete answer within the time limit.
	SlowAnswer Reason = "slow"
	// Limited: the service asks for fewer calls, for example with status 429.
	Limited Reason = "limited"
	// UsedUp: the service refuses calls until its limit per day or month is reset. A query.Budget may know that without a
	// call.
	UsedUp Reason = "used_up"
	// NoCredit: Herald did not call the service, because Herald's own query.Budget has no call due yet. The Budget spreads
	// the calls of a plan over the month.
	NoCredit Reason = "no_credit"
	// Denied: the service refuses Herald's credentials or signature, or is another service than configured, such as a node
	// of another chain. Only an operator can fix that.
	Denied Reason = "denied"
	// Rejected: the service understood the question, and answered with an error of its own.
	Rejected Reason = "rejected"
	// Malformed: the answer is not valid. It is HTML, or holds a wrong type or an impossible number.
	Malformed Reason = "malformed"
	// NoData: the service does not have the figure that was asked for.
	NoData Reason = "no_data"
	// Behind: the service's data is too old, as on a node that is frozen or catching up.
	Behind Reason = "behind"
	// Paused: the service was not called, because too many calls are in flight.
	Paused Reason = "paused"
)

// Error is returned if a service fails. Its text never contains the path or the query of a URL, a secret, personal
// data, or text of the service.
type Error struct {
	Service *Service
	Reason  Reason
	// RetryAfter is how long to wait before the next call, as the service or its Budget asks. It is 0 if that is unknown.
	RetryAfter time.Duration
	// Asked is the request that failed, for operators: a method and the path that Herald appends to the service's URL,
	// for example "GET /total-supply", or a JSON-RPC method. It contains no host, secret or personal data. The text of
	// the error does not contain it. It is empty if the request is unknown or was not sent.
	Asked string
	// Err is what went wrong. It must not be nil. It must not contain what the text of an Error never contains, because
	// the text is logged.
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Service.Name, e.Reason, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the Reason of the first *Error in err, or "" if there is none.
func ReasonOf(err error) Reason {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Reason
	}
	return ""
}

// During returns a copy of e with the name of an attempt, such as "total supply", in front of Err's text.
func (e *Error) During(attempt string) *Error {
	failed := *e
	failed.Err = fmt.Errorf("%s: %w", attempt, e.Err)
	return &failed
}

// InvalidError names the flaw of a person's input. It does not repeat the input.
type InvalidError struct {
	Flaw Flaw
	// Platform is the platform of an invalid ID. If Flaw is AnotherChain, it is the name of the chain that the wallet is
	// on. Otherwise it is empty.
	Platform string
	// Example is a valid ID on Platform. It is empty if the input is a wallet or the name of a platform.
	Example string
	// Length is the length of an invalid wallet, in bytes.
	Length int
}

func (e *InvalidError) Error() string { return "invalid: " + string(e.Flaw) }

// Flaw is a flaw of a person's input. Members see the message "invalid."+Flaw of package words.
type Flaw string

// The flaws of a platform's name and of a wallet. platformRules has further Flaws, which are flaws of IDs.
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
