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

// said returns the lines of a card without its FullValues, which repeat values in full.
func said(c words.Card) []string {
	var lines []string
	add := func(parts ...words.Line) {
		text := ""
		for _, part := range parts {
			text += part.String()
		}
		if text != "" {
			lines = append(lines, spaced(text))
		}
	}
	add(c.Title, c.Subtitle)
	add(c.Text)
	for _, s := range c.Sections {
		add(s.Heading)
		for _, f := range s.Fields {
			add(f.Name, f.Value)
		}
	}
	for _, note := range c.Notes {
		add(note)
	}
	add(c.Footer)
	return lines
}

func TestNoTwoLinesOfACardSayTheSame(t *testing.T) {
	everyCard(t, func(c commandstest.Case, card words.Card) {
		namesMayBeAlike := c.Scene == "hostile" || c.Scene == "many"
		if namesMayBeAlike {
			return
		}
		seen := map[string]bool{}
		for _, line := range said(card) {
			line = strings.TrimSuffix(line, ".")
			if seen[line] {
				t.Errorf("%s, %s has two lines %q:\n%s", c.Scene, c.Line, line, shown(card))
			}
			seen[line] = true
		}
	})
}

func TestACardsFirstLineIsShort(t *testing.T) {
	const maxLetters = 140
	everyCard(t, func(c commandstest.Case, card words.Card) {
		lines := said(card)
		if len(lines) == 0 {
			t.Errorf("%s, %s is empty", c.Scene, c.Line)
			return
		}
		namesEachService := strings.HasPrefix(c.Line, "/status")
		if len([]rune(lines[0])) > maxLetters && !namesEachService {
			t.Errorf("%s, %s has a first line of more than %d letters:\n%s", c.Scene, c.Line, maxLetters, shown(card))
		}
	})
}

func TestAnAnswerAboutFiguresBeginsWithAFigure(t *testing.T) {
	hasFigure := regexp.MustCompile(`[0-9]|Not staked`)
	aboutFigures := []string{"/price", "/supply", "/staked"}
	everyCard(t, func(c commandstest.Case, card words.Card) {
		command := strings.Fields(c.Line)[0]
		if !slices.Contains(aboutFigures, command) || c.Reply.Unanswered() {
			return
		}
		if first := said(card)[0]; !hasFigure.MatchString(first) {
			t.Errorf("%s, %s begins with %q", c.Scene, c.Line, first)
		}
	})
}

func warns(card words.Card) bool {
	return card.Tone == chat.Warning || strings.Contains(strings.Join(said(card), "\n"), "⚠️")
}

func TestACardWarnsOnlyIfSomethingIsWrong(t *testing.T) {
	wrong := regexp.MustCompile("failing|^old|partly|undetermined|never|without|joining|members")
	everyCard(t, func(c commandstest.Case, card words.Card) {
		if warns(card) && !wrong.MatchString(c.Scene) && !c.Reply.ForSender() {
			t.Errorf("%s, %s warns:\n%s", c.Scene, c.Line, shown(card))
		}
	})
}

func TestACardThatWarnsSaysWhy(t *testing.T) {
	everyCard(t, func(c commandstest.Case, card words.Card) {
		if warns(card) && len(said(card)) < 2 {
			t.Errorf("%s, %s does not say why it warns:\n%s", c.Scene, c.Line, shown(card))
		}
	})
}

func TestACardOfOldFiguresWarns(t *testing.T) {
	everyCard(t, func(c commandstest.Case, card words.Card) {
		if c.Scene == "old" && c.Line != staked && !warns(card) {
			t.Errorf("%s, %s does not warn:\n%s", c.Scene, c.Line, shown(card))
		}
	})
}

// nextSteps returns the labels of the buttons that are a next step.
func nextSteps(card words.Card) []string {
	var labels []string
	for _, b := range card.Buttons {
		if b.NextStep {
			labels = append(labels, b.Label)
		}
	}
	return labels
}

func TestNoCardHasTwoNextSteps(t *testing.T) {
	everyCard(t, func(c commandstest.Case, card words.Card) {
		if steps := nextSteps(card); len(steps) > 1 {
			t.Errorf("%s, %s: the next steps are %q:\n%s", c.Scene, c.Line, steps, shown(card))
		}
	})
}

// A moderator who asks about others can do nothing about the answer.
func TestANegativeAnswerAboutTheSenderHasANextStep(t *testing.T) {
	withoutStep := []string{"joining", "others", "members", "named service"}
	everyCard(t, func(c commandstest.Case, card words.Card) {
		aboutSender := !strings.HasPrefix(c.Line, "/exists ") && len(strings.Fields(c.Line)) < 3
		if card.Tone != chat.Negative || !aboutSender || slices.Contains(withoutStep, c.Scene) {
			return
		}
		if steps := nextSteps(card); len(steps) != 1 {
			t.Errorf("%s, %s: the next steps are %q:\n%s", c.Scene, c.Line, steps, shown(card))
		}
	})
}
