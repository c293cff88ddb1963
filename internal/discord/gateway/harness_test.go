package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/config"
	"herald/internal/discord/discordtest"
	"herald/internal/retry"
)

// harness is a Gateway before a fake Discord.
type harness struct {
	*Gateway
	fake  *discordtest.Server
	ctx   context.Context
	stop  context.CancelFunc
	ended chan error

	mu     sync.Mutex
	log    bytes.Buffer
	events map[string]int
	taken  []taken
}

// taken is an interaction that the Gateway handed over.
type taken struct {
	id       string
	replayed bool
}

// quick are waits that a test on loopback can afford. What is bounded by one is
// tested in simulated time, where a busy machine uses none of it up.
var quick = timings{
	backoff:   retry.Backoff{First: time.Millisecond, Most: time.Millisecond},
	handshake: time.Minute,
	stable:    time.Minute,
}

// nobody is an address on a simulated network that refuses every connection.
const nobody = "nobody.test:80"

// prepare makes a Gateway that does not run yet.
func prepare(t *testing.T, fake *discordtest.Server) *harness {
	t.Helper()
	t.Cleanup(fake.Close)
	h := &harness{fake: fake, ended: make(chan error, 1), events: map[string]int{}}
	h.Gateway = New(Config{
		Token: config.NewSecret(fake.Token), Ask: h.ask, Insecure: true,
		Log: slog.New(slog.NewTextHandler(h, nil)), Count: h.add, Connected: func(name string) { h.add("as " + name) },
	})
	h.timings = quick
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	h.ctx = ctx
	return h
}

// connected is a Gateway that is READY before a fake that behaves as b.
func connected(t *testing.T, b discordtest.Behaviour) *harness {
	t.Helper()
	h := prepare(t, discordtest.New())
	h.fake.Behave(b)
	h.run(t)
	h.wait(t, "a connection", h.Alive)
	return h
}

// run starts the Gateway and stops it at the end of the test.
func (h *harness) run(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	done := make(chan struct{})
	go func() {
		h.ended <- h.Run(ctx, h.take)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
}

// ask makes the call as an adapter would, and knows what a refused token is.
func (h *harness) ask(ctx context.Context) (told discordgo.GatewayBotResponse, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.fake.URL()+"/api/v9/gateway/bot", nil)
	if err != nil {
		return told, err
	}
	r.Header.Set("Authorization", "Bot "+h.Token.Reveal())
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: h.Dial, DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return told, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return told, json.NewDecoder(resp.Body).Decode(&told)
	case http.StatusUnauthorized:
		return told, ErrToken
	}
	return told, fmt.Errorf("status %d", resp.StatusCode)
}

func (h *harness) take(data json.RawMessage, replayed bool) {
	var interaction struct{ ID string }
	json.Unmarshal(data, &interaction)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = append(h.taken, taken{interaction.ID, replayed})
}

// interactions are those taken so far.
func (h *harness) interactions() []taken {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]taken(nil), h.taken...)
}

func (h *harness) add(event string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.events[event]++; h.events[event] > 100_000 {
		// Simulated time would stand still for ever.
		panic("a loop without a pause: " + event)
	}
}

func (h *harness) count(event string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.events[event]
}

// Write takes the log.
func (h *harness) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

func (h *harness) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// wait polls until done, for some minutes at most.
func (h *harness) wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for over := time.After(5 * time.Minute); !done(); {
		select {
		case <-tick.C:
		case <-over:
			t.Fatalf("no %s in time; log:\n%s", what, h.logged())
		}
	}
}

// push sends an interaction and returns its ID.
func (h *harness) push(t *testing.T) string {
	t.Helper()
	p, err := h.fake.Push(discordtest.Interaction{Command: "price"})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// simulate runs test in simulated time beside a Gateway with the waits of
// production, once b is how its fake behaves. tune alters it before it runs.
func simulate(t *testing.T, b discordtest.Behaviour, test func(*testing.T, *harness, *discordtest.Wire), tune ...func(*harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := discordtest.NewWire()
		h := prepare(t, discordtest.NewOn(w))
		h.timings = New(Config{}).timings
		h.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == nobody {
				return nil, syscall.ECONNREFUSED
			}
			return w.Dial(ctx, network, address)
		}
		h.ctx = t.Context()
		// What bounds the identifies must be the Gateway, not this budget.
		h.fake.Limit(1<<30, 0)
		h.fake.Behave(b)
		for _, f := range tune {
			f(h)
		}
		h.run(t)
		test(t, h, w)
	})
}

// pass lets simulated time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// most is the largest number of times within any span of a length.
func most(times []time.Time, length time.Duration) (best int) {
	for i := range times {
		n := 0
		for _, t := range times[i:] {
			if t.Sub(times[i]) < length {
				n++
			}
		}
		best = max(best, n)
	}
	return best
}

func (h *harness) logLines(with string) []string {
	var found []string
	for line := range strings.Lines(h.logged()) {
		if strings.Contains(line, with) {
			found = append(found, line)
		}
	}
	return found
}
