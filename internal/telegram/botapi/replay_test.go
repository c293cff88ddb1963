package botapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/config"
)

const sentJSON = `{"ok":true,"result":{"message_id":1,"date":1,"chat":{"id":5,"type":"private"},"text":"x"}}`

const token = "123456789:TEST-token_0123456789abcdefghijklm"

// newClient is a Client of a Bot API at this address; carried by rt, if any.
func newClient(t testing.TB, address string, rt http.RoundTripper) *Client {
	t.Helper()
	c, err := New(Config{Token: config.NewSecret(token), URL: address, MaxConns: 4, Transport: rt})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Client) send(ctx context.Context) error {
	_, err := c.SendMessage(ctx, Destination{Chat: 5}, Content{Text: "x"})
	return err
}

// serveConns takes every connection of a listener.
func serveConns(t *testing.T, listener net.Listener, serve func(net.Conn)) {
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
}

// A connection that is reused may be closed just while a message is written to
// it. One that was read there may be out and must not be sent again, although
// its body could be.
func TestAMessageLostOnAReusedConnectionIsNotRepeated(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var arrived atomic.Int64
	serveConns(t, listener, func(c net.Conn) {
		in := bufio.NewReader(c)
		for answer := true; ; answer = false {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			arrived.Add(1)
			if !answer {
				return
			}
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(sentJSON), sentJSON)
		}
	})
	c := newClient(t, "http://"+listener.Addr().String(), nil)
	for i := range 20 {
		err := c.send(t.Context())
		if lost := i%2 == 1; lost != (err != nil) || lost && ErrorOf(err).Kind != OutcomeUnknown {
			t.Errorf("message %d: %v", i, err)
		}
		if n := arrived.Load(); n != int64(i+1) {
			t.Fatalf("%d messages arrived, want %d", n, i+1)
		}
	}
}

// A server may close a connection as soon as it has answered. What is sent
// then arrives once, on whichever connection, or fails and arrived at most once.
func TestAConnectionClosedWhileIdleRepeatsNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var arrived atomic.Int64
	serveConns(t, listener, func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		arrived.Add(1)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(sentJSON), sentJSON)
	})
	c := newClient(t, "http://"+listener.Addr().String(), nil)
	out := int64(0)
	for range 200 {
		before := arrived.Load()
		err := c.send(t.Context())
		n := arrived.Load() - before
		if n > 1 || err == nil && n != 1 || ErrorOf(err).Kind == NotSent && n != 0 {
			t.Fatalf("%d messages arrived, %v", n, err)
		}
		out += n
	}
	if out < 100 {
		t.Errorf("only %d of 200 messages arrived", out)
	}
}

// Frames of HTTP/2, https://www.rfc-editor.org/rfc/rfc9113#section-6.
const (
	frameDATA      = 0
	frameHEADERS   = 1
	frameRSTStream = 3
	frameSETTINGS  = 4
	frameGOAWAY    = 7

	flagEndStream  = 1
	flagEndHeaders = 4

	codeInternal = 2
	codeRefused  = 7
)

func writeFrame(w io.Writer, kind, flags byte, stream uint32, payload ...byte) {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = binary.BigEndian.AppendUint32(append(head, flags), stream)
	_, _ = w.Write(append(head, payload...)) // a peer that left is part of the tests
}

func goAway(w io.Writer, last uint32) {
	writeFrame(w, frameGOAWAY, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), 0)...)
}

func resetStream(w io.Writer, stream, code uint32) {
	writeFrame(w, frameRSTStream, 0, stream, binary.BigEndian.AppendUint32(nil, code)...)
}

// requests reads a connection's frames and calls whole for each stream whose
// request is complete, until it answers false.
func requests(c net.Conn, whole func(stream uint32) bool) {
	in := bufio.NewReader(c)
	if _, err := in.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		return
	}
	writeFrame(c, frameSETTINGS, 0, 0)
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		if _, err := in.Discard(int(binary.BigEndian.Uint32(head) >> 8)); err != nil {
			return
		}
		if head[3] == frameDATA && head[4]&flagEndStream != 0 && !whole(binary.BigEndian.Uint32(head[5:])) {
			return
		}
	}
}

func TestHTTP2RepeatsOnlyWhatTheServerNeverLookedAt(t *testing.T) {
	for name, tt := range map[string]struct {
		// first meets the first transmission of the call, which may have
		// been looked at; it reports whether the connection goes on.
		first   func(c net.Conn, stream uint32) bool
		arrives int64
		out     bool
	}{
		"GOAWAY that leaves it out":      {func(c net.Conn, _ uint32) bool { goAway(c, 0); return true }, 2, true},
		"refused":                        {func(c net.Conn, s uint32) bool { resetStream(c, s, codeRefused); return true }, 2, true},
		"GOAWAY that includes it, ended": {func(c net.Conn, s uint32) bool { goAway(c, s); return false }, 1, false},
		"reset":                          {func(c net.Conn, s uint32) bool { resetStream(c, s, codeInternal); return true }, 1, false},
		"ended":                          {func(net.Conn, uint32) bool { return false }, 1, false},
	} {
		for what, call := range map[string]func(context.Context, *Client) error{
			"message": func(ctx context.Context, c *Client) error { return c.send(ctx) },
			"picture": func(ctx context.Context, c *Client) error {
				_, err := c.SendPhoto(ctx, Destination{Chat: 5}, picture(40), Content{Text: "x"})
				return err
			},
		} {
			t.Run(what+"/"+name, func(t *testing.T) {
				trusted := httptest.NewUnstartedServer(http.NotFoundHandler())
				trusted.EnableHTTP2 = true
				trusted.StartTLS()
				t.Cleanup(trusted.Close)
				listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: trusted.TLS.Certificates, NextProtos: []string{"h2"}})
				if err != nil {
					t.Fatal(err)
				}
				var arrived atomic.Int64
				serveConns(t, listener, func(c net.Conn) {
					requests(c, func(stream uint32) bool {
						if arrived.Add(1) == 1 {
							return tt.first(c, stream)
						}
						writeFrame(c, frameHEADERS, flagEndHeaders, stream, 0x88) // :status 200
						writeFrame(c, frameDATA, flagEndStream, stream, []byte(sentJSON)...)
						return true
					})
				})
				c := newClient(t, "https://"+listener.Addr().String(), trusted.Client().Transport)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				err = call(ctx, c)
				if tt.out != (err == nil) || err != nil && ErrorOf(err).Kind != OutcomeUnknown {
					t.Errorf("%v", err)
				}
				if n := arrived.Load(); n != tt.arrives {
					t.Errorf("it was transmitted %d times, want %d", n, tt.arrives)
				}
			})
		}
	}
}
