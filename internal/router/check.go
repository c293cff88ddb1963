package router

import (
	"fmt"

	"herald/internal/chat"
)

// check returns an error if the answer of c could reach the wrong people, or if the fields of a form contradict each
// other.
func check(c *chat.Command) error {
	if c.Visibility != chat.Public && c.Visibility != chat.Private {
		return fmt.Errorf("command %q: no visibility chosen", c.Name)
	}
	for _, f := range c.Forms {
		if f.Inline && (c.Visibility != chat.Public || f.Moderators || len(f.Params) > 1) {
			return fmt.Errorf("command %q: an Inline form must be public, for everybody, and take one argument at most", c.Name)
		}
		for _, p := range f.Params {
			if p.Choices != nil && len(p.Choices) < 2 {
				return fmt.Errorf("command %q: parameter %q must have at least two choices, or nil", c.Name, p.Name)
			}
		}
	}
	return nil
}
