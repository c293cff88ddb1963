package ops

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// wire is a listener in memory, so that the waits of connections take simulated
// time.
type wire struct{ accepted chan net.Conn }

func (w wire) Accept() (net.Conn, error) {
	conn, open := <-w.accepted
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (w wire) Close() error { close(w.accepted); return nil }

func (w wire) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// dial opens a connection. What a client writes is taken only once the server
// reads it.
func (w wire) dial(t *testing.T) net.Conn {
	t.Helper()
	synctest.Wait() // what was answered before is not in hand any more
	client, server := net.Pipe()
	w.accepted <- server
	synctest.Wait()
	return client
}

// inMemory runs a server in a bubble, which fails if anything of the server is
// left at the end. A request to /hold or /empty, whose response has no body, is
// responded to once something is received from hold.
func inMemory(t *testing.T, most int, test func(t *testing.T, w wire, hold chan struct{})) {
	synctest.Test(t, func(t *testing.T) {
		w, hold := wire{make(chan net.Conn)}, make(chan struct{})
		s := newServer(w, NewMetrics(), nil, slog.New(slog.DiscardHandler))
		s.connections.most = most
		s.Handle("/hold", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			<-hold
			io.WriteString(w, "held")
		}))
		s.Handle("/empty", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
		ended := make(chan error, 1)
		go func() { ended <- s.Serve() }()
		test(t, w, hold)
		s.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// write sends part of a request and does not wait for more than that it is
// taken.
func write(conn net.Conn, text string) {
	go io.WriteString(conn, text)
	synctest.Wait()
}

func request(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: herald\r\n\r\n" }

// get asks and returns the body, or an error if the connection is closed.
func get(conn net.Conn, path string) (string, error) {
	write(conn, request(path))
	return response(conn)
}

func response(conn net.Conn) (string, error) {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// closed reports whether the server has closed the connection.
func closed(conn net.Conn) bool {
	conn.SetReadDeadline(time.Now())
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func TestReadersThatNeverReadAreLeft(t *testing.T) {
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/hold", "/empty", "/nowhere"} {
		for _, readers := range []int{50, 500} {
			t.Run(fmt.Sprintf("%d of %s", readers, path), func(t *testing.T) {
				inMemory(t, maxConnections, func(t *testing.T, w wire, hold chan struct{}) {
					var conns []net.Conn
					for range readers {
						conn := w.dial(t)
						write(conn, request(path))
						conns = append(conns, conn)
					}
					// For longer than any time limit.
					time.Sleep(3 * time.Minute)
					close(hold)
					time.Sleep(writeTimeout + time.Second)
					synctest.Wait()
					for _, conn := range conns {
						if !closed(conn) {
							t.Fatal("a connection whose client never reads is still open")
						}
					}
				})
			})
		}
	}
}

func TestAResponseThatWasHeldForLongIsWritten(t *testing.T) {
	inMemory(t, maxConnections, func(t *testing.T, w wire, hold chan struct{}) {
		conn := w.dial(t)
		// On one connection, each after the deadline of the one before.
		for path, want := range map[string]string{"/hold": "held", "/empty": ""} {
			write(conn, request(path))
			time.Sleep(5 * time.Minute)
			hold <- struct{}{}
			if body, err := response(conn); err != nil || body != want {
				t.Errorf("%s got %q, %v", path, body, err)
			}
			time.Sleep(idleTimeout / 2)
		}
		conn.Close()
	})
}

func TestWhoSendsARequestSlowlyIsLeft(t *testing.T) {
	for name, begun := range map[string]string{
		"nothing": "", "half a line": "GET /he", "half a header": "GET /healthz HTTP/1.1\r\nHost: h", "half a body": "POST /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, maxConnections, func(t *testing.T, w wire, hold chan struct{}) {
				close(hold)
				var conns []net.Conn
				for range 50 {
					conn := w.dial(t)
					write(conn, begun)
					conns = append(conns, conn)
				}
				time.Sleep(readTimeout + writeTimeout + time.Second)
				synctest.Wait()
				for _, conn := range conns {
					go io.Copy(io.Discard, conn) // an error page, or nothing
				}
				synctest.Wait()
				for _, conn := range conns {
					if !closed(conn) {
						t.Fatal("a connection whose client sends slowly is still open")
					}
				}
			})
		})
	}
}

// TestMoreConnectionsThanTheBoundStopNobody fills the server with clients that
// say nothing, of which some have asked before, and with one request in hand.
func TestMoreConnectionsThanTheBoundStopNobody(t *testing.T) {
	for _, most := range []int{2, 17, 1000} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			inMemory(t, most, func(t *testing.T, w wire, hold chan struct{}) {
				inHand := w.dial(t)
				write(inHand, request("/hold"))
				var idle []net.Conn
				for i := range 2 * most {
					conn := w.dial(t)
					if i%3 == 0 && most < crowded { // A crowd's are closed once they are answered.
						if body, err := get(conn, "/healthz"); err != nil || body != "ok\n" {
							t.Fatalf("with %d connections open, /healthz is answered with %q, %v", i, body, err)
						}
					}
					idle = append(idle, conn)
				}
				if body, err := get(w.dial(t), "/healthz"); err != nil || body != "ok\n" {
					t.Errorf("when it is full, /healthz is answered with %q, %v", body, err)
				}
				open := 0
				for i, conn := range idle {
					if !closed(conn) {
						open++
						if i < most-2 {
							t.Errorf("connection %d is open, though later ones were closed", i)
						}
					}
				}
				if open != most-2 { // with the one in hand, and that of the last check
					t.Errorf("%d idle connections are open, want %d", open, most-2)
				}
				close(hold)
				if body, err := response(inHand); err != nil || body != "held" {
					t.Errorf("the request in hand is answered with %q, %v", body, err)
				}
			})
		})
	}
}

func TestNoRequestInHandGivesWay(t *testing.T) {
	inMemory(t, 3, func(t *testing.T, w wire, hold chan struct{}) {
		var held []net.Conn
		for range 3 {
			conn := w.dial(t)
			write(conn, request("/hold"))
			held = append(held, conn)
		}
		for range 3 {
			if !closed(w.dial(t)) {
				t.Error("a connection beyond the bound stays open")
			}
		}
		close(hold)
		for _, conn := range held {
			if body, err := response(conn); err != nil || !strings.Contains(body, "held") {
				t.Errorf("a request in hand is answered with %q, %v", body, err)
			}
		}
		if body, err := get(w.dial(t), "/healthz"); err != nil || body != "ok\n" {
			t.Errorf("once there is room, /healthz is answered with %q, %v", body, err)
		}
	})
}
