package telegram

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/telegram/telegramtest"
)

// soon bounds waits for what should happen at once.
const soon = 10 * time.Second

// rig is an adapter beside a fake of Telegram.
type rig struct {
	*testing.T
	api     *telegramtest.Server
	handler *chattest.Handler
	adapter *Adapter
	logs    *lockedBuffer
	events  *tally
}

// setUp makes an adapter that has not been started.
func setUp(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := &rig{T: t, api: telegramtest.New(t), handler: &chattest.Handler{}, logs: &lockedBuffer{}, events: &tally{}}
	c := Config{
		Token: telegramtest.Token, APIURL: r.api.URL, Handler: r.handler, CommandTimeout: 20 * time.Second,
		Log: slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), Count: r.events.count,
	}
	if change != nil {
		change(&c)
	}
	var err error
	if r.adapter, err = New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.noToken(r.logs.String()) })
	return r
}

// noToken fails the test if text gives the token away.
func (r *rig) noToken(text string) {
	r.Helper()
	_, secret, _ := strings.Cut(telegramtest.Token, ":")
	if strings.Contains(text, secret) {
		r.Errorf("the token stands in:\n%s", text)
	}
}

// run starts the adapter; stop ends it and returns what Run returned.
func (r *rig) run() (stop func() error) {
	ctx, cancel := context.WithCancel(r.Context())
	result := make(chan error, 1)
	go func() { result <- r.adapter.Run(ctx) }()
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
	return chat.Reply{Title: req.Command, Text: "confidential"}
}

const (
	ann   = 501
	group = -1001
)

func TestAnswersInPlaceAsAReplyInTheTopic(t *testing.T) {
	r := setUp(t, nil)
	stop := r.run()
	_, id := r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price").In(42))
	got := r.sent(1)[0]
	if got.Chat != group || got.Thread != 42 || got.ReplyTo != id || got.Text != "price" {
		t.Errorf("got %+v", got)
	}
	r.waitFor("ready", r.adapter.Ready)
	if !r.api.WaitAcknowledged(soon) {
		t.Error("the update is not acknowledged")
	}
	menu := r.api.WaitCalls("setMyCommands", 1, soon)
	if len(menu) != 1 || len(r.api.Menu()) != 5 {
		t.Errorf("menu %+v", r.api.Menu())
	}
	if err := stop(); err != nil || r.adapter.Ready() {
		t.Errorf("Run: %v, ready %v", err, r.adapter.Ready())
	}
}

