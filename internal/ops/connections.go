package ops

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections bounds an HTTP server's open connections by its ConnState. Beyond
// the bound, the connection that has sent no request for the longest time is
// closed: those with a request in hand are served, and a new one, which may be
// about to ask for health, gets in however many lie idle. To make new ones wait
// instead, as golang.org/x/net/netutil does, would let idle ones keep everybody
// out.
type connections struct {
	most int

	mu      sync.Mutex
	open    map[net.Conn]*list.Element // nil with a request in hand
	waiting list.List                  // of net.Conn for a request, the longest first
}

// changed is the server's ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := c.open[conn]; wait != nil {
		c.waiting.Remove(wait)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = c.waiting.PushBack(conn)
	case http.StateActive:
		c.open[conn] = nil
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
	if longest := c.waiting.Front(); longest != nil && len(c.open) > c.most {
		c.waiting.Remove(longest)
		delete(c.open, longest.Value.(net.Conn))
		longest.Value.(net.Conn).Close()
	}
}
