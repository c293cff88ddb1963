package discord

import (
	"strings"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/words"
)

// Limits of what a message or a modal holds.
// https://discord.com/developers/docs/components/reference
const (
	maxRows        = 5
	maxInRow       = 5
	maxLabel       = 80
	maxURL         = 512
	maxModalTitle  = 45
	maxPlaceholder = 100
)

// labelComponent holds an input of a modal; discordgo does not know it.
// https://discord.com/developers/docs/components/reference#label
const labelComponent discordgo.ComponentType = 18

// component is a row of buttons, a button, or an input of a modal with its label.
type component struct {
	Type        discordgo.ComponentType `json:"type"`
	Components  []component             `json:"components,omitempty"` // of a row
	Component   *component              `json:"component,omitempty"`  // of a label
	Style       int                     `json:"style,omitempty"`
	Label       string                  `json:"label,omitempty"`
	CustomID    string                  `json:"custom_id,omitempty"`
	URL         string                  `json:"url,omitempty"`
	Placeholder string                  `json:"placeholder,omitempty"`
}

// rows returns the buttons of a card, five a row, and first one that asks the
// card's question. Buttons that copy are left out, because Discord has none; so
// is a second button with the same state, because Discord refuses it.
func rows(card words.Card, ask *chat.Ask) []component {
	rows := []component{}
	seen := map[string]bool{}
	add := func(c component) {
		c.Type, c.Label = discordgo.ButtonComponent, cut(c.Label, maxLabel)
		if c.Label == "" || c.CustomID == "" && (c.URL == "" || len(c.URL) > maxURL) || c.CustomID != "" && seen[c.CustomID] {
			return
		}
		seen[c.CustomID] = true
		if n := len(rows); n == 0 || len(rows[n-1].Components) == maxInRow {
			rows = append(rows, component{Type: discordgo.ActionsRowComponent})
		}
		row := &rows[len(rows)-1]
		row.Components = append(row.Components, c)
	}
	if ask != nil {
		if state := ask.State(); state != "" {
			add(component{Style: int(discordgo.PrimaryButton), Label: card.Ask.Question, CustomID: state})
		}
	}
	for _, b := range card.Buttons {
		c := component{Style: int(discordgo.SecondaryButton), Label: b.Label, CustomID: b.State}
		if b.URL != "" {
			c.Style, c.URL = int(discordgo.LinkButton), b.URL
		}
		add(c)
	}
	return rows[:min(len(rows), maxRows)]
}

// modalFor opens a modal with one input, for the argument of a parameter. state
// comes back with the input.
func modalFor(p chat.Param, state string, l chat.Language) modal {
	question := cut(words.Say(l, p.Question), maxModalTitle)
	return modal{Title: question, CustomID: state, Components: []component{{
		Type: labelComponent, Label: question, Component: &component{
			Type: discordgo.TextInputComponent, Style: int(discordgo.TextInputShort),
			CustomID: p.Name, Placeholder: cut(p.Example, maxPlaceholder),
		},
	}}}
}

// modal is a window with inputs, by Discord's name.
type modal struct {
	Title      string      `json:"title"`
	CustomID   string      `json:"custom_id"`
	Components []component `json:"components"`
}

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
func choicesFor(i *interaction, commands chat.Commands) []choice {
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
	return fitting[:min(len(fitting), maxChoices)]
}
