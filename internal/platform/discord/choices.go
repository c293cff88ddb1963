package discord

import (
	"slices"
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
	command, _ := commands.Find(i.Data.Name)
	params, _ := command.Params()
	for _, o := range i.Data.Options {
		at := slices.IndexFunc(params, func(p chat.Param) bool { return o.Focused && p.Name == o.Name })
		if at < 0 {
			continue
		}
		text, _ := o.Value.(string)
		position := func(name string) int {
			return strings.Index(strings.ToLower(name), strings.ToLower(strings.TrimSpace(text)))
		}
		for _, name := range params[at].Choices {
			if position(name) >= 0 {
				fitting = append(fitting, choice{Name: name, Value: name})
			}
		}
		slices.SortStableFunc(fitting, func(a, b choice) int { return min(position(a.Name), 1) - min(position(b.Name), 1) })
	}
	return response{Type: discordgo.InteractionApplicationCommandAutocompleteResult, Data: struct {
		Choices []choice `json:"choices"`
	}{fitting[:min(len(fitting), maxChoices)]}}
}
