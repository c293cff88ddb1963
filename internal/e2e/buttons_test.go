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
			fakes := fault.Start(t)
			platform := way.Open(t)
			before := serveSubset(t, everything, platform, fakes)
			card := platform.Ask(e2etest.Command{User: 1, Group: true, Name: "supply"})
			shown := card.Wait().Text
			before.Stop()
			if err := before.AwaitEnd(); err != nil {
				t.Fatal(err)
			}
			serveSubset(t, withServices("price"), platform, fakes)
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
			fakes := fault.Start(t)
			platform := way.Open(t)
			before := serveSubset(t, withServices("supply"), platform, fakes)
			card := platform.Ask(e2etest.Command{User: 1, Group: true, Name: "supply"})
			if text := e2etest.Plain(card.Wait().Text); strings.Contains(text, "Market cap") {
				t.Fatalf("a service is on too early: %s", text)
			}
			before.Stop()
			if err := before.AwaitEnd(); err != nil {
				t.Fatal(err)
			}
			serveSubset(t, everything, platform, fakes)
			card.Press(1, card.States()[0])
			e2etest.Eventually(t, "the card says what the supply is worth", func() bool {
				return strings.Contains(e2etest.Plain(card.Answers()[0].Text), "Market cap")
			})
		})
	}
}
