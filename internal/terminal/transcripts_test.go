package terminal

import (
	"flag"
	"testing"

	"herald/commands/commandstest"
	"herald/internal/words"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has every answer of every command as the terminal shows it.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *update, func(c commandstest.Case) string { return render(words.Print(c.Reply), c.Private, look{}) })
}
