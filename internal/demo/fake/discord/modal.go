package discord

import "errors"

// Modal is a window with questions, which the user sees who was asked.
type Modal struct {
	CustomID string
	Title    string
	Inputs   []Input
}

// Input is a question of a modal.
type Input struct {
	CustomID    string `json:"custom_id"`
	Label       string
	Placeholder string
	// Value is what stands there at first, or what the user has written.
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
		CustomID   string `json:"custom_id"`
		Title      string
		Components []struct {
			Label     string
			Component *input
		}
	}
	if err := convert(data, &sent); err != nil {
		return nil, err
	}
	m := &Modal{CustomID: sent.CustomID, Title: sent.Title}
	for _, c := range sent.Components {
		i := c.Component
		switch {
		case i == nil:
			return nil, errors.New("components: an input stands in a label here")
		case i.Label != "":
			return nil, errors.New("components: the label is the component's around the input, and not the input's too")
		}
		i.Input.Label, i.Input.Required = c.Label, i.Required == nil || *i.Required
		m.Inputs = append(m.Inputs, i.Input)
	}
	return m, checkModal(m)
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
