package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/config"
	"herald/internal/redact/logtest"
	"herald/internal/telegram/botapi"
	"herald/internal/telegram/telegramtest"
	"herald/internal/words"
)

// soon bounds waits for what should happen at once.
const soon = 10 * time.Second

// rig is an adapter beside a fake of Telegram.
type rig struct {
	*testing.T
	api     *telegramtest.Server
	handler *chattest.Handler
	adapter *Adapter
	logs    *logtest.Buffer
	events  *tally
}

// setUp makes an adapter that has not been started.
func setUp(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	return setUpBeside(t, telegramtest.New(t), change)
}

func setUpBeside(t *testing.T, api *telegramtest.Server, change func(*Config)) *rig {
	t.Helper()
	r := &rig{T: t, api: api, handler: &chattest.Handler{}, logs: &logtest.Buffer{}, events: &tally{}}
	c := Config{
		Settings:       Settings{Token: config.NewSecret(telegramtest.Token), APIURL: r.api.URL},
		CommandTimeout: 20 * time.Second,
		Log:            slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Count:          r.events.count,
		Connected:      func(name string) { r.events.count("connected as " + name) },
	}
	if change != nil {
		change(&c)
	}
	r.open(c)
	t.Cleanup(func() { r.noToken(r.logs.String()) })
	return r
}

func (r *rig) open(c Config) {
	r.Helper()
	var err error
	if r.adapter, err = New(c); err != nil {
		r.Fatal(err)
	}
}

// setUpInMemory is setUp without a network, for simulated time.
func setUpInMemory(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := setUpBeside(t, telegramtest.NewInMemory(t), change)
	r.carriedBy(r.api)
	return r
}

// carriedBy has the adapter's calls made by rt.
func (r *rig) carriedBy(rt http.RoundTripper) {
	r.Helper()
	api, err := botapi.New(botapi.Config{Token: r.adapter.Token, URL: r.api.URL, Transport: rt})
	if err != nil {
		r.Fatal(err)
	}
	r.adapter.api = api
}

// again is an adapter that takes over at the same Telegram.
func (r *rig) again() *rig {
	next := *r
	next.open(r.adapter.Config)
	return &next
}

// againInMemory is again without a network.
func (r *rig) againInMemory() *rig {
	next := r.again()
	next.carriedBy(r.api)
	return next
}

// noToken fails the test if text holds the token.
func (r *rig) noToken(text string) {
	r.Helper()
	_, secret, _ := strings.Cut(telegramtest.Token, ":")
	if strings.Contains(text, secret) {
		r.Errorf("the token stands in:\n%s", text)
	}
}

// run starts the adapter; stop ends it and returns what Run returned.
func (r *rig) run() (stop func() error) { return r.serve(r.handler) }

// serve is run with another handler.
func (r *rig) serve(h chat.Handler) (stop func() error) {
	ctx, cancel := context.WithCancel(r.Context())
	result := make(chan error, 1)
	go func() { result <- r.adapter.Run(ctx, h) }()
	stop = sync.OnceValue(func() error { cancel(); return <-result })
	r.Cleanup(func() { _ = stop() })
	return stop
}

func (r *rig) waitFor(what string, ok func() bool) {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(soon); !ok(); {
		select {
		case <-tick.C:
		case <-over:
			r.Fatalf("it did not come to: %s; log:\n%s", what, r.logs)
		}
	}
}

// sent waits for n messages and fails the test if there are not just so many.
func (r *rig) sent(n int) []telegramtest.Sent {
	r.Helper()
	got := r.api.WaitSent(n, soon)
	if len(got) != n {
		r.Fatalf("%d messages, want %d: %+v; log:\n%s", len(got), n, got, r.logs)
	}
	return got
}

type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) count(event string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[event]++
}

func (c *tally) of(event string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[event]
}

// secretReply answers private commands with a word that nobody else may read.
func secretReply(_ context.Context, req chat.Request) chat.Reply {
	return chat.Reply{Title: chat.Say(req.Command), Text: chat.Say("confidential")}
}

const (
	ann   = 501
	group = -1001
)

// askers pushes one command each of n people in their private chats.
func (r *rig) askers(n int) {
	for i := range n {
		user := int64(10_000 + i)
		r.api.Push(telegramtest.Text(telegramtest.Private(user), telegramtest.Person(user), "/price"))
	}
}

// perChat counts the messages by chat.
func perChat(sent []telegramtest.Sent) map[int64]int {
	n := map[int64]int{}
	for _, m := range sent {
		n[m.Chat]++
	}
	return n
}

// said is a notice in English.
func said(n notice) string { return words.Say(chat.English, chat.Say(string(n))) }

// press queues a press of the button with this label under the newest message
// that has one, and returns the callback's ID.
func (r *rig) press(user int64, label string) (callbackID string) {
	r.Helper()
	for _, m := range slices.Backward(r.api.Sent()) {
		if data := dataOf(m, label); data != "" && !m.Deleted {
			return r.api.Press(user, chatOf(m), m.ID, data)
		}
	}
	r.Fatalf("no button %q in %+v", label, r.api.Sent())
	return ""
}

// dataOf is what the button with this label carries; "" is no such button.
func dataOf(m telegramtest.Sent, label string) string {
	for _, row := range m.Markup.Rows {
		for _, b := range row {
			if b.Text == label {
				return b.Data
			}
		}
	}
	return ""
}

func chatOf(m telegramtest.Sent) telegramtest.Chat {
	if m.Chat > 0 {
		return telegramtest.Private(m.Chat)
	}
	return telegramtest.Group(m.Chat)
}

// told waits until n presses were answered and returns the answers, each of a
// press of its own.
func (r *rig) told(n int) []telegramtest.Notice {
	r.Helper()
	r.waitFor(fmt.Sprint(n, " answers to presses"), func() bool { return len(r.api.Notices()) >= n })
	all := r.api.Notices()
	if calls := r.api.Calls("answerCallbackQuery"); len(all) != n || len(calls) != n {
		r.Fatalf("%d calls answered %d presses, want %d: %+v", len(calls), len(all), n, all)
	}
	return all
}

// messageRef is some message in the group.
func messageRef(id int64) botapi.MessageRef { return botapi.MessageRef{Chat: group, MessageID: id} }
