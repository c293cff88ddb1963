package e2e

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/app/e2e/e2etest"
)

const (
	// callTime is what a call to Redis may take: more than by default, for a busy
	// machine.
	callTime = 50 * time.Millisecond
	// mayCost is what a Redis that is slow or away may cost the median of commands
	// of a dozen calls each.
	mayCost = 500 * time.Millisecond
)

// Two replicas share a Redis that is slow, refuses, or is silent. Every command
// is answered, about as soon as with a healthy one; and once that is back, the
// replicas count together again.
func TestASlowOrMissingRedisCostsACommandLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("it compares times, which the race detector spoils")
	}
	t.Parallel()
	for _, way := range e2etest.Ways {
		if !way.ByHTTP {
			continue
		}
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			wire, world, door := newWire(t, miniredis.RunT(t).Addr()), e2etest.Sandbox(t), way.Open(t)
			var replicas []string
			for range 2 {
				replicas = append(replicas, door.Serve(world, fmt.Sprintf("REDIS_URL=redis://%v?read_timeout=%v", wire.Addr(), callTime),
					"PRICE_TTL=100ms", "RATE_LIMIT_USER=3").URL)
			}
			user := int64(10_000)
			ask := func(person int64, n int) e2etest.Answer {
				door.Through(replicas[n%len(replicas)])
				return door.Ask(e2etest.Command{User: person, Name: "price"}).Wait()
			}
			measure := func() time.Duration {
				var asked []*e2etest.Asked
				for n := range 16 {
					user++
					door.Through(replicas[n%len(replicas)])
					asked = append(asked, door.Ask(e2etest.Command{User: user, Name: "price"}))
					<-time.After(20 * time.Millisecond) // spreads the load; no event is waited for
				}
				for _, a := range asked {
					if !strings.Contains(a.Wait().Text, e2etest.Price) {
						t.Errorf("answered %q", a.Wait().Text)
					}
				}
				return median(asked)
			}
			shared := func() bool {
				user++
				for n := range 4 {
					if got := ask(user, n); strings.Contains(got.Text, "Too many commands") {
						return n == 3 // of 3 that are allowed; each replica is asked twice
					}
				}
				return false
			}
			e2etest.Eventually(t, "limits are shared", shared)
			healthy := measure()
			for name, begin := range map[string]func(){
				"slow": func() { wire.set(4*callTime, false) }, "silent": func() { wire.set(0, true) }, "refuses": wire.refuse,
			} {
				begin()
				got := measure()
				wire.mend()
				if got > healthy+mayCost {
					t.Errorf("%s: the median is %v, and with a healthy Redis %v", name, got, healthy)
				}
				e2etest.Eventually(t, name+": limits are shared again", shared)
			}
		})
	}
}

// wire is the network between the bots and Redis.
type wire struct {
	net.Listener
	behind string

	mu     sync.Mutex
	delay  time.Duration // of a request
	mute   bool
	closed bool
	conns  []net.Conn
}

func newWire(t *testing.T, behind string) *wire {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: listener, behind: behind}
	t.Cleanup(func() { w.Close(); w.refuse() })
	go func() {
		for {
			conn, err := w.Accept()
			if err != nil {
				return
			}
			go w.carry(conn)
		}
	}()
	return w
}

// carry carries one connection until either end closes it.
func (w *wire) carry(client net.Conn) {
	defer client.Close()
	redis, err := net.Dial("tcp", w.behind)
	if err != nil {
		return
	}
	defer redis.Close()
	w.mu.Lock()
	if w.conns = append(w.conns, client, redis); w.closed {
		w.mu.Unlock()
		return
	}
	w.mu.Unlock()
	go io.Copy(client, redis)
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		w.mu.Lock()
		delay, mute := w.delay, w.mute
		w.mu.Unlock()
		<-time.After(delay) // the network's own
		if mute {
			continue
		}
		if _, err := redis.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (w *wire) set(delay time.Duration, mute bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay, w.mute = delay, mute
}

// refuse breaks every connection, and others as soon as they are made.
func (w *wire) refuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, conn := range w.conns {
		conn.Close()
	}
	w.conns = nil
}

// mend ends whatever was done to the wire. Connections are made anew.
func (w *wire) mend() {
	w.refuse()
	w.set(0, false)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = false
}
