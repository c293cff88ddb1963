package telegram

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"herald/commands/commandstest"
)

var updateGolden = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has every answer of every command as Telegram shows it, with
// *bold* and _italic_ where an entity says so.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *updateGolden, func(c commandstest.Case) string {
		shown := marked(render(c.Reply))
		if c.Private {
			shown = "(in the private chat)\n" + shown
		}
		return shown
	})
}

func marked(t richText) string {
	units := utf16.Encode([]rune(t.body))
	for _, e := range slices.Backward(t.entities) {
		mark := uint16('*')
		if e.Type == models.MessageEntityTypeItalic {
			mark = '_'
		}
		units = slices.Insert(units, e.Offset+e.Length, mark)
		units = slices.Insert(units, e.Offset, mark)
	}
	return strings.TrimSpace(string(utf16.Decode(units)))
}
