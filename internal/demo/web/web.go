// Package web is the page of `bot demo --web`: one chat, as Telegram and as Discord
// show it, side by side. The bot's own adapters run against stand-ins of the Bot API and
// of Discord in this process. The page shows the messages that the stand-ins receive, and
// turns what people do there into updates and interactions.
//
// The page serves one person, on loopback, who chooses whom to be without any proof. So no
// real service may stand behind the page, and requests from other sites are refused.
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
	"sync/atomic"
	"time"

	"herald/internal/chat"
	"herald/internal/demo/community"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
)

//go:embed page
var page embed.FS

// maxBody bounds a request, in bytes.
const maxBody = 64 << 10

var errNotThere = errors.New("there is no such person or message here")

// Config holds the stand-ins that a Demo shows. The caller closes them.
type Config struct {
	Services  *services.Fakes
	Community *community.Community
	Discord   *fakediscord.Server
	// Later has hours pass for the saved addresses. It blocks until the bot has checked all.
	Later func(context.Context) error
}

// Demo serves the page.
type Demo struct {
	// URL is the page's address.
	URL string

	Config
	feed   *feed
	server *http.Server
	stop   context.CancelFunc // ends what follows the badges
	// language is a chat.Language.
	language atomic.Value
}

// Language returns the language of public answers that the page has chosen.
func (d *Demo) Language() chat.Language { return d.language.Load().(chat.Language) }

// Start serves the page on a free port of 127.0.0.1 until Close.
func Start(c Config) (*Demo, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the page of the demo: %w", err)
	}
	d := &Demo{URL: "http://" + l.Addr().String() + "/", Config: c, feed: newFeed()}
	d.language.Store(chat.English)
	d.openGuild()
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.followBadges(ctx)
	d.Community.Telegram.Watch(d.seeTelegram)
	d.Discord.Watch(d.seeDiscord)
	d.server = &http.Server{
		Handler:           guarded(l.Addr().(*net.TCPAddr).Port, d.routes()),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = d.server.Serve(l) }()
	return d, nil
}

// Close ends every connection.
func (d *Demo) Close() {
	d.stop()
	_ = d.server.Close()
}

// guarded refuses what a page of another site could send to this port: requests by its own
// host name (DNS rebinding), and requests from another origin. The page may load its own
// files alone.
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
		by := d.Community.People.Named(query.Get("as"))
		chat, l := query.Get("chat"), languageOf(query.Get("language"))
		answer(w, map[string]any{Telegram: d.telegramMenu(chat, by, l), Discord: d.discordMenu(chat, by, l)}, nil)
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
	mux.HandleFunc("POST /later", d.later)
	mux.HandleFunc("POST /act", handle(d.act))
	mux.HandleFunc("POST /faults", handle(d.setFaults))
	mux.HandleFunc("POST /language", handle(func(to struct{ Language string }) (any, error) {
		d.language.Store(languageOf(to.Language))
		return d.state(), nil
	}))
	return mux
}

// handle decodes the JSON body of a request and answers with the result of call.
func handle[T any](call func(T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body T
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body); err != nil {
			answer(w, nil, errors.New("the body must be JSON of at most 64 kB"))
			return
		}
		result, err := call(body)
		answer(w, result, err)
	}
}

// answer writes the result as JSON, or err with status 400.
func answer(w http.ResponseWriter, result any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(result))
}

// serveEvents streams the events of the feed until the page leaves.
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

// act does an Act on its sides. It fails if the person or the message does not exist.
func (d *Demo) act(a Act) (result any, err error) {
	by := d.Community.People.Named(a.As)
	if by.Name == "" || a.Kind == "press" && d.feed.messageOf(a).Kind != KindMessage {
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

// setFaults turns faults on or off by their names.
func (d *Demo) setFaults(on map[string]bool) (any, error) {
	for _, f := range d.Services.Faults() {
		if on, given := on[f.Name]; given {
			f.On.Store(on)
		}
	}
	return d.state(), nil
}

// state returns the choices of the page as they are now.
func (d *Demo) state() State {
	s := State{
		People:       d.Community.People,
		Chats:        []string{Group, Private},
		JoinChats:    community.JoinGroups,
		BotName:      faketelegram.Username,
		ChatLanguage: string(d.Language()),
		Channel:      discordChannel,
		Faults:       d.Services.Faults(),
	}
	for _, l := range chat.Languages() {
		s.Languages = append(s.Languages, string(l))
	}
	w := d.Services.World
	s.Examples = []Example{
		{Text: "/price 7d", Note: "the price as a chart"},
		{Text: "/price", Note: "in words"},
		{Text: "/price 1500", Note: "what that many are worth"},
		{Text: "/staked " + w.Staker.Hex(), Note: "a wallet that stakes"},
		{Text: "/staked " + w.Idle.Hex(), Note: "one that does not"},
		{Text: "/supply", Note: "the supply"},
		{Text: "/mylogins", Note: "your logins"},
		{Text: "/exists", Note: "whether you are registered"},
		{Text: "/verify " + w.Staker.Hex(), Note: "whether a wallet is yours"},
		{Text: "/exists @unregistered", Note: "about somebody, as a moderator"},
		{Text: "/exists GitHub " + w.Registered.UID("GitHub"), Note: "the same by another platform's ID"},
		{Text: "/help", Note: "all commands"},
	}
	return s
}
