package discord

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/config"
	"herald/internal/discord/discordtest"
	"herald/internal/redact/logtest"
	"herald/internal/retry"
)

// harness is an Adapter before a fake Discord.
type harness struct {
	*Adapter
	fake    *discordtest.Server
	handler *chattest.Handler
	logged  *logtest.Buffer
	counts  *counts
	ended   chan error
	stop    context.CancelFunc
	ctx     context.Context
}

// quick are waits that a test can afford.
var quick = timings{
	deferAfter: 30 * time.Millisecond,
	callback:   2 * time.Second,
	call:       retry.Backoff{First: time.Millisecond, Most: 5 * time.Millisecond},
	register:   retry.Backoff{First: time.Millisecond, Most: 5 * time.Millisecond},
}

// prepare makes an Adapter that does not run yet. change may alter it.
func prepare(t *testing.T, change func(*harness, *Config)) *harness {
	t.Helper()
	return prepareOn(t, discordtest.New(), change)
}

func prepareOn(t *testing.T, fake *discordtest.Server, change func(*harness, *Config)) *harness {
	t.Helper()
	h := &harness{
		fake: fake, handler: &chattest.Handler{},
		logged: &logtest.Buffer{}, counts: &counts{events: map[string]int{}}, ended: make(chan error, 1),
	}
	t.Cleanup(h.fake.Close)
	c := Config{
		Settings:       Settings{Token: config.NewSecret(h.fake.Token), ApplicationID: h.fake.ApplicationID, APIURL: h.fake.URL()},
		Dedup:          &memory{seen: map[string]chat.Delivery{}},
		CommandTimeout: 10 * time.Second,
		Log:            slog.New(slog.NewTextHandler(h.logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Count:          h.counts.add,
		Connected:      func(name string) { h.counts.add("as " + name) },
	}
	if change != nil {
		change(h, &c)
	}
	adapter, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	adapter.timings = quick
	h.Adapter = adapter
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	h.ctx = ctx
	return h
}

// run starts the Adapter and stops it at the end of the test.
func (h *harness) run(t *testing.T) {
	t.Helper()
	h.serve(t, h.handler)
}

// serve is run with another handler.
func (h *harness) serve(t *testing.T, handler chat.Handler) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	done := make(chan struct{})
	go func() {
		h.ended <- h.Run(ctx, handler)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
}

// patient defers no command of a test.
func patient(a *Adapter) { a.timings.deferAfter = time.Minute }

// connected is a running Adapter that is READY on the gateway. tune alters it
// before it runs.
func connected(t *testing.T, change func(*harness, *Config), tune ...func(*Adapter)) *harness {
	t.Helper()
	h := prepare(t, change)
	for _, f := range tune {
		f(h.Adapter)
	}
	h.run(t)
	h.wait(t, "a connection", func() bool { return h.Ready() })
	return h
}

// byHTTP is a running Adapter that takes interactions at the address. tune
// alters it before it runs.
func byHTTP(t *testing.T, change func(*harness, *Config), tune ...func(*Adapter)) (h *harness, address string) {
	t.Helper()
	h = prepare(t, func(h *harness, c *Config) {
		c.PublicKey = h.fake.PublicKey
		if change != nil {
			change(h, c)
		}
	})
	for _, f := range tune {
		f(h.Adapter)
	}
	server := httptest.NewServer(h.Adapter)
	t.Cleanup(server.Close)
	h.run(t)
	h.wait(t, "Ready", h.Ready)
	return h, server.URL + "/discord/interactions"
}

// simulate runs test in simulated time beside an Adapter with the waits of
// production that is connected to the gateway.
func simulate(t *testing.T, test func(*testing.T, *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := prepareSimulated(t, nil)
		h.run(t)
		if err := h.fake.WaitConnected(h.ctx); err != nil {
			t.Fatal(err)
		}
		test(t, h)
	})
}

// simulateHTTP is simulate with an Adapter that takes interactions by HTTP, on
// a network in memory too, at the address.
func simulateHTTP(t *testing.T, test func(t *testing.T, h *harness, address string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := prepareSimulated(t, func(h *harness, c *Config) { c.PublicKey = h.fake.PublicKey })
		w := discordtest.NewWire()
		server := &httptest.Server{Listener: w, Config: &http.Server{Handler: h.Adapter}}
		server.Start()
		t.Cleanup(server.Close)
		h.fake.Client = &http.Client{Transport: &http.Transport{DialContext: w.Dial}}
		t.Cleanup(h.fake.Client.CloseIdleConnections)
		h.run(t)
		synctest.Wait()
		test(t, h, server.URL)
	})
}

func prepareSimulated(t *testing.T, change func(*harness, *Config)) *harness {
	t.Helper()
	// Simulated time begins in 2000, and snowflakes in 2015.
	time.Sleep(20 * 365 * 24 * time.Hour)
	w := discordtest.NewWire()
	h := prepareOn(t, discordtest.NewOn(w), change)
	production, err := New(h.Config)
	if err != nil {
		t.Fatal(err)
	}
	h.timings = production.timings
	h.gateway.Dial = w.Dial
	h.rest.Client.Transport.(*origin).base = &http.Transport{
		DialContext: w.Dial, MaxConnsPerHost: maxCalls, MaxIdleConnsPerHost: maxCalls,
	}
	h.ctx = t.Context()
	return h
}

// pass lets simulated time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// wait polls until done, within the test's deadline.
func (h *harness) wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-h.ctx.Done():
			t.Fatalf("no %s in time; log:\n%s", what, h.logged)
		}
	}
}

func (h *harness) push(t *testing.T, i discordtest.Interaction) *discordtest.Pending {
	t.Helper()
	p, err := h.fake.Push(i)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// answer is the whole answer to i.
func (h *harness) answer(t *testing.T, i discordtest.Interaction) discordtest.Answer {
	t.Helper()
	a, err := h.push(t, i).Wait(h.ctx)
	if err != nil {
		t.Fatalf("no answer: %v; problems %q; log:\n%s", err, h.fake.Problems(), h.logged)
	}
	return a
}

// until makes the handler wait for release and then answer with title.
func (h *harness) until(release <-chan struct{}, title string) {
	h.handler.Reply = func(ctx context.Context, _ chat.Request) chat.Reply {
		select {
		case <-release:
			return chat.Reply{Title: chat.Say(title)}
		case <-ctx.Done():
			return chat.Reply{Title: chat.Say("stopped")}
		}
	}
}

type counts struct {
	mu     sync.Mutex
	events map[string]int
}

func (c *counts) add(event string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events[event]++
}

func (c *counts) of(event string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events[event]
}

// memory is a Dedup that forgets nothing.
type memory struct {
	mu   sync.Mutex
	seen map[string]chat.Delivery
}

func (m *memory) Begin(_ context.Context, key string) chat.Delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, ok := m.seen[key]; ok {
		return d
	}
	m.seen[key] = chat.InHand
	return chat.Fresh
}

func (m *memory) End(_ context.Context, key string, answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if answered {
		m.seen[key] = chat.Answered
	} else {
		delete(m.seen, key)
	}
}
