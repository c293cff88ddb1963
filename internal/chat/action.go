package chat

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Action is a button under a Reply. Exactly one of Command, URL and Copy is set.
type Action struct {
	Label Text
	// Command and Args are asked when the button is pressed, by whoever presses
	// it: a press is a Request like any other.
	Command string
	Args    []string
	// Edit has the answer to Command replace the message that holds the button.
	Edit bool
	// Refresh asks for what the Reply shows once more: if its AsOf is still the
	// same, there is nothing to replace.
	Refresh bool
	// URL is opened.
	URL string
	// Copy is put on the clipboard, where the platform can.
	Copy string
}

// MaxState is the most bytes that the state of a button may have, by Telegram's
// limit, the lowest: https://core.telegram.org/bots/api#inlinekeyboardbutton
const MaxState = 64

// stateVersion begins every state. It is raised when states come to mean
// something else, so that buttons of an older version are known as such.
const stateVersion = "1"

// State is what a platform keeps beside the button and hands back when it is
// pressed: "1 e tbmm2o staked 0x…", in which e stands for Edit and the time is
// asOf. It is personal to nobody. It fails if the state would be too long or if
// an argument is empty or has a space in it.
func (a Action) State(asOf time.Time) (state string, ok bool) {
	kind := "n"
	if a.Edit {
		kind = "e"
	}
	at := strconv.FormatInt(max(asOf.Unix(), 0), 36)
	return joinState(append([]string{kind, at, a.Command}, a.Args...)...)
}

// State is that of a button which asks the question rather than the command:
// "1 a 0 staked wallet". It fails as an Action's does.
func (a Ask) State() (state string, ok bool) { return joinState("a", "0", a.Command, a.Param) }

func joinState(words ...string) (state string, ok bool) {
	state = stateVersion + " " + strings.Join(words, " ")
	return state, len(state) <= MaxState && slices.Equal(strings.Fields(state)[1:], words)
}

// Press is a button that was pressed, as its state tells.
type Press struct {
	Command string
	Args    []string
	Edit    bool
	// Asks is the parameter whose argument is asked for; if it is empty, the
	// command is asked.
	Asks string
	// AsOf is the Reply's that held the button, if it was one to Refresh; zero
	// otherwise.
	AsOf time.Time
}

// ErrOldButton is the error of ParseState for a state of another version.
var ErrOldButton = errors.New("the button is of another version")

var errNoState = errors.New("that is not the state of a button")

// ParseState reads the state of a button. Anybody can forge one, so what it says
// is checked as if it had been typed.
func ParseState(state string) (Press, error) {
	words := strings.Fields(state)
	if len(state) > MaxState || !utf8.ValidString(state) || strings.Join(words, " ") != state || state == "" {
		return Press{}, errNoState
	}
	if _, err := strconv.ParseUint(words[0], 10, 32); err != nil {
		return Press{}, errNoState
	}
	if words[0] != stateVersion {
		return Press{}, ErrOldButton
	}
	if len(words) < 4 || !slices.Contains([]string{"e", "n", "a"}, words[1]) {
		return Press{}, errNoState
	}
	at, err := strconv.ParseInt(words[2], 36, 64)
	if err != nil || at < 0 {
		return Press{}, errNoState
	}
	p := Press{Command: words[3], Args: words[4:], Edit: words[1] == "e"}
	if words[1] == "a" {
		if len(p.Args) != 1 {
			return Press{}, errNoState
		}
		p.Asks, p.Args = p.Args[0], nil
	}
	if at > 0 {
		p.AsOf = time.Unix(at, 0)
	}
	return p, nil
}
