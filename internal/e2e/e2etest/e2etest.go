// Package e2etest helps to test the whole bot: it runs a bot with settings, on fakes of services and
// platforms that can fail, and searches texts for secrets.
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

// Price is the fake provider's price, as every answer to /price shows it.
const Price = "$0.04173"

// Plain returns the text of an answer without markup and special spaces.
func Plain(text string) string {
	return strings.NewReplacer("\u00a0", " ", "\u2060", "", "**", "", "`", "", `\`, "").Replace(text)
}

// MinuteForm is the format of times in answers on Telegram.
const MinuteForm = "2006-01-02 15:04 MST"

// Minute formats a time in MinuteForm.
func Minute(t time.Time) string { return t.UTC().Format(MinuteForm) }

// Say returns a message of package words in English.
func Say(key string, args chat.Values) string {
	return Lines(&chat.Reply{Title: chat.SayWith(key, args)})[0]
}

// Lines returns the parts of a reply as text, without empty ones. Values that the reply shows in short
// form are followed by their exact values.
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

// Settings returns the settings of a bot that uses the fakes, followed by more. The last value of a
// name counts.
func Settings(fakes *fault.Fakes, more ...string) []string {
	return append(app.DemoSettings(fakes.Fakes), more...)
}

// New returns a bot on no platform; call its Router. It is closed when the test ends.
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

// Probed is what a bot logs, at level debug, once it has called each service at its start.
const Probed = "the services were asked"

// Bot is a bot that serves.
type Bot struct {
	// URL is the URL of its HTTP server, or "" if it ended before it listened.
	URL string

	log    any             // printed if the bot ends with an error
	probed <-chan struct{} // closed once the services were called
	stop   context.CancelFunc
	ended  chan struct{}
	err    error // set before ended is closed
	left   bool  // whether AwaitEnd has returned err, or will
}

// Serve runs a bot with these settings, on a free port, until the test ends. It does not wait until the
// bot is ready. The bot logs to log. The test fails if the bot ends with an error, unless AwaitEnd was
// called.
func Serve(t testing.TB, settings []string, log io.Writer) *Bot {
	t.Helper()
	b := serve(t, settings, func(cfg *app.Config) *slog.Logger { return app.NewLogger(cfg, log) })
	b.log = log
	return b
}

// ServeReady is like Serve with the fakes and further settings, and waits until the bot is ready.
func ServeReady(t testing.TB, fakes *fault.Fakes, settings ...string) *Bot {
	t.Helper()
	b := Serve(t, append(Settings(fakes, "LOG_LEVEL=debug"), settings...), &logtest.Buffer{})
	b.AwaitReady(t)
	return b
}

// ServeBare is like Serve, with a logger that does not redact.
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
	handler := listening{Handler: logger(cfg).Handler(), addr: listens, probed: probed}
	bot, err := app.New(cfg, slog.New(handler))
	if err != nil {
		t.Fatal(err)
	}
	bot.ReportBuild("test", "unknown")
	ctx, stop := context.WithCancel(context.Background())
	b := &Bot{stop: stop, ended: make(chan struct{}), probed: probed}
	go func() {
		defer close(b.ended)
		defer bot.Close()
		b.err = bot.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-b.ended
		if b.err != nil && !b.left {
			t.Errorf("the bot ended with an error: %v\n%v", b.err, b.log)
		}
	})
	select {
	case addr := <-listens:
		b.URL = "http://" + addr
	case <-b.ended:
	}
	return b
}

// listening is a handler that looks for two lines of the log, at any level.
type listening struct {
	slog.Handler
	addr   chan<- string   // gets the address of the HTTP server
	probed chan<- struct{} // is closed once the services were called
}

func (l listening) Enabled(context.Context, slog.Level) bool { return true }

func (l listening) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "http server listens" {
		r.Attrs(func(a slog.Attr) bool {
			l.addr <- a.Value.String()
			return true
		})
	}
	if r.Message == Probed {
		close(l.probed)
	}
	if !l.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

// Stop makes the bot end, as SIGTERM does. It does not wait.
func (b *Bot) Stop() { b.stop() }

// AwaitEnd waits until the bot has ended, and returns its error, which is nil after Stop.
func (b *Bot) AwaitEnd() error {
	b.left = true
	<-b.ended
	return b.err
}

// Readyz returns the response of /readyz. The status is 0 while nothing listens.
func (b *Bot) Readyz() (status int, text string) { return get(b.URL + "/readyz") }

// AwaitProbes waits until the bot has called each service at its start. All later calls are for commands.
func (b *Bot) AwaitProbes() { <-b.probed }

// AwaitReady waits until every platform is connected.
func (b *Bot) AwaitReady(t testing.TB) {
	t.Helper()
	Eventually(t, "the bot is ready", func() bool {
		status, _ := b.Readyz()
		return status == http.StatusOK
	})
}

// Metrics returns the page /metrics of a bot, given the URL of its HTTP server.
func Metrics(t testing.TB, base string) string {
	t.Helper()
	status, text := get(base + "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: status %d", status)
	}
	return text
}

// get requests a URL. The status is 0 if there is no response.
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
