package discord

import (
	"errors"
	"fmt"
)

// Modal is a window with questions, which only the user sees who was asked.
type Modal struct {
	CustomID string `json:"custom_id"`
	Title    string
	Inputs   []Input `json:"-"`
}

// Input is a question of a modal.
type Input struct {
	CustomID    string `json:"custom_id"`
	Label       string
	Placeholder string
	// Value is what is there at first, or what the user has written.
	Value     string
	Required  bool
	MinLength int `json:"min_length"`
	MaxLength int `json:"max_length"`
}

// shownModal is the modal in data, whose form the schema has checked.
func shownModal(data map[string]any) (*Modal, error) {
	type input struct {
		Input
		Required *bool
	}
	var sent struct {
		Modal
		Components []struct {
			Label     string
			Component *input
		}
	}
	if err := convert(data, &sent); err != nil {
		return nil, err
	}
	m := &sent.Modal
	if len(sent.Components) > maxInputs {
		return nil, fmt.Errorf("components: %d inputs", len(sent.Components))
	}
	ids := map[string]bool{}
	for _, c := range sent.Components {
		i := c.Component
		switch {
		case i == nil || i.Label != "":
			return nil, errors.New("components: an input is in a label here, and has none of its own")
		case ids[i.CustomID]:
			return nil, errors.New("components: a custom_id is there twice")
		}
		ids[i.CustomID] = true
		i.Input.Label, i.Input.Required = c.Label, i.Required == nil || *i.Required
		m.Inputs = append(m.Inputs, i.Input)
	}
	return m, nil
}

// submitted is the data of an interaction in which the user sends the modal.
func (m Modal) submitted() map[string]any {
	components := []any{}
	for n, i := range m.Inputs {
		input := map[string]any{"type": 4, "id": n + 1, "custom_id": i.CustomID, "value": i.Value}
		components = append(components, map[string]any{"type": 18, "id": 100 + n, "component": input})
	}
	return map[string]any{"custom_id": m.CustomID, "components": components}
}
