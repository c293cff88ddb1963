package partner

import "time"

// SetClock makes now this machine's clock.
func (c *Client) SetClock(now func() time.Time) { c.now = now }
