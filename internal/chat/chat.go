// Package chat is the vocabulary between chat platforms and commands: a Request is
// what was asked, a Command what can be asked, a Reply what is answered. An Adapter
// carries them, and the Router is the one way from Request to Reply. What every
// adapter needs stands here once: Commands.Find, Tasks, the state of buttons, and
// the replies to what goes wrong around a command.
//
// It imports the standard library, the decimals that every layer counts in, and
// package secret for panics. It knows no platform and no service, and of languages
// only their table. So a command never learns where it was asked, and an adapter
// never learns what a command does.
package chat

import (
	"context"
	"time"
)

// Platform names a chat platform in lower case, such as "telegram": in logs,
// metrics, and the settings OPERATORS and MODERATOR_CHATS.
type Platform string

// User is a person on a chat platform. The ID is empty if the platform withholds
// it, as for Telegram's anonymous administrators.
type User struct {
	Platform Platform
	ID       string
}

// Role is what a sender may do in the Community where they asked.
type Role int

// The roles. The zero value has no rights.
const (
	Member Role = iota
	Moderator
	// UnknownRole has the Router ask the platform through Config.Roles, for a
	// moderators' form only.
	UnknownRole
)

// Request is one command as it was asked, free of its platform.
type Request struct {
	// ID joins the log line and the reference that a user can quote. Tasks make it.
	ID      string
	Command string
	Args    Args
	From    User
	// LimitKey names a sender without an ID for the rate limits, such as the
	// channel as which they speak. It gives no right to anything.
	LimitKey string
	// Asked is when the platform received the command, or zero if it does not say.
	// What waited for the bot counts against the limits of the minute in which it
	// was asked.
	Asked time.Time
	// Inline marks a query that is sent again with every letter typed. Only its
	// Chat's limit counts it.
	Inline bool
	// Community is where the sender may be a moderator: the group, or the server
	// that the chat belongs to. It is empty in a private chat.
	Community string
	// Role is the sender's role in the Community.
	Role Role
	// Unlisted is set by the Router: the entry for the Community that is missing in
	// Config.ModeratorChats, or "".
	Unlisted string
	// MayModerate is set by the Router: moderators' forms can be used in this chat, and
	// the sender is not known to be a mere member.
	MayModerate bool
	// Target is the person replied to, mentioned or picked, or nil. A Form with a
	// Person always runs with a Target.
	Target *User
	// TargetName is what the Target calls themself. It is untrusted, never logged,
	// and may be empty or the same as somebody else's.
	TargetName string
	// Chat identifies the chat on its platform.
	Chat string
	// Direct is true where only the sender and the bot read along.
	Direct bool
	// BotName is what the bot is called there, for what a picture says. It is text of
	// the platform, and empty until the platform has told it.
	BotName string
	// CanReplyEphemerally is true where the platform can show an answer in this
	// chat to its sender alone.
	CanReplyEphemerally bool
	// Locale is the sender's, as the platform gives it: "pt-BR". It may be empty.
	Locale string
	// Language is set by the Router: the language of the answer, for what a
	// picture says.
	Language Language
}

// Handler answers requests, as Router does.
type Handler interface {
	// Commands lists every command in the order of the platform's menu.
	Commands() Commands
	// Handle answers one request. It returns within the command's time limit,
	// never panics, and may be called from many goroutines.
	Handle(ctx context.Context, req Request) Reply
	// Language is the language of an answer to req. If private, the sender alone
	// reads it, and otherwise everybody in the chat.
	Language(req Request, private bool) Language
}

// Adapter joins one chat platform to a Handler.
type Adapter interface {
	Platform() Platform
	// Run serves h until ctx is done. Then it takes nothing more, finishes what is
	// in flight within DrainTime and returns nil. It returns an error if the
	// platform can never be served as configured, as with a refused token. After
	// anything else it reconnects by itself. It is called once.
	Run(ctx context.Context, h Handler) error
	// Ready reports whether the platform is connected now.
	Ready() bool
}

// Delivery is what is known of an update when it arrives.
type Delivery int

// The results of Dedup.Claim.
const (
	// New is an update seen for the first time. The caller owns it now.
	New Delivery = iota + 1
	// InFlight is an update that somebody is answering.
	InFlight
	// Answered is an update whose answer is out.
	Answered
)

// Dedup remembers which updates are in flight or answered, so that a repeated
// delivery is not answered again. Keys carry the platform. It never fails: an
// implementation that cannot reach its store decides by what it knows itself.
type Dedup interface {
	Claim(ctx context.Context, key string) Delivery
	// Release ends the claim of a New update. It must be called, even after a
	// panic: until then the update is in flight. If it was not answered, it may be
	// delivered again, and is then New once more. An answered one is remembered for as
	// long as its platform may deliver it again, which is lasts.
	Release(ctx context.Context, key string, answered bool, lasts time.Duration)
}
