package botapi

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"herald/internal/transport"
)

// Kind says what a failed call means to its caller. Its text is for logs.
type Kind string

// The kinds. A failed call had no effect, unless its kind is OutcomeUnknown, Unreadable or Public.
const (
	// OutcomeUnknown: the call may have been carried out. The connection broke, the time ran
	// out, or the answer is not one of the Bot API, such as the page of a proxy.
	OutcomeUnknown Kind = "no clear answer"
	// Unreadable: the call was carried out, but its result has an unexpected form.
	Unreadable Kind = "the result is not what the Bot API says"
	// NotSent: there was no connection.
	NotSent         Kind = "the server could not be reached"
	TooManyRequests Kind = "too many requests"
	Unauthorized    Kind = "the token was refused"
	// Conflict: a poll while a webhook is set, or while another process polls.
	Conflict Kind = "conflict"
	// Forbidden: the bot may not do this in the chat.
	Forbidden Kind = "forbidden"
	Migrated  Kind = "the group has become a supergroup"
	// Refused: any other refusal. The same call would be refused again.
	Refused Kind = "refused"
	// Public: everybody in the chat can read an ephemeral message until the caller deletes it.
	Public Kind = "the server made an ephemeral message public"
)

// Error is a failed call. It contains no text of the server's answer.
type Error struct {
	Method     string
	Kind       Kind
	RetryAfter time.Duration // the minimum wait before the call is repeated, or 0
	NewChat    int64         // of Migrated: the supergroup
	// detail explains the failure in logs, in this package's words, or is "". Methods of Error compare it with the
	// constants below.
	detail string
	cause  error
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

// ErrorOf returns the *Error in err. For another error it returns an *Error of OutcomeUnknown, and for nil an *Error
// without a kind.
func ErrorOf(err error) *Error {
	if err == nil {
		return &Error{}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: OutcomeUnknown}
}

// Temporary reports whether the same call may succeed later.
func (e *Error) Temporary() bool {
	return e.Kind == OutcomeUnknown || e.Kind == NotSent || e.Kind == TooManyRequests
}

// Retryable reports whether the call that failed with err may succeed later, and how long to wait at least before it is
// retried. It is meant for transport.Policy.
func Retryable(err error) (retry bool, atLeast time.Duration) {
	e := ErrorOf(err)
	return e.Temporary(), e.RetryAfter
}

// Unreachable reports whether the bot may not write to a user or a chat: for example, the user
// never started it, or blocked it.
func (e *Error) Unreachable() bool {
	return e.Kind == Forbidden || (e.Kind == Refused && e.detail == noSuchChat)
}

// Unexplained reports whether Telegram refused the call for a reason that is not in details. The server may not know an
// entity or a button, for example.
func (e *Error) Unexplained() bool { return e.Kind == Refused && e.detail == "" }

// RefusesTopic reports whether a topic is gone, closed or in another chat: the topic that the call names, or the topic
// of the message to reply to.
func (e *Error) RefusesTopic() bool { return e.detail == noTopic || e.detail == topicClosed }

// RefusesReply reports whether a message cannot be a reply to the one that it names.
func (e *Error) RefusesReply() bool { return e.detail == noReply }

// RefusesLink reports whether Telegram does not accept a link of a button, in the text, or in the answer to a press.
func (e *Error) RefusesLink() bool { return e.detail == badLink }

// RefusesPicture reports whether Telegram or the chat does not accept a picture.
func (e *Error) RefusesPicture() bool { return e.detail == badPicture }

// NotModified reports whether an edit was refused because the message has that content already.
func (e *Error) NotModified() bool { return e.detail == notModified }

// NoJoinRequest reports whether the user has no open request to join.
func (e *Error) NoJoinRequest() bool { return e.detail == noJoinRequest }

// AlreadyMember reports whether the user to be let into the chat is a member of it.
func (e *Error) AlreadyMember() bool { return e.detail == alreadyMember }

// InTooManyChats reports whether the user is in as many groups and channels as Telegram allows.
func (e *Error) InTooManyChats() bool { return e.detail == inTooManyChats }

// Banned reports whether the user is banned from the chat.
func (e *Error) Banned() bool { return e.detail == banned }

// AccountDeleted reports whether the user's account is deleted.
func (e *Error) AccountDeleted() bool { return e.detail == accountDeleted }

// Expired reports whether a query is too old, or has been answered already.
func (e *Error) Expired() bool { return e.detail == queryTooOld }

// NotAllowed reports whether the bot lacks a right in the chat.
func (e *Error) NotAllowed() bool {
	right, known := rights[e.Method]
	return e.Kind == Forbidden || e.detail == noRight || (known && e.detail == right)
}

// NoMember reports whether the user is not a member of the chat.
func (e *Error) NoMember() bool { return e.detail == noMember }

// CannotBeTagged reports whether the user is an administrator, who has a title instead.
func (e *Error) CannotBeTagged() bool { return e.detail == noTag }

// NoChat reports whether the chat does not exist for the bot, or has another ID now.
func (e *Error) NoChat() bool { return e.detail == noSuchChat || e.Kind == Migrated }

// The details that methods of Error look for.
const (
	noSuchChat     = "no such chat"
	notModified    = "the message has this content already"
	noJoinRequest  = "the user has no open join request"
	alreadyMember  = "the user is a member already"
	inTooManyChats = "the user is in too many groups and channels"
	banned         = "the user is banned from the chat"
	accountDeleted = "the user's account is deleted"
	noRight        = "the bot lacks an administrator's right"
	mayNotWrite    = "the bot may not write there"
	queryTooOld    = "the query is too old"
	noMember       = "the user is not a member"
	noTopic        = "there is no such topic"
	topicClosed    = "the topic is closed"
	noReply        = "the message to reply to is gone"
	badLink        = "a link is not one that Telegram accepts"
	badPicture     = "the picture is not one that Telegram or the chat accepts"
	noTag          = "the user is an administrator, and has a title instead of a tag"
)

// details maps parts of Telegram's descriptions to details.
var details = map[string]string{
	"TOPIC_CLOSED":                topicClosed,
	"TOPIC_":                      noTopic, // TOPIC_DELETED, TOPIC_ID_INVALID
	"message thread":              noTopic, // not found, or invalid
	"not a forum":                 noTopic,
	"message to be replied":       noReply, // not found
	"message to reply":            noReply, // not found
	"replied message":             noReply, // not found
	"REPLY_MESSAGE":               noReply, // REPLY_MESSAGE_ID_INVALID
	"REPLY_TO_":                   noReply, // REPLY_TO_INVALID
	"button URL":                  badLink, // inline keyboard button URL '…' is invalid
	"entity URL":                  badLink, // entity URL '…' is invalid
	"HTTP URL":                    badLink, // Wrong HTTP URL
	"URL_INVALID":                 badLink, // also BUTTON_URL_INVALID
	"IMAGE_PROCESS_FAILED":        badPicture,
	"PHOTO_":                      badPicture, // PHOTO_INVALID_DIMENSIONS, PHOTO_SAVE_FILE_INVALID
	"MEDIA_":                      badPicture, // MEDIA_CAPTION_TOO_LONG
	"caption is too long":         badPicture,
	"file is too big":             badPicture,
	"to send photos to the chat":  badPicture,
	"SEND_PHOTOS_FORBIDDEN":       badPicture,
	"SEND_MEDIA_FORBIDDEN":        badPicture,
	"chat not found":              noSuchChat,
	"group chat was deleted":      noSuchChat,
	"not enough rights to send":   mayNotWrite,
	"CHAT_WRITE_FORBIDDEN":        mayNotWrite,
	"bot was kicked":              "the bot was removed",
	"bot was blocked":             "the bot was blocked",
	"terminated by other":         "another process polls with this token: stop it, or give each its own",
	"webhook is active":           "a webhook is set for this token",
	"message is not modified":     notModified,
	"there is no text in the":     "the message has no text",
	"there is no media in the":    "the message has no picture",
	"message to edit not found":   "the message is gone",
	"query is too old":            queryTooOld,
	"HIDE_REQUESTER_MISSING":      noJoinRequest,
	"USER_ALREADY_PARTICIPANT":    alreadyMember,
	"CHANNELS_TOO_MUCH":           inTooManyChats, // also as USER_CHANNELS_TOO_MUCH
	"USER_KICKED":                 banned,
	"USER_BANNED_IN_CHANNEL":      banned,
	"INPUT_USER_DEACTIVATED":      accountDeleted,
	"user is deactivated":         accountDeleted,
	"CHAT_ADMIN_REQUIRED":         noRight,
	"manage chat invite link":     noRight,
	"not enough rights":           noRight,
	"member list is inaccessible": noRight,
	"USER_NOT_PARTICIPANT":        noMember,
	"PARTICIPANT_ID_INVALID":      noMember,
	"USER_ID_INVALID":             noMember,
	"user not found":              noMember,
	"member not found":            noMember,
	"CHAT_CREATOR_REQUIRED":       noTag,
}

// rights maps methods to the detail of their failure if the bot lacks a right. For these methods, Telegram describes a
// missing right as if it were the right to send, or does not describe it at all.
var rights = map[string]string{
	"approveChatJoinRequest":     "the bot lacks the right to invite users",
	"answerChatJoinRequestQuery": "the bot lacks the right to invite users",
	"setChatMemberTag":           "the bot lacks the right to manage member tags",
}

// kinds maps error codes to kinds. Any other code is OutcomeUnknown.
var kinds = map[int]Kind{
	http.StatusBadRequest:            Refused,
	http.StatusUnauthorized:          Unauthorized,
	http.StatusForbidden:             Forbidden,
	http.StatusNotFound:              Refused,
	http.StatusConflict:              Conflict,
	http.StatusRequestEntityTooLarge: Refused,
	http.StatusTooManyRequests:       TooManyRequests,
}

// maxRetryAfter limits RetryAfter, in seconds: a larger number could overflow a time.Duration.
const maxRetryAfter = 1_000_000

// refused returns the error of a call that Telegram refused.
func refused(method string, r *refusal) *Error {
	seconds := min(max(r.Parameters.RetryAfter, 0), maxRetryAfter)
	e := &Error{
		Method:     method,
		Kind:       cmp.Or(kinds[r.Code], OutcomeUnknown),
		RetryAfter: time.Duration(seconds) * time.Second,
		NewChat:    r.Parameters.MigratedTo,
	}
	if e.Kind == Refused && e.NewChat != 0 {
		e.Kind = Migrated
	}
	e.detail = detailOf(r.Description)
	right, known := rights[method]
	lacksRight := e.detail == noRight || e.detail == mayNotWrite || (e.Kind == Forbidden && e.detail == "")
	if known && lacksRight {
		e.detail = right
	}
	return e
}

// detailOf returns the detail of the longest part of details in a description, or "". It has to be the longest because
// one part may contain another: "not enough rights to send" contains "not enough rights".
func detailOf(description string) string {
	longest := ""
	for part := range details {
		if len(part) > len(longest) && strings.Contains(description, part) {
			longest = part
		}
	}
	return details[longest]
}

// lost returns the error of a call that got no answer, or only a part of one. It keeps err as its cause only if err is
// an error of package transport, because others may quote the server or the URL.
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

// impossible returns the error of a request that cannot be built.
func impossible(method string) *Error {
	return &Error{Method: method, Kind: Refused, detail: "the request cannot be built"}
}
