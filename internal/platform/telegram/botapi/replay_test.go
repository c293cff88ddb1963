package botapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/demo/fake/transporttest"
	"herald/internal/secret"
)

const sentJSON = `{"ok":true,"result":{"message_id":1,"date":1,"chat":{"id":5,"type":"private"},"text":"x"}}`

const token = "123456789:TEST-token_0123456789abcdefghijklm"

// newClient is a Client of a Bot API at this address; carried by rt, if any.
func newClient(t testing.TB, address string, rt http.RoundTripper) *Client {
	t.Helper()
	return New(Config{Token: secret.New(token), URL: address, MaxConns: 4, Transport: rt})
}

func (c *Client) send(ctx context.Context) error {
	_, err := c.Send(ctx, Destination{Chat: 5}, Content{Text: "x"})
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

// A connection may be closed as soon as an answer is out, or just while another
// message is written to it. One that was read there may be out and must not be
// sent again, although its body could be.
func TestAMessageLostOnAReusedConnectionIsNotRepeated(t *testing.T) {
	for _, answers := range []int64{1, 10} { // on each connection, before one more request is read
		var arrived atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if arrived.Add(1)%(answers+1) == 0 {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, sentJSON)
		}))
		t.Cleanup(server.Close)
		c := newClient(t, server.URL, nil)
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
