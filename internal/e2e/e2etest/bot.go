package e2etest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"testing"

	"herald/internal/app"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

// Bot is a bot that serves, in this process.
type Bot struct {
	// URL is the URL of its HTTP server, or "" if it ended before it listened.
	URL string

	log       any             // printed if the bot ends with an error
	probed    <-chan struct{} // closed once the services were called
	stop      context.CancelFunc
	ended     chan struct{}
	err       error // set before ended is closed
	isHandled bool  // AwaitEnd returns err, so that the test can handle it
}

// Serve runs a bot with these settings, on a free port, until the test ends. It does not wait until the
// bot is ready. The bot logs to log. If the bot ends with an error, the test fails, unless it has called
// AwaitEnd.
func Serve(t testing.TB, settings []string, log io.Writer) *Bot {
	t.Helper()
	b := serve(t, settings, func(cfg *app.Config) *slog.Logger { return app.NewLogger(cfg, log) })
	b.log = log
	return b
}

// ServeReady is like Serve, with the fakes and further settings. It waits until the bot is ready.
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

// serve does what Serve does, with the logger that logger returns.
func serve(t testing.TB, settings []string, logger func(*app.Config) *slog.Logger) *Bot {
	t.Helper()
	cfg, err := app.Load(append(slices.Clone(settings), "HTTP_ADDR=127.0.0.1:0"), "", app.ToServe)
	if err != nil {
		t.Fatal(err)
	}
	listens, probed := make(chan string, 1), make(chan struct{})
	handler := logWatcher{Handler: logger(cfg).Handler(), addr: listens, probed: probed}
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
		if b.err != nil && !b.isHandled {
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

// Probed is the line that a bot logs, at level debug, once it has called each service at its start.
const Probed = "the services were asked"

// logWatcher is a handler that watches for two lines of the log, even if their level is not logged. It passes all
// lines on to Handler.
type logWatcher struct {
	slog.Handler
	addr   chan<- string   // gets the address of the HTTP server
	probed chan<- struct{} // is closed once the services were called
}

func (l logWatcher) Enabled(context.Context, slog.Level) bool { return true }

func (l logWatcher) Handle(ctx context.Context, r slog.Record) error {
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
	b.isHandled = true
	<-b.ended
	return b.err
}

// Readyz returns the response of /readyz. The status is 0 if nothing listens.
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

// New returns a bot that is on no platform and does not run. Tests call its Router. It is closed when the test
// ends.
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
