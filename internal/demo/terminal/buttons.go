package terminal

import (
	"slices"
	"strings"
	"unicode"

	"herald/internal/demo/community"
	"herald/internal/demo/fake/telegram"
)

// maxButtons is how many buttons the window remembers. The oldest make room.
const maxButtons = 1000

// button is a button of a message. It has data or a url.
type button struct {
	label     string
	data, url string
	message   community.Message
	reader    int64 // the only user who sees the message; 0: everybody
}

// buttons holds the buttons that can be pressed, oldest first.
type buttons []button

// add adds the buttons of a message. Buttons that copy are not pressed.
func (all *buttons) add(m *telegram.Sent) {
	for _, b := range flat(m.Markup) {
		if b.Copy != nil {
			continue
		}
		*all = append(*all, button{label: b.Text, data: b.Data, url: b.URL, message: identity(m), reader: m.Reader})
	}
	if extra := len(*all) - maxButtons; extra > 0 {
		*all = slices.Delete(*all, 0, extra)
	}
}

// forget deletes the buttons of a message.
func (all *buttons) forget(m *telegram.Sent) {
	*all = slices.DeleteFunc(*all, func(b button) bool { return b.message == identity(m) })
}

// find returns the first button whose label begins with a text, of the newest message that has such
// a button and that a person sees. It returns false if there is none.
func (all buttons) find(text string, by community.Person) (found button, ok bool) {
	if simple(text) == "" {
		return button{}, false
	}
	for _, b := range slices.Backward(all) {
		isSeen := b.reader == 0 || b.reader == by.TelegramID
		if ok && b.message != found.message {
			break
		}
		if isSeen && strings.HasPrefix(simple(b.label), simple(text)) {
			found, ok = b, true
		}
	}
	return found, ok
}

// simple returns a label in lower case, without the signs around it: "7d" of "· 7d ·".
func simple(label string) string {
	isSign := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	return strings.ToLower(strings.TrimFunc(label, isSign))
}

// identity returns what identifies a message of the bot's.
func identity(m *telegram.Sent) community.Message {
	return community.Message{Chat: chatOf(m), ID: m.ID, Ephemeral: m.Ephemeral}
}
