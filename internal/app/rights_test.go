package app

import (
	"context"
	"testing"

	"herald/internal/platform"
)

// The log is nil, so that a line in it would panic.
func TestRightsAreNotLoggedAtTheEnd(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	w := &rightsWatch{}
	w.run(ended, func(context.Context) []platform.Right {
		return []platform.Right{{Problem: "context canceled"}}
	})
}
