package chat

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// Action is a button under a Reply. Exactly one of Command, URL, Copy, Private and
// Invite is set.
type Action struct {
	Label Text
	// Command and Args make the Request that a press sends. Its sender is the user who presses.
	Command string
	Args    []string
	// Edit makes the answer replace the message with the button. Otherwise the answer is a new message.
	Edit bool
	// Refresh marks a Command that answers the same question again. If the new Reply is Older than the shown one or the
	// Same (see Version.Compare), or looks the same, the platform leaves the message as it is.
	Refresh bool
	// URL is opened.
	URL string
	// Copy is put on the clipboard, if the platform can do that.
	Copy string
	// Private opens the private chat with the bot, if the platform has private chats.
	Private bool
	// Invite adds the bot to a group of the user who presses, if the platform has a link for that.
	Invite bool
	// NewRow begins a row of buttons.
	NewRow bool
	// Current marks the choice that the Reply shows.
	Current bool
	// NextStep marks what the reader most likely does next. Only the first NextStep of a Reply stands out.
	NextStep bool
}

// maxState is the maximum length of a button's state in bytes. Of the platforms, Telegram has the lowest limit:
// https://core.telegram.org/bots/api#inlinekeyboardbutton
const maxState = 64

// stateVersion begins every state. Increment it when states change their meaning, so that older buttons are refused.
const stateVersion = "1"

// The second word of a state says what the answer does to the message with the button.
const (
	wordEdit = "e" // The answer replaces the message: Action.Edit.
	wordKeep = "n" // The answer is a new message.
)

// State returns the action's state: a text that a platform stores with the button, and sends back when the button is
// pressed. asOf is the Version of the Reply with the button. The state is these words with a space between them, such
// as "1 e je#4ym1hc staked 0x5290…":
//
//   - stateVersion
//   - wordEdit or wordKeep
//   - asOf (see Version.word), or 0 if the Action is not a Refresh
//   - Command and Args
//
// State returns false if the state would be longer than maxState, or if Command or an argument is empty or contains a
// space.
func (a Action) State(asOf Version) (state string, fits bool) {
	kind := wordKeep
	if a.Edit {
		kind = wordEdit
	}
	at := "0"
	if a.Refresh {
		// word does not return 0, even if asOf is zero. So two buttons of a Reply have different states if only one of them
		// is a Refresh. Discord refuses two buttons with the same state.
		at = asOf.word()
	}
	words := append([]string{stateVersion, kind, at, a.Command}, a.Args...)
	state = strings.Join(words, " ")
	if len(state) > maxState || !slices.Equal(strings.Fields(state), words) {
		return "", false
	}
	return state, true
}

// Press is what the state of a pressed button says.
type Press struct {
	Command string
	Args    []string
	Edit    bool
	// AsOf is the Version of the Reply with the button. It is zero if the button is not a Refresh.
	AsOf Version
}

// ErrOldButton is returned by ParseState for a text that State of this version does not return.
var ErrOldButton = errors.New("the button is not of this version")

// ParseState returns the Press of a state, or ErrOldButton. Anybody can forge a state, so a Press gives no rights: the
// Router checks its Request like one that was typed.
func ParseState(state string) (Press, error) {
	words := strings.Fields(state)
	isClean := len(state) <= maxState && utf8.ValidString(state) && strings.Join(words, " ") == state
	if !isClean || len(words) < 4 || words[0] != stateVersion {
		return Press{}, ErrOldButton
	}
	kind := words[1]
	asOf, isVersion := parseVersion(words[2])
	if !isVersion || (kind != wordEdit && kind != wordKeep) {
		return Press{}, ErrOldButton
	}
	return Press{Command: words[3], Args: words[4:], Edit: kind == wordEdit, AsOf: asOf}, nil
}
