// Package panics words a recovered panic, in one way everywhere, so that no
// log holds what somebody typed, or a token.
package secret

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// PanicError words what recover returned, with the stack, for a log. A value that
// is not the Go runtime's own is named by its type alone: it may be personal.
func PanicError(v any) error {
	if known, ok := v.(runtime.Error); ok {
		return fmt.Errorf("panic: %w\n%s", known, debug.Stack())
	}
	return fmt.Errorf("panic with a %T\n%s", v, debug.Stack())
}
