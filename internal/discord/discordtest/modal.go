package discordtest

// Modal is a window with questions, which the user sees who was asked.
type Modal struct {
	CustomID string
	Title    string
	Inputs   []Input
}

// Input is a question of a modal.
type Input struct {
	CustomID    string
	Label       string
	Placeholder string
	// Value is what stands there at first, or what the user has written.
	Value                string
	Required             bool
	MinLength, MaxLength int
	// InLabel tells that it stands in a label component rather than in an action
	// row; its value comes back in the same form.
	// https://discord.com/developers/docs/components/reference#label
	InLabel bool
}

// shownModal is the modal in data, whose form the schema has checked.
func shownModal(data map[string]any) (*Modal, error) {
	type input struct {
		CustomID    string `json:"custom_id"`
		Label       string
		Placeholder string
		Value       string
		Required    *bool
		MinLength   int `json:"min_length"`
		MaxLength   int `json:"max_length"`
	}
	var sent struct {
		CustomID   string `json:"custom_id"`
		Title      string
		Components []struct {
			Label      string
			Component  *input  // of a label
			Components []input // of a row
		}
	}
	if err := convert(data, &sent); err != nil {
		return nil, err
	}
	m := &Modal{CustomID: sent.CustomID, Title: sent.Title}
	for _, c := range sent.Components {
		if c.Component != nil {
			c.Components = []input{*c.Component}
			// The label is the component's around it, and not the input's too.
			if c.Components[0].Label == "" {
				c.Components[0].Label = c.Label
			} else {
				c.Components[0].Label = ""
			}
		}
		for _, i := range c.Components {
			m.Inputs = append(m.Inputs, Input{
				CustomID: i.CustomID, Label: i.Label, Placeholder: i.Placeholder, Value: i.Value,
				Required:  i.Required == nil || *i.Required,
				MinLength: i.MinLength, MaxLength: i.MaxLength, InLabel: c.Component != nil,
			})
		}
	}
	return m, checkModal(m)
}

// submitted is the data of an interaction in which the user sends the modal.
func (m Modal) submitted() map[string]any {
	components := []any{}
	for n, i := range m.Inputs {
		input := map[string]any{"type": 4, "id": n + 1, "custom_id": i.CustomID, "value": i.Value}
		if i.InLabel {
			components = append(components, map[string]any{"type": 18, "id": 100 + n, "component": input})
		} else {
			components = append(components, map[string]any{"type": 1, "id": 100 + n, "components": []any{input}})
		}
	}
	return map[string]any{"custom_id": m.CustomID, "components": components}
}
