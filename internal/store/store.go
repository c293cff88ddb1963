// Package store keeps what must outlive one command, or the process.
//
// There are three kinds of state:
//   - Claims and finished work (claim.Claims), so that a chat platform's update is answered once.
//   - Rates (ratelimit.Limiter): how often something happened.
//   - Values: the latest answers of services (query.Store), and saved addresses, in a Bucket.
//
// There are three places:
//   - Memory keeps claims, rates and buckets in this process.
//   - Redis shares all state between replicas. While it is unavailable, a Memory decides claims and rates, and values
//     cannot be read.
//   - Folder keeps values in files.
//
// The files:
//   - memory.go
//   - redis.go: Redis; pool.go, calls.go and probe.go: how it is called; claims.go, rates.go, answers.go and
//     redisbucket.go: its kinds of state
//   - folder.go: Folder and the answers; folderbucket.go: its Buckets; files.go: reading and writing of files
//   - settings.go
//
// The package does not know platforms and services.
package store

import (
	"context"
	"errors"
	"fmt"
)

// maxValue is the maximum number of bytes of a value. The largest value is the history of quotes: 2,976 points of
// 40 to 80 bytes.
const maxValue = 256 << 10

// errTooLarge is returned for a value of more than maxValue bytes.
var errTooLarge = errors.New("it has too many bytes")

// Bucket is a set of values by key. Its methods are safe for concurrent use.
type Bucket interface {
	// Load returns the value of key, or nil if there is none. It fails with an *UnreadableError if there is a value that
	// cannot be read, and with another error if the store is unavailable.
	Load(ctx context.Context, key string) ([]byte, error)
	// Replace sets key to value, without an expiry, if the current value is old, and reports whether it did. An empty
	// old means that key has no value; an empty value deletes key. Replace blocks until value is on disk, or in Redis.
	// After an error, key may have either value. Replace does not overwrite a value that cannot be read.
	Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error)
	// Each calls f with each value, one at a time and in no order, until ctx is done. If a value is replaced meanwhile, f
	// gets the old or the new value. Each skips values that cannot be read, and then returns an *UnreadableError.
	Each(ctx context.Context, f func(value []byte)) error
}

// UnreadableError is returned by a Bucket that has values that cannot be read, although its store is available. The
// Bucket does not change such values.
type UnreadableError struct {
	// Values is the number of values that cannot be read.
	Values int
	// Err is why one of them cannot be read. It has no key and no path.
	Err error
}

// Error returns the number of values and the reason.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%d saved values cannot be read: %v", e.Values, e.Err)
}

// Unreadable returns Values.
func (e *UnreadableError) Unreadable() int { return e.Values }

// Unwrap returns Err.
func (e *UnreadableError) Unwrap() error { return e.Err }
