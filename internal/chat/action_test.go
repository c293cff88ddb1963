package chat_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
)

// asOf is the Version of the answers with the buttons. Their states contain it as tlpwu8.
var asOf = chat.Version{Time: time.Unix(1_790_000_000, 0)}

// Buttons in chats outlive a release, so the states must not change.
func TestTheStateOfAButtonComesBackAsItWasMade(t *testing.T) {
	const wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
	longest := strings.Repeat("y", 51) // The state has 64 bytes then.
	for _, tt := range []struct {
		action chat.Action
		asOf   chat.Version
		state  string
		press  chat.Press
	}{
		{
			action: chat.Action{Command: "price", Edit: true, Refresh: true},
			asOf:   asOf,
			state:  "1 e tlpwu8 price",
			press:  chat.Press{Command: "price", Edit: true, AsOf: asOf},
		},
		{
			action: chat.Action{Command: "price", Args: []string{"7d"}, Refresh: true},
			asOf:   asOf,
			state:  "1 n tlpwu8 price 7d",
			press:  chat.Press{Command: "price", Args: []string{"7d"}, AsOf: asOf},
		},
		{
			action: chat.Action{Command: "staked", Args: []string{wallet}, Edit: true},
			state:  "1 e 0 staked " + wallet,
			press:  chat.Press{Command: "staked", Args: []string{wallet}, Edit: true},
		},
		{
			action: chat.Action{Command: "price", Refresh: true},
			state:  "1 n 1 price",
			press:  chat.Press{Command: "price", AsOf: chat.Version{Time: time.Unix(1, 0)}},
		},
		{
			action: chat.Action{Command: "x", Args: []string{longest}, Refresh: true},
			asOf:   asOf,
			state:  "1 n tlpwu8 x " + longest,
			press:  chat.Press{Command: "x", Args: []string{longest}, AsOf: asOf},
		},
	} {
		state, fits := tt.action.State(tt.asOf)
		if state != tt.state || !fits {
			t.Errorf("%+v has the state %q, want %q", tt.action, state, tt.state)
		}
		press, err := chat.ParseState(state)
		if len(press.Args) == 0 {
			press.Args = nil
		}
		if err != nil || !reflect.DeepEqual(press, tt.press) {
			t.Errorf("%q comes back as %+v, %v, want %+v", state, press, err, tt.press)
		}
	}
}

func TestAnActionThatIsNoButtonHasNoState(t *testing.T) {
	for name, action := range map[string]chat.Action{
		"no command":               {URL: "https://example.org/"},
		"65 bytes":                 {Command: "x", Args: []string{strings.Repeat("y", 52)}, Refresh: true},
		"an argument of two words": {Command: "price", Args: []string{"7\u00a0d"}, Refresh: true},
	} {
		if state, fits := action.State(asOf); state != "" || fits {
			t.Errorf("%s: the state is %q", name, state)
		}
	}
}

func TestForgedAndOldButtonsAreRefused(t *testing.T) {
	for _, state := range []string{
		// of another version
		"", "17", "0 e 0 price", "2 e 0 price", "4294967295 what ever may come",
		// without a command, or with another letter for "edit"
		"1 e 0", "1 x 0 price", "1 a 0 staked wallet",
		// with a forged time or block
		"1 e -1 price", "1 e ? price", "1 e 1# price", "1 e #1 price", "1 e 0#0 price", "1 e 100#1 price",
		"1 e 1#10000000 price", "1 e 1#1#1 price", "1 e -1#1 price",
		// not as State writes words, or too long
		"1  e 0 price", "1 e 0 price\n7d", "1 e 0 \xff", "1 e 0 " + strings.Repeat("p", 60),
	} {
		press, err := chat.ParseState(state)
		if !errors.Is(err, chat.ErrOldButton) || !reflect.DeepEqual(press, chat.Press{}) {
			t.Errorf("%q became %+v, %v", state, press, err)
		}
	}
}

// FuzzState checks that ParseState accepts only states that State returns.
func FuzzState(f *testing.F) {
	f.Add("1 e tlpwu8 staked 0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("1 e 1y2p0ij32e8e7 \u00a0\xff ")
	f.Fuzz(func(t *testing.T, text string) {
		press, err := chat.ParseState(text)
		if err != nil {
			if !reflect.DeepEqual(press, chat.Press{}) {
				t.Fatalf("%q: %+v beside %v", text, press, err)
			}
			return
		}
		action := chat.Action{
			Command: press.Command,
			Args:    press.Args,
			Edit:    press.Edit,
			Refresh: !press.AsOf.IsZero(),
		}
		state, _ := action.State(press.AsOf)
		if state == "" || len(state) > 64 {
			t.Fatalf("%q became %+v, whose state is %q", text, press, state)
		}
		if again, err := chat.ParseState(state); err != nil || !reflect.DeepEqual(again, press) {
			t.Fatalf("%q became %+v, and %q became %+v, %v", text, press, state, again, err)
		}
	})
}
