// Package web is the page of `bot demo --web`: one chat, as Telegram and as Discord
// show it, side by side. The bot's own adapters run against a Bot API and a Discord
// in this process; the page shows what those are told to show, and what people do
// there becomes updates and interactions.
//
// It serves one person, on loopback, who chooses whom to be: whoever asks is
// believed. So nothing real may stand behind it, and pages of other sites, which
// this person may have open, are kept out.
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
	"slices"
	"strconv"
	"time"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
)

//go:embed page
var page embed.FS

// maxBody bounds a request, in bytes.
const maxBody = 64 << 10

var errNotThere = errors.New("there is no such person or message here")

// Config is what a Demo shows. The caller closes the stand-ins.
type Config struct {
	Services *services.Fakes
	Telegram *faketelegram.Server
	Discord  *fakediscord.Server
}

// Demo serves the page.
type Demo struct {
	// URL is the page's address.
	URL string

	Config
	people people
	feed   *feed
	server *http.Server
}

// Start serves the page on a free port of 127.0.0.1 until Close.
func Start(c Config) (*Demo, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the page of the demo: %w", err)
	}
	d := &Demo{URL: "http://" + l.Addr().String() + "/", Config: c, people: newPeople(c.Services.World), feed: newFeed()}
	for _, a := range d.people {
		if a.moderator {
			d.Telegram.Promote(telegramGroup, a.telegramID, "administrator")
		}
	}
	// A message can be pressed for as long as it is shown.
	d.Telegram.Remember(maxEvents)
	d.Discord.Remember(maxEvents)
	d.Telegram.Watch(d.seeTelegram)
	d.Discord.Watch(d.seeDiscord)
	d.server = &http.Server{Handler: guarded(l.Addr().(*net.TCPAddr).Port, d.routes()), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = d.server.Serve(l) }()
	return d, nil
}

// Close ends every connection.
func (d *Demo) Close() { _ = d.server.Close() }

// guarded keeps out what a page of another site could send to this port: calls by a
// name of its own that it made lead here (DNS rebinding), and calls and forms from
// another origin. The page may load what is its own, and nothing else.
func guarded(port int, h http.Handler) http.Handler {
	hosts := []string{"127.0.0.1:" + strconv.Itoa(port), "localhost:" + strconv.Itoa(port)}
	sameOrigin := http.NewCrossOriginProtection().Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy",
			"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		if !slices.Contains(hosts, r.Host) {
			http.Error(w, "this page is at "+hosts[0], http.StatusMisdirectedRequest)
			return
		}
		sameOrigin.ServeHTTP(w, r)
	})
}

func (d *Demo) routes() http.Handler {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // it is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { answer(w, d.state(), nil) })
	mux.HandleFunc("GET /menu", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		by, _ := d.people.named(query.Get("as"))
		chat, in := query.Get("chat"), languageOf(query.Get("language"))
		answer(w, map[string]any{Telegram: d.telegramMenu(chat, by, in), Discord: d.discordMenu(chat, by, in)}, nil)
	})
	mux.HandleFunc("GET /events", d.serveEvents)
	mux.HandleFunc("GET /file/", func(w http.ResponseWriter, r *http.Request) {
		picture := d.feed.picture(r.URL.Path)
		if picture == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(picture)
	})
	mux.HandleFunc("POST /act", taking(d.act))
	mux.HandleFunc("POST /fault", taking(d.fail))
	mux.HandleFunc("POST /reset", taking(func(context.Context, struct{}) (any, error) {
		d.feed.add(Event{Kind: KindReset})
		d.feed.add(Event{Kind: KindLive})
		return struct{}{}, nil
	}))
	return mux
}

// taking serves a call whose body is JSON of a type, by a function of it.
func taking[T any](call func(context.Context, T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body T
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body); err != nil {
			answer(w, nil, errors.New("the body must be JSON of at most 64 kB"))
			return
		}
		result, err := call(r.Context(), body)
		answer(w, result, err)
	}
}

// answer writes a result; err is the caller's mistake.
func answer(w http.ResponseWriter, result any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(result))
}

// serveEvents streams what happens.
func (d *Demo) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for number := 0; ; {
		events, last, changed := d.feed.since(number)
		if number == 0 {
			events = slices.Concat([]Event{{Kind: KindReset}}, events, []Event{{Kind: KindLive}})
		}
		for _, e := range events {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", encoded(e))
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		number = last
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// act does what an Act says.
func (d *Demo) act(_ context.Context, a Act) (result any, err error) {
	by, known := d.people.named(a.As)
	if !known || a.Kind == "press" && d.feed.seen(a).Kind != KindMessage {
		return nil, errNotThere
	}
	if a.Side != Discord {
		result, err = d.actOnTelegram(a, by)
	}
	if a.Side != Telegram && err == nil {
		result, err = d.actOnDiscord(a, by)
	}
	return result, err
}

// fail has a service fail in some way, or no longer.
func (d *Demo) fail(_ context.Context, s struct{ Service, Fault string }) (any, error) {
	for _, service := range d.Services.Services() {
		if service.Name != s.Service {
			continue
		}
		if err := service.Fail(s.Fault); err != nil {
			return nil, err
		}
	}
	d.feed.add(Event{Kind: KindFault})
	return d.state(), nil
}

// state is what there is to choose from now.
func (d *Demo) state() State {
	s := State{Chats: []string{Group, Private}, BotName: faketelegram.Username}
	for _, a := range d.people {
		id := map[string]string{Telegram: strconv.FormatInt(a.telegramID, 10), Discord: a.discordID}
		s.Askers = append(s.Askers, Asker{Name: a.name, ID: id})
	}
	for _, l := range chat.Languages() {
		s.Languages = append(s.Languages, string(l))
	}
	for _, service := range d.Services.Services() {
		s.Services = append(s.Services, Service{Name: service.Name, Fault: service.Fault(), Faults: services.Faults()})
	}
	w := d.Services.World
	for _, example := range [][2]string{
		{"/staked " + w.Staker.Hex(), "a wallet that stakes"},
		{"/staked " + w.Idle.Hex(), "one that does not"},
		{"/price", "the price"},
		{"/price 7d", "as a picture"},
		{"/supply", "the supply"},
		{"/mylogins", "your logins"},
		{"/exists", "whether you are registered"},
		{"/verify " + w.Staker.Hex(), "whether a wallet is yours"},
		{"/exists @unregistered", "about somebody, as a moderator"},
		{"/exists GitHub " + w.Registered.UID("GitHub"), "the same by another platform's ID"},
		{"/help", "all commands"},
	} {
		s.Examples = append(s.Examples, Example{Text: example[0], Note: example[1]})
	}
	return s
}
