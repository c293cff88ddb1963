// Package chat is the vocabulary between chat platforms and commands. An adapter turns an update into a Request, the
// router runs a Command, and the adapter shows the Reply:
//
//	chat.go      Request, and its sender
//	command.go   Command, its forms, their parameters and limits
//	args.go      the arguments of a Request
//	reply.go     Reply, and the values in it (value.go)
//	action.go    the button under a Reply; version.go: which of two replies is newer
//	join.go      join requests of a group
//	badge.go     roles and tags that come with a stake
//	language.go  the languages of the bot
//
// A command does not send messages; it returns a Reply. An adapter treats all commands alike, by their fields. It knows
// only "join" and "start" by name.
package chat

import "time"

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

	// ID is logged, and shown as the reference that a user can quote. platform.Work makes it.
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
	// Inline marks a query that the platform sends again with every letter typed. Only the rate limit of its Chat counts
	// it.
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
	// GroupURL opens that group; empty: there is no link to it.
	GroupURL string
	// Chat identifies the chat on its platform.
	Chat string
	// Direct marks a chat that only the sender and the bot can read.
	Direct bool
	// BotName is the bot's display name, and BotHandle is how people mention it, such as "@herald_bot". Both are for
	// pictures. They are empty until the adapter has received them.
	BotName, BotHandle string
	// CanReplyEphemerally marks a chat in which the platform can show a message to the sender only.
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

	// Set by an adapter that claims the update and counts the request in one call (claim.Claims).

	// Counted is true if the rate limits have counted the request. The Router then does not count it. Wait is how long
	// the sender has to wait according to those limits; 0: not at all.
	Counted bool
	Wait    time.Duration
}

// MightModerate reports whether the sender may use moderators' forms, as far as that is known. If the Role is an
// UnknownRole, it reports whether a Moderator may use them here.
func (req *Request) MightModerate() bool {
	moderatorsMay := req.UnlistedChat == ""
	return req.MayModerate || (req.Role == UnknownRole && moderatorsMay)
}

// Move is a group that has another ID now. Both IDs are as settings name the group, such as
// "telegram:-1001234567890".
type Move struct {
	From, To string
	// Settings are the names of the settings that have From, with commas between them.
	Settings string
}
