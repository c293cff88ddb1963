package discord

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/discord/discordtest"
)

// harness is an Adapter that runs against a fake Discord.
type harness struct {
	*Adapter
	fake    *discordtest.Server
	handler *chattest.Handler
	logged  *lockedBuffer
	counts  *counts
	ended   chan error
	stop    context.CancelFunc
	ctx     context.Context
}

// quick are waits that a test can afford.
var quick = pace{
	deferAfter: 30 * time.Millisecond,
	callback:   2 * time.Second,
	retry:      time.Millisecond,
	retryMax:   5 * time.Millisecond,
	reconnect:  time.Millisecond,
	handshake:  150 * time.Millisecond,
	stable:     time.Minute,
	drain:      5 * time.Second,
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
		logged: &lockedBuffer{}, counts: &counts{events: map[string]int{}}, ended: make(chan error, 1),
	}
	t.Cleanup(h.fake.Close)
	config := Config{
		Token: h.fake.Token, ApplicationID: h.fake.ApplicationID, APIURL: h.fake.URL(),
		Handler: h.handler, Dedup: &memory{seen: map[string]chat.Delivery{}}, CommandTimeout: 10 * time.Second,
		Log:   slog.New(slog.NewTextHandler(h.logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Count: h.counts.add,
	}
	if change != nil {
		change(h, &config)
	}
	adapter, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	adapter.pace = quick
	h.Adapter = adapter
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	h.ctx = ctx
	return h
}

// run starts the Adapter and stops it at the end of the test.
func (h *harness) run(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	done := make(chan struct{})
	go func() {
		h.ended <- h.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
}

// patient defers no command of a test.
func patient(a *Adapter) { a.pace.deferAfter = time.Minute }

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

// byHTTP is a running Adapter that takes interactions at the address.
func byHTTP(t *testing.T, change func(*harness, *Config)) (h *harness, address string) {
	t.Helper()
	h = prepare(t, func(h *harness, c *Config) {
		c.PublicKey = h.fake.PublicKey
		if change != nil {
			change(h, c)
		}
	})
	server := httptest.NewServer(h.Adapter)
	t.Cleanup(server.Close)
	h.run(t)
	h.wait(t, "Ready", h.Ready)
	return h, server.URL + "/discord/interactions"
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
			return chat.Reply{Title: title}
		case <-ctx.Done():
			return chat.Reply{Title: "stopped"}
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) lines(with string) int {
	n := 0
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, with) {
			n++
		}
	}
	return n
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
