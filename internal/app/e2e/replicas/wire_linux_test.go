package replicas

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// wire is the network between the bots and Redis. It can be slow, swallow what
// is sent, break and be cut.
type wire struct {
	*testing.T
	addr, behind string

	mu       sync.Mutex
	delay    func() time.Duration // of a request; nil is none
	mute     bool
	listener net.Listener // nil while it refuses
	unheard  int          // the socket that completes no connection, 0 for none
	filling  []net.Conn
	conns    map[net.Conn]bool
	requests int // so far
	carrying sync.WaitGroup
}

func newWire(t *testing.T, behind string) *wire {
	w := &wire{T: t, addr: "127.0.0.1:0", behind: behind, conns: map[net.Conn]bool{}}
	w.listen()
	w.addr = w.listener.Addr().String()
	t.Cleanup(func() {
		w.mend()
		w.listener.Close()
		w.reset()
		w.carrying.Wait()
	})
	return w
}

func (w *wire) listen() {
	w.Helper()
	listener, err := net.Listen("tcp", w.addr)
	if err != nil {
		w.Fatal(err)
	}
	w.listener = listener
	w.carrying.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			w.carrying.Go(func() { w.carry(conn) })
		}
	})
}

// carry carries one connection until either end closes it.
func (w *wire) carry(client net.Conn) {
	redis, err := net.Dial("tcp", w.behind)
	if err != nil {
		breakOff(client)
		return
	}
	w.mu.Lock()
	w.conns[client], w.conns[redis] = true, true
	w.mu.Unlock()
	w.carrying.Go(func() {
		_, _ = io.Copy(client, redis)
		client.Close()
	})
	defer func() {
		w.mu.Lock()
		delete(w.conns, client)
		delete(w.conns, redis)
		w.mu.Unlock()
		client.Close()
		redis.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.requests++
		delay, mute := w.delay, w.mute
		w.mu.Unlock()
		if mute {
			continue
		}
		if delay != nil {
			time.Sleep(delay()) // the network's own delay
		}
		if _, err := redis.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// breakOff closes a connection with a reset.
func breakOff(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// slow delays each request by d.
func (w *wire) slow(d time.Duration) { w.set(func() time.Duration { return d }, false) }

// jitter delays each request by up to d.
func (w *wire) jitter(d time.Duration) {
	w.set(func() time.Duration { return rand.N(d) }, false)
}

// swallow accepts everything and answers nothing.
func (w *wire) swallow() { w.set(nil, true) }

// reset breaks every connection there is.
func (w *wire) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.conns {
		breakOff(conn)
	}
}

// refuse breaks every connection and refuses others.
func (w *wire) refuse() {
	w.listener.Close()
	w.listener = nil
	w.reset()
}

// drop breaks every connection and lets attempts to connect go unheard, as where
// there is no route: the system drops them while the listener's queue is full.
func (w *wire) drop() {
	w.Helper()
	w.refuse()
	_, port, err := net.SplitHostPort(w.addr)
	if err != nil {
		w.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		w.Fatal(err)
	}
	if w.unheard, err = deafListener(number); err != nil {
		w.Fatal(err)
	}
	for {
		conn, err := net.DialTimeout("tcp", w.addr, 100*time.Millisecond)
		if err != nil {
			return
		}
		w.filling = append(w.filling, conn)
	}
}

// deafListener listens on a port of 127.0.0.1 with the shortest queue, and never
// accepts.
func deafListener(port int) (socket int, err error) {
	socket, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, fmt.Errorf("make a socket: %w", err)
	}
	if err = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err == nil {
		if err = syscall.Bind(socket, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err == nil {
			err = syscall.Listen(socket, 0)
		}
	}
	if err != nil {
		syscall.Close(socket)
		return 0, fmt.Errorf("listen: %w", err)
	}
	return socket, nil
}

// carried counts the requests so far.
func (w *wire) carried() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// mend ends whatever was done to the wire. Connections that are broken stay so.
func (w *wire) mend() {
	w.Helper()
	w.set(nil, false)
	if w.unheard != 0 {
		syscall.Close(w.unheard)
		for _, conn := range w.filling {
			breakOff(conn)
		}
		w.unheard, w.filling = 0, nil
	}
	if w.listener == nil {
		w.listen()
	}
}

func (w *wire) set(delay func() time.Duration, mute bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay, w.mute = delay, mute
}
