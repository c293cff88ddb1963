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
	"testing/synctest"
	"time"

	"herald/internal/config"
	"herald/internal/transport/transporttest"
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

// A message to an address that swallows every packet was certainly not sent,
// and that is known before its call is over.
func TestAMessageThatNeverHadAConnectionWasNotSent(t *testing.T) {
	transporttest.ChangeDefault(t, func(blackhole *http.Transport) {
		blackhole.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := newClient(t, "https://telegram.invalid", nil).send(t.Context())
		if took := time.Since(start); ErrorOf(err).Kind != NotSent || took >= callTimeout {
			t.Errorf("%v after %v", err, took)
		}
	})
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

// A connection may be closed as soon as an answer is out, or just while another
// message is written to it. One that was read there may be out and must not be
// sent again, although its body could be.
func TestAMessageLostOnAReusedConnectionIsNotRepeated(t *testing.T) {
	for name, tt := range map[string]struct {
		answers int64 // on each connection
		reads   bool  // one more request before it is closed
	}{
		"closed after a request":  {1, true},
		"closed after an answer":  {1, false},
		"closed after 10 answers": {10, true},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var arrived atomic.Int64
			serveConns(t, listener, func(c net.Conn) {
				in := bufio.NewReader(c)
				for answered := int64(0); answered < tt.answers || tt.reads; answered++ {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					arrived.Add(1)
					if answered == tt.answers {
						return
					}
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(sentJSON), sentJSON)
				}
			})
			c := newClient(t, "http://"+listener.Addr().String(), nil)
			for i := range 40 {
				before := arrived.Load()
				err := c.send(t.Context())
				n := arrived.Load() - before
				if n > 1 || err == nil && n != 1 || ErrorOf(err).Kind == NotSent && n != 0 {
					t.Fatalf("message %d arrived %d times, %v", i, n, err)
				}
			}
			if out := arrived.Load(); out < 20 {
				t.Errorf("only %d of 40 messages arrived", out)
			}
		})
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
				_, err := c.SendPhoto(ctx, Destination{Chat: 5}, picture(), Content{Text: "x"})
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
