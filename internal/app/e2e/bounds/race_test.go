//go:build race

package bounds

import "time"

// The race detector makes the flood itself the load: two busy cores cannot
// carry 1,000 commands a second through it. To stand behind the flood would
// take seconds here too.
const (
	floodRate = 300
	floor     = 500 * time.Millisecond
)
