package chat_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
)

// TestTheStateOfAButtonComesBackAsItWasMade, or is refused where no platform could
// keep it. Buttons in chats outlive a release, so the states are written out.
func TestTheStateOfAButtonComesBackAsItWasMade(t *testing.T) {
	asOf := time.Unix(1_790_000_000, 0)
	button := func(edit bool, asOf time.Time, command string, args ...string) string {
		return stateOf(chat.Action{Command: command, Args: args, Edit: edit, Refresh: !asOf.IsZero()}, chat.Version{Time: asOf})
	}
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	longest := strings.Repeat("y", 51)
	for name, test := range map[string]struct {
		state string
		want  string // "" is refused
		press chat.Press
	}{
		"refresh":            {button(true, asOf, "price"), "1 e tlpwu8 price", chat.Press{Command: "price", Edit: true, AsOf: chat.Version{Time: asOf}}},
		"another answer":     {button(false, asOf, "price", "7d"), "1 n tlpwu8 price 7d", chat.Press{Command: "price", Args: []string{"7d"}, AsOf: chat.Version{Time: asOf}}},
		"a whole wallet":     {button(true, time.Time{}, "staked", wallet), "1 e 0 staked " + wallet, chat.Press{Command: "staked", Args: []string{wallet}, Edit: true}},
		"refresh, no time":   {stateOf(chat.Action{Command: "price", Refresh: true}, chat.Version{}), "1 n 1 price", chat.Press{Command: "price", AsOf: chat.Version{Time: time.Unix(1, 0)}}},
		"no command":         {state: stateOf(chat.Action{URL: "https://example.org/"}, chat.Version{Time: asOf})},
		"64 bytes":           {button(false, asOf, "x", longest), "1 n tlpwu8 x " + longest, chat.Press{Command: "x", Args: []string{longest}, AsOf: chat.Version{Time: asOf}}},
		"65 bytes":           {state: button(false, asOf, "x", longest+"y")},
		"an argument of two": {state: button(false, asOf, "price", "7\u00a0d")},
	} {
		state := test.state
		if state != test.want {
			t.Errorf("%s: the state is %q, want %q", name, state, test.want)
		}
		press, err := chat.ParseState(state)
		if len(press.Args) == 0 {
			press.Args = nil
		}
		if state != "" && (err != nil || !reflect.DeepEqual(press, test.press)) {
			t.Errorf("%s: came back as %+v, %v, want %+v", name, press, err, test.press)
		}
	}
}

// stateOf returns the state of an action, or "" if State returns false.
func stateOf(a chat.Action, asOf chat.Version) string {
	state, _ := a.State(asOf)
	return state
}

func TestForgedAndOldButtonsAreRefused(t *testing.T) {
	for _, state := range []string{
		"0 e 0 price", "2 e 0 price", "17", "4294967295 what ever may come", "", "1 e 0", "1 x 0 price", "1 e -1 price",
		"1 e ? price", "1 a 0 staked wallet", "1 e 1# price", "1 e #1 price", "1 e 0#0 price", "1 e 100#1 price",
		"1 e 1#10000000 price", "1 e 1#1#1 price", "1 e -1#1 price", "1  e 0 price", "1 e 0 price\n7d", "1 e 0 \xff",
		"1 e 0 " + strings.Repeat("p", 60),
	} {
		if press, err := chat.ParseState(state); !errors.Is(err, chat.ErrOldButton) || !reflect.DeepEqual(press, chat.Press{}) {
			t.Errorf("%q became %+v, %v", state, press, err)
		}
	}
}

// FuzzState: whatever comes back with a button, it is a state that State could
// have made, or none.
func FuzzState(f *testing.F) {
	f.Add("1 e tlpwu8 staked 0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("1 e 1y2p0ij32e8e7 \u00a0\xff ")
	f.Fuzz(func(t *testing.T, in string) {
		press, err := chat.ParseState(in)
		if err != nil {
			if !reflect.DeepEqual(press, chat.Press{}) {
				t.Fatalf("%q: %+v beside %v", in, press, err)
			}
			return
		}
		state, fits := chat.Action{Command: press.Command, Args: press.Args, Edit: press.Edit, Refresh: !press.AsOf.IsZero()}.State(press.AsOf)
		if !fits || len(state) > 64 {
			t.Fatalf("%q became %+v, whose state is %q", in, press, state)
		}
		if again, err := chat.ParseState(state); err != nil || !reflect.DeepEqual(again, press) {
			t.Fatalf("%q became %+v, and %q became %+v, %v", in, press, state, again, err)
		}
	})
}
