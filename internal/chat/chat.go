// Package chat is the vocabulary between chat platforms and commands: what was
// asked (Request), what can be asked (Command), what is answered (Reply), who
// carries it (Adapter) and the one way between them (Router).
//
// It imports the standard library alone. It knows no platform and no service,
// so that a command is a function from Request to Reply that never learns
// where it was asked, and an adapter never learns what a command does.
package chat

import (
	"context"
	"crypto/rand"
	"time"
)

// DrainTime is how long an Adapter may take to finish the commands in hand
// after its context is done.
const DrainTime = 10 * time.Second

// Platform names a chat platform in lower case, as in "telegram". It stands in
// logs and metrics and in the setting OPERATORS.
type Platform string

// User is a person on a chat platform. An empty ID is somebody whose identity
// the platform withholds, as with Telegram's anonymous administrators.
type User struct {
	Platform Platform
	ID       string
}

// Request is one command as it was asked, free of its platform.
type Request struct {
	// ID joins the log line and the reference that a user can quote.
	ID      string
	Command string
	// Words are the arguments in order, on platforms where people type them.
	Words []string
	// Args are the arguments by parameter name. An adapter fills them where
	// the platform names arguments; the Router fills them from Words.
	Args map[string]string
	From User
	// Target is the person replied to, mentioned or picked; nil is nobody.
	Target *User
	// Chat identifies the chat on its platform, for its rate limit.
	Chat string
	// Direct is true where only the sender and the bot read along.
	Direct bool
	// Moderator tells whether the sender moderates the chat. It is called only
	// for a moderators' form, may ask the platform, and is nil where the
	// answer is no.
	Moderator func(context.Context) (bool, error)
}

// NewID makes a short random identifier for a Request.
func NewID() string { return rand.Text()[:10] }

// Handler answers requests. Router is the one of the product.
type Handler interface {
	// Commands lists every command in the order of the platform's menu.
	Commands() []Command
	// Handle answers one request. It returns within the command's time limit,
	// never panics, and may be called from many goroutines.
	Handle(ctx context.Context, req Request) Reply
}

// Adapter joins one chat platform to a Handler.
type Adapter interface {
	Platform() Platform
	// Run serves until ctx is done, then takes nothing more, finishes what is
	// in hand within DrainTime and returns nil. It returns an error when the
	// platform can never be served as configured (a refused token). It
	// reconnects by itself after anything else. It is called once.
	Run(ctx context.Context) error
	// Ready tells whether the platform is connected now.
	Ready() bool
}

// Delivery is what is known of an update when it arrives.
type Delivery int

// What Dedup.Begin answers.
const (
	// Fresh is an update seen for the first time; the caller owns it now.
	Fresh Delivery = iota + 1
	// InHand is one that somebody is answering.
	InHand
	// Answered is one whose answer is out.
	Answered
)

// Dedup remembers which updates are in hand or answered, so that a repeated
// delivery is not answered again. Keys carry the platform. It never fails: an
// implementation that cannot reach its store decides by what it knows itself.
type Dedup interface {
	Begin(ctx context.Context, key string) Delivery
	// End closes what Begin called Fresh. With answered false the update may
	// be delivered again and is then Fresh once more.
	End(ctx context.Context, key string, answered bool)
}

// Limiter bounds events a key in a minute.
type Limiter interface {
	// Allow counts one event and tells how long to wait until the next would
	// be allowed; 0 is now. A refused event is not counted.
	Allow(ctx context.Context, key string) (wait time.Duration)
}
