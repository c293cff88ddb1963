package commands_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/words"
)

// everyCard calls see with each card of each scene in English. People can register and stake
// somewhere.
func everyCard(t *testing.T, see func(commandstest.Case, words.Card)) {
	t.Helper()
	pages := func(w *commandstest.Answers) {
		w.Options.RegisterURL, w.Options.StakeURL = "https://register.example", "https://stake.example"
	}
	commandstest.CasesWith(t, chat.English, pages, func(c commandstest.Case) { see(c, words.Print(c.Reply)) })
}

// said returns the lines of a card, without what only repeats a value in full.
func said(c words.Card) (lines []string) {
	add := func(all ...words.Line) {
		for _, l := range all {
			if text := spaced(l.String()); text != "" {
				lines = append(lines, text)
			}
		}
	}
	add(append(words.Line(nil), append(c.Title, c.Subtitle...)...), c.Text)
	for _, s := range c.Sections {
		add(s.Heading)
		for _, f := range s.Fields {
			add(append(append(words.Line(nil), f.Name...), f.Value...))
		}
	}
	add(c.Notes...)
	add(c.Footer)
	return lines
}

func TestNoTwoLinesOfACardSayTheSame(t *testing.T) {
	everyCard(t, func(c commandstest.Case, card words.Card) {
		if c.Scene == "hostile" || c.Scene == "many" { // Names of services, which may be alike.
			return
		}
		seen := map[string]bool{}
		for _, line := range said(card) {
			if line = strings.TrimSuffix(line, "."); seen[line] {
				t.Errorf("%s, %s: %q stands twice:\n%s", c.Scene, c.Line, line, shown(card))
			}
			seen[line] = true
		}
	})
}

// hasFigure matches what an answer about figures begins with.
var hasFigure = regexp.MustCompile(`[0-9]|Not staked`)

func TestTheFirstLineIsTheAnswer(t *testing.T) {
	everyCard(t, func(c commandstest.Case, card words.Card) {
		lines := said(card)
		if len(lines) == 0 || len([]rune(lines[0])) > 140 {
			t.Errorf("%s, %s begins with\n%s", c.Scene, c.Line, shown(card))
			return
		}
		about := strings.Fields(c.Line)[0]
		figures := slices.Contains([]string{"/price", "/supply", "/staked"}, about) && !c.Reply.Unanswered()
		if figures && !hasFigure.MatchString(lines[0]) {
			t.Errorf("%s, %s begins with %q", c.Scene, c.Line, lines[0])
		}
	})
}

// A card warns if and only if something is missing, old or wrong, and says what.
func TestACardWarnsOnlyOfWhatIsWrong(t *testing.T) {
	wrong := regexp.MustCompile("failing|^old|partly|undetermined|never|without|joining|members")
	everyCard(t, func(c commandstest.Case, card words.Card) {
		warns := card.Tone == chat.Warning || strings.Contains(strings.Join(said(card), "\n"), "⚠️")
		if warns && !wrong.MatchString(c.Scene) && !c.Reply.Ephemeral {
			t.Errorf("%s, %s warns:\n%s", c.Scene, c.Line, shown(card))
		}
		if warns && len(said(card)) < 2 {
			t.Errorf("%s, %s does not say why it warns:\n%s", c.Scene, c.Line, shown(card))
		}
		if old := c.Scene == "old" && c.Line != "/staked "+commandstest.Wallet; old && !warns {
			t.Errorf("%s, %s does not warn:\n%s", c.Scene, c.Line, shown(card))
		}
	})
}

// Who is told no is told one thing to do, unless a moderator asks about others.
func TestEachNoEndsInOneNextStep(t *testing.T) {
	everyCard(t, func(c commandstest.Case, card words.Card) {
		var steps []string
		for _, b := range card.Buttons {
			if b.NextStep {
				steps = append(steps, b.Label)
			}
		}
		own := !strings.HasPrefix(c.Line, "/exists ") && len(strings.Fields(c.Line)) < 3
		no := card.Tone == chat.Negative && own && !slices.Contains([]string{"joining", "others", "members"}, c.Scene)
		if len(steps) > 1 || no && len(steps) != 1 {
			t.Errorf("%s, %s: the next steps are %q:\n%s", c.Scene, c.Line, steps, shown(card))
		}
	})
}

// units are the powers of ten of the letters after a figure.
var units = map[string]int32{"": 0, "M": 6, "B": 9, "T": 12}

// figure reads a figure as it is shown, and how far it may be rounded: half of its last digit.
func figure(t *rapid.T, shown string) (value, rounding decimal.Decimal) {
	t.Helper()
	parts := regexp.MustCompile(`^\$?([0-9,]+(?:\.[0-9]+)?)([MBT]?)$`).FindStringSubmatch(shown)
	if parts == nil {
		t.Fatalf("%q is no figure", shown)
	}
	value = decimal.RequireFromString(strings.ReplaceAll(parts[1], ",", ""))
	half := decimal.New(5, value.Exponent()-1)
	return value.Shift(units[parts[2]]), half.Shift(units[parts[2]])
}

