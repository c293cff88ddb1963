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
	// Command and Args make the Request that a press sends, in the name of whoever presses.
	Command string
	Args    []string
	// Edit shows the answer in place of the message with the button. Otherwise the answer is
	// a message of its own.
	Edit bool
	// Refresh marks a Command that makes the same Reply anew. If the new Reply is Older than the shown
	// one or the Same (Version.Compare), or looks the same, the platform leaves the message as it is.
	Refresh bool
	// URL is opened.
	URL string
	// Copy is put on the clipboard where the platform can.
	Copy string
	// Private opens the private chat with the bot, where the platform has one.
	Private bool
	// Invite adds the bot to a group of the person who presses, where the platform has a
	// link for that.
	Invite bool
	// NewRow begins a row of buttons.
	NewRow bool
	// Current marks the choice that the Reply shows.
	Current bool
	// NextStep marks what the reader most likely does next. Only the first one of a Reply
	// stands out.
	NextStep bool
}

// maxState is the longest state in bytes. Telegram's limit is the lowest:
// https://core.telegram.org/bots/api#inlinekeyboardbutton
const maxState = 64

// stateVersion begins every state. Raise it when states change their meaning, so that
// older buttons are refused.
const stateVersion = "1"

// State returns the text that a platform stores with the button and hands back on a press. It
// is these words with a space between them, such as "1 e je#4ym1hc staked 0x…":
//   - stateVersion
//   - "e" with Edit, or "n"
//   - what the Reply is as of (Version.word), or 0 if the Action is not a Refresh
//   - Command and Args
//
// State returns false if the text is longer than maxState, if Command or an argument is empty, or
// if one of them contains a space.
func (a Action) State(asOf Version) (state string, fits bool) {
	kind, at := "n", "0"
	if a.Edit {
		kind = "e"
	}
	if a.Refresh {
		// Not 0, even if asOf is unknown: a Reply may have a second button that asks the same
		// without being a Refresh, and Discord refuses two buttons with one state.
		at = asOf.word()
	}
	words := append([]string{stateVersion, kind, at, a.Command}, a.Args...)
	state = strings.Join(words, " ")
	if len(state) > maxState || !slices.Equal(strings.Fields(state), words) {
		return "", false
	}
	return state, true
}

// Press is the content of a state.
type Press struct {
	Command string
	Args    []string
	Edit    bool
	// AsOf is the Version of the shown Reply; zero: the button is not a Refresh.
	AsOf Version
}

// ErrOldButton is the error of ParseState for a text that is no state of this version.
var ErrOldButton = errors.New("the button is not of this version")

// ParseState returns the content of a state, or ErrOldButton. Anybody can forge a state, so a
// Press gives no rights: the Router checks its Request like one that was typed.
func ParseState(state string) (Press, error) {
	words := strings.Fields(state)
	clean := len(state) <= maxState && utf8.ValidString(state) && strings.Join(words, " ") == state
	if !clean || len(words) < 4 || words[0] != stateVersion {
		return Press{}, ErrOldButton
	}
	asOf, ok := parseVersion(words[2])
	if !ok || words[1] != "e" && words[1] != "n" {
		return Press{}, ErrOldButton
	}
	return Press{Command: words[3], Args: words[4:], Edit: words[1] == "e", AsOf: asOf}, nil
}
