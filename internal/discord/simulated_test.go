package discord

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/discord/discordtest"
)

// wire is a network in memory, as a listener and the way to it, so that an
// Adapter and its Discord can live in simulated time.
type wire struct {
	accepted chan net.Conn
	closing  sync.Once
	closed   chan struct{}
	// dead swallows what is sent either way, on connections that stand.
	dead atomic.Bool
}

func newWire() *wire { return &wire{accepted: make(chan net.Conn), closed: make(chan struct{})} }

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.accepted:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.closing.Do(func() { close(w.closed) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case w.accepted <- far:
		l := &line{Conn: near, wire: w, out: make(chan []byte, 64), closed: make(chan struct{})}
		go l.carry()
		return l, nil
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// line is the bot's end of a connection. Like a socket, and unlike a Pipe, it
// takes what is written before the other end reads it. Once the wire is dead
// nothing comes and what is written seems to go, as on a TCP connection whose
// other end is gone without a word.
type line struct {
	net.Conn
	wire    *wire
	out     chan []byte
	closing sync.Once
	closed  chan struct{}
}

func (l *line) Read(p []byte) (int, error) {
	for {
		n, err := l.Conn.Read(p)
		if err != nil || !l.wire.dead.Load() {
			return n, err
		}
	}
}

func (l *line) Write(p []byte) (int, error) {
	select {
	case l.out <- bytes.Clone(p):
		return len(p), nil
	case <-l.closed:
		return 0, net.ErrClosed
	}
}

func (l *line) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Conn.Close()
}

func (l *line) carry() {
	for {
		select {
		case p := <-l.out:
			if l.wire.dead.Load() {
				continue
			}
			if _, err := l.Conn.Write(p); err != nil {
				return
			}
		case <-l.closed:
			return
		}
	}
}

// simulate runs test in simulated time beside an Adapter with the waits of
// production, once b is how its gateway behaves.
func simulate(t *testing.T, b discordtest.Behaviour, test func(*testing.T, *harness, *wire)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		fake := discordtest.NewOn(w)
		h := prepareOn(t, fake, nil)
		h.pace = defaultPace
		h.dial = w.dial
		h.rest.Client.Transport = &origin{base: &http.Transport{DialContext: w.dial}, scheme: "http", host: w.Addr().String()}
		h.ctx = t.Context()
		// What bounds the identifies must be the Adapter, not this budget.
		fake.Limit(1<<30, 0)
		fake.Behave(b)
		h.run(t)
		test(t, h, w)
	})
}

// pass lets simulated time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// most is the largest number of times within any span of a length.
func most(times []time.Time, length time.Duration) (best int) {
	for i := range times {
		n := 0
		for _, t := range times[i:] {
			if t.Sub(times[i]) < length {
				n++
			}
		}
		best = max(best, n)
	}
	return best
}

// Whatever the gateway does on every connection, for hours, Discord sees at
// most ten identifies in ten minutes.
func TestIdentifiesStayRareForHours(t *testing.T) {
	do := func(actions ...discordtest.Action) []discordtest.Action { return actions }
	for name, tt := range map[string]struct {
		behaviour discordtest.Behaviour
		least     int // identifies in the hours that pass
	}{
		"no Hello":            {discordtest.Behaviour{InsteadOfHello: []discordtest.Action{}}, 0},
		"op 7 for Hello":      {discordtest.Behaviour{InsteadOfHello: do(discordtest.Action{Op: 7})}, 0},
		"op 9 for Hello":      {discordtest.Behaviour{InsteadOfHello: do(discordtest.Action{Op: 9})}, 0},
		"op 11 for Hello":     {discordtest.Behaviour{InsteadOfHello: do(discordtest.Action{Op: 11})}, 0},
		"close for Hello":     {discordtest.Behaviour{InsteadOfHello: do(discordtest.Action{Close: 4000})}, 0},
		"op 7 for READY":      {discordtest.Behaviour{InsteadOfReady: do(discordtest.Action{Op: 7})}, 60},
		"op 9 for READY":      {discordtest.Behaviour{InsteadOfReady: do(discordtest.Action{Op: 9})}, 60},
		"op 9 thrice":         {discordtest.Behaviour{InsteadOfReady: do(discordtest.Action{Op: 9}, discordtest.Action{Op: 9}, discordtest.Action{Op: 9})}, 60},
		"close for READY":     {discordtest.Behaviour{InsteadOfReady: do(discordtest.Action{Close: 4008})}, 60},
		"nothing for READY":   {discordtest.Behaviour{InsteadOfReady: do(discordtest.Action{Stall: true})}, 60},
		"op 7 after READY":    {discordtest.Behaviour{AfterReady: do(discordtest.Action{Op: 7})}, 60},
		"op 9 after READY":    {discordtest.Behaviour{AfterReady: do(discordtest.Action{Op: 9})}, 60},
		"close after READY":   {discordtest.Behaviour{AfterReady: do(discordtest.Action{Close: 1000})}, 60},
		"silence after READY": {discordtest.Behaviour{AfterReady: do(discordtest.Action{Stall: true})}, 60},
		"no ACK":              {discordtest.Behaviour{NoACK: true}, 60},
		"no ACK, in haste":    {discordtest.Behaviour{NoACK: true, Heartbeat: time.Second}, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, tt.behaviour, func(t *testing.T, h *harness, _ *wire) {
				pass(4 * time.Hour)
				identifies := h.fake.Identifies()
				if n := most(identifies, 10*time.Minute); n > 10 || len(identifies) < tt.least || tt.least == 0 && n > 0 {
					t.Errorf("identified %d times, %d of them in ten minutes", len(identifies), n)
				}
				h.fake.Behave(discordtest.Behaviour{Heartbeat: 41 * time.Second})
				pass(identifyWindow + 2*reconnectMax)
				if !h.Ready() {
					t.Errorf("not connected to a gateway that works again")
				}
				h.answer(t, discordtest.Interaction{Command: "price"})
			})
		})
	}
}

// The worst gateway lets each connection live just long enough to count as
// healthy. Discord resets the token of a bot that identifies more than 1,000
// times a day.
func TestIdentifiesStayBelowADaysBudget(t *testing.T) {
	simulate(t, discordtest.Behaviour{}, func(t *testing.T, h *harness, _ *wire) {
		for began := time.Now(); time.Since(began) < 24*time.Hour; {
			if h.fake.WaitConnected(h.ctx) != nil {
				return
			}
			pass(h.pace.stable)
			h.fake.Do(discordtest.Action{Op: 9})
		}
		if n := len(h.fake.Identifies()); n > 1000 || n < 500 {
			t.Errorf("identified %d times in a day", n)
		}
	})
}
