package telegram

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform"
	"herald/internal/platform/platformtest"
	"herald/internal/platform/telegram/botapi"
	"herald/internal/ratelimit"
	"herald/internal/router"
	"herald/internal/secret"
	"herald/internal/secret/logtest"
	"herald/internal/store"
	"herald/internal/words"
)

const (
	// atOnce limits waits for something that should happen at once.
	atOnce     = 10 * time.Second
	webhookURL = "https://bot.example/hook"
	hookSecret = "webhook-secret_1"
	ann        = 501   // a user
	group      = -1001 // a group that every bot of the tests is in
)

// TestMain lets the heap grow more between collections than usual. It is small, so they would cost a quarter of the
// tests' time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// check fails the test unless got is want. what names the value.
func check[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// inBubble runs a test for each case of a table, in simulated time.
func inBubble[T any](t *testing.T, cases map[string]T, test func(*testing.T, T)) {
	t.Helper()
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, tt) })
		})
	}
}

// simulated runs a test of an adapter in simulated time. changes change the adapter's Config.
func simulated(t *testing.T, test func(*testing.T, *adapterTest), changes ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, setUp(t, changes...)) })
}

// ways are the two ways to receive updates, and how a Config selects them.
var ways = map[string]func(*Config){"polling": func(*Config) {}, "webhook": byWebhook}

func byWebhook(c *Config) {
	c.Settings.WebhookURL = webhookURL
	c.Settings.WebhookSecret = secret.New(hookSecret)
	c.Dedup = store.NewMemory()
}

func paced(c *Config) { c.Settings.Pacing = true }

// adapterTest is an adapter, and the fakes around it. It carries the adapter's calls to the fake of Telegram.
type adapterTest struct {
	*testing.T
	adapter *Adapter
	api     *telegramtest.Server  // the fake of Telegram
	handler *platformtest.Handler // answers commands
	logs    *logtest.Buffer
	// events counts the calls of Config.Count and Config.Connected, and the calls of the Bot API by method.
	events *platformtest.Events
	// detour diverts the calls of one method from the fake (detour_test.go).
	detour detour
}

// setUp makes an adapter that has not been started, without a network.
func setUp(t *testing.T, changes ...func(*Config)) *adapterTest {
	t.Helper()
	r := &adapterTest{
		T:       t,
		api:     telegramtest.NewInMemory(t),
		handler: &platformtest.Handler{},
		logs:    &logtest.Buffer{},
		events:  &platformtest.Events{},
	}
	c := Config{
		Settings:       Settings{Token: secret.New(faketelegram.Token), APIURL: r.api.URL},
		CommandTimeout: 20 * time.Second,
		Limiter:        ownKeys{ratelimit.NewMemory(), t},
		Log:            slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Count:          r.events.Add,
		Connected:      func(name string) { r.events.Add("connected as " + name) },
		Retried:        func(err error) { fmt.Fprintln(r.logs, "level=WARN", err) },
	}
	for _, change := range changes {
		change(&c)
	}
	r.open(c)
	t.Cleanup(func() {
		_, token, _ := strings.Cut(faketelegram.Token, ":")
		logged := r.logs.String()
		if strings.Contains(logged, token) || strings.Contains(logged, hookSecret) {
			r.Errorf("a secret is in the log:\n%s", logged)
		} else if r.Failed() {
			r.Log(logged)
		}
	})
	return r
}

// ownKeys is a Limiter that fails the test if a key does not name this bot. Several bots may share one Limiter, so each
// of them needs keys of its own.
type ownKeys struct {
	ratelimit.Limiter
	t *testing.T
}

func (l ownKeys) Reserve(
	ctx context.Context, within time.Duration, limits ...ratelimit.Limit,
) (wait time.Duration, ok bool) {
	for _, limit := range limits {
		if !strings.Contains(limit.Key, fmt.Sprint(faketelegram.BotID)) {
			l.t.Errorf("the key %q does not name this bot", limit.Key)
		}
	}
	return l.Limiter.Reserve(ctx, within, limits...)
}

// product returns an adapterTest and the product's commands, which give answers with 30 logins. It must be called in
// simulated time, and sleeps until two minutes after commandstest.Noon.
func product(t *testing.T) (*adapterTest, *commandstest.Answers, *router.Router) {
	t.Helper()
	time.Sleep(time.Until(commandstest.Noon.Add(2 * time.Minute)))
	answers := commandstest.Healthy()
	for i := range 30 {
		login := core.Login{Dapp: fmt.Sprint("Dapp ", i), Platform: "EVM", At: commandstest.Noon}
		answers.Logins = append(answers.Logins, login)
	}
	return setUp(t), answers, answers.Router(t)
}

