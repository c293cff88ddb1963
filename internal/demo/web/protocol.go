package web

import (
	"encoding/json"

	faketelegram "herald/internal/demo/fake/telegram"
)

// The page asks and is told by HTTP and JSON:
//
//	GET  /           the page
//	GET  /state      a State
//	GET  /menu       a Menu, by the query's as, chat and language
//	GET  /events     server-sent events without names, each data an Event
//	GET  /file/…     a picture, at the address that a message gives it
//	POST /act        an Act; answered by a Result
//	POST /fault      a Switch; answered by a State
//	POST /reset      empties the chats; the body is {}
//
// A body is JSON and says so in its Content-Type. What is refused is answered
// with a status of 400 or above and a line of text.

// The sides of the demo: where a chat is shown.
const (
	Telegram = "telegram"
	Discord  = "discord"
	// Both is where an Act may happen besides.
	Both = "both"
)

// The places of a chat on either side. In "private" a person is alone with the
// bot: Telegram's private chat, Discord's direct messages.
const (
	Group   = "group"
	Private = "private"
)

// Bot is who an Event is from if it is not from one of State.Askers.
const Bot = "bot"

// Event is something that is seen on one side. The stream of events begins with
// "reset", then has each event again that still holds, then "live", and then
// what happens. A client that reconnects so shows what one that was there shows,
// and may keep what it is told again unchanged.
type Event struct {
	// Kind is one of the kinds below.
	Kind string `json:"kind"`
	// Side is Telegram or Discord.
	Side string `json:"side,omitempty"`
	// Chat is Group or Private, where the event is to be shown.
	Chat string `json:"chat,omitempty"`
	// For is the one asker who sees it. Empty is everybody in the chat, which is
	// never so in a private one.
	For string `json:"for,omitempty"`
	// From is Bot or the asker who said it.
	From string `json:"from,omitempty"`
	// ID is the message's, on its side. An event with an ID that is shown already
	// takes its place, whatever kind the earlier one was.
	ID string `json:"id,omitempty"`
	// ReplyTo is the ID of the message that it answers, on Telegram. That may be
	// gone.
	ReplyTo string `json:"replyTo,omitempty"`
	// Message is what is shown, in the form that Kind says.
	Message json.RawMessage `json:"message,omitempty"`
}

// The kinds of events. Those marked (once) are told when they happen and not
// again to a client that comes later.
const (
	// KindReset empties both sides, of all that is not told again until "live".
	KindReset = "reset"
	// KindLive ends what is told again.
	KindLive = "live"
	// KindMessage is a message of the bot's, new or changed.
	//
	// On Telegram it is a Message of the Bot API. Its "photo" has one size, with a
	// "url", and "reply_markup" may be a ForceReply. One that its reader alone sees
	// in the group has an "ephemeral_message_id".
	//
	// On Discord it is a message object. The "image" of an embed has a "url" that
	// the page can show, at the end of which stands the "filename" of its
	// attachment. Flag 64 is ephemeral.
	KindMessage = "message"
	// KindThinking is a message on Discord that is promised and not there yet.
	KindThinking = "thinking"
	// KindAsked is what a person wrote. On Telegram it is a Message. On Discord it
	// is a Typed; what of it others see is known once it is answered, so that For
	// may be empty in a later event of the same ID.
	KindAsked = "asked"
	// KindGone has no Message: that of ID was deleted.
	KindGone = "gone"
	// KindAlert (once) ends the press of a button on Telegram: an Alert, which may
	// be empty.
	KindAlert = "alert"
	// KindModal (once) is a window that Discord opens: title, custom_id and
	// components, as the bot sent them. It is sent back by an Act of the kind
	// "submit" with Message set to ID.
	KindModal = "modal"
	// KindTyping (once): Telegram shows for some 5 seconds that the bot is typing.
	KindTyping = "typing"
	// KindMenu (once): what GET /menu answers has changed.
	KindMenu = "menu"
	// KindFault (once): what GET /state answers has changed.
	KindFault = "fault"
)

// Typed is what a person wrote on Discord: a command with its options, or the
// entry of a person's menu, or a Text that is none of these.
type Typed struct {
	Command string        `json:"command,omitempty"`
	Options []TypedOption `json:"options,omitempty"`
	// Target is the asker whose menu was used.
	Target string `json:"target,omitempty"`
	Text   string `json:"text,omitempty"`
}

