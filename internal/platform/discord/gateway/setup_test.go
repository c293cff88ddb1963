package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/demo/fake/faketest"
	"herald/internal/demo/fake/transporttest"
	"herald/internal/platform/discord/api"
	"herald/internal/platform/platformtest"
	"herald/internal/secret"
	"herald/internal/secret/logtest"
)

// gatewayTest is a Gateway that is connected to a fake of Discord.
type gatewayTest struct {
	*Gateway
	fake   *discordtest.Server
	wire   *faketest.Network
	logged *logtest.Buffer
	stop   func() error // returns what Run returned
	events *platformtest.Events

	mu       sync.Mutex
	received []received
}

// received is an interaction with which the Gateway called receive.
type received struct {
	id       string
	replayed bool
}

// Addresses that dial treats in a special way.
const (
	refusingAddress = "refusing.test:80" // refuses every connection
	silentAddress   = "silent.test:80"   // accepts connections, and sends nothing
)

// simulate runs test in simulated time, with a Gateway whose fake behaves like b. Before the Gateway runs, simulate
// calls the changes, which may change the Gateway and the fake. It calls test a second after the Gateway was started.
func simulate(
	t *testing.T, b fakediscord.Behaviour, test func(*testing.T, *gatewayTest), changes ...func(*gatewayTest),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := discordtest.NewNetwork()
		transporttest.ChangeDefault(t, func(d *http.Transport) { d.Proxy, d.DialContext = nil, w.Dial })
		h := &gatewayTest{
			fake:   discordtest.NewOn(w),
			wire:   w,
			logged: &logtest.Buffer{},
			events: &platformtest.Events{},
		}
		t.Cleanup(h.fake.Close)
		token := secret.New(h.fake.Token)
		h.Gateway = New(Config{
			Token:     token,
			API:       api.New(token, h.fake.URL(), h.logged.Logger(), h.events.Add),
			Insecure:  true,
			Dial:      h.dial,
			Log:       h.logged.Logger(),
			Count:     h.events.Add,
			Connected: func(name string) { h.events.Add("as " + name) },
			Lost:      func(error) { h.events.Add("Lost is called") },
		})
		// The fake allows any number of identifies, so the Gateway must limit them itself.
		h.fake.Limit(1<<30, 0)
		h.fake.Behave(b)
		for _, change := range changes {
			change(h)
		}
		h.stop = platformtest.Start(t, func(ctx context.Context) error { return h.Run(ctx, h.receive) })
		pass(time.Second)
		test(t, h)
		if t.Failed() {
			t.Logf("counted %v; log:\n%s", h.events, h.logged)
		}
	})
}

// dial connects the Gateway to its fake, or to one of the special addresses.
func (h *gatewayTest) dial(ctx context.Context, network, address string) (net.Conn, error) {
	switch address {
	case refusingAddress:
		return nil, syscall.ECONNREFUSED
	case silentAddress:
		near, far := net.Pipe()
		go io.Copy(io.Discard, far)
		return near, nil
	default:
		return h.wire.Dial(ctx, network, address)
	}
}

// receive is called by the Gateway with each interaction.
func (h *gatewayTest) receive(data json.RawMessage, replayed bool) {
	var interaction struct{ ID string }
	json.Unmarshal(data, &interaction)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.received = append(h.received, received{interaction.ID, replayed})
}

// push makes the fake send an interaction, and returns the interaction's ID.
func (h *gatewayTest) push(t *testing.T) string {
	t.Helper()
	p, err := h.fake.Push(fakediscord.Interaction{Command: "price"})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// checkReceives sends an interaction, and fails the test unless the Gateway receives it within a second.
func (h *gatewayTest) checkReceives(t *testing.T) {
	t.Helper()
	want := received{id: h.push(t), replayed: false}
	pass(time.Second)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.received) == 0 || h.received[len(h.received)-1] != want {
		t.Errorf("received %v, want %v at the end", h.received, want)
	}
}

// connects is how often a Gateway connected.
type connects struct {
	connections int // with READY or RESUMED
	resumed     int // with RESUMED
	identified  int // with IDENTIFY
}

// checkConnects compares how often the Gateway connected, as Discord has seen it.
func (h *gatewayTest) checkConnects(t *testing.T, want connects) {
	t.Helper()
	got := connects{
		connections: h.fake.Connects(),
		resumed:     h.fake.Resumes(),
		identified:  len(h.fake.Identifies()),
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// equal fails the test unless got is want.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// pass lets simulated time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
