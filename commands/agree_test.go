package commands_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/words"
)

// everyCard calls see with each card of each scene in English.
func everyCard(t *testing.T, see func(commandstest.Case, words.Card)) {
	t.Helper()
	commandstest.Cases(t, chat.English, func(c commandstest.Case) { see(c, words.Print(c.Reply)) })
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

// The first line of /status names each service, so it may be as long as they need.
func TestTheFirstLineIsTheAnswer(t *testing.T) {
	everyCard(t, func(c commandstest.Case, card words.Card) {
		lines, about := said(card), strings.Fields(c.Line)[0]
		if len(lines) == 0 || about != "/status" && len([]rune(lines[0])) > 140 {
			t.Errorf("%s, %s has no first line, or one of more than 140 letters:\n%s", c.Scene, c.Line, shown(card))
			return
		}
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
		if warns && !wrong.MatchString(c.Scene) && !c.Reply.ForSender() {
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
		no := card.Tone == chat.Negative && own && !slices.Contains([]string{"joining", "others", "members", "named service"}, c.Scene)
		if len(steps) > 1 || no && len(steps) != 1 {
			t.Errorf("%s, %s: the next steps are %q:\n%s", c.Scene, c.Line, steps, shown(card))
		}
	})
}
