// Package platform holds what all adapters of chat platforms share: the work in flight and its drain (work.go), which
// of two replies a message shows (shown.go), the outcomes of join requests (joinlog.go), groups with another ID
// (moves.go), and whether the bot has the rights that the settings need (right.go).
//
// Its subdirectories are the platforms. It knows none of them.
package platform

import (
	"context"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// Handler answers requests, as router.Router does. It is safe for concurrent use.
type Handler interface {
	// Commands returns the commands with a listed form, in the order of menus.
	Commands() chat.Commands
	// Visibility returns who may read the answer to a command, listed or not, by its name or alias. It returns 0 for an
	// unknown one: that answer must not replace a public message.
	Visibility(name string) chat.Visibility
	// Language returns the language of an answer to req, which the sender alone reads if it is Private. Of req, it reads
	// only the Locale, the Community and its platform, and whether it is Direct.
	Language(req *chat.Request, visibility chat.Visibility) chat.Language
	// Limits returns the rate limits that count req.
	Limits(req *chat.Request) []ratelimit.Limit
	// Proof returns the argument of req that may prove to a group that the sender can come in, or "".
	Proof(req *chat.Request) string
	// Seen is told which badges the sender of a command wears in a community that has badges in the settings: all roles,
	// or the tag if there is one. It does not block.
	Seen(user chat.User, community string, badges []string)
	// Handle answers one request. It counts req against its Limits, unless req is Counted. It returns within the
	// command's time limit, and never panics.
	Handle(ctx context.Context, req *chat.Request) *chat.Reply
}

// Adapter connects one chat platform to a Handler.
type Adapter interface {
	Platform() chat.Platform
	// Run passes requests to h and blocks until ctx is done. It then finishes the commands in flight within DrainTime
	// and returns nil. It returns an error if the configuration cannot work, such as with a refused token. After any
	// other failure it reconnects. It is called once.
	Run(ctx context.Context, h Handler) error
	// Ready reports whether the platform is connected now. Where a bot registers its commands, the platform must also
	// have them.
	Ready() bool
}

// Busy returns the reply to a command that is refused because too many are in flight.
func Busy() *chat.Reply { return chat.Refusal("busy.title", "busy.text") }
