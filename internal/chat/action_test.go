package chat_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
)

var asOf = time.Unix(1_790_000_000, 0)

func TestTheStateOfAButtonComesBackAsItWasMade(t *testing.T) {
	for name, test := range map[string]struct {
		action chat.Action
		asOf   time.Time
		state  string
	}{
		"refresh":                {chat.Action{Command: "price", Edit: true}, asOf, "1 e tlpwu8 price"},
		"another answer":         {chat.Action{Command: "price", Args: []string{"7d"}}, asOf, "1 n tlpwu8 price 7d"},
		"a whole wallet":         {chat.Action{Command: "staked", Args: []string{"0x52908400098527886E0F7030069857D2E4169EE7"}, Edit: true}, asOf, "1 e tlpwu8 staked 0x52908400098527886E0F7030069857D2E4169EE7"},
		"as of no time":          {chat.Action{Command: "help"}, time.Time{}, "1 n 0 help"},
		"as of a broken clock":   {chat.Action{Command: "help"}, time.Unix(-5, 0), "1 n 0 help"},
		"a time between seconds": {chat.Action{Command: "help"}, asOf.Add(time.Second - 1), "1 n tlpwu8 help"},
	} {
		state, ok := test.action.State(test.asOf)
		if state != test.state || !ok {
			t.Errorf("%s: the state is %q, %v, want %q", name, state, ok, test.state)
		}
		press, err := chat.ParseState(state)
		want := chat.Press{Command: test.action.Command, Args: test.action.Args, Edit: test.action.Edit}
		if test.asOf.Unix() > 0 {
			want.AsOf = test.asOf.Truncate(time.Second)
		}
		if err != nil || press.Command != want.Command || strings.Join(press.Args, ",") != strings.Join(want.Args, ",") ||
			press.Edit != want.Edit || !press.AsOf.Equal(want.AsOf) {
			t.Errorf("%s: came back as %+v, %v, want %+v", name, press, err, want)
		}
	}
}

func TestTheStateOfAQuestionComesBackAsItWasMade(t *testing.T) {
	state, ok := chat.Ask{Command: "staked", Param: "wallet", Question: chat.Say("Which wallet?")}.State()
	if state != "1 a 0 staked wallet" || !ok {
		t.Errorf("the state is %q, %v", state, ok)
	}
	if press, err := chat.ParseState(state); err != nil || !reflect.DeepEqual(press, chat.Press{Command: "staked", Asks: "wallet"}) {
		t.Errorf("came back as %+v, %v", press, err)
	}
	for _, ask := range []chat.Ask{{Command: "staked"}, {Param: "wallet"}, {Command: "staked", Param: "the wallet"}, {Command: strings.Repeat("x", 60), Param: "wallet"}} {
		if state, ok := ask.State(); ok {
			t.Errorf("%+v: got %q", ask, state)
		}
	}
}

func TestAStateThatNoPlatformCouldKeepIsRefused(t *testing.T) {
	for name, action := range map[string]chat.Action{
		"65 bytes":             {Command: "x", Args: []string{strings.Repeat("y", 52)}},
		"an empty argument":    {Command: "price", Args: []string{""}},
		"an empty one before":  {Command: "price", Args: []string{"", "7d"}},
		"an argument of two":   {Command: "price", Args: []string{"7 d"}},
		"a line break":         {Command: "price", Args: []string{"7\nd"}},
		"no command":           {},
		"a space of two bytes": {Command: "price", Args: []string{"7\u00a0d"}},
	} {
		if state, ok := action.State(asOf); ok {
			t.Errorf("%s: got %q", name, state)
		}
	}
	if state, ok := (chat.Action{Command: "x", Args: []string{strings.Repeat("y", 51)}}).State(asOf); !ok || len(state) != chat.MaxState {
		t.Errorf("%d bytes are refused: %q", len(state), state)
	}
}

func TestAButtonOfAnotherVersionIsKnownAsSuch(t *testing.T) {
	for _, state := range []string{"0 e 0 price", "2 e 0 price", "17", "4294967295 what ever may come"} {
		if _, err := chat.ParseState(state); !errors.Is(err, chat.ErrOldButton) {
			t.Errorf("%q: %v", state, err)
		}
	}
}

func TestAForgedStateIsNone(t *testing.T) {
	for _, state := range []string{
		"", " ", "1", "1 e", "1 e 0", "1 x 0 price", "1 e -1 price", "1 a 0 staked", "1 a 0 staked wallet 2", "1 e ? price", "1 e zzzzzzzzzzzzzzzzz price", "e 1 0 price",
		"-1 e 0 price", "+1 e 0 price", "4294967296 e 0 price", "1  e 0 price", "1 e 0 price ", " 1 e 0 price", "1 e 0 price\n7d",
		"1 e 0 price\u00a07d", "1 e 0 \xff", "1 e 0 " + strings.Repeat("p", 60),
	} {
		if press, err := chat.ParseState(state); err == nil || errors.Is(err, chat.ErrOldButton) {
			t.Errorf("%q became %+v, %v", state, press, err)
		}
	}
}

// FuzzState: whatever comes back with a button, it is a state that State could
// have made, or none.
func FuzzState(f *testing.F) {
	f.Add("1 e tlpwu8 staked 0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("1 n 0 price 7d")
	f.Add("1 a 0 staked wallet")
	f.Add("2 e 0 price")
	f.Add("1 e 1y2p0ij32e8e7 \u00a0\xff ")
	f.Fuzz(func(t *testing.T, in string) {
		press, err := chat.ParseState(in)
		if err != nil {
			if !reflect.DeepEqual(press, chat.Press{}) {
				t.Fatalf("%q: %+v beside %v", in, press, err)
			}
			return
		}
		state, ok := chat.Action{Command: press.Command, Args: press.Args, Edit: press.Edit}.State(press.AsOf)
		if press.Asks != "" {
			press.AsOf = time.Time{} // A question is of no time.
			state, ok = chat.Ask{Command: press.Command, Param: press.Asks}.State()
		}
		if !ok || len(state) > chat.MaxState {
			t.Fatalf("%q became %+v, whose state is %q, %v", in, press, state, ok)
		}
		if again, err := chat.ParseState(state); err != nil || !reflect.DeepEqual(again, press) {
			t.Fatalf("%q became %+v, and %q became %+v, %v", in, press, state, again, err)
		}
	})
}
