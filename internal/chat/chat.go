// Package chat is the vocabulary between chat platforms and commands: what was
// asked (Request), what can be asked (Command), what is answered (Reply), who
// carries it (Adapter) and the one way between them (Router). What every
// adapter does stands here once: Commands.Find, Tasks, the state of buttons, and
// the answers to what goes wrong around a command.
//
// It imports the standard library, the decimals that every layer counts in, and
// panics, which imports nothing else. It knows no platform, no service and no
// language, so that a command is a function from Request to Reply that never
// learns where it was asked, and an adapter never learns what a command does.
package chat

import "context"

// Platform names a chat platform in lower case, as in "telegram". It stands in
// logs and metrics and in the settings OPERATORS and MODERATOR_CHATS.
type Platform string

// User is a person on a chat platform. An empty ID is somebody whose identity
// the platform withholds, as with Telegram's anonymous administrators.
type User struct {
	Platform Platform
	ID       string
}

// Role is a sender's standing in the Community where they asked.
type Role int

// The roles. The zero value has no rights.
const (
	Member Role = iota
	Moderator
	// UnknownRole is for platforms that must be asked: the Router does so
	// through Config.Roles, and only for a moderators' form.
	UnknownRole
)

// Request is one command as it was asked, free of its platform.
type Request struct {
	// ID joins the log line and the reference that a user can quote. Tasks
	// makes it.
	ID      string
	Command string
	Args    Args
	From    User
	// SenderChat is the chat in whose name a sender without an ID speaks, such as a
	// channel; "" otherwise. Limits count by it.
	SenderChat string
	// Community identifies what the sender may be a moderator of, on their
	// platform: the group, or the server that the chat belongs to. It is empty
	// where there is none, as in a private chat.
	Community string
	// Role is the sender's in the Community.
	Role Role
	// Target is the person replied to, mentioned or picked; nil is nobody. A
	// Form with a Person is always run with a Target.
	Target *User
	// TargetName is what the Target calls themself, as the platform tells it
	// beside them: a user's text, to be shown through NewUntrusted and not logged.
	// It may be empty, and anybody may have the same.
	TargetName string
	// Chat identifies the chat on its platform, and ChatTitle is what its
	// members call it; that may be empty.
	Chat      string
	ChatTitle string
	// Direct is true where only the sender and the bot read along.
	Direct bool
	// CanReplyEphemerally is true where the platform can show an answer in this chat to
	// its asker alone.
	CanReplyEphemerally bool
	// Locale is the sender's, as the platform gives it: "pt-BR". It may be empty.
	Locale string
	// Language is set by the Router: that of the answer, for what a picture says.
	Language Language
	// MayModerate is set by the Router: the sender may use moderators' forms here
	// by all that is known without asking the platform.
	MayModerate bool
}

// Handler answers requests. Router is the one of the product.
type Handler interface {
	// Commands lists every command in the order of the platform's menu.
	Commands() Commands
	// Handle answers one request. It returns within the command's time limit,
	// never panics, and may be called from many goroutines.
	Handle(ctx context.Context, req Request) Reply
	// Language is that of an answer to req that everybody in the chat can read
	// or, if private, the asker alone.
	Language(req Request, private bool) Language
}

// Adapter joins one chat platform to a Handler.
type Adapter interface {
	Platform() Platform
	// Run serves h until ctx is done, then takes nothing more, finishes what
	// is in hand within DrainTime and returns nil. It returns an error when
	// the platform can never be served as configured (a refused token). It
	// reconnects by itself after anything else. It is called once.
	Run(ctx context.Context, h Handler) error
	// Ready reports whether the platform is connected now.
	Ready() bool
}

// Delivery is what is known of an update when it arrives.
type Delivery int

// What Dedup.Begin answers.
const (
	// New is an update seen for the first time; the caller owns it now.
	New Delivery = iota + 1
	// InFlight is one that somebody is answering.
	InFlight
	// Answered is one whose answer is out.
	Answered
)

// Dedup remembers which updates are in hand or answered, so that a repeated
// delivery is not answered again. Keys carry the platform. It never fails: an
// implementation that cannot reach its store decides by what it knows itself.
type Dedup interface {
	Claim(ctx context.Context, key string) Delivery
	// Release closes what Begin called Fresh. It must be called, even after a
	// panic: until then the update is in hand. With answered false the update
	// may be delivered again and is then Fresh once more.
	Release(ctx context.Context, key string, answered bool)
}
