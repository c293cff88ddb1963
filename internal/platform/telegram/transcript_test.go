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
	"herald/internal/platform/telegram/outbox"
)

var updateGolden = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts compares the answers of every command with golden files. They show an answer as Telegram does, with
// *bold*, _italic_, `code`, <a date>, [a link](its address), ⟪a folded quote⟫ and [a button: its effect]. · is a
// zero-width space.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *updateGolden, func(c commandstest.Case) string {
		message := shown(c.Reply)
		checkContent(t, message)
		text := marked(message)
		if c.Private && !c.Direct {
			text = "(in the private chat)\n" + text
		}
		return text
	})
}

// TestPreviewsTellTheAnswer compares the first characters and the number of lines of each answer with a golden file.
func TestPreviewsTellTheAnswer(t *testing.T) {
	commandstest.Previews(t, *updateGolden, func(c commandstest.Case) string { return shown(c.Reply).Text })
}

// marks are what stands before and after the text of an entity in a transcript. A link's address follows its marks.
var marks = map[models.MessageEntityType][2]string{
	models.MessageEntityTypeBold:                 {"*", "*"},
	models.MessageEntityTypeItalic:               {"_", "_"},
	models.MessageEntityTypeCode:                 {"`", "`"},
	models.MessageEntityTypeDateTime:             {"<", ">"},
	models.MessageEntityTypeExpandableBlockquote: {"⟪", "⟫"},
	models.MessageEntityTypeTextLink:             {"[", "]("},
}

// marked returns a message as text that also shows its entities, its picture and its buttons.
func marked(m outbox.Content) string {
	var b strings.Builder
	b.WriteString(markedText(m))
	if m.Picture != nil {
		b.WriteString("\n(picture)")
	}
	switch markup := m.Markup.(type) {
	case *models.ForceReply:
		b.WriteString("\n(reply: " + markup.InputFieldPlaceholder + ")")
	case *models.InlineKeyboardMarkup:
		for _, row := range markup.InlineKeyboard {
			b.WriteByte('\n')
			for _, button := range row {
				fmt.Fprintf(&b, "[%s: %s] ", button.Text, button.CallbackData+button.URL+copied(button))
			}
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), hidden, "·")
}

// markedText returns the text of a message with the marks of its entities.
func markedText(m outbox.Content) string {
	opening, closing := map[int]string{}, map[int]string{}
	// The longest comes first, so that an entity around another one opens before it and closes behind it.
	longestFirst := func(a, b models.MessageEntity) int { return b.Length - a.Length }
	for _, e := range slices.SortedStableFunc(slices.Values(m.Entities), longestFirst) {
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
	return b.String()
}

// copied returns the text that a button copies, "" if none.
func copied(b models.InlineKeyboardButton) string {
	if b.CopyText == nil {
		return ""
	}
	return b.CopyText.Text
}
