package web

import (
	"encoding/json"

	"herald/internal/demo/community"
	"herald/internal/demo/fake/services"
)

// The page calls the Demo over HTTP:
//
//	GET  /           returns the page.
//	GET  /state      returns a State.
//	GET  /menu       returns the commands that a person's apps list, as an object. Its member
//	                 "telegram" is the commands in a chat, as a list of BotCommand. Its member
//	                 "discord" is the commands in the context menu of a user, as a list of
//	                 objects with "name" and "label". The query has as, chat and language of
//	                 an Act.
//	GET  /events     streams server-sent events. Each has no name and an Event as its data.
//	GET  /file/…     returns a picture. The addresses are in messages.
//	POST /act        does an Act, and returns a Result.
//	POST /later      lets six hours pass for the saved addresses, and returns true.
//	POST /faults     turns faults on (true) or off (false), and returns a State. The body is
//	                 an object with names of State.Faults as its members.
//	POST /language   sets the language of public answers, and returns a State. The body is
//	                 an object with "language", one of State.Languages.
//
// Bodies are JSON, except for files. If a call fails, the status is at least 400, and the body is a line of text.

// The sides of the demo.
const (
	Telegram = "telegram"
	Discord  = "discord"
	// Both is the Side of an Act on both sides.
	Both = "both"
)

// The chats on either side. Private is a person's private chat with the bot on Telegram, or their direct messages with
// the bot on Discord.
const (
	Group   = "group"
	Private = "private"
)

// Bot is the From of events of the bot.
const Bot = "bot"

// Event is a change on one side. A stream begins with KindReset. Repeated earlier events follow, then KindLive,
// then new events.
type Event struct {
	// Kind is one of the kinds below.
	Kind string `json:"kind"`
	// Side is Telegram or Discord.
	Side string `json:"side,omitempty"`
	// Chat is Group or Private.
	Chat string `json:"chat,omitempty"`
	// For is the only person that sees the event. If it is empty, everybody in the group does.
	For string `json:"for,omitempty"`
	// From is Bot or the person who wrote the message.
	From string `json:"from,omitempty"`
	// ID is the ID of the message on its Side. The event replaces an earlier event with the same Side and ID.
	ID string `json:"id,omitempty"`
	// ReplyTo is the ID of the message that this one answers, on Telegram. It may have been deleted.
	ReplyTo string `json:"replyTo,omitempty"`
	// Message is the content, in a form that depends on Kind.
	Message json.RawMessage `json:"message,omitempty"`

	number int // in the feed
	// picture is the PNG file that the message shows, or nil. address is its path on this server.
	picture []byte
	address string
}

// The kinds of events. Those marked (once) are not repeated for pages that connect later.
const (
	// KindReset begins a stream. The page deletes all messages that are not repeated before KindLive.
	KindReset = "reset"
	// KindLive ends the repeated events.
	KindLive = "live"
	// KindMessage is a new or changed message of the bot.
	//
	// On Telegram it is a Message of the Bot API. Its "photo" has one size, with a "url", and "reply_markup" may be a
	// ForceReply. An ephemeral message in the group has an "ephemeral_message_id".
	//
	// On Discord it is a message object. The "image" of an embed has a "url" of this server, which ends with the
	// "filename" of its attachment. Flag 64 marks an ephemeral message.
	KindMessage = "message"
	// KindThinking is a deferred response on Discord. The event of its message replaces it.
	KindThinking = "thinking"
	// KindAsked is a message or a command of a person.
	//
	// On Telegram it is a Message.
	//
	// On Discord it is an object with a "text", or with a "command" and its "options". An option has a "name", and
	// either a "value" or a "person". If the command was picked in the context menu of a user, "target" is that
	// person. For is empty once there is a public answer; the event is then sent again.
	KindAsked = "asked"
	// KindJoin is the latest request of the person From to join a group on Telegram, as the group's moderators see it.
	// Its Message has the JoinGroup's "required", and a "state": "open", "approved" or "withdrawn". It has no Chat.
	KindJoin = "join"
	// KindBadges lists the names of the people that have the badge on its Side. Its Message is the list. It has no
	// Chat.
	KindBadges = "badges"
	// KindGone (once) deletes the message with its ID. The event has no Message.
	KindGone = "gone"
	// KindAlert (once) answers the press of a button on Telegram. Its Message has the "text", "show_alert" and "url" of
	// answerCallbackQuery. The url links to the bot: the app opens the private chat and sends "/start" with the link's
	// parameter.
	KindAlert = "alert"
	// KindTyping (once) shows for about 5 seconds that the bot is typing, on Telegram.
	KindTyping = "typing"
	// KindMenu (once) reports that the answer to GET /menu has changed.
	KindMenu = "menu"
)

// Act is an action of a person.
type Act struct {
	// Side is Telegram or Discord. It may be Both for "say".
	Side string `json:"side"`
	// Kind is one of
	//
	//	say     sends Text. On Telegram it is a reply to Message, if that is set. On Discord the
	//	        options of a command follow its name in order, and @moderator mentions the
	//	        person with that name.
	//	press   presses Button under Message.
	//	pick    picks the command Text in the context menu of the person Target, on Discord.
	//	join    requests to join the JoinGroup with the Required Target, on Telegram. It may
	//	        be repeated.
	Kind string `json:"kind"`
	// As is the person's name, one of State.People.
	As string `json:"as"`
	// Chat is one of State.Chats.
	Chat string `json:"chat"`
	// Language is the language of the person's app, one of State.Languages.
	Language string `json:"language"`

	// Text is the text to send, or the name of the picked command.
	Text string `json:"text,omitempty"`
	// Message is the ID of a message in Chat.
	Message string `json:"message,omitempty"`
	// Button is the button's callback_data on Telegram, or its custom_id on Discord.
	Button string `json:"button,omitempty"`
	// Target is the name of a person, or the Required of a JoinGroup.
	Target string `json:"target,omitempty"`
	// OldApp makes "say" use a Telegram app without ephemeral commands. The bot then sends a private answer to the
	// private chat.
	OldApp bool `json:"oldApp,omitempty"`
}

// Result is the response to an Act. The bot's answers are Events.
type Result struct {
	// Hint explains in English why Discord's app did not send a command.
	Hint string `json:"hint,omitempty"`
}

// State has the choices that the page offers, and the chosen ones.
type State struct {
	People    community.People `json:"people"`
	Chats     []string         `json:"chats"`
	Languages []string         `json:"languages"`
	// ChatLanguage is the language of public answers.
	ChatLanguage string `json:"chatLanguage"`
	// JoinChats are the groups that people may request to join.
	JoinChats []community.JoinGroup `json:"joinChats"`
	// Channel is the ID of the group on Discord.
	Channel string `json:"channel"`
	// Faults are the faults of the services: the "name" of each, a "note" that describes it, and whether it is "on".
	Faults []*services.Fault `json:"faults"`
	// Examples are suggested messages. If there is no message yet, the page sends the first one itself.
	Examples []Example `json:"examples"`
	// BotName is the bot's username on Telegram, without the @.
	BotName string `json:"botName"`
}

// Example is a suggested message. Note describes it.
type Example struct {
	Text string `json:"text"`
	Note string `json:"note"`
}
