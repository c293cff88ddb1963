package botapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

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
	for _, answers := range []int64{1, 10} { // on each connection, before one more request is read
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var arrived atomic.Int64
		serveConns(t, listener, func(c net.Conn) {
			in := bufio.NewReader(c)
			for answered := range answers + 1 {
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				arrived.Add(1)
				if answered < answers {
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(sentJSON), sentJSON)
				}
			}
		})
		c := newClient(t, "http://"+listener.Addr().String(), nil)
		for i := range 40 {
			before := arrived.Load()
			err := c.send(t.Context())
			n := arrived.Load() - before
			if n > 1 || err == nil && n != 1 || ErrorOf(err).Kind == NotSent && n != 0 {
				t.Fatalf("message %d of connections closed after %d: arrived %d times, %v", i, answers, n, err)
			}
		}
		if out := arrived.Load(); out < 20 {
			t.Errorf("only %d of 40 messages arrived", out)
		}
	}
}

// serveHTTP2 answers a connection's requests, the first of the call as first
// does, which reports whether the connection goes on.
func serveHTTP2(c net.Conn, arrived *atomic.Int64, first func(*http2.Framer, uint32) bool) {
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	_ = f.WriteSettings() // a client that left is part of the tests
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		data, isData := frame.(*http2.DataFrame)
		switch {
		case !isData || !data.StreamEnded():
		case arrived.Add(1) > 1:
			status200 := []byte{0x88}
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: data.StreamID, BlockFragment: status200, EndHeaders: true})
			_ = f.WriteData(data.StreamID, true, []byte(sentJSON))
		case !first(f, data.StreamID):
			return
		}
	}
}

func TestHTTP2RepeatsOnlyWhatTheServerNeverLookedAt(t *testing.T) {
	trusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	trusted.EnableHTTP2 = true
	trusted.StartTLS()
	t.Cleanup(trusted.Close)
	type framer = http2.Framer
	for name, tt := range map[string]struct {
		first   func(f *framer, stream uint32) bool
		arrives int64
	}{
		"GOAWAY that leaves it out":      {func(f *framer, _ uint32) bool { return f.WriteGoAway(0, 0, nil) == nil }, 2},
		"refused":                        {func(f *framer, s uint32) bool { return f.WriteRSTStream(s, http2.ErrCodeRefusedStream) == nil }, 2},
		"GOAWAY that includes it, ended": {func(f *framer, s uint32) bool { return f.WriteGoAway(s, 0, nil) != nil }, 1},
		"reset":                          {func(f *framer, s uint32) bool { return f.WriteRSTStream(s, http2.ErrCodeInternal) == nil }, 1},
		"ended":                          {func(*framer, uint32) bool { return false }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: trusted.TLS.Certificates, NextProtos: []string{"h2"}})
			if err != nil {
				t.Fatal(err)
			}
			var arrived atomic.Int64
			serveConns(t, listener, func(c net.Conn) { serveHTTP2(c, &arrived, tt.first) })
			c := newClient(t, "https://"+listener.Addr().String(), trusted.Client().Transport)
			_, err = c.SendPhoto(t.Context(), Destination{Chat: 5}, picture(), Content{Text: "x"})
			if out := tt.arrives == 2; out != (err == nil) || err != nil && ErrorOf(err).Kind != OutcomeUnknown {
				t.Errorf("%v", err)
			}
			if n := arrived.Load(); n != tt.arrives {
				t.Errorf("it was transmitted %d times, want %d", n, tt.arrives)
			}
		})
	}
}
