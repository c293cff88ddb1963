// Package claim lets exactly one caller of all replicas do a piece of work. So an update is answered once, even if it
// is delivered twice. Package store implements Claims in memory and in Redis.
package claim

import (
	"context"
	"time"

	"herald/internal/ratelimit"
)

// Progress is how far a piece of work is, such as the answer to an update.
type Progress int

// The states of work.
const (
	// New means that nobody had claimed the work. The caller has claimed it now. It must do the work and then end the
	// claim.
	New Progress = iota + 1
	// InFlight means that another caller has claimed the work.
	InFlight
	// Done means that the work was marked as done.
	Done
)

// Lasts is how long a claim lasts if it is neither released nor marked as done. Work takes less time. If work may take
// longer, it is marked as done early: when its update is acknowledged.
const Lasts = time.Minute

// Claims are the claims of one bot. Their methods never fail: while a shared store is unavailable, the memory of this
// process decides.
type Claims interface {
	// Claim returns the Progress of the work with this key. If the work is New, Claim claims it for Lasts. It then also
	// takes a slot from each limit, if all the slots are due now, and otherwise takes none. It returns how long to wait
	// until they are due. Claim blocks for at most one call to a shared store.
	Claim(ctx context.Context, key string, limits ...ratelimit.Limit) (p Progress, wait time.Duration)
	// Release ends the caller's claim because the work was not done. The next Claim returns New.
	Release(key string)
	// MarkDone ends the caller's claim because the work is done. For as long as lasts, Claim then returns Done.
	MarkDone(key string, lasts time.Duration)
}
