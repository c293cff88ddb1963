package web

import (
	"encoding/json"

	"herald/internal/demo/community"
	"herald/internal/demo/fake/services"
)

// The page talks to the Demo by HTTP and JSON:
//
//	GET  /           the page
//	GET  /state      a State
//	GET  /menu       the commands that a person's apps list, in an object with the members
//	                 "telegram", the commands of a chat as a list of BotCommand, and
//	                 "discord", the commands in the menu of a person: a list of objects with
//	                 "name" and "label". The query has as, chat and language, as in an Act
//	GET  /events     server-sent events without names, each data an Event
//	GET  /file/…     a picture whose address is in a message
//	POST /act        an Act; answered by a Result
//	POST /later      has hours pass for the saved addresses; answered by "true"
//	POST /faults     an object: the names of State.Faults to turn on (true) or off (false);
//	                 answered by a State
//	POST /language   an object with "language", one of State.Languages, for public answers;
//	                 answered by a State
//
// Bodies are JSON. A refusal has a status of 400 or above and a line of text.

// The sides of the demo.
const (
	Telegram = "telegram"
	Discord  = "discord"
	// Both is the Side of an Act on both sides.
	Both = "both"
)

// The chats on either side. In Private a person is alone with the bot: in Telegram's private
// chat, or in Discord's direct messages.
const (
	Group   = "group"
	Private = "private"
)

// Bot is the From of the bot's own events.
const Bot = "bot"

// Event is a change that one side shows. A stream begins with KindReset. Then come earlier
// events that are repeated, KindLive, and new events.
type Event struct {
	// Kind is one of the kinds below.
	Kind string `json:"kind"`
	// Side is Telegram or Discord.
	Side string `json:"side,omitempty"`
	// Chat is Group or Private.
	Chat string `json:"chat,omitempty"`
	// For is the only person who sees the event. Empty: everybody in the group.
	For string `json:"for,omitempty"`
	// From is Bot or the person who wrote the message.
	From string `json:"from,omitempty"`
	// ID is the ID of the message on its Side. The event replaces an earlier one that has the
	// same Side and ID.
	ID string `json:"id,omitempty"`
	// ReplyTo is the ID of the message that this one answers, on Telegram. That message may
	// have been deleted.
	ReplyTo string `json:"replyTo,omitempty"`
	// Message is the content, in a form that depends on Kind.
	Message json.RawMessage `json:"message,omitempty"`

	number int // of the event, counted by the feed
	// picture is the PNG that the message shows; nil: none. address is its path on this server.
	picture []byte
	address string
}

// The kinds of events. Those marked (once) are not repeated for pages that connect later.
const (
	// KindReset begins a stream. A page deletes the messages that are not repeated before
	// KindLive.
	KindReset = "reset"
	// KindLive ends the repetition of earlier events.
	KindLive = "live"
	// KindMessage is a message of the bot's, new or changed.
	//
	// On Telegram it is a Message of the Bot API. Its "photo" has one size, with a
	// "url", and "reply_markup" may be a ForceReply. An ephemeral message in the group
	// has an "ephemeral_message_id".
	//
	// On Discord it is a message object. The "image" of an embed has a "url" of
	// this server, which ends with the "filename" of its attachment. Flag 64 is
	// ephemeral.
	KindMessage = "message"
	// KindThinking is a deferred response on Discord, until its message is there.
	KindThinking = "thinking"
	// KindAsked is what a person wrote.
	//
	// On Telegram it is a Message.
	//
	// On Discord it is an object with a "text", or with a "command" and its "options". An
	// option has a "name", and either a "value" or a "person". "target" is the person in whose
	// menu the command was picked. For is empty once a public answer is there: the event is
	// then sent again.
	KindAsked = "asked"
	// KindJoin is the newest request of the person From to join a group on Telegram, as the
	// group's moderators see it. Its Message has the JoinGroup's "required", and a "state":
	// "open", "approved" or "withdrawn". It has no Chat.
	KindJoin = "join"
	// KindBadges lists the names of the people who have the badge on its Side. Its Message is
	// the list. It has no Chat.
	KindBadges = "badges"
	// KindGone (once) deletes the message with its ID. The event has no Message.
	KindGone = "gone"
	// KindAlert (once) answers the press of a button on Telegram. Its Message has the "text",
	// "show_alert" and "url" of answerCallbackQuery. A url links to the bot: the app opens the
	// private chat and sends "/start" with the link's parameter.
	KindAlert = "alert"
	// KindTyping (once) shows for about 5 seconds that the bot is typing, on Telegram.
	KindTyping = "typing"
	// KindMenu (once) tells a page that the answer to GET /menu has changed.
	KindMenu = "menu"
)

// Act is what a person does.
type Act struct {
	// Side is Telegram or Discord. It may be Both for "say".
	Side string `json:"side"`
	// Kind is one of
	//
	//	say     sends Text. On Telegram it answers Message, if that is set. On Discord a
	//	        command's options follow its name in order, and @moderator mentions the
	//	        person of that name.
	//	press   presses Button under Message
	//	pick    picks the command Text in the menu of the person Target, on Discord
	//	join    asks to join the group of the JoinGroup whose Required is Target, on
	//	        Telegram. A person may ask again.
	Kind string `json:"kind"`
	// As is the person's name, one of State.People.
	As string `json:"as"`
	// Chat is one of State.Chats.
	Chat string `json:"chat"`
	// Language is the language of the person's app, one of State.Languages.
	Language string `json:"language"`

	// Text is what is sent, or the name of the picked command.
	Text string `json:"text,omitempty"`
	// Message is the ID of a message in Chat.
	Message string `json:"message,omitempty"`
	// Button is the button's callback_data on Telegram, or its custom_id on Discord.
	Button string `json:"button,omitempty"`
	// Target is the name of a person, or the Required of a JoinGroup.
	Target string `json:"target,omitempty"`
	// OldApp makes "say" use a Telegram app without ephemeral commands: a private
	// answer then goes to the private chat.
	OldApp bool `json:"oldApp,omitempty"`
}

// Result is the answer to an Act. The bot's own answer comes as Events.
type Result struct {
	// Hint says, in English, why Discord's app did not send the text.
	Hint string `json:"hint,omitempty"`
}

// State holds the choices of the page.
type State struct {
	People    community.People `json:"people"`
	Chats     []string         `json:"chats"`
	Languages []string         `json:"languages"`
	// ChatLanguage is the language of public answers.
	ChatLanguage string `json:"chatLanguage"`
	// JoinChats are the groups that people ask to join.
	JoinChats []community.JoinGroup `json:"joinChats"`
	// Channel is the ID of the group on Discord.
	Channel string `json:"channel"`
	// Faults are the faults of the services: their "name", a "note" of what happens,
	// and whether they are "on".
	Faults []*services.Fault `json:"faults"`
	// Examples are messages worth sending. The page sends the first one by itself if
	// there is no message yet.
	Examples []Example `json:"examples"`
	// BotName is the bot's username on Telegram, without the @.
	BotName string `json:"botName"`
}

// Example is a message, and what it shows.
type Example struct {
	Text string `json:"text"`
	Note string `json:"note"`
}
