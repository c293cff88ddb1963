package telegram

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"herald/commands/commandstest"
	"herald/internal/platform/telegram/botapi"
)

var updateGolden = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has every answer of every command as Telegram shows it, with *bold*, _italic_, `code`, <a date>, [a link](where it
// leads), ⟪what is folded away⟫ and [a button: what it does].
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *updateGolden, func(c commandstest.Case) string {
		message := shown(c.Reply)
		checkText(t, message)
		text := marked(message)
		if c.Private && !c.Direct {
			text = "(in the private chat)\n" + text
		}
		return text
	})
}

// TestPreviewsTellTheAnswer also holds how long each card is.
func TestPreviewsTellTheAnswer(t *testing.T) {
	commandstest.Previews(t, *updateGolden, func(c commandstest.Case) string { return shown(c.Reply).Text })
}

// marked is a message as text that shows its entities, its buttons and what else
// it has.
func marked(m botapi.Content) string {
	opening, closing := map[int]string{}, map[int]string{}
	// What holds another begins before it and ends behind it.
	entities := slices.SortedStableFunc(slices.Values(m.Entities), func(a, b botapi.Entity) int { return b.Length - a.Length })
	marks := map[models.MessageEntityType][2]string{
		models.MessageEntityTypeBold: {"*", "*"}, models.MessageEntityTypeItalic: {"_", "_"}, models.MessageEntityTypeCode: {"`", "`"}, botapi.DateTime: {"<", ">"},
		models.MessageEntityTypeExpandableBlockquote: {"⟪", "⟫"}, models.MessageEntityTypeTextLink: {"[", "]("},
	}
	for _, e := range entities {
		before, after := marks[e.Type][0], marks[e.Type][1]
		if e.Type == models.MessageEntityTypeTextLink {
			after += e.URL + ")"
		}
		opening[e.Offset] += before
		closing[e.Offset+e.Length] = after + closing[e.Offset+e.Length]
	}
	var b strings.Builder
	units := utf16.Encode([]rune(m.Text))
	from := 0
	for i := range len(units) + 1 {
		if opening[i] != "" || closing[i] != "" || i == len(units) {
			b.WriteString(string(utf16.Decode(units[from:i])) + closing[i] + opening[i])
			from = i
		}
	}
	if m.Picture != nil {
		b.WriteString("\n(picture)")
	}
	switch markup := m.Markup.(type) {
	case models.ForceReply:
		b.WriteString("\n(reply: " + markup.InputFieldPlaceholder + ")")
	case botapi.Keyboard:
		for _, row := range markup.Rows {
			b.WriteByte('\n')
			for _, button := range row {
				fmt.Fprintf(&b, "[%s: %s] ", button.Text, button.Data+button.URL+copied(button))
			}
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), hidden, "·")
}

// copied is what a button puts on the clipboard.
func copied(b botapi.Button) string {
	if b.Copy == nil {
		return ""
	}
	return b.Copy.Text
}
