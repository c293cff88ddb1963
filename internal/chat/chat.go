// Package chat is the vocabulary between chat platforms and commands. An Adapter makes a
// Request of an update, the Router runs a Command, and the Adapter shows the Reply. The
// package also holds what every adapter needs: Commands.Find, Tasks, the state of
// buttons, and the replies to failures around a command.
//
// It imports the standard library, package decimal, and package secret for panics. It
// knows no platform and no service. So a command never learns where it was asked, and an
// adapter never learns what a command does.
package chat

import (
	"context"
	"time"
)

// Platform is a chat platform's name in lower case, such as "telegram". Logs, metrics and
// the settings OPERATORS and MODERATOR_CHATS have the same names.
type Platform string

// User is a person on a chat platform. ID is empty for a person whom the platform does not
// name, such as Telegram's anonymous administrators.
type User struct {
	Platform Platform
	ID       string
}

// Role is a sender's rank in the Community where they asked.
type Role int

// The roles. The zero value has no rights.
const (
	Member Role = iota
	Moderator
	// UnknownRole makes the Router call Config.Roles, for a moderators' form only.
	UnknownRole
)

// Request is one command as it was asked, free of its platform.
type Request struct {
	// ID is in the log line and in the reference that a user can quote. Tasks make it.
	ID      string
	Command string
	Args    Args
	From    User
	// LimitKey names a sender without an ID in the rate limits, such as the channel in
	// whose name they write. It gives no rights.
	LimitKey string
	// Asked is when the platform received the command, or zero if that is unknown. A
	// command that had to wait counts against the limits of that minute.
	Asked time.Time
	// Inline marks a query that is sent again with every letter typed. It counts against
	// its Chat's limit alone.
	Inline bool
	// Community is the group or server in which the sender may be a moderator. It is empty
	// in a private chat.
	Community string
	// Role is the sender's role in the Community.
	Role Role
	// Unlisted is set by the Router: the Community's entry if Config.ModeratorChats lacks
	// it, or else "".
	Unlisted string
	// MayModerate is set by the Router: whether moderators' forms can be used in this
	// chat by a sender whose Role is not Member.
	MayModerate bool
	// Target is the person replied to, mentioned or picked, or nil. A Form with a
	// Person always runs with a Target.
	Target *User
	// TargetName is the Target's display name. It is untrusted, never logged, and may be
	// empty or somebody else's too.
	TargetName string
	// Chat identifies the chat on its platform.
	Chat string
	// Direct marks a chat that only the sender and the bot can read.
	Direct bool
	// BotName is the bot's display name, for pictures. It is empty until the platform has
	// told it.
	BotName string
	// CanReplyEphemerally reports whether the platform can show an answer in this chat to
	// the sender alone.
	CanReplyEphemerally bool
	// Locale is the sender's, as the platform gives it: "pt-BR". It may be empty.
	Locale string
	// Language is set by the Router: the language of the answer, for pictures.
	Language Language
}

// Handler answers requests, as Router does.
type Handler interface {
	// Commands returns all commands in the order of menus.
	Commands() Commands
	// Handle answers one request. It returns within the command's time limit, never
	// panics, and is safe for concurrent use.
	Handle(ctx context.Context, req Request) Reply
	// Language returns the language of an answer to req. private tells whether the sender
	// alone reads it.
	Language(req Request, private bool) Language
}

// Adapter connects one chat platform to a Handler.
type Adapter interface {
	Platform() Platform
	// Run serves h until ctx is done, finishes the commands in flight within DrainTime and
	// returns nil. It returns an error if the platform cannot be served as configured,
	// such as with a refused token. After any other failure it reconnects. It is called
	// once.
	Run(ctx context.Context, h Handler) error
	// Ready reports whether the platform is connected now.
	Ready() bool
}

// Delivery is the result of Dedup.Claim.
type Delivery int

// The deliveries of an update.
const (
	// New is the first delivery. The caller must handle the update and Release it.
	New Delivery = iota + 1
	// InFlight is a repeated delivery of an update that somebody is handling.
	InFlight
	// Answered is a repeated delivery of an update that was answered.
	Answered
)

// Dedup remembers updates in flight and answered ones, so that a repeated delivery is not
// answered again. Keys begin with the platform. It never fails: without its store an
// implementation decides by what this process knows.
type Dedup interface {
	// Claim marks a New update as in flight.
	Claim(ctx context.Context, key string) Delivery
	// Release ends the claim of a New update, and must be called even after a panic. An
	// unanswered update is New again when it is delivered again. An answered one is
	// remembered for lasts, the time in which the platform may deliver it again.
	Release(ctx context.Context, key string, answered bool, lasts time.Duration)
}