// open makes the adapter. r.RoundTrip carries its calls.
func (r *adapterTest) open(c Config) {
	r.adapter = New(c)
	r.adapter.api = botapi.New(botapi.Config{Token: c.Settings.Token, URL: r.api.URL, Transport: r})
}

// secondAdapter returns a second adapter at the same Telegram, with the same handler, logs and events. Its calls take
// no detour.
func (r *adapterTest) secondAdapter() *adapterTest {
	next := *r
	next.detour = detour{}
	next.open(r.adapter.Config)
	return &next
}

// run starts the adapter. If it has a webhook, run waits until it takes deliveries. stop ends it and returns what Run
// returned.
func (r *adapterTest) run() (stop func() error) { return r.serve(r.handler) }

// serve is like run, but with another handler.
func (r *adapterTest) serve(h platform.Handler) (stop func() error) {
	stop = platformtest.Start(r.T, func(ctx context.Context) error { return r.adapter.Run(ctx, h) })
	if r.adapter.Settings.WebhookURL != "" {
		r.waitFor("ready", r.adapter.Ready)
	}
	return stop
}

// answerAllWith makes the handler answer every request with reply.
func (r *adapterTest) answerAllWith(reply *chat.Reply) {
	r.handler.Reply = func(context.Context, *chat.Request) *chat.Reply { return reply }
}

// block makes the commands of some users hang until release is called, or until the drain ends them.
func (r *adapterTest) block(users ...int64) (release func()) {
	held := make(chan struct{})
	r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
		if slices.ContainsFunc(users, func(id int64) bool { return fmt.Sprint(id) == req.From.ID }) {
			select {
			case <-held:
			case <-ctx.Done():
			}
		}
		return &chat.Reply{Title: chat.Say("x")}
	}
	return sync.OnceFunc(func() { close(held) })
}

// waitFor waits until ok returns true. If that takes too long, it fails the test and names what it waited for.
func (r *adapterTest) waitFor(what string, ok func() bool) {
	r.Helper()
	platformtest.WaitUntil(r.T, what, ok)
}

// waitRequested waits until the handler has had n requests since the test began.
func (r *adapterTest) waitRequested(n int) {
	r.Helper()
	r.waitFor(fmt.Sprint(n, " requests of the handler"), func() bool { return len(r.handler.Requests()) >= n })
}

// waitSent waits for n messages and returns them. It fails the test if there are more, or fewer after atOnce.
func (r *adapterTest) waitSent(n int) []faketelegram.Sent {
	r.Helper()
	got := r.api.WaitSent(n, atOnce)
	if len(got) != n {
		r.Fatalf("%d messages, want %d: %+v", len(got), n, got)
	}
	return got
}

// waitIdle waits until no update is queued or in flight, and returns all messages that were sent. It fails the test if
// that takes longer than within.
func (r *adapterTest) waitIdle(within time.Duration) []faketelegram.Sent {
	r.Helper()
	deadline := time.Now().Add(within)
	for {
		queued, inFlight := len(r.api.Pending()), r.adapter.InFlight()
		if queued+inFlight == 0 {
			return r.api.Sent()
		}
		if time.Now().After(deadline) {
			r.Fatalf("%d updates are queued and %d in flight after %v", queued, inFlight, within)
		}
		time.Sleep(within / 1000)
	}
}

// writes returns a message of a user in a chat.
func writes(where faketelegram.Chat, user int64, text string) faketelegram.Message {
	return faketelegram.Text(where, faketelegram.Person(user), text)
}

func inGroup(user int64, text string) faketelegram.Message {
	return writes(faketelegram.Group(group), user, text)
}

func inPrivate(user int64, text string) faketelegram.Message {
	return writes(faketelegram.Private(user), user, text)
}

// onBehalfOf makes a chat the sender of m. The chat is a channel, or the group itself if an anonymous administrator
// writes.
func onBehalfOf(sender int64, m faketelegram.Message) faketelegram.Message {
	m["from"] = faketelegram.User{ID: 1087968824, IsBot: true}
	m["sender_chat"] = faketelegram.Chat{ID: sender, Type: "channel"}
	return m
}

// people returns the IDs of n users.
func people(n int) (users []int64) {
	for i := range int64(n) {
		users = append(users, 10_000+i)
	}
	return users
}