// TypedOption is an option with what was given for it. Of a person that is the
// asker's name or a user ID.
type TypedOption struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Alert is what answerCallbackQuery says. With ShowAlert it stays until it is
// closed. With URL, which is a link to the bot, the app opens the private chat
// and says there "/start" and the link's parameter.
type Alert struct {
	Text      string `json:"text,omitempty"`
	ShowAlert bool   `json:"show_alert,omitempty"`
	URL       string `json:"url,omitempty"`
}

// Act is what a person does.
type Act struct {
	// Side is Telegram, Discord or, for "say" alone, Both.
	Side string `json:"side"`
	// Kind is one of
	//
	//	say       Text is typed. On Discord it is a command with its options in
	//	          order. @moderator and so on mention an asker.
	//	press     Button, the callback_data or custom_id, under Message
	//	submit    a modal, with Values by the custom_id of its inputs
	//	pick      Text is an entry in the menu of the person Target (Discord)
	//	complete  Text is typed so far, and choices are wanted for its last word
	//	          (Discord), or is an inline query without the bot's name (Telegram)
	//	choose    the result Button of the inline query Message is sent (Telegram)
	Kind string `json:"kind"`
	// As is one of State.Askers, Chat one of State.Chats and Language one of
	// State.Languages: that of the person's app.
	As       string `json:"as"`
	Chat     string `json:"chat"`
	Language string `json:"language"`

	Text    string            `json:"text,omitempty"`
	Message string            `json:"message,omitempty"`
	Button  string            `json:"button,omitempty"`
	Target  string            `json:"target,omitempty"`
	Values  map[string]string `json:"values,omitempty"`
	// ReplyTo is the ID of a message to which "say" replies, on Telegram.
	ReplyTo string `json:"replyTo,omitempty"`
	// OldApp has "say" come from an app of Telegram's that knows no ephemeral
	// commands, so that a private answer goes to the private chat.
	OldApp bool `json:"oldApp,omitempty"`
}

// Result says what became of an Act. What the bot answers comes as Events.
type Result struct {
	// Hint is why Discord's app does not send what was typed there. It names no side:
	// who shows it does.
	Hint string `json:"hint,omitempty"`
	// Choices are those of "complete". On Discord each has a name and a value,
	// which takes the place of the last word of Text; on Telegram each is an
	// InlineQueryResult, whose id "choose" sends back, with Query as its message.
	Choices json.RawMessage `json:"choices,omitempty"`
	Query   string          `json:"query,omitempty"`
}

// State is what there is to choose from, and which services fail.
type State struct {
	Askers    []Asker   `json:"askers"`
	Chats     []string  `json:"chats"`
	Languages []string  `json:"languages"`
	Services  []Service `json:"services"`
	// Examples are messages worth sending, the first one first.
	Examples []Example `json:"examples"`
	// BotName is the bot's username on Telegram, without the @.
	BotName string `json:"botName"`
}

// Asker is somebody whom one can be. The ID is their user ID on each side.
type Asker struct {
	Name string            `json:"name"`
	ID   map[string]string `json:"id"`
}

// Service is one that the bot asks, and how it fails.
type Service struct {
	Name string `json:"name"`
	// Fault is one of Faults; "" is none.
	Fault  string   `json:"fault"`
	Faults []string `json:"faults"`
}

// Example is a message with what it shows.
type Example struct {
	Text string `json:"text"`
	Note string `json:"note"`
}

// Switch has a service fail in one of its ways, or, with "", no longer.
type Switch struct {
	Service string `json:"service"`
	Fault   string `json:"fault"`
}

// Menu is what an asker's apps list in a chat. Telegram's entries are BotCommands.
type Menu struct {
	Telegram []faketelegram.Command `json:"telegram"`
	Discord  []MenuEntry            `json:"discord"`
}

// MenuEntry is a command on Discord, with its label and description in the
// asker's language. One of a person's menu is asked about that person.
type MenuEntry struct {
	Person      bool   `json:"person"`
	Name        string `json:"name"`
	Label       string `json:"label"`
	Description string `json:"description"`
}
