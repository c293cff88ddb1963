package telegram

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/telegram/telegramtest"
)

const secret = "webhook-secret_1"

// memory is a Dedup in this process.
type memory struct {
	mu   sync.Mutex
	seen map[string]chat.Delivery
}

func (m *memory) Begin(_ context.Context, key string) chat.Delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, known := m.seen[key]; known {
		return d
	}
	if m.seen == nil {
		m.seen = map[string]chat.Delivery{}
	}
	m.seen[key] = chat.InHand
	return chat.Fresh
}

func (m *memory) End(_ context.Context, key string, answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, key)
	if answered {
		m.seen[key] = chat.Answered
	}
}

// hooked is a rig whose adapter takes deliveries at address.
func hooked(t *testing.T) (r *rig, address string) {
	r = setUp(t, func(c *Config) {
		c.WebhookURL, c.WebhookSecret, c.Dedup = "https://bot.example/hook", config.NewSecret(secret), &memory{}
	})
	server := httptest.NewServer(r.adapter)
	t.Cleanup(server.Close)
	return r, server.URL
}

func (r *rig) deliver(address string, body []byte) int {
	r.Helper()
	status, err := r.api.Deliver(r.Context(), address, body)
	if err != nil {
		r.Fatal(err)
	}
	return status
}

func (r *rig) update(user int64) []byte {
	return r.api.Update(telegramtest.Text(telegramtest.Private(user), telegramtest.Person(user), "/price"))
}

func TestWebhookAnswersADeliveryOnce(t *testing.T) {
	r, address := hooked(t)
	body := r.update(ann)
	if status := r.deliver(address, body); status != http.StatusUnauthorized {
		t.Errorf("without the secret: %d", status)
	}
	r.run()
	r.waitFor("ready", r.adapter.Ready)
	hook := r.api.Webhook()
	if hook.URL != "https://bot.example/hook" || hook.Secret != secret || !slices.Equal(hook.AllowedUpdates, allowedUpdates) {
		t.Errorf("webhook %+v", hook)
	}
	for i := range 3 {
		if status := r.deliver(address, body); status != http.StatusOK || len(r.api.Sent()) != 1 {
			t.Errorf("delivery %d: %d, %d answers", i, status, len(r.api.Sent()))
		}
	}
	if r.events.of("update_repeated") != 2 {
		t.Errorf("events %v", r.events.n)
	}
}

