package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/demo/fake/transporttest"
	"herald/internal/transport"
)

// callTimeout is the default of UPSTREAM_TIMEOUT.
const callTimeout = 5 * time.Second

// post makes a call and returns its error.
func post(c *http.Client) error {
	resp, err := c.Post(transporttest.URL, "text/plain", strings.NewReader("body"))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	if err == nil && resp.ProtoMajor != 2 {
		err = errors.New("the call was not made by HTTP/2")
	}
	return err
}

func TestASilentHTTP2ConnectionIsGivenUpBeforeACallsTimeIsUp(t *testing.T) {
	for name, idle := range map[string]time.Duration{"in use": 0, "idle": callTimeout} {
		synctest.Test(t, func(t *testing.T) {
			n := transporttest.NewNetwork(t, func(http.ResponseWriter, *http.Request) {})
			c := transport.New(transport.Options{Timeout: callTimeout, MaxBody: bound, MaxConns: 4})
			t.Cleanup(c.CloseIdleConnections)
			if err := post(c); err != nil || n.Lines() != 1 {
				t.Fatalf("%d connections, want 1: %v", n.Lines(), err)
			}
			n.Silence()
			time.Sleep(idle)
			start, results := time.Now(), make(chan error)
			for round := range 2 {
				for range 40 {
					go func() { results <- post(c) }()
				}
				for range 40 {
					err, fails := <-results, idle == 0 && round == 0
					if (err != nil) != fails || errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s, round %d: got %v after %v", name, round, err, time.Since(start))
					}
				}
			}
		})
	}
}

func TestASlowAnswerOnALivingConnectionIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transporttest.NewNetwork(t, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
			}
		})
		for limit, want := range map[time.Duration]error{0: nil, callTimeout: context.DeadlineExceeded} {
			c := transport.New(transport.Options{Timeout: limit, MaxBody: bound, MaxConns: 1})
			if err := post(c); !errors.Is(err, want) || transport.NeverSent(err) {
				t.Errorf("with a limit of %v: %v", limit, err)
			}
			c.CloseIdleConnections()
		}
	})
}

func TestWhatDoesNotGetThroughIsNeverSentAndKnownInFiveSeconds(t *testing.T) {
	blackhole := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	mute := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go io.Copy(io.Discard, far)
		return near, nil
	}
	lateAndMute := func(ctx context.Context, network, addr string) (net.Conn, error) {
		time.Sleep(2 * time.Second)
		return mute(ctx, network, addr)
	}
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"blackholed": blackhole, "TLS hangs": mute, "late, and TLS hangs": lateAndMute,
	} {
		for _, limit := range []time.Duration{0, time.Minute, callTimeout, time.Second} {
			synctest.Test(t, func(t *testing.T) {
				transporttest.ChangeDefault(t, func(d *http.Transport) { d.Proxy, d.DialContext = nil, dial })
				c := transport.New(transport.Options{Timeout: limit, MaxBody: bound, MaxConns: 1})
				start := time.Now()
				err := post(c)
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("%s, limit %v: failed only after %v", name, limit, took)
				}
				if !transport.NeverSent(err) || !transport.NeverSent(transport.Clean(err)) {
					t.Errorf("%s, limit %v: %v is taken for sent", name, limit, err)
				}
				time.Sleep(5 * time.Second) // a dial goes on without its call
			})
		}
	}
}
