package commands_test

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has the answers as commands make them, before any platform
// shows them.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *update, func(c commandstest.Case) string {
		lines := []string{fmt.Sprintf("[%d] %s", c.Reply.Tone, c.Reply.Title)}
		if c.Reply.Text != "" {
			lines = append(lines, c.Reply.Text)
		}
		for _, s := range c.Reply.Sections {
			if s.Heading != "" {
				lines = append(lines, "== "+s.Heading)
			}
			for _, f := range s.Fields {
				lines = append(lines, f.Name+" | "+f.Value)
			}
		}
		for _, n := range c.Reply.Notes {
			lines = append(lines, "("+n+")")
		}
		return strings.Join(lines, "\n")
	})
}

func TestEveryPersonalAnswerIsPrivate(t *testing.T) {
	for _, c := range commandstest.Cases(t) {
		personal := strings.HasPrefix(c.Line, "/mylogins") || strings.HasPrefix(c.Line, "/exists")
		if c.Private != personal {
			t.Errorf("%s, %s: private is %t", c.Scene, c.Line, c.Private)
		}
	}
}

func TestNobodyStandsBehindAnAnonymousMessage(t *testing.T) {
	reply := commandstest.Healthy().Router(t).Handle(t.Context(), chat.Request{
		Command: "exists", From: chat.User{Platform: "telegram", ID: "1"}, Target: &chat.User{Platform: "telegram"},
		Role: chat.Moderator, Community: commandstest.Community,
	})
	if !strings.Contains(reply.Text, "anonymously") {
		t.Errorf("got %+v", reply)
	}
}

func TestEveryFailureOfEveryServiceHasWordsWithoutItsDetail(t *testing.T) {
	for _, service := range commandstest.Services {
		for _, reason := range commandstest.Reasons {
			got := commands.Explain(fmt.Errorf("outer: %w", &core.Error{Service: service, Reason: reason, Err: errors.New("secret detail")}))
			if !strings.HasPrefix(got, "The ") || strings.ContainsAny(got, "%!") || strings.Contains(got, "detail") {
				t.Errorf("%s %s: %q", service.Name, reason, got)
			}
		}
	}
	if got := commands.Explain(errors.New("secret detail")); strings.Contains(got, "detail") {
		t.Errorf("an unknown error is shown: %q", got)
	}
}

func TestPriceKeepsItsDigits(t *testing.T) {
	for in, want := range map[string]string{
		"0.5": "$0.500000", "1": "$1.0000", "12.34567": "$12.3457", "999.99999": "$1,000.0000", "1234.5": "$1,234.50",
		"0.000000001234567": "$0.00000000123457", "123456789012345678": "$123,456,789,012,345,678.00", "1e-20": "$0.0000000000000000000100000",
	} {
		w := commandstest.Healthy()
		w.Price.Value = core.Quote{Price: decimal.RequireFromString(in)}
		got := commandstest.Ask(t, w.Router(t), "/price").Sections[0].Fields[0].Value
		if got != want {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
}
