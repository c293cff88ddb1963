package ops

import (
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// crowded is how many connections may be busy before others wait. Each takes
	// some 25 KiB; those that wait take no memory of this process.
	crowded = 500
	// crowdedPause is how long the next one waits at most, so that requests that
	// hang keep none out.
	crowdedPause = 2 * time.Millisecond
)

// crowd lets the connections of a burst in as others become free. The rest wait
// in the listener's queue: most requests are answered so soon that to hold all
// of a burst at once would only take memory.
type crowd struct {
	net.Listener

	mu    sync.Mutex
	busy  map[net.Conn]bool // new, or with a request in hand
	freed chan struct{}     // gets a token when any is busy no more
}

func newCrowd(l net.Listener) *crowd {
	return &crowd{Listener: l, busy: map[net.Conn]bool{}, freed: make(chan struct{}, 1)}
}

// Accept implements net.Listener.
func (c *crowd) Accept() (net.Conn, error) {
	if c.isCrowded() {
		pause := time.NewTimer(crowdedPause)
		defer pause.Stop()
		for waiting := true; waiting && c.isCrowded(); {
			select {
			case <-c.freed:
			case <-pause.C:
				waiting = false
			}
		}
	}
	return c.Listener.Accept()
}

func (c *crowd) isCrowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.busy) >= crowded
}

// changed is the server's ConnState.
func (c *crowd) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew, http.StateActive:
		c.busy[conn] = true
		return
	}
	delete(c.busy, conn)
	select {
	case c.freed <- struct{}{}:
	default:
	}
}

// closing has h close its connection while there is a crowd: what waits to be
// let in needs the memory that an idle connection keeps.
func (c *crowd) closing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.isCrowded() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}