// agree fails unless what is shown is the value, rounded.
func agree(t *rapid.T, what, shown string, value decimal.Decimal) {
	t.Helper()
	if least, is := strings.CutPrefix(shown, "< "); is {
		if bound, _ := figure(t, least); !value.LessThan(bound) || value.IsZero() {
			t.Fatalf("%s is shown as %s and is %s", what, shown, value)
		}
		return
	}
	if read, rounding := figure(t, shown); read.Sub(value).Abs().GreaterThan(rounding) {
		t.Fatalf("%s is shown as %s and is %s", what, shown, value)
	}
}

// part returns what a pattern matches in text.
func part(t *rapid.T, text, pattern string) []string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("nothing is like %s in\n%s", pattern, text)
	}
	return found[1:]
}

const aFigure = `((?:< )?\$?[0-9][0-9,.]*[0-9][MBT]?|(?:< )?\$?[0-9][MBT]?)`

// amounts draws decimals of all sizes up to 10^most.
func amounts(most int32) *rapid.Generator[decimal.Decimal] {
	return rapid.Custom(func(t *rapid.T) decimal.Decimal {
		return decimal.New(rapid.Int64Range(1, 1e15).Draw(t, "digits"), rapid.Int32Range(-18, most-15).Draw(t, "power"))
	})
}

// Whatever the figures are, those on one card agree with each other.
func TestFiguresOnACardAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := commandstest.Healthy()
		price := amounts(6).Draw(rt, "price")
		w.Price.Value.Price, w.Price.Value.MarketCap = price, core.Quote{}.MarketCap
		total := amounts(15).Draw(rt, "total")
		circulating := total.Mul(decimal.New(rapid.Int64Range(0, 1000).Draw(rt, "part"), -3))
		w.Supply.Value = core.Supply{Total: total, Circulating: circulating}
		w.Stake.Staked = nil
		for range rapid.IntRange(1, 9).Draw(rt, "pools") {
			w.Stake.Staked = append(w.Stake.Staked, core.PoolAmount{Pool: core.Pool{Name: "P"}, Amount: amounts(12).Draw(rt, "stake")})
		}
		w.Stake.BlockTime = time.Now()
		r := w.Router(t)
		text := func(line string) string { return strings.Join(said(words.Print(commandstest.Ask(t, r, line))), "\n") }

		supply := text("/supply")
		agree(rt, "the market cap", part(rt, supply, `Market cap `+aFigure)[0], circulating.Mul(price))
		agree(rt, "the diluted value", part(rt, supply, `FDV `+aFigure)[0], total.Mul(price))
		agree(rt, "the total", part(rt, supply, `Total `+aFigure)[0], total)
		agree(rt, "the price below a supply", part(rt, supply, `at `+aFigure)[0], price)
		agreeShare(rt, part(rt, supply, `\(([<>]? ?[0-9.]+)%\)`)[0], circulating.Shift(2).DivRound(total, 40))
		agree(rt, "the price", part(rt, text("/price"), `^TKN `+aFigure)[0], price)

		staked, sum := text("/staked "+commandstest.Wallet), w.Stake.Total()
		agree(rt, "the stake", part(rt, staked, `^Staking `+aFigure+` TKN`)[0], sum)
		if worth := regexp.MustCompile(`≈ ` + aFigure).FindStringSubmatch(staked); worth != nil {
			agree(rt, "the worth", worth[1], sum.Mul(price))
		}
		largest := slices.SortedFunc(slices.Values(w.Stake.Staked), func(a, b core.PoolAmount) int { return b.Amount.Cmp(a.Amount) })
		pools := regexp.MustCompile(`P `+aFigure).FindAllStringSubmatch(staked, -1)
		for i, pool := range pools {
			agree(rt, "a pool", pool[1], largest[i].Amount)
		}
		if rest := largest[len(pools):]; len(rest) > 0 {
			agree(rt, "the other pools", part(rt, staked, `more pools`+aFigure+` TKN`)[0], core.Stake{Staked: rest}.Total())
		}
	})
}

// agreeShare fails unless a share is shown as it is to one decimal, and as 0 or 100 only if it
// is that.
func agreeShare(t *rapid.T, shown string, share decimal.Decimal) {
	t.Helper()
	tenth, hundred := decimal.New(1, -1), decimal.New(100, 0)
	switch {
	case shown == "< 0.1" && share.IsPositive() && share.LessThan(tenth),
		shown == "> 99.9" && share.LessThan(hundred) && share.GreaterThan(hundred.Sub(tenth)):
		return
	case strings.ContainsAny(shown, "<>"):
		t.Fatalf("%s is shown as %s %%", share, shown)
	}
	read := decimal.RequireFromString(shown)
	if read.Sub(share).Abs().GreaterThan(decimal.New(5, -2)) || read.IsZero() != share.IsZero() || read.Equal(hundred) != share.Equal(hundred) {
		t.Fatalf("%s is shown as %s %%", share, shown)
	}
}
