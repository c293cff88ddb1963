package partner

import (
	"sync/atomic"
	"time"
)

// tolerance is the skew that is not corrected: well above what the resolution of
// a Date header can feign.
const tolerance = 2 * time.Second

// clock is this machine's, and what is known of the service's.
type clock struct {
	now   func() time.Time
	ahead atomic.Int64 // nanoseconds that the service's clock is ahead
}

func (c *clock) skew() time.Duration { return time.Duration(c.ahead.Load()) }

// read is this machine's time, and what to add to it for the service's.
func (c *clock) read() (now time.Time, correction time.Duration) {
	if ahead := c.skew(); ahead.Abs() > tolerance {
		correction = ahead
	}
	return c.now(), correction
}

// wasOff reports whether a timestamp with that correction was wrong, by what is
// known now.
func (c *clock) wasOff(correction time.Duration) bool {
	_, current := c.read()
	return (current - correction).Abs() > tolerance
}

// learn takes the Date of an answer to a request that was sent at the time
// given and has just come. The service wrote it at some time in between, and
// cut it to whole seconds. What the round trip may account for is no skew.
func (c *clock) learn(date, sent time.Time) {
	if date.IsZero() {
		return
	}
	trip := c.now().Sub(sent)
	ahead := date.Add(time.Second / 2).Sub(sent.Add(trip / 2))
	doubt := max(trip/2, 0)
	ahead -= min(max(ahead, -doubt), doubt)
	c.ahead.Store(int64(ahead))
}
