package discord

import (
	"slices"
	"unicode/utf16"

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

// buttons are those of a card, and one for what it asks. Discord has none that
// copies, so what could be copied must stand in the text; and it refuses two
// that would come back as the same.
func buttons(card words.Card, ask *chat.Ask) []component {
	all := make([]component, 0, len(card.Buttons)+1)
	if ask != nil {
		if state, ok := ask.State(); ok {
			all = append(all, component{Type: discordgo.ButtonComponent, Style: int(discordgo.PrimaryButton),
				Label: cut(card.Ask.Question, maxLabel), CustomID: state})
		}
	}
	for _, b := range card.Buttons {
		c := component{Type: discordgo.ButtonComponent, Style: int(discordgo.SecondaryButton), Label: cut(b.Label, maxLabel), CustomID: b.State}
		if b.URL != "" {
			c.Style, c.URL = int(discordgo.LinkButton), b.URL
		}
		twice := slices.ContainsFunc(all, func(other component) bool { return c.CustomID != "" && other.CustomID == c.CustomID })
		if c.Label != "" && !twice && (c.CustomID != "" || c.URL != "" && len(c.URL) <= maxURL) {
			all = append(all, c)
		}
	}
	return all[:min(len(all), maxRows*maxInRow)]
}

// rows puts buttons into rows.
func rows(buttons []component) []component {
	all := []component{}
	for row := range slices.Chunk(buttons, maxInRow) {
		all = append(all, component{Type: discordgo.ActionsRowComponent, Components: row})
	}
	return all
}

// modal is a window with one input.
type modal struct {
	Title      string      `json:"title"`
	CustomID   string      `json:"custom_id"`
	Components []component `json:"components"`
}

// modalFor asks for the argument of a parameter. state comes back with it.
func modalFor(p chat.Param, state string, l chat.Language) response {
	question := cut(words.Say(l, p.Question), maxModalTitle)
	return response{Type: discordgo.InteractionResponseModal, Data: modal{Title: question, CustomID: state, Components: []component{{
		Type: labelComponent, Label: question, Component: &component{
			Type: discordgo.TextInputComponent, Style: int(discordgo.TextInputShort),
			CustomID: p.Name, Placeholder: cut(p.Example, maxPlaceholder),
		},
	}}}}
}

// asked is the parameter that a command asks for, if it does.
func asked(commands chat.Commands, command, param string) (p chat.Param, ok bool) {
	c, _ := commands.Find(command)
	for _, f := range c.Forms {
		for _, p := range f.Params {
			if p.Name == param && p.Question.Key != "" {
				return p, true
			}
		}
	}
	return chat.Param{}, false
}

// cut is s in at most so many UTF-16 units, with an ellipsis if something is
// missing.
func cut(s string, most int) string {
	if units(s) <= most {
		return s
	}
	used := 1 // for the ellipsis
	for i, r := range s {
		if used += utf16.RuneLen(r); used > most {
			return s[:i] + "…"
		}
	}
	return s
}
