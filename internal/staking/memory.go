package staking

import (
	"math/big"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// lapseFor is how long a way of reading that did not work is not tried.
	lapseFor = 5 * time.Minute
	// maxLag is by how many blocks a node may be behind one that was seen:
	// several minutes of a slow chain, several seconds of a fast one, within
	// which nodes of one provider differ.
	maxLag = 32
	// headFor is how long the highest block counts. It ends, so that a chain
	// that was set back, or one false number, does not shut the pools off for
	// good.
	headFor = 10 * time.Minute
)

// lapse is a while during which something is left alone.
type lapse struct{ until atomic.Int64 } // Unix time, ns

func (l *lapse) active() bool { return time.Now().UnixNano() < l.until.Load() }

func (l *lapse) start() { l.until.Store(time.Now().Add(lapseFor).UnixNano()) }

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
		return &lagError{behind: h.block - block}
	}
	return nil
}
