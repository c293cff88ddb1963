package web

import (
	"encoding/json"

	"herald/internal/demo/fake/services"
)

// The page talks to the Demo by HTTP and JSON:
//
//	GET  /           the page
//	GET  /state      a State
//	GET  /menu       what the apps of the query's "as" list, in its chat and language:
//	                 telegram, a list of BotCommand, and discord, the name and label
//	                 of each command in the menu of a person
//	GET  /events     server-sent events without names, each data an Event
//	GET  /file/…     a picture, at the address that a message gives it
//	POST /act        an Act; answered by a Result
//	POST /faults     which of State.Faults are on from now, by name; answered by a State
//	POST /language   the language of the chat, one of State.Languages; answered by a State
//
// A body is JSON and its Content-Type says so. What is refused is answered with a
// status of 400 or above and a line of text.

// The sides of the demo: where a chat is shown.
const (
	Telegram = "telegram"
	Discord  = "discord"
	// Both is where an Act may happen besides.
	Both = "both"
)

// The places of a chat on either side. In Private a person is alone with the bot:
// Telegram's private chat, Discord's direct messages.
const (
	Group   = "group"
	Private = "private"
)

// Bot is who an Event is from if it is not from one of State.Askers.
const Bot = "bot"

// Event is something that is seen on one side. The stream of events begins with
// KindReset, then has each event again that still holds, then KindLive, and then
// what happens.
type Event struct {
	// Kind is one of the kinds below.
	Kind string `json:"kind"`
	// Side is Telegram or Discord.
	Side string `json:"side,omitempty"`
	// Chat is Group or Private.
	Chat string `json:"chat,omitempty"`
	// For is the one asker who sees it. Empty is everybody in the chat, which
	// never happens in a private one.
	For string `json:"for,omitempty"`
	// From is Bot or the asker who said it.
	From string `json:"from,omitempty"`
	// ID is the message's, on its side. An event replaces the one with its ID.
	ID string `json:"id,omitempty"`
	// ReplyTo is the ID of the message that it answers, on Telegram. That one may
	// be gone.
	ReplyTo string `json:"replyTo,omitempty"`
	// Message is what is shown, in the form that Kind says.
	Message json.RawMessage `json:"message,omitempty"`

	number int // in the order of the feed
	// picture is a PNG that the message shows, at an address of this server.
	picture []byte
	address string
}

// The kinds of events. Those marked (once) are not told again to a page that comes
// later.
const (
	// KindReset empties both sides of all that is not told again until KindLive.
	KindReset = "reset"
	// KindLive ends what is told again.
	KindLive = "live"
	// KindMessage is a message of the bot's, new or changed.
	//
	// On Telegram it is a Message of the Bot API. Its "photo" has one size, with a
	// "url", and "reply_markup" may be a ForceReply. One that its reader alone sees
	// in the group has an "ephemeral_message_id".
	//
	// On Discord it is a message object. The "image" of an embed has a "url" of
	// this server, which ends with the "filename" of its attachment. Flag 64 is
	// ephemeral.
	KindMessage = "message"
	// KindThinking is a message on Discord that is promised and not there yet.
	KindThinking = "thinking"
	// KindAsked is what a person wrote: on Telegram a Message; on Discord a command
	// with options, each a name and a value or a person, and the target of a person's
	// menu, or a text that is no command. What of it others see on Discord is known once it
	// is answered: For may then be empty in a later event of the same ID.
	KindAsked = "asked"
	// KindGone has no Message: the one of ID was deleted.
	KindGone = "gone"
	// KindAlert (once) ends the press of a button on Telegram: text, show_alert and
	// url of answerCallbackQuery. With a url, which is a link to the bot, the app
	// opens the private chat and says "/start" and the link's parameter there.
	KindAlert = "alert"
	// KindTyping (once): Telegram shows for about 5 seconds that the bot is typing.
	KindTyping = "typing"
	// KindMenu (once): what GET /menu answers has changed.
	KindMenu = "menu"
)

// Act is what a person does.
type Act struct {
	// Side is Telegram, Discord or, for "say" alone, Both.
	Side string `json:"side"`
	// Kind is one of
	//
	//	say       Text is typed, on Telegram as a reply to Message if that is set.
	//	          On Discord it is a command with its options in order. @moderator
	//	          and so on mention an asker.
	//	press     Button, the callback_data or custom_id, under Message
	//	pick      Text is an entry in the menu of the person Target (Discord)
	Kind string `json:"kind"`
	// As is one of State.Askers, Chat one of State.Chats. Language is the one of
	// the person's app, one of State.Languages.
	As       string `json:"as"`
	Chat     string `json:"chat"`
	Language string `json:"language"`

	Text    string `json:"text,omitempty"`
	Message string `json:"message,omitempty"`
	Button  string `json:"button,omitempty"`
	Target  string `json:"target,omitempty"`
	// OldApp has "say" come from a Telegram app without ephemeral commands, so that
	// a private answer goes to the private chat.
	OldApp bool `json:"oldApp,omitempty"`
}

// Result says what became of an Act. What the bot answers comes as Events.
type Result struct {
	// Hint is why Discord's app does not send what was typed there.
	Hint string `json:"hint,omitempty"`
}

// State is what there is to choose from, and what goes wrong.
type State struct {
	Askers    []Asker  `json:"askers"`
	Chats     []string `json:"chats"`
	Languages []string `json:"languages"`
	// ChatLanguage is the one of what everybody in a chat reads.
	ChatLanguage string `json:"chatLanguage"`
	// Channel is the ID of the group on Discord.
	Channel string `json:"channel"`
	// Faults are what can go wrong, each with its "name", a "note" of what happens, and
	// whether it is "on".
	Faults []*services.Fault `json:"faults"`
	// Examples are messages worth sending. The page sends the first one by itself, if
	// nobody said anything yet.
	Examples []Example `json:"examples"`
	// BotName is the bot's username on Telegram, without the @.
	BotName string `json:"botName"`
}

// Asker is somebody whom one can be, with their user ID on each side.
type Asker struct {
	Name       string `json:"name"`
	TelegramID int64  `json:"telegram,string"`
	DiscordID  string `json:"discord"`
	moderator  bool
}

// Example is a message, and what it shows.
type Example struct {
	Text string `json:"text"`
	Note string `json:"note"`
}
