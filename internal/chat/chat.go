// Package chat is the vocabulary between chat platforms and commands. An adapter turns an update into a Request, the
// router runs a Command, and the adapter shows the Reply:
//
//	chat.go      Request, and its sender
//	command.go   Command, its forms, their parameters and limits
//	args.go      the arguments of a Request
//	reply.go     Reply, and the values in it (value.go)
//	action.go    the button under a Reply; version.go: which of two replies is newer
//	join.go      requests to join a group
//	badge.go     roles and tags that come with a stake
//	language.go  the languages of the bot
//	rendered.go  a cache of what adapters make of a Reply
//
// A command does not send messages; it returns a Reply. An adapter treats all commands alike, by their fields. It knows
// only "join" and "start" by name.
package chat

import "time"

// Platform is a chat platform's name in lower case, such as "telegram". Logs and metrics use it, and so do the settings
// OPERATORS and MODERATOR_CHATS.
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
	// UnknownRole means that the Request does not say the role. The Router asks the platform before it runs a moderators'
	// form.
	UnknownRole
)

// Request is one command from a sender, in no platform's form.
type Request struct {
	// These fields are set by the adapter.

	// ID is a reference that the log has and the user can quote. platform.Work makes it.
	ID      string
	Command string
	Args    Args
	// From is the sender.
	From User
	// LimitKey identifies the sender in rate limits if From.ID is empty: it is the ID of the channel in whose name they
	// write. It gives no rights.
	LimitKey string
	// Asked is when the platform received the command, or zero if that is unknown. If it is over a minute ago, the rate
	// limits count the command in the minute of Asked instead of the current one.
	Asked time.Time
	// Deadline is when an answer would come too late. If it is zero, only router.Config.Timeout limits the command.
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
	// TargetName is the Target's display name, or empty. It is untrusted and never logged, and several users may have the
	// same name.
	TargetName string
	// GroupName is the display name of the group that a JoinCommand is about, or empty. It is untrusted.
	GroupName string
	// GroupURL is a link to the group that a JoinCommand is about, or empty if there is none.
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

	// These fields are set by the Router, before it runs the command.

	// Language is the language of the answer. A command needs it for pictures.
	Language Language
	// MayModerate permits moderators' forms. It is true for operators everywhere, and for a Moderator who has an ID in the
	// chats of router.Config.ModeratorChats.
	MayModerate bool
	// UnlistedChat is the entry that router.Config.ModeratorChats lacks for the Community, such as "telegram:-100123". It
	// is empty if ModeratorChats has the entry, or if there is no Community.
	UnlistedChat string

	// These fields are set by an adapter that claims the update and counts the request in one call (claim.Claims).

	// Counted is true if the rate limits have counted the request. The Router then does not count it again.
	Counted bool
	// Wait is how long the sender has to wait if Counted is true, or 0 if the rate limits allow the request.
	Wait time.Duration
}

// MightModerate reports whether the sender may use moderators' forms, or might turn out to: if their role is unknown,
// and moderators may use such forms in this chat.
func (req *Request) MightModerate() bool {
	moderatorsMay := req.UnlistedChat == ""
	return req.MayModerate || (req.Role == UnknownRole && moderatorsMay)
}

// Move is a change of a group's ID by the platform.
type Move struct {
	// From and To are the old and the new ID in the form of settings, such as "telegram:-1001234567890".
	From, To string
	// Settings names the settings that still have the old ID, such as "JOIN_CHATS, MODERATOR_CHATS".
	Settings string
}
