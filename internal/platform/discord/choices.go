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

// choicesFor are the choices of the option that is being written: those that begin
// with what is there of it come first, then those that hold it, in any case.
func choicesFor(i *interaction, commands chat.Commands) response {
	fitting := []choice{}
	at := slices.IndexFunc(i.Data.Options, func(o option) bool { return o.Focused })
	c, _ := commands.Find(i.Data.Name)
	params, _ := c.Params()
	for _, p := range params {
		if at < 0 || p.Name != i.Data.Options[at].Name {
			continue
		}
		written, _ := i.Data.Options[at].Value.(string)
		written = strings.ToLower(strings.TrimSpace(written))
		var held []choice
		for _, name := range p.Choices {
			switch at := strings.Index(strings.ToLower(name), written); {
			case at == 0:
				fitting = append(fitting, choice{name, name})
			case at > 0:
				held = append(held, choice{name, name})
			}
		}
		fitting = append(fitting, held...)
	}
	return response{discordgo.InteractionApplicationCommandAutocompleteResult, struct {
		Choices []choice `json:"choices"`
	}{fitting[:min(len(fitting), maxChoices)]}}
}
