package discord

import (
	"flag"
	"fmt"
	"testing"

	"herald/commands/commandstest"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has every answer of every command as Discord shows it.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *update, func(c commandstest.Case) string {
		embed := render(c.Reply)
		shown := fmt.Sprintf("#%06x %s\n%s", embed.Color, embed.Title, embed.Description)
		if c.Private {
			shown = "(ephemeral)\n" + shown
		}
		return shown
	})
}
