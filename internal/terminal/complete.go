package terminal

import (
	"slices"
	"strings"

	"herald/internal/chat"
)

// complete returns the words that the last word of text may become: a command,
// one of the choices of its parameter, or who is to ask. They are in the order
// of the menu, and case does not matter.
func (a *Adapter) complete(all chat.Commands, text string) []string {
	before := strings.Fields(text)
	begun := ""
	if len(before) > 0 && !strings.HasSuffix(text, " ") {
		begun = before[len(before)-1]
		before = before[:len(before)-1]
	}
	var words []string
	switch command, arguments := parse(strings.Join(before, " ")); {
	case len(before) == 0:
		for _, c := range all {
			words = append(words, "/"+c.Name)
		}
		words = append(words, "/as")
		words = append(words, leaving...)
	case command == "as" && len(arguments) == 0:
		for _, asker := range a.Askers {
			words = append(words, asker.Name)
		}
	default:
		known, _ := all.Find(command)
		for _, form := range known.Forms {
			if !form.Unlisted && len(form.Params) > len(arguments) {
				words = append(words, form.Params[len(arguments)].Choices...)
			}
		}
	}
	return slices.DeleteFunc(words, func(word string) bool {
		return len(word) < len(begun) || !strings.EqualFold(word[:len(begun)], begun)
	})
}
