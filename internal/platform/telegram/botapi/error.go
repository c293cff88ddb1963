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

// The kinds. A failed call had no effect, unless its kind is OutcomeUnknown, Unreadable or Public.
const (
	// OutcomeUnknown is a call that may have been carried out: its connection broke, or
	// the status was 500 or more, which a proxy in front of the Bot API may answer.
	OutcomeUnknown Kind = "no clear answer"
	// Unreadable is a call that was carried out, with a result of an unexpected form.
	Unreadable      Kind = "the result is not what the Bot API says"
	NotSent         Kind = "the server could not be reached"
	TooManyRequests Kind = "too many requests"
	Unauthorized    Kind = "the token was refused"
	// Conflict is a poll while a webhook is set, or while another process polls.
	Conflict Kind = "conflict"
	// Forbidden is a chat in which the bot may not do that.
	Forbidden Kind = "forbidden"
	Migrated  Kind = "the group has become a supergroup"
	// Refused is a call that would be refused again.
	Refused Kind = "refused"
	// Public is an ephemeral message that everybody in the chat can read until the caller
	// deletes it.
	Public Kind = "the server made an ephemeral message public"
)

// Error is a failed call. It never quotes the server.
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

// Passing reports whether the same call may succeed later.
func (e *Error) Passing() bool {
	return e.Kind == OutcomeUnknown || e.Kind == NotSent || e.Kind == TooManyRequests
}

// Retryable reports whether the call that failed with err may succeed later, and the least
// wait before.
func Retryable(err error) (retry bool, atLeast time.Duration) {
	e := ErrorOf(err)
	return e.Passing(), e.RetryAfter
}

// Unreachable reports whether the bot may not write to a user: they never
// started it, or blocked it.
func (e *Error) Unreachable() bool {
	return e.Kind == Forbidden || e.Kind == Refused && e.detail == noSuchChat
}

// Unexplained reports whether the call was refused for a reason that is not in details,
// such as a markup or a button that the server does not take.
func (e *Error) Unexplained() bool { return e.Kind == Refused && e.detail == "" }

// NotModified reports whether an edit was refused because the message has that content already.
func (e *Error) NotModified() bool { return e.detail == notModified }

// NoJoinRequest reports whether the user has no open request to join.
func (e *Error) NoJoinRequest() bool { return e.detail == noJoinRequest }

// Expired reports whether a query came too late, or is answered.
func (e *Error) Expired() bool { return e.detail == queryTooOld }

// NotAllowed reports whether the bot lacks a right in the chat.
func (e *Error) NotAllowed() bool {
	right := rights[e.Method]
	return e.Kind == Forbidden || e.detail == noRight || right != "" && e.detail == right
}

// NoMember reports whether the user is not a member of the chat.
func (e *Error) NoMember() bool { return e.detail == noMember }

// CannotBeTagged reports whether the user is an administrator, who has a title instead.
func (e *Error) CannotBeTagged() bool { return e.detail == noTag }

// NoChat reports whether the chat does not exist for the bot, or has another ID now.
func (e *Error) NoChat() bool { return e.detail == noSuchChat || e.Kind == Migrated }

const (
	impossible    = "the request cannot be made"
	noSuchChat    = "no such chat"
	notModified   = "the message has this content already"
	noJoinRequest = "the user has no open join request"
	noRight       = "the bot lacks an administrator's right"
	mayNotWrite   = "the bot may not write there"
	queryTooOld   = "the query is too old"
	noMember      = "the user is not a member"
	noTag         = "the user is an administrator, and has a title instead of a tag"
)

// details maps a part of Telegram's description to the text for a log.
var details = map[string]string{
	"TOPIC_CLOSED":              "the topic is closed",
	"message thread not found":  "the topic is gone",
	"chat not found":            noSuchChat,
	"group chat was deleted":    noSuchChat,
	"not enough rights to send": mayNotWrite,
	"CHAT_WRITE_FORBIDDEN":      mayNotWrite,
	"bot was kicked":            "the bot was removed",
	"bot was blocked":           "the bot was blocked",
	"terminated by other":       "another process polls with this token: stop it, or give each its own",
	"webhook is active":         "a webhook is set for this token",
	"message is not modified":   notModified,
	"there is no text in the":   "the message has no text",
	"there is no media in the":  "the message has no picture",
	"message to edit not found": "the message is gone",
	"query is too old":          queryTooOld,
	"HIDE_REQUESTER_MISSING":    noJoinRequest,
	"USER_ALREADY_PARTICIPANT":  "the user is a member already",
	"CHAT_ADMIN_REQUIRED":       noRight,
	"manage chat invite link":   noRight,
	"not enough rights":         noRight,
	"member list is":            noRight, // inaccessible
	"USER_NOT_PARTICIPANT":      noMember,
	"PARTICIPANT_ID_INVALID":    noMember,
	"USER_ID_INVALID":           noMember,
	"user not found":            noMember,
	"member not found":          noMember,
	"CHAT_CREATOR_REQUIRED":     noTag,
}

// rights maps methods to the text for a log if they lack a right. Telegram describes that as it
// does for messages, or not at all.
var rights = map[string]string{
	"approveChatJoinRequest":     "the bot lacks the right to invite users",
	"answerChatJoinRequestQuery": "the bot lacks the right to invite users",
	"setChatMemberTag":           "the bot lacks the right to manage member tags",
}

// kinds maps error codes; any other code is OutcomeUnknown.
var kinds = map[int]Kind{
	http.StatusBadRequest:            Refused,
	http.StatusUnauthorized:          Unauthorized,
	http.StatusForbidden:             Forbidden,
	http.StatusNotFound:              Refused,
	http.StatusConflict:              Conflict,
	http.StatusRequestEntityTooLarge: Refused,
	http.StatusTooManyRequests:       TooManyRequests,
}

// apiError returns the error of an answer that is not OK.
func apiError(method string, r *refusal) error {
	e := &Error{
		Method: method, Kind: cmp.Or(kinds[r.Code], OutcomeUnknown), NewChat: r.Parameters.MigratedTo,
		RetryAfter: time.Duration(r.Parameters.RetryAfter) * time.Second,
	}
	if e.Kind == Refused && e.NewChat != 0 {
		e.Kind = Migrated
	}
	longest := 0 // Part of one text may be another.
	for part, detail := range details {
		if len(part) > longest && strings.Contains(r.Description, part) {
			e.detail, longest = detail, len(part)
		}
	}
	if right := rights[method]; right != "" && (e.detail == noRight || e.detail == mayNotWrite || e.Kind == Forbidden && e.detail == "") {
		e.detail = right
	}
	return e
}

// lost returns the error of a call without a whole answer.
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
