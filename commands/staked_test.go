package commands_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/words"
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

// The time of a fetch would put an older block, fetched later, in place of a newer one.
// Contracts may count other blocks than headers, and a node may not tell the number.
func TestAnUnknownBlockIsNeitherShownNorCompared(t *testing.T) {
	w := commandstest.Healthy()
	w.Options.ChainID, w.Stake.Block = 698, 0
	reply := commandstest.Ask(t, w.Router(t), "/staked "+commandstest.Wallet)
	if reply.Source.AsOf != (chat.Version{Time: reply.Source.AsOf.Time}) || reply.Source.AsOf.IsZero() {
		t.Errorf("as of %+v", reply.Source.AsOf)
	}
	if text := fmt.Sprint(words.Print(reply).Footer); strings.Contains(text, "block") {
		t.Errorf("the last line is %q", text)
	}
}

func TestAStakeIsAsOfItsBlock(t *testing.T) {
	w := commandstest.Healthy()
	w.Options.ChainID = 698
	shown := commandstest.Ask(t, w.Router(t), "/staked "+commandstest.Wallet)
	for change, want := range map[int]chat.Order{-1: chat.Older, 0: chat.Unordered, 1: chat.Newer} {
		later := commandstest.Healthy()
		later.Options.ChainID = 698
		later.Stake.Block = uint64(int(w.Stake.Block) + change)
		later.Price.At = w.Price.At.Add(time.Minute)
		refreshed := commandstest.Ask(t, later.Router(t), "/staked "+commandstest.Wallet)
		if got := refreshed.Source.AsOf.Compare(shown.Source.AsOf); got != want {
			t.Errorf("a block later by %d, fetched later: got %d, want %d", change, got, want)
		}
	}
}
