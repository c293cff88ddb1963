// Package claim lets exactly one caller of all replicas do a piece of work, so that an update whose delivery is
// repeated is answered once. Package store implements Claims in memory and in Redis.
package claim

import (
	"context"
	"time"

	"herald/internal/ratelimit"
)

// Progress is how far a piece of work is, such as the answer to an update.
type Progress int

// How far work is.
const (
	// New is work that nobody had claimed. The caller has claimed it now, and must do it and then end the claim.
	New Progress = iota + 1
	// InFlight is work that another caller has claimed.
	InFlight
	// Done is work that was marked as done.
	Done
)

// Lasts is how long a claim lasts that is neither released nor marked as done: longer than any work. Work that may take
// longer is marked as done once its update is acknowledged.
const Lasts = time.Minute

// Claims are the claims of one bot. Their methods never fail: without its store an implementation uses what this
// process remembers.
type Claims interface {
	// Claim returns the Progress of the work with this key, and claims New work. For New work it also reserves a slot
	// of limits, as ratelimit.Limiter's Reserve does with within 0, and returns the wait. It blocks for one call to a
	// shared store at most. A claim ends after Lasts.
	Claim(ctx context.Context, key string, limits ...ratelimit.Limit) (p Progress, wait time.Duration)
	// Release ends the claim of New work that was not done. The next Claim returns New.
	Release(key string)
	// MarkDone ends the claim of New work that was done. Claim returns Done for as long as lasts.
	MarkDone(key string, lasts time.Duration)
}
