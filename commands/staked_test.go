package commands_test

import (
	"slices"
	"strings"
	"testing"

	"herald/commands"
	"herald/commands/commandstest"
)

// The words that look like wallets become one argument, behind the others. What was tidied is
// tidied again without a change.
func TestWalletsAreOneArgument(t *testing.T) {
	w := commandstest.Healthy()
	c, _ := commands.All(w.Sources(), w.Options).Find("staked")
	const a, b, wrong = "0x52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D", "0x52908400098527886E0F7030069857D2E4169Ee7"
	for typed, want := range map[string][]string{
		"":                             {},
		"7d please":                    {"7d", "please"},
		"0x12 0x34":                    {"0x12", "0x34"},
		"@ann " + a[2:]:                {"@ann", a},
		"@" + a + " now":               {"now", a},
		a + " " + strings.ToLower(a):   {a},
		"of " + a + " and " + b:        {"of", "and", a + " " + b},
		"of " + wrong + " or so":       {"of", "or", "so", wrong},
		"@ann_" + wrong:                {"@ann_" + wrong},
		"see https://example.org/" + a: {"see", a},
	} {
		words := strings.Fields(typed)
		got := c.Forms[0].Params[0].Tidy(words)
		if !slices.Equal(got, want) {
			t.Errorf("%q became %q, want %q", typed, got, want)
		}
		if again := c.Forms[0].Params[0].Tidy(got); !slices.Equal(again, got) {
			t.Errorf("%q became %q, and then %q", typed, got, again)
		}
		if typed != strings.Join(words, " ") {
			t.Errorf("%q was changed to %q", typed, words)
		}
	}
}
