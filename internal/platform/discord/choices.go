package discord

import (
	"strings"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
)

// maxChoices is how many Discord shows.
// https://discord.com/developers/docs/interactions/application-commands#application-command-object-application-command-option-structure
const maxChoices = 25

// choice is what is shown of a choice, and what it stands for.
type choice struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// choicesFor are the choices of the option that is being written which hold, in
// any case, what is there of it; those that begin with it come first.
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
