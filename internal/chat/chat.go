// Package chat is the vocabulary between chat platforms and commands. An Adapter makes a
// Request of an update, the Router runs a Command, and the Adapter shows the Reply. The
// package also holds what every adapter needs: Commands.Find, Tasks, the state of
// buttons, and the replies to failures around a command.
//
// It imports no platform and no service. A command cannot send, and an adapter knows a
// command only by its fields, "join" and "start" apart. The package imports the standard
// library, package decimal, and package secret for panics.
package chat

import (
	"context"
	"time"

	"herald/internal/ratelimit"
)

// Platform is a chat platform's name in lower case, such as "telegram". Logs, metrics and
// the settings OPERATORS and MODERATOR_CHATS use this name.
type Platform string

// User is a person on a chat platform. ID is empty for a person whom the platform does not
// name, such as Telegram's anonymous administrators.
type User struct {
	Platform Platform
	ID       string
}

// Role is a sender's role in the Request's Community.
type Role int

// The roles. The zero value has no rights.
const (
	Member Role = iota
	Moderator
	// UnknownRole makes the Router call Config.Roles before it runs a moderators' form.
	UnknownRole
)

// Request is one command from a sender, in no platform's form.
type Request struct {
	// Set by the adapter.

	// ID is logged, and shown as the reference that a user can quote. Tasks make it.
	ID      string
	Command string
	Args    Args
	From    User
	// LimitKey identifies the sender in the rate limits where From.ID is empty: it is the ID of
	// the channel in whose name they write. It gives no rights.
	LimitKey string
	// Asked is when the platform received the command; zero: unknown. If that is over a minute
	// ago, the rate limits count the command in the minute of Asked instead of the current one.
	Asked time.Time
	// Deadline is when the answer comes too late; zero: only Config.Timeout bounds it.
	Deadline time.Time
	// Inline marks a query that the platform sends anew with every letter typed. Of the rate
	// limits, only that of its Chat counts it.
	Inline bool
	// Community is the ID of the group or server. It is empty in a private chat.
	Community string
	// Role is the sender's role in the Community.
	Role Role
	// RulesPending is true if the sender has not accepted the rules of the Community yet.
	RulesPending bool
	// Target is the person replied to, mentioned or picked, or nil. A Form with a Person
	// parameter always runs with a Target.
	Target *User
	// TargetName is the Target's display name. It is untrusted and never logged. It may be
	// empty, and several users may have the same name.
	TargetName string
	// GroupName is the display name of the group that a JoinCommand is about. It is
	// untrusted, and may be empty.
	GroupName string
	// GroupURL opens that group; empty: no link does.
	GroupURL string
	// Chat identifies the chat on its platform.
	Chat string
	// Direct marks a chat that only the sender and the bot can read.
	Direct bool
	// BotName is the bot's display name, and BotHandle what people type to name it, such as
	// "@herald_bot", both for pictures. They are empty until the adapter has received them.
	BotName, BotHandle string
	// CanReplyEphemerally marks a chat in which the platform can show a message to the sender
	// alone.
	CanReplyEphemerally bool
	// Locale is the sender's language tag from the platform, such as "pt-BR", or "".
	Locale string

	// Set by the Router, before it runs the command.

	// Language is the language of the answer, for pictures.
	Language Language
	// MayModerate permits moderators' forms: to operators everywhere, and to a Moderator with
	// an ID in the chats of Config.ModeratorChats.
	MayModerate bool
	// UnlistedChat is the entry that Config.ModeratorChats lacks for the Community, such as
	// "telegram:-100123"; empty: the entry is there, or there is no Community.
	UnlistedChat string

	// Set by Tasks.Claim.

	// counted is true once the rate limits have counted the request. limited is how long the
	// sender then has to wait.
	counted bool
	limited time.Duration
}

// MightModerate returns false if the sender certainly may not use moderators' forms. With an
// UnknownRole it returns true where a Moderator may. /help names these forms then.
func (req Request) MightModerate() bool {
	return req.MayModerate || req.Role == UnknownRole && req.UnlistedChat == ""
}

// Handler answers requests, as Router does.
type Handler interface {
	// Commands returns the commands with a listed form, in the order of menus.
	Commands() Commands
	// Visibility returns who may read the answer to a command, listed or not, by its name or
	// alias. It returns 0 for an unknown one: that answer must not replace a public message.
	Visibility(name string) Visibility
	// Limits returns the rate limits that count req. Handle counts req against them, unless
	// Tasks.Claim has.
	Limits(req Request) []ratelimit.Limit
	// Handle answers one request. It returns within the command's time limit, never
	// panics, and is safe for concurrent use.
	Handle(ctx context.Context, req Request) Reply
	// Language returns the language of an answer to req, which the sender alone reads if it
	// is Private.
	Language(req Request, visibility Visibility) Language
}

// Adapter connects one chat platform to a Handler.
type Adapter interface {
	Platform() Platform
	// Run passes requests to h and blocks until ctx is done. It then finishes the commands
	// in flight within DrainTime and returns nil. It returns an error if the configuration
	// cannot work, such as with a refused token. After any other failure it reconnects.
	// It is called once.
	Run(ctx context.Context, h Handler) error
	// Ready reports whether the platform is connected now. Where a bot registers its commands, the
	// platform must also have them.
	Ready() bool
}

// Progress is how far a piece of work is, such as the answer to an update.
type Progress int

// How far work is.
const (
	// New is work that nobody had claimed. The caller has claimed it now, and must do it and
	// then Release it.
	New Progress = iota + 1
	// InFlight is work that is claimed and not released.
	InFlight
	// Done is work that was released as done.
	Done
)

// ClaimLasts is how long a claim lasts that is neither released nor marked as done: longer than any work.
const ClaimLasts = time.Minute

// Dedup lets one caller of all replicas do a piece of work, and once: an update whose
// delivery is repeated is answered once. Its methods never fail: without its store an
// implementation uses what this process remembers.
type Dedup interface {
	// Claim returns the Progress of the work with this key, and claims New work. For New work
	// it also reserves a slot of limits, as Limiter.Reserve does with within 0, and returns
	// the wait. It blocks for one call to a shared store at most. A claim ends after ClaimLasts.
	Claim(ctx context.Context, key string, limits ...ratelimit.Limit) (p Progress, wait time.Duration)
	// Release ends the claim of New work that was not done, also after a panic: the next Claim returns
	// New.
	Release(key string)
	// MarkDone ends the claim of New work that was done: Claim returns Done for so long.
	MarkDone(key string, lasts time.Duration)
}
