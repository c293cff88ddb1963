package router_test

import (
	"testing"

	"herald/internal/chat"
	"herald/internal/router"
)

// errorOf returns the error of New for a table with a command that change has changed.
func errorOf(change func(*chat.Command)) error {
	command := chat.Command{
		Name:       "a",
		Summary:    chat.Say("s"),
		Visibility: chat.Public,
		Forms:      []chat.Form{{Run: ran}},
	}
	change(&command)
	_, err := router.New(router.Config{Commands: chat.Commands{command}})
	return err
}

func TestATableOfCommandsIsAccepted(t *testing.T) {
	for name, change := range map[string]func(*chat.Command){
		"no change":               func(*chat.Command) {},
		"one argument for inline": func(c *chat.Command) { c.Forms[0] = inlineForm(1) },
	} {
		if err := errorOf(change); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATableWithAMistakeIsRefused(t *testing.T) {
	for name, change := range map[string]func(*chat.Command){
		"no visibility":            func(c *chat.Command) { c.Visibility = 0 },
		"no choice":                func(c *chat.Command) { c.Forms[0].Params = choices() },
		"one choice":               func(c *chat.Command) { c.Forms[0].Params = choices("x") },
		"two arguments for inline": func(c *chat.Command) { c.Forms[0] = inlineForm(2) },
		"private and inline": func(c *chat.Command) {
			c.Visibility = chat.Private
			c.Forms[0].Inline = true
		},
		"moderators' inline": func(c *chat.Command) {
			c.Forms[0].Inline = true
			c.Forms[0].Moderators = true
		},
	} {
		if err := errorOf(change); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// inlineForm returns a form that answers inline queries, with a number of parameters.
func inlineForm(params int) chat.Form {
	return chat.Form{Inline: true, Params: make([]chat.Param, params), Run: ran}
}

// choices returns the parameters of a form: one, with these choices.
func choices(all ...string) []chat.Param {
	if all == nil {
		all = []string{} // nil choices would accept any text
	}
	return []chat.Param{{Choices: all}}
}
