package staking

import (
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// cooldownFor is how long a way of reading that did not work is not tried.
	cooldownFor = 5 * time.Minute
	// maxLag is by how many blocks a node may be behind one that was seen:
	// several minutes of a slow chain, several seconds of a fast one, within
	// which nodes of one provider differ.
	maxLag = 32
	// headFor is how long the highest block counts. It ends, so that a chain
	// that was set back, or one false number, does not shut the pools off for
	// good.
	headFor = 10 * time.Minute
)

// cooldown is a while during which something is not tried.
type cooldown struct{ until atomic.Int64 } // Unix time, ns

func (c *cooldown) active() bool { return time.Now().UnixNano() < c.until.Load() }

func (c *cooldown) start() { c.until.Store(time.Now().Add(cooldownFor).UnixNano()) }

// head is the highest block that was seen.
type head struct {
	mu    sync.Mutex
	block uint64
	at    time.Time
}

// advance takes note of the block of an answer, and fails if it is too old.
func (h *head) advance(number *big.Int) error {
	if !number.IsUint64() {
		return errNotBlock
	}
	block := number.Uint64()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case block >= h.block || time.Since(h.at) > headFor:
		h.block, h.at = block, time.Now()
	case h.block-block > maxLag:
		return behind(fmt.Sprintf("the node lags %d blocks behind what was seen before", h.block-block))
	}
	return nil
}
