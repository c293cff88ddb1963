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
	// Command and Args are what a press asks. A press is a Request like any
	// other, made by whoever presses.
	Command string
	Args    []string
	// Edit puts the answer in place of the message that holds the button.
	Edit bool
	// Refresh asks again for what the Reply shows. If AsOf is the same, the
	// message stays as it is.
	Refresh bool
	// URL is opened.
	URL string
	// Copy is put on the clipboard where the platform can.
	Copy string
	// Private opens the private chat with the bot, where the platform has one.
	Private bool
	// Invite adds the bot to a group of who presses, where the platform has a link for
	// that.
	Invite bool
	// NewRow begins a row of buttons.
	NewRow bool
	// Shown marks the button of what the Reply shows.
	Shown bool
}

// maxState is how many bytes the state of a button may have. Telegram's limit is
// the lowest: https://core.telegram.org/bots/api#inlinekeyboardbutton
const maxState = 64

// stateVersion begins every state. Raise it when states change their meaning:
// buttons of an older version are then refused.
const stateVersion = "1"

// State is what a platform keeps with the button and hands back on a press, such
// as "1 e tbmm2o staked 0x…". The "e" stands for Edit, and asOf comes in base 36. It
// holds nothing personal but what the reader of a private answer typed. It is "" if it
// would be too long, or if an argument is empty or has a space in it.
func (a Action) State(asOf time.Time) string {
	kind := "n"
	if a.Edit {
		kind = "e"
	}
	at := strconv.FormatInt(max(asOf.Unix(), 0), 36)
	words := append([]string{kind, at, a.Command}, a.Args...)
	state := stateVersion + " " + strings.Join(words, " ")
	if len(state) > maxState || !slices.Equal(strings.Fields(state)[1:], words) {
		return ""
	}
	return state
}

// Press is what the state of a pressed button says.
type Press struct {
	Command string
	Args    []string
	Edit    bool
	// AsOf is when the shown Reply was learned if the button refreshes it, or zero.
	AsOf time.Time
}

// ErrOldButton is the error of ParseState: the state is of another version, or
// forged.
var ErrOldButton = errors.New("the button is not of this version")

// ParseState reads the state of a button. Anybody can forge one, so what it says
// is checked as if somebody had typed it.
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
