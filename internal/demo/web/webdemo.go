// Package webdemo is the page of `bot demo --web`: one chat, as Telegram and as
// Discord show it, side by side. The bot's own adapters run against a Bot API
// and a Discord in this process; what those are told to show, the page shows
// (telegram.go, discord.go), and what people do there becomes updates and
// interactions. protocol.go is what the page asks and is told.
//
// It serves one person, on loopback, who chooses whom to be: whoever asks is
// believed. So nothing real may stand behind it. A page of another site that
// this person has open is kept out (guard.go).
package web

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
)

//go:embed page
var page embed.FS

// maxBody is in bytes.
const maxBody = 64 << 10

var (
	errNoSuchKind    = errors.New("that cannot be done on this side")
	errNoSuchMessage = errors.New("there is no such message here")
)

// Config is what a Demo shows. The stand-ins are the caller's, who ends them.
type Config struct {
	Sandbox  *services.Sandbox
	Telegram *faketelegram.Server
	Discord  *fakediscord.Server
}

// Demo serves the page.
type Demo struct {
	Config
	// URL is the page's address.
	URL string

	people   people
	feed     *feed
	telegram *telegramSide
	discord  *discordSide
	server   *http.Server
}

// Start serves the page on a free port of 127.0.0.1 until Close.
func Start(c Config) (*Demo, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the page of the demo: %w", err)
	}
	d := &Demo{Config: c, URL: "http://" + l.Addr().String() + "/", people: newPeople(c.Sandbox.World),
		feed: &feed{readers: map[chan Event]bool{}}}
	d.telegram = newTelegramSide(c.Telegram, d.feed, d.people)
	d.discord = newDiscordSide(c.Discord, d.feed, d.people)
	d.server = &http.Server{Handler: guarded(l.Addr().(*net.TCPAddr).Port, d.routes()), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = d.server.Serve(l) }()
	return d, nil
}

// Close ends every connection.
func (d *Demo) Close() { _ = d.server.Close() }

func (d *Demo) routes() http.Handler {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // it is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { answer(w, d.state()) })
	mux.HandleFunc("GET /menu", d.serveMenu)
	mux.HandleFunc("GET /events", d.serveEvents)
	mux.HandleFunc("GET /file/", d.servePicture)
	mux.HandleFunc("POST /act", taking(d.act))
	mux.HandleFunc("POST /fault", taking(d.fail))
	mux.HandleFunc("POST /reset", taking(func(context.Context, struct{}) (any, error) {
		d.feed.reset()
		return struct{}{}, nil
	}))
	return mux
}

// taking serves a call whose body is JSON of a type, by a function of it, whose
// error is the caller's mistake.
func taking[T any](call func(context.Context, T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body T
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body); err != nil {
			http.Error(w, "the body must be JSON of at most 64 kB", http.StatusBadRequest)
			return
		}
		result, err := call(r.Context(), body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, result)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(v))
}

// act does what an Act says.
func (d *Demo) act(ctx context.Context, a Act) (any, error) {
	by, known := d.people.named(a.As)
	in, spoken := languageOf(a.Language)
	switch {
	case !known:
		return nil, errors.New("as: there is no such asker")
	case !spoken:
		return nil, errors.New("language: the bot does not speak it")
	case a.Chat != Group && a.Chat != Private:
		return nil, errors.New("chat: must be group or private")
	case a.Kind == "press" && d.feed.seen(a.Side, a.Message, a.Chat, a.As).Kind != KindMessage:
		return nil, errNoSuchMessage
	case a.Side == Telegram:
		return d.telegram.act(a, by, in)
	case a.Side == Discord:
		return d.discord.act(ctx, a, by, in)
	case a.Side != Both || a.Kind != "say":
		return nil, errors.New("side: must be telegram or discord, or for what is said, both")
	}
	if _, err := d.telegram.act(a, by, in); err != nil {
		return nil, err
	}
	return d.discord.act(ctx, a, by, in)
}

// fail does what a Switch says.
func (d *Demo) fail(_ context.Context, s Switch) (any, error) {
	for _, service := range d.Sandbox.Services() {
		if service.Name != s.Service {
			continue
		}
		if err := service.Fail(services.Fault(s.Fault)); err != nil {
			return nil, err
		}
		d.feed.pass(Event{Kind: KindFault})
		return d.state(), nil
	}
	return nil, errors.New("service: there is none of that name")
}

func (d *Demo) serveMenu(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	by, known := d.people.named(query.Get("as"))
	in, spoken := languageOf(query.Get("language"))
	chat := query.Get("chat")
	if !known || !spoken || chat != Group && chat != Private {
		http.Error(w, "as, language and chat must each be one of those in /state", http.StatusBadRequest)
		return
	}
	answer(w, Menu{Telegram: d.telegram.menuIn(chat, by, in), Discord: d.discord.menuIn(chat, by, in)})
}

// serveEvents streams what is shown.
func (d *Demo) serveEvents(w http.ResponseWriter, r *http.Request) {
	so, next, done := d.feed.read()
	defer done()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	write := func(events ...Event) bool {
		for _, e := range events {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", encoded(e)); err != nil {
				return false
			}
		}
		return out.Flush() == nil
	}
	if !write(Event{Kind: KindReset}) || !write(so...) || !write(Event{Kind: KindLive}) {
		return
	}
	for {
		select {
		case e, open := <-next:
			if !open || !write(e) {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

func (d *Demo) servePicture(w http.ResponseWriter, r *http.Request) {
	picture, ok := d.feed.picture(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	_, _ = w.Write(picture)
}
