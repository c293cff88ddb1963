// Package e2etest holds what the tests of the whole bot share: services that can fail, a bot
// by its settings, the platforms, and the search for secrets.
package e2etest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/app"
	"herald/internal/chat"
	"herald/internal/e2e/fault"
	"herald/internal/platform/platformtest"
	"herald/internal/secret/logtest"
	"herald/internal/words"
)

// Patience is how long an answer may take on a busy machine.
const Patience = time.Minute

// Price is the sandbox's price, as every answer to /price shows it.
const Price = "$0.04173"

// Plain returns the text of an answer as people read it, without markup and special spaces.
func Plain(text string) string {
	return strings.NewReplacer("\u00a0", " ", "\u2060", "", "**", "", "`", "", `\`, "").Replace(text)
}

// MinuteForm is the format of times in the text of answers on Telegram.
const MinuteForm = "2006-01-02 15:04 MST"

// Minute returns a time in MinuteForm.
func Minute(t time.Time) string { return t.UTC().Format(MinuteForm) }

// Say returns a message in English.
func Say(key string, args chat.Values) string {
	return Lines(&chat.Reply{Title: chat.SayWith(key, args)})[0]
}

// Lines returns the parts of a reply, one a line and none empty, with the exact value of
// what is shown short.
func Lines(r *chat.Reply) []string {
	card := words.Print(r)
	lines := []string{strings.TrimSpace(spoken(card.Title) + " " + spoken(card.Subtitle)), spoken(card.Text)}
	for _, s := range append(card.Sections, words.Section{Fields: card.FullValues}) {
		lines = append(lines, spoken(s.Heading))
		for _, f := range s.Fields {
			lines = append(lines, strings.TrimSpace(spoken(f.Name)+" "+spoken(f.Value)))
		}
	}
	for _, n := range append(card.Notes, card.Footer) {
		lines = append(lines, spoken(n))
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// spoken returns a line as plain text, with single spaces and with times in MinuteForm.
func spoken(line words.Line) string {
	var b strings.Builder
	for _, span := range line {
		if span.Moment != nil {
			span.Text = Minute(span.Moment.Time)
		}
		b.WriteString(span.Text)
	}
	return strings.Join(strings.Fields(Plain(b.String())), " ")
}

// Settings returns the settings of a bot that asks the stand-ins, followed by more. The last
// value of a name counts.
func Settings(fakes *fault.Fakes, more ...string) []string {
	return append(app.DemoSettings(fakes.Fakes), more...)
}

// New returns a bot on no platform, to be asked by its Router. The bot is closed when the
// test ends.
func New(t testing.TB, settings []string, log *slog.Logger) *app.Bot {
	t.Helper()
	cfg, err := app.Load(settings, "", app.ToLook)
	if err != nil {
		t.Fatal(err)
	}
	bot, err := app.New(cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bot.Close)
	return bot
}

// Probed is the message of a bot's log, at level debug, once it has asked each service at its
// start.
const Probed = "the services were asked"

// Bot is a bot that serves.
type Bot struct {
	// URL is its HTTP server's, empty if it ended before it listened.
	URL string

	log   any             // printed if the bot ends with an error
	asks  <-chan struct{} // closed once the services were asked
	stop  context.CancelFunc
	ended chan struct{}
	err   error // once ended is closed
	asked bool  // for err
}

// Serve runs a bot with these settings, on a free port, until the test ends. It logs to log,
// and may not be ready yet. The test fails if the bot ends with an error, unless Leave was
// called.
func Serve(t testing.TB, settings []string, log io.Writer) *Bot {
	t.Helper()
	b := serve(t, settings, func(cfg *app.Config) *slog.Logger { return app.NewLogger(cfg, log) })
	b.log = log
	return b
}

// ServeReady is Serve with the stand-ins and further settings. It waits until the bot is
// ready.
func ServeReady(t testing.TB, fakes *fault.Fakes, settings ...string) *Bot {
	t.Helper()
	b := Serve(t, append(Settings(fakes, "LOG_LEVEL=debug"), settings...), &logtest.Buffer{})
	b.AwaitReady(t)
	return b
}

// ServeBare is Serve with a logger that redacts nothing.
func ServeBare(t testing.TB, settings []string, log *slog.Logger) *Bot {
	t.Helper()
	return serve(t, settings, func(*app.Config) *slog.Logger { return log })
}

func serve(t testing.TB, settings []string, logger func(*app.Config) *slog.Logger) *Bot {
	t.Helper()
	cfg, err := app.Load(append(slices.Clone(settings), "HTTP_ADDR=127.0.0.1:0"), "", app.ToServe)
	if err != nil {
		t.Fatal(err)
	}
	listens, probed := make(chan string, 1), make(chan struct{})
	bot, err := app.New(cfg, slog.New(listening{Handler: logger(cfg).Handler(), addr: listens, probed: probed}))
	if err != nil {
		t.Fatal(err)
	}
	bot.ReportBuild("test", "unknown")
	ctx, stop := context.WithCancel(context.Background())
	b := &Bot{stop: stop, ended: make(chan struct{}), asks: probed}
	go func() {
		defer close(b.ended)
		defer bot.Close()
		b.err = bot.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-b.ended
		if b.err != nil && !b.asked {
			t.Errorf("the bot did not leave in good order: %v\n%v", b.err, b.log)
		}
	})
	select {
	case addr := <-listens:
		b.URL = "http://" + addr
	case <-b.ended:
	}
	return b
}

// listening sends on what it finds in the log at any level: the address of the HTTP server, and
// that the services were asked.
type listening struct {
	slog.Handler
	addr   chan<- string
	probed chan<- struct{} // is closed
}

func (l listening) Enabled(context.Context, slog.Level) bool { return true }

func (l listening) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "http server listens" {
		r.Attrs(func(a slog.Attr) bool { l.addr <- a.Value.String(); return true })
	}
	if r.Message == Probed {
		close(l.probed)
	}
	if !l.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

// Stop tells the bot to leave, as SIGTERM does.
func (b *Bot) Stop() { b.stop() }

// Leave waits until the bot has ended, and returns its error: nil after Stop.
func (b *Bot) Leave() error {
	b.asked = true
	<-b.ended
	return b.err
}

// Readyz returns the response of /readyz, with status 0 while nothing listens.
func (b *Bot) Readyz() (status int, text string) { return get(b.URL + "/readyz") }

// AwaitProbes waits until the services have had the questions of the bot's start. Later requests
// are by what people ask.
func (b *Bot) AwaitProbes() { <-b.asks }

// AwaitReady waits until every platform is connected.
func (b *Bot) AwaitReady(t testing.TB) {
	t.Helper()
	Eventually(t, "the bot is ready", func() bool {
		status, _ := b.Readyz()
		return status == http.StatusOK
	})
}

// Metrics returns what /metrics says at a bot's HTTP_ADDR, given as a URL.
func Metrics(t testing.TB, base string) string {
	t.Helper()
	status, text := get(base + "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: status %d", status)
	}
	return text
}

// get returns status 0 if there is no response.
func get(url string) (status int, text string) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// Eventually waits until done returns true. It ends the test after Patience.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	platformtest.WaitUntil(t, what, done)
}
