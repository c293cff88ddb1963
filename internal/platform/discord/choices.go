package discord

import (
	"strings"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

// maxChoices is the most that Discord takes.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-option-structure
const maxChoices = 25

// choice is one choice: what people see, and what the bot gets.
type choice struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// choicesFor returns the choices of the option that is being typed that contain
// what is typed so far, in any case. Those that begin with it come first.
func choicesFor(i *interaction, commands chat.Commands) response {
	fitting := []choice{}
	for _, o := range i.Data.Options {
		param := paramOf(commands, i.Data.Name, o.Name)
		if !o.Focused {
			continue
		}
		text, _ := o.Value.(string)
		text = strings.ToLower(strings.TrimSpace(text))
		for _, first := range []bool{true, false} {
			for _, name := range param.Choices {
				lower := strings.ToLower(name)
				if strings.Contains(lower, text) && strings.HasPrefix(lower, text) == first {
					fitting = append(fitting, choice{Name: name, Value: name})
				}
			}
		}
	}
	return response{Type: discordgo.InteractionApplicationCommandAutocompleteResult, Data: struct {
		Choices []choice `json:"choices"`
	}{fitting[:min(len(fitting), maxChoices)]}}
}
