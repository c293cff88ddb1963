// Package platform holds what the adapters of all chat platforms share:
//
//	platform.go  the interfaces between an adapter and the handler of requests
//	work.go      the updates in flight, and how they are finished at the end
//	shown.go     which of two answers a message shows
//	joinlog.go   the outcomes of join requests
//	moves.go     groups whose ID has changed
//	right.go     whether the bot has the rights that the settings need
//	nobadges.go  the methods of chat.BadgeGiver, for a platform without badges
//
// Each subdirectory is a platform. This package imports none of them.
package platform

import (
	"context"

	"herald/internal/chat"
	"herald/internal/ratelimit"
)

// Handler answers requests, as router.Router does. It is safe for concurrent use.
type Handler interface {
	// Commands returns the commands with at least one form that menus list, in the order of the menus.
	Commands() chat.Commands
	// Visibility returns who may read the answer to a command. The name is the command's name or an alias; the command
	// need not be listed. If there is no such command, Visibility returns 0, and the adapter must not let the answer
	// replace a public message.
	Visibility(name string) chat.Visibility
	// Language returns the language of an answer to req with this visibility: the sender's language if only they read
	// the answer. It uses only these fields of req: Locale, Community, Direct, and the platform in From.
	Language(req *chat.Request, visibility chat.Visibility) chat.Language
	// Limits returns the rate limits that req counts against.
	Limits(req *chat.Request) []ratelimit.Limit
	// Proof returns the argument of req that may prove to a group that the sender can join it. It returns "" if req has
	// no such argument.
	Proof(req *chat.Request) string
	// Seen takes note of the badges that the sender of a command has in a community. The adapter calls it if the
	// settings name a badge of that community. On Discord, badges are the IDs of all roles of the member; on Telegram,
	// the member's tag, if there is one. Seen does not block.
	Seen(user chat.User, community string, badges []string)
	// Handle answers one request. Unless req.Counted is set, Handle counts req against its Limits. It blocks for at
	// most the command's time limit, and never panics.
	Handle(ctx context.Context, req *chat.Request) *chat.Reply
}

// Adapter connects one chat platform to a Handler.
type Adapter interface {
	Platform() chat.Platform
	// Run passes requests to h. It blocks until ctx is done, finishes the commands in flight within DrainTime, and
	// returns nil. Before ctx is done, Run returns only with an error:
	//   - if the configuration cannot work, for example because the platform refuses the token;
	//   - if the platform's input has ended for good, for example because a pipe was closed. Run then finishes the
	//     commands in flight first.
	// After any other failure, Run reconnects. It is called once.
	Run(ctx context.Context, h Handler) error
	// Ready reports whether the platform is connected now. If bots register their commands with the platform, Ready
	// also requires that the platform has this bot's commands.
	Ready() bool
}

// Busy returns the reply to a command that the adapter refuses because too many are in flight.
func Busy() *chat.Reply { return chat.Refusal("busy.title", "busy.text") }