func TestPrivateAnswersNeverReachTheGroup(t *testing.T) {
	tests := []struct {
		name     string
		started  bool
		message  telegramtest.Message
		requests int
		private  int
		pointer  string
	}{
		{"to one who started the bot", true,
			telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/mylogins"), 1, 1, string(answeredPrivately)},
		{"to one who did not", false,
			telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/mylogins"), 1, 0, "https://t.me/herald_bot?start=mylogins"},
		{"with arguments, to one who did not", false,
			telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/exists 77"), 1, 0, "https://t.me/herald_bot?start=start"},
		{"to an anonymous administrator", true, func() telegramtest.Message {
			m := telegramtest.Text(telegramtest.Group(group), telegramtest.User{ID: 1087968824, IsBot: true}, "/exists 77")
			m["sender_chat"] = telegramtest.Group(group)
			return m
		}(), 0, 0, string(stayedAnonymous)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := setUp(t, nil)
			r.handler.Reply = secretReply
			if tt.started {
				r.api.Start(ann)
			}
			r.run()
			r.api.Push(tt.message)
			got := r.sent(tt.private + 1)
			if !r.api.WaitAcknowledged(soon) || len(r.api.Sent()) != tt.private+1 {
				t.Fatalf("sent %+v", r.api.Sent())
			}
			for i, m := range got[:tt.private] {
				if m.Chat != ann || !strings.Contains(m.Text, "confidential") {
					t.Errorf("message %d: %+v", i, m)
				}
			}
			pointer := got[tt.private]
			if pointer.Chat != group || !strings.Contains(pointer.Text, tt.pointer) {
				t.Errorf("pointer %+v", pointer)
			}
			for _, call := range r.api.Calls("sendMessage") {
				if string(call.Params["chat_id"]) != "501" && bytes.Contains(call.Params["text"], []byte("confidential")) {
					t.Errorf("a group was sent the private answer: %s", call.Params["text"])
				}
			}
			if n := len(r.handler.Requests()); n != tt.requests {
				t.Errorf("%d requests handled, want %d", n, tt.requests)
			}
		})
	}
}

func TestPrivateAnswersStayWhereTheyWereAskedPrivately(t *testing.T) {
	r := setUp(t, nil)
	r.handler.Reply = secretReply
	r.run()
	r.api.Push(telegramtest.Text(telegramtest.Private(ann), telegramtest.Person(ann), "/start mylogins"))
	if got := r.sent(1)[0]; got.Chat != ann || !strings.Contains(got.Text, "confidential") {
		t.Errorf("got %+v", got)
	}
	if req := r.handler.Requests()[0]; !req.Direct || req.Command != "mylogins" || req.Moderator != nil {
		t.Errorf("request %+v", req)
	}
}

func TestAsksTelegramWhoModerates(t *testing.T) {
	r := setUp(t, nil)
	r.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
		ok, err := false, error(nil)
		if req.Moderator != nil {
			ok, err = req.Moderator(ctx)
		}
		return chat.Reply{Title: map[bool]string{true: "yes", false: "no"}[ok && err == nil]}
	}
	r.api.Promote(group, 1, "creator")
	r.api.Promote(group, 2, "administrator")
	r.run()
	anonymous := telegramtest.Text(telegramtest.Group(group), telegramtest.User{ID: 1087968824, IsBot: true}, "/price")
	anonymous["sender_chat"] = telegramtest.Group(group)
	channel := telegramtest.Text(telegramtest.Group(group), telegramtest.User{ID: 136817688, IsBot: true}, "/price")
	channel["sender_chat"] = telegramtest.Chat{ID: -77, Type: "channel"}
	for i, tt := range []struct {
		message telegramtest.Message
		want    string
	}{
		{telegramtest.Text(telegramtest.Group(group), telegramtest.Person(1), "/price"), "yes"},
		{telegramtest.Text(telegramtest.Group(group), telegramtest.Person(2), "/price"), "yes"},
		{telegramtest.Text(telegramtest.Group(group), telegramtest.Person(3), "/price"), "no"},
		{telegramtest.Text(telegramtest.Private(1), telegramtest.Person(1), "/price"), "no"},
		{anonymous, "yes"},
		{channel, "no"},
	} {
		r.api.Push(tt.message)
		if got := r.sent(i + 1)[i].Text; got != tt.want {
			t.Errorf("message %d: %s, want %s", i, got, tt.want)
		}
	}
}

func TestAPanicStaysWithItsAsker(t *testing.T) {
	r := setUp(t, nil)
	r.handler.Reply = func(_ context.Context, req chat.Request) chat.Reply {
		if req.Command == "price" {
			panic("broken")
		}
		return chat.Reply{Title: "fine"}
	}
	r.run()
	r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price"))
	got := r.sent(1)[0]
	r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/help"))
	if !strings.Contains(got.Text, "Something went wrong. Reference ") || r.sent(2)[1].Text != "fine" {
		t.Errorf("sent %+v", r.api.Sent())
	}
	if r.events.of("panic") != 1 || strings.Count(r.logs.String(), "a panic while") != 1 {
		t.Errorf("log:\n%s", r.logs)
	}
}

func TestShowsTypingOnceAnAnswerTakesLong(t *testing.T) {
	r := setUp(t, nil)
	r.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
		if req.Command == "price" {
			r.api.WaitCalls("sendChatAction", 1, soon)
		}
		return chat.Reply{Title: req.Command}
	}
	r.run()
	r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/help"))
	r.sent(1)
	if n := len(r.api.Calls("sendChatAction")); n != 0 {
		t.Errorf("typing was shown %d times for a quick answer", n)
	}
	r.api.Push(telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price"))
	r.sent(2)
	if n := len(r.api.Calls("sendChatAction")); n != 1 {
		t.Errorf("typing was shown %d times", n)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"a token with a newline":   func(c *Config) { c.Token += "\n" },
		"a token without a number": func(c *Config) { c.Token = "abc" },
		"an address that is none":  func(c *Config) { c.APIURL = "telegram" },
		"a webhook without secret": func(c *Config) { c.WebhookURL = "https://bot.example/t" },
		"no handler":               func(c *Config) { c.Handler = nil },
	} {
		c := Config{Token: telegramtest.Token, Handler: &chattest.Handler{}, CommandTimeout: time.Second, Log: slog.New(slog.DiscardHandler)}
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s is taken", name)
		} else if strings.Contains(err.Error(), "TEST-token") {
			t.Errorf("%s: the error quotes the token: %v", name, err)
		}
	}
}
