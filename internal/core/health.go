package core

import "time"

// Health is how a service has fared so far, as its Breaker saw it.
type Health struct {
	Service *Service
	// Asked is when a call to it last ended, and Answered when one last brought
	// an answer; zero is never.
	Asked, Answered time.Time
	// FailingSince is when the first call failed that no answer has followed;
	// zero is none. Reason is that of the last such call.
	FailingSince time.Time
	Reason       Reason
	// Circuit is "closed", "open" or "half-open". While it is open the service is
	// not called.
	Circuit string
	// PausedFor is how much longer the service is not called because of how it
	// answered; 0 if it is called.
	PausedFor time.Duration
}

// note takes down a call that has just ended. A failure that may be about one
// wallet or person alone, and not the service's own, changes nothing.
func (b *Breaker) note(err *Error, anyReason bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := &b.health
	h.Asked = time.Now()
	switch {
	case err == nil:
		h.Answered, h.FailingSince, h.Reason = h.Asked, time.Time{}, ""
	case !anyReason && (err.Reason == Rejected || err.Reason == Malformed):
	default:
		h.Reason = err.Reason
		if h.FailingSince.IsZero() {
			h.FailingSince = h.Asked
		}
	}
}

// Health is how the service has fared so far. It calls nothing.
func (b *Breaker) Health() Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.health
	h.Circuit = b.circuit.State().String()
	if b.pausedFor != NoCredit {
		h.PausedFor = max(time.Until(b.pausedUntil), 0)
	}
	return h
}

// Health is that of every service, in the order in which their Breakers were
// made.
func (c *Cache) Health() []Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Health, len(c.breakers))
	for i, b := range c.breakers {
		all[i] = b.Health()
	}
	return all
}

// Items counts the answers that are kept, expired ones included until they are
// swept.
func (c *Cache) Items() int { return c.items.ItemCount() }
