package botapi

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A message to an address that swallows every packet was certainly not sent,
// and that is known before its call is over.
func TestAMessageThatNeverHadAConnectionWasNotSent(t *testing.T) {
	original := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = original })
	blackhole := original.(*http.Transport).Clone()
	blackhole.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
	}
	http.DefaultTransport = blackhole
	synctest.Test(t, func(t *testing.T) {
		c, start := newClient(t, "https://telegram.invalid", nil), time.Now()
		for name, call := range map[string]func() error{
			"a message": func() error { return c.send(t.Context()) },
			"a call by the library": func() error {
				_, err := c.GetMe(t.Context())
				return err
			},
		} {
			if err := call(); ErrorOf(err).Kind != NotSent {
				t.Errorf("%s: %v", name, err)
			}
		}
		if took := time.Since(start); took >= callTimeout {
			t.Errorf("the calls took %v", took)
		}
	})
}
