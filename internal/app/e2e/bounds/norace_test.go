//go:build !race

package bounds

import "time"

const (
	// floodRate is how many commands a second one user gives.
	floodRate = 1000
	// floor is far above the medians of two cores, which stay below a
	// millisecond (polling: some ten).
	floor = 100 * time.Millisecond
)
