package botapi

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"herald/internal/transport"
)

// Kind is what a failed call means to its caller, in words for a log.
type Kind string

// The kinds. All but the first certainly had no effect that is left.
const (
	// OutcomeUnknown is a call that may have been carried out: its connection
	// broke, or it was answered with a status of 500 or more, as a proxy in
	// front of the Bot API does without knowing.
	OutcomeUnknown  Kind = "no clear answer"
	NotSent         Kind = "the server could not be reached"
	TooManyRequests Kind = "too many requests"
	Unauthorized    Kind = "the token was refused"
	// Conflict is a webhook beside polling, or two who poll.
	Conflict Kind = "conflict"
	// Forbidden is a chat in which the bot may not do that.
	Forbidden Kind = "forbidden"
	Migrated  Kind = "the group has become a supergroup"
	// Refused is a call that would be refused again.
	Refused Kind = "refused"
	// Public is an ephemeral message that the server made public. It is deleted.
	Public Kind = "the server made an ephemeral message public"
)

// Error is a failed call. It quotes nothing that the server said.
type Error struct {
	Method     string
	Kind       Kind
	RetryAfter time.Duration // of TooManyRequests: the least to wait; or 0
	NewChat    int64         // of Migrated: the supergroup
	detail     string
	cause      error
}

func (e *Error) Error() string {
	s := e.Method + ": " + string(e.Kind)
	if e.detail != "" {
		s += ": " + e.detail
	}
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.cause }

// ErrorOf returns the *Error in err, or one of OutcomeUnknown.
func ErrorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: OutcomeUnknown}
}

// Unreachable reports whether the bot may not write to a user: they never
// started it, or blocked it.
func (e *Error) Unreachable() bool {
	return e.Kind == Forbidden || e.Kind == Refused && e.detail == noSuchChat
}

// Unexplained reports whether the call was refused for a reason not told apart
// here, such as a markup or a button that the server does not take.
func (e *Error) Unexplained() bool { return e.Kind == Refused && e.detail == "" }

const (
	noSuchChat  = "no such chat"
	notModified = "the message is so already"
)

// details are the refusals worth telling apart in a log, by a part of
// Telegram's description.
var details = map[string]string{
	"TOPIC_CLOSED":              "the topic is closed",
	"message thread not found":  "the topic is gone",
	"chat not found":            noSuchChat,
	"not enough rights":         "the bot may not write there",
	"CHAT_WRITE_FORBIDDEN":      "the bot may not write there",
	"bot was kicked":            "the bot was removed",
	"bot was blocked":           "the bot was blocked",
	"terminated by other":       "another process polls with this token: stop it, or give each its own",
	"webhook is active":         "a webhook is set for this token",
	"message is not modified":   notModified,
	"there is no text in the":   "the message has no text",
	"there is no media in the":  "the message has no picture",
	"message to edit not found": "the message is gone",
	"query is too old":          "the query is too old",
}

// kinds are the kinds of refusals by error code; any other is OutcomeUnknown.
var kinds = map[int]Kind{
	http.StatusBadRequest:            Refused,
	http.StatusUnauthorized:          Unauthorized,
	http.StatusForbidden:             Forbidden,
	http.StatusNotFound:              Refused,
	http.StatusConflict:              Conflict,
	http.StatusRequestEntityTooLarge: Refused,
	http.StatusTooManyRequests:       TooManyRequests,
}

// apiError is the error of an answer that is not OK.
func apiError(method string, a apiAnswer) error {
	e := &Error{
		Method: method, Kind: cmp.Or(kinds[a.Code], OutcomeUnknown), NewChat: a.Parameters.MigratedTo,
		RetryAfter: time.Duration(a.Parameters.RetryAfter) * time.Second,
	}
	if e.Kind == Refused && e.NewChat != 0 {
		e.Kind = Migrated
	}
	for part, detail := range details {
		if strings.Contains(a.Description, part) {
			e.detail = detail
		}
	}
	return e
}

// lost returns the error of a call that got no answer, or not the whole of one.
func lost(method string, err error) *Error {
	e := &Error{Method: method, Kind: OutcomeUnknown}
	if broken, ok := errors.AsType[*transport.Error](err); ok {
		e.cause = broken
	}
	if transport.NeverSent(err) {
		e.Kind = NotSent
	}
	return e
}

func notTheirs(method string) *Error {
	return &Error{Method: method, Kind: OutcomeUnknown, detail: "the answer is not the Bot API's"}
}