func TestWebhookTurnsAway(t *testing.T) {
	r, _ := hooked(t)
	ask := func(method, key, body string) int {
		req := httptest.NewRequest(method, "/", strings.NewReader(body))
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", key)
		w := httptest.NewRecorder()
		r.adapter.ServeHTTP(w, req)
		return w.Code
	}
	good := string(r.update(ann))
	if got := ask("POST", secret, good); got != http.StatusServiceUnavailable {
		t.Errorf("before Run: %d", got)
	}
	stop := r.run()
	r.waitFor("ready", r.adapter.Ready)
	for _, tt := range []struct {
		name, method, key, body string
		want                    int
	}{
		{"GET", "GET", secret, "", 405},
		{"no secret", "POST", "", good, 401},
		{"a wrong secret", "POST", secret + "x", good, 401},
		{"no JSON", "POST", secret, "{", 200},
		{"a message of another form", "POST", secret, `{"update_id":3,"message":[]}`, 200},
		{"another kind of update", "POST", secret, `{"update_id":4,"poll":{}}`, 200},
		{"more than can be read", "POST", secret, `{"update_id":5,"x":"` + strings.Repeat("x", maxUpdate) + `"}`, 200},
		{"a good one", "POST", secret, good, 200},
	} {
		if got := ask(tt.method, tt.key, tt.body); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := ask("POST", secret, string(r.update(ann))); got != http.StatusServiceUnavailable {
		t.Errorf("after Run: %d", got)
	}
	if n := len(r.api.Sent()); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// spaced is the update with white space before it, of this size in bytes.
func spaced(update []byte, size int) []byte {
	return append(bytes.Repeat([]byte(" "), size-len(update)), update...)
}

func TestWebhookReadsAMebibyte(t *testing.T) {
	r, address := hooked(t)
	r.run()
	r.waitFor("ready", r.adapter.Ready)
	for i, tt := range []struct{ size, answers, tooLarge int }{
		{65 << 10, 1, 0}, {maxUpdate, 2, 0}, {maxUpdate + 1, 2, 1}, {10 * maxUpdate, 2, 2},
	} {
		if status := r.deliver(address, spaced(r.update(ann), tt.size)); status != http.StatusOK {
			t.Errorf("%d bytes: %d", tt.size, status)
		}
		if answers, tooLarge := len(r.api.Sent()), r.events.of("update_too_large"); answers != tt.answers || tooLarge != tt.tooLarge {
			t.Errorf("delivery %d: %d answers, %d too large", i, answers, tooLarge)
		}
	}
}

// The reply carries the message that it replies to, with a user for each name
// in it.
func TestWebhookAnswersAReplyToAMessageFullOfMentions(t *testing.T) {
	r, address := hooked(t)
	r.run()
	r.waitFor("ready", r.adapter.Ready)
	var mentions []map[string]any
	for i := range 600 {
		user := telegramtest.Person(int64(20_000 + i))
		user.FirstName = strings.Repeat("ü", 64)
		mentions = append(mentions, map[string]any{"type": "text_mention", "offset": 4 * i, "length": 3, "user": user})
	}
	m := telegramtest.Text(telegramtest.Group(group), telegramtest.Person(ann), "/price@"+telegramtest.Username)
	m["reply_to_message"] = map[string]any{
		"message_id": 5, "from": telegramtest.Person(ann + 1), "chat": telegramtest.Group(group),
		"text": strings.Repeat("abc ", 600), "entities": mentions,
	}
	body := r.api.Update(m)
	if status := r.deliver(address, body); status != http.StatusOK || len(body) < 64<<10 {
		t.Errorf("%d bytes: %d", len(body), status)
	}
	r.sent(1)
}

// unread fails the test if it is read.
type unread struct{ *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.Error("the body of a call without the secret is read")
	return 0, io.EOF
}

func TestWebhookReadsNothingWithoutTheSecret(t *testing.T) {
	r, _ := hooked(t)
	r.run()
	r.waitFor("ready", r.adapter.Ready)
	w := httptest.NewRecorder()
	r.adapter.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", unread{t}))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("status %d", w.Code)
	}
}

func TestWebhookHasAFailedAnswerDeliveredAgain(t *testing.T) {
	r, address := hooked(t)
	r.run()
	r.waitFor("ready", r.adapter.Ready)
	r.api.Fail("sendMessage", telegramtest.TooMany(time.Hour))
	body := r.update(ann)
	if status := r.deliver(address, body); status != http.StatusServiceUnavailable {
		t.Errorf("an answer that is not out: %d", status)
	}
	if status := r.deliver(address, body); status != http.StatusOK || len(r.api.Sent()) != 1 {
		t.Errorf("delivered again: %d, %d answers", status, len(r.api.Sent()))
	}
	r.api.Fail("sendMessage", telegramtest.ResetAfter())
	if status := r.deliver(address, r.update(ann)); status != http.StatusOK {
		t.Errorf("an answer that may be out: %d", status)
	}
}

func TestWebhookAnswersWhileTheSameIsDeliveredAgain(t *testing.T) {
	r, address := hooked(t)
	release := make(chan struct{})
	r.handler.Reply = func(context.Context, chat.Request) chat.Reply {
		<-release
		return chat.Reply{Title: chat.Say("x")}
	}
	stop := r.run()
	r.waitFor("ready", r.adapter.Ready)
	body := r.update(ann)
	// Telegram hangs up on the first delivery.
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { _, _ = r.api.Deliver(ctx, address, body); close(gone) }()
	r.waitFor("the command in hand", func() bool { return len(r.handler.Requests()) == 1 })
	hangUp()
	<-gone
	if status := r.deliver(address, body); status != http.StatusServiceUnavailable {
		t.Errorf("in hand: %d", status)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	r.waitFor("the drain", func() bool { return r.adapter.serving.Load() == nil })
	close(release)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	r.sent(1)
}
