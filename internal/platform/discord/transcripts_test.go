package discord

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"herald/commands/commandstest"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has every answer of every command as Discord shows it.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *update, func(c commandstest.Case) string {
		return transcript(render(c.Reply, someIDs), c.Private || c.Reply.Ephemeral)
	})
}

func TestPreviewsTellTheAnswer(t *testing.T) {
	commandstest.Previews(t, *update, func(c commandstest.Case) string {
		embed := render(c.Reply, someIDs).Embeds[0]
		return strings.TrimSpace(embed.Title + "\n" + embed.Description)
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
	for _, f := range embed.Fields {
		fmt.Fprintf(&b, "\n| %s | %s", f.Name, f.Value)
	}
	if embed.Footer != nil || embed.Timestamp != "" {
		fmt.Fprintf(&b, "\n(%s %s)", cmp.Or(embed.Footer, &discordgo.MessageEmbedFooter{}).Text, embed.Timestamp)
	}
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
