package partner

import (
	"sync/atomic"
	"time"
)

// tolerance is how far apart two times may be and still count as the same: well
// above what the resolution of a Date header can feign.
const tolerance = 2 * time.Second

// clock is this machine's, and what is known of the service's. A Date may be
// a proxy's whose clock is off, so it is only a guess: a correction is kept only
// once the service has accepted a timestamp made with it.
type clock struct {
	now        func() time.Time
	dated      atomic.Bool  // an answer had a Date
	ahead      atomic.Int64 // nanoseconds that the last Date was ahead of now
	correction atomic.Int64 // nanoseconds to add to now
}

// corrected is what to add to now for the service's time.
func (c *clock) corrected() time.Duration { return time.Duration(c.correction.Load()) }

func same(a, b time.Duration) bool { return (a - b).Abs() <= tolerance }

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
	c.dated.Store(true)
}
