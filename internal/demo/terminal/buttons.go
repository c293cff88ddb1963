package terminal

import (
	"slices"
	"strings"
	"unicode"

	"herald/internal/demo/community"
	"herald/internal/demo/fake/telegram"
)

// maxButtons is the maximum number of buttons that the window remembers. When it has more, it discards the oldest.
const maxButtons = 1000

// button is a button of a message. It has either data or a url.
type button struct {
	label     string
	data, url string
	message   community.Message
	reader    int64 // the only user that sees the message; 0 means everybody
}

// buttons lists the buttons that can be pressed, the oldest first.
type buttons []button

// add adds the buttons of a message. It omits buttons that copy, because they cannot be pressed here.
func (all *buttons) add(m *telegram.Sent) {
	for _, b := range flat(m.Markup) {
		if b.Copy != nil {
			continue
		}
		*all = append(*all, button{label: b.Text, data: b.Data, url: b.URL, message: identity(m), reader: m.Reader})
	}
	excess := len(*all) - maxButtons
	if excess > 0 {
		*all = slices.Delete(*all, 0, excess)
	}
}

// forget deletes the buttons of a message.
func (all *buttons) forget(m *telegram.Sent) {
	*all = slices.DeleteFunc(*all, func(b button) bool { return b.message == identity(m) })
}

// find returns the button that a person means with a text: the first button of the latest message whose label begins
// with the text. It returns false if the person sees no such button.
func (all buttons) find(text string, by community.Person) (found button, ok bool) {
	wanted := normalLabel(text)
	if wanted == "" {
		return button{}, false
	}
	for _, b := range slices.Backward(all) {
		isEarlierMessage := ok && b.message != found.message
		if isEarlierMessage {
			break
		}
		isVisible := b.reader == 0 || b.reader == by.TelegramID
		if isVisible && strings.HasPrefix(normalLabel(b.label), wanted) {
			found, ok = b, true
		}
	}
	return found, ok
}

// normalLabel returns a label in lower case and without the signs around it: "7d" for "· 7d ·".
func normalLabel(label string) string {
	isSign := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	return strings.ToLower(strings.TrimFunc(label, isSign))
}

// identity returns the community.Message that identifies a message of the bot.
func identity(m *telegram.Sent) community.Message {
	return community.Message{Chat: chatOf(m), ID: m.ID, Ephemeral: m.Ephemeral}
}
