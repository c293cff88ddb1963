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

	mu    sync.Mutex
	taken []taken
}

// taken is an interaction that the Gateway handed over.
type taken struct {
	id       string
	replayed bool
}

const (
	nobody = "nobody.test:80" // refuses every connection
	mute   = "mute.test:80"   // accepts connections, and sends nothing
)

// simulate runs test in simulated time, with a Gateway whose fake behaves like b. tune changes both before they run.
func simulate(t *testing.T, b fakediscord.Behaviour, test func(*testing.T, *gatewayTest), tune ...func(*gatewayTest)) {
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
			Lost:      func(error) { h.events.Add("told") },
		})
		// The Gateway must limit its identifies by itself.
		h.fake.Limit(1<<30, 0)
		h.fake.Behave(b)
		for _, f := range tune {
			f(h)
		}
		h.stop = platformtest.Start(t, func(ctx context.Context) error { return h.Run(ctx, h.take) })
		pass(time.Second)
		test(t, h)
		if t.Failed() {
			t.Logf("counted %v; log:\n%s", h.events, h.logged)
		}
	})
}

func (h *gatewayTest) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if address == nobody {
		return nil, syscall.ECONNREFUSED
	}
	if address == mute {
		near, far := net.Pipe()
		go io.Copy(io.Discard, far)
		return near, nil
	}
	return h.wire.Dial(ctx, network, address)
}

func (h *gatewayTest) take(data json.RawMessage, replayed bool) {
	var interaction struct{ ID string }
	json.Unmarshal(data, &interaction)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = append(h.taken, taken{interaction.ID, replayed})
}

// push sends an interaction and returns its ID.
func (h *gatewayTest) push(t *testing.T) string {
	t.Helper()
	p, err := h.fake.Push(fakediscord.Interaction{Command: "price"})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// takes demands that an interaction arrives now, the last of all.
func (h *gatewayTest) takes(t *testing.T) {
	t.Helper()
	asked := h.push(t)
	pass(time.Second)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.taken) == 0 || h.taken[len(h.taken)-1] != (taken{asked, false}) {
		t.Errorf("took %v", h.taken)
	}
}

// equal fails the test unless got is want.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// expect checks how many connections became READY or RESUMED, how many of them became RESUMED, and how many IDENTIFYs
// Discord has seen.
func (h *gatewayTest) expect(t *testing.T, connects, resumes, identifies int) {
	t.Helper()
	equal(t, "connections", h.fake.Connects(), connects)
	equal(t, "resumed", h.fake.Resumes(), resumes)
	equal(t, "identified", len(h.fake.Identifies()), identifies)
}

// pass lets simulated time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