// pushPrices queues /price from each of n people, in their private chats.
func (r *adapterTest) pushPrices(n int) {
	for _, user := range people(n) {
		r.api.Push(inPrivate(user, "/price"))
	}
}

// deliverMessage delivers a message to the webhook, and does not wait for the response. If the adapter has no webhook,
// deliverMessage queues the message for its next poll.
func (r *adapterTest) deliverMessage(m faketelegram.Message) {
	if r.adapter.Settings.WebhookURL != "" {
		go r.postUpdate(r.api.Update(m))
	} else {
		r.api.Push(m)
	}
}

// postUpdate posts an update to the webhook, and returns the status of the response.
func (r *adapterTest) postUpdate(update []byte) (status int) {
	return r.post(hookSecret, bytes.NewReader(update))
}

// post posts a body to the webhook with a secret, and returns the status of the response. It fails the test if a 503
// does not ask for a retry after one second: without this header, Telegram would hold back the chat longer each time.
func (r *adapterTest) post(key string, body io.Reader) (status int) {
	req := httptest.NewRequest(http.MethodPost, "/", body)
	req.Header.Set("X-Telegram-Bot-Api-Secret-Token", key)
	w := httptest.NewRecorder()
	r.adapter.ServeHTTP(w, req)
	if w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") != "1" {
		r.Errorf("refused with the header %v", w.Header())
	}
	return w.Code
}

// checkPost posts an update to the webhook, and fails the test unless the status of the response is want.
func (r *adapterTest) checkPost(update []byte, want int) {
	r.Helper()
	if got := r.postUpdate(update); got != want {
		r.Errorf("%s is answered by %d, want %d", update, got, want)
	}
}

// pushAndWait queues messages for the adapter's polls, and waits until they are answered.
func (r *adapterTest) pushAndWait(messages ...faketelegram.Message) {
	r.Helper()
	for _, m := range messages {
		r.api.Push(m)
	}
	r.waitIdle(2 * time.Minute)
}

// secretReply answers private commands with a word that nobody else may read.
func secretReply(_ context.Context, req *chat.Request) *chat.Reply {
	return &chat.Reply{Title: chat.Say(req.Command), Text: chat.Say("confidential")}
}

// checkOthersSawNoSecret fails the test if anybody but ann saw a text of secretReply.
func (r *adapterTest) checkOthersSawNoSecret() {
	r.Helper()
	for _, seen := range r.api.SeenByOthers(ann) {
		if strings.Contains(seen.Text, "confidential") {
			r.Errorf("others saw %+v", seen)
		}
	}
}

// perChat counts the messages by chat.
func perChat(sent []faketelegram.Sent) map[int64]int {
	n := map[int64]int{}
	for _, m := range sent {
		n[m.Chat]++
	}
	return n
}

// said returns the text of a notice in English.
func said(n notice) string { return words.Say(chat.English, chat.Say(string(n))) }

// press queues a press of the button with this label, below the newest message that has one.
func (r *adapterTest) press(user int64, label string) {
	r.Helper()
	for _, m := range slices.Backward(r.api.Sent()) {
		if data := dataOf(m, label); data != "" && !m.Deleted {
			r.api.Press(user, faketelegram.ChatOf(m.Chat), m.ID, data)
			return
		}
	}
	r.Fatalf("no button %q in %+v", label, r.api.Sent())
}

// dataOf returns the data of the button with this label, or "" if there is no such button.
func dataOf(m faketelegram.Sent, label string) string {
	for _, b := range slices.Concat(m.Markup.Rows...) {
		if b.Text == label {
			return b.Data
		}
	}
	return ""
}

// labelsOf returns the labels of a message's buttons, each in brackets.
func labelsOf(m faketelegram.Sent) (all string) {
	for _, b := range slices.Concat(m.Markup.Rows...) {
		all += " [" + b.Text + "]"
	}
	return all
}

// pressAnswers waits until n presses were answered, and returns the answers. It fails the test if a press was
// answered twice.
func (r *adapterTest) pressAnswers(n int) []faketelegram.Notice {
	r.Helper()
	r.waitFor(fmt.Sprint(n, " answers to presses"), func() bool { return len(r.api.Notices()) >= n })
	all := r.api.Notices()
	if calls := r.api.Calls("answerCallbackQuery"); len(all) != n || len(calls) != n {
		r.Fatalf("%d calls answered %d presses, want %d: %+v", len(calls), len(all), n, all)
	}
	return all
}
