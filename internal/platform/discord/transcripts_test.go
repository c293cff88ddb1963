package discord

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"herald/commands/commandstest"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has every answer of every command as Discord shows it.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *update, func(c commandstest.Case) string {
		return transcript(render(c.Reply), c.Private || c.Reply.Ephemeral)
	})
}

// transcript is all that is in a message, with what each button does.
func transcript(m message, private bool) string {
	var b strings.Builder
	if private {
		b.WriteString("(ephemeral)\n")
	}
	embed := m.Embeds[0]
	fmt.Fprintf(&b, "#%06x %s\n%s", embed.Color, embed.Title, embed.Description)
	for _, picture := range m.Attachments {
		fmt.Fprintf(&b, "\n%s: %s", picture.Filename, picture.Description)
	}
	for _, row := range m.Components {
		b.WriteString("\n")
		for _, button := range row.Components {
			fmt.Fprintf(&b, "[%s](%s%s) ", button.Label, button.CustomID, button.URL)
		}
	}
	return strings.TrimSpace(b.String())
}
