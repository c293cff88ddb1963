package e2e

import (
	"strings"
	"testing"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// Tests of buttons below cards that a bot with other services sent, before its settings were changed.

func TestAnOldButtonOfAServiceThatIsOffIsRefusedToThePresserAlone(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			card := cardOfSupply(t, way, everything, withServices("price"))
			shown := card.Wait().Text
			answer := card.Press(1, card.States()[0]).Wait()
			if !answer.Private || !strings.Contains(answer.Text, "Unknown command") {
				t.Errorf("the presser is told, privately %t: %q", answer.Private, answer.Text)
			}
			if answers := card.Answers(); len(answers) != 1 || answers[0].Text != shown {
				t.Errorf("the card in the group has changed: %+v", answers)
			}
		})
	}
}

func TestAnOldButtonAnswersWithAServiceThatIsSetLater(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			card := cardOfSupply(t, way, withServices("supply"), everything)
			if text := e2etest.Plain(card.Wait().Text); strings.Contains(text, "Market cap") {
				t.Fatalf("a service is on too early: %s", text)
			}
			card.Press(1, card.States()[0])
			e2etest.Eventually(t, "the card says what the supply is worth", func() bool {
				return strings.Contains(e2etest.Plain(card.Answers()[0].Text), "Market cap")
			})
		})
	}
}

// cardOfSupply returns a card that a bot with the services before has sent to a group. When it returns, that bot has
// ended, and one with the services after is running.
func cardOfSupply(t *testing.T, way e2etest.Way, before, after subset) *e2etest.Asked {
	t.Helper()
	fakes := fault.Start(t)
	platform := way.Open(t)
	bot := serveSubset(t, before, platform, fakes)
	card := platform.Ask(e2etest.Command{User: 1, Group: true, Name: "supply"})
	card.Wait()
	bot.Stop()
	if err := bot.AwaitEnd(); err != nil {
		t.Fatal(err)
	}
	serveSubset(t, after, platform, fakes)
	return card
}
