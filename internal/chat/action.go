package chat

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Action is a button under a Reply. Exactly one of Command, URL, Copy, Private and
// Invite is set.
type Action struct {
	Label Text
	// Command and Args are asked by a press, in a Request from the person who presses.
	Command string
	Args    []string
	// Edit replaces the message with the button by the answer.
	Edit bool
	// Refresh asks for the Reply again. If AsOf is the same, the message is not edited.
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

// State returns what a platform keeps with the button and hands back on a press, such as
// "1 e tbmm2o staked 0x…": the version, "e" for Edit or "n", the Reply's asOf in base 36
// for Refresh, Command and Args. It returns "" without a Command, if the state is too long,
// or if an argument is empty or has a space.
func (a Action) State(asOf time.Time) string {
	kind, at := "n", int64(0)
	if a.Edit {
		kind = "e"
	}
	if a.Refresh {
		// Never 0: Discord refuses two buttons with one state, and another button may ask
		// the same without being a refresh.
		at = max(asOf.Unix(), 1)
	}
	words := append([]string{kind, strconv.FormatInt(at, 36), a.Command}, a.Args...)
	state := stateVersion + " " + strings.Join(words, " ")
	if len(state) > maxState || !slices.Equal(strings.Fields(state)[1:], words) {
		return ""
	}
	return state
}

// Press is the content of a state.
type Press struct {
	Command string
	Args    []string
	Edit    bool
	// AsOf is the shown Reply's if the button refreshes it, or zero.
	AsOf time.Time
}

// ErrOldButton is returned by ParseState for a state of another version, or a forged one.
var ErrOldButton = errors.New("the button is not of this version")

// ParseState returns the content of a state, or ErrOldButton. Anybody can forge a state,
// so the Router checks a Press as if somebody had typed it.
func ParseState(state string) (Press, error) {
	words := strings.Fields(state)
	clean := len(state) <= maxState && utf8.ValidString(state) && strings.Join(words, " ") == state
	if !clean || len(words) < 4 || words[0] != stateVersion {
		return Press{}, ErrOldButton
	}
	at, err := strconv.ParseUint(words[2], 36, 63)
	if err != nil || words[1] != "e" && words[1] != "n" {
		return Press{}, ErrOldButton
	}
	p := Press{Command: words[3], Args: words[4:], Edit: words[1] == "e"}
	if at > 0 {
		p.AsOf = time.Unix(int64(at), 0)
	}
	return p, nil
}
