// Package web is the page of `bot demo --web`. It shows one community on Telegram and on Discord, side by side. The
// bot's own adapters run against fakes of the Bot API and of Discord in this process. The page shows the messages
// that the fakes receive, and turns the actions of its user into updates and interactions.
//
// The page serves one user, on loopback, who can act as any person without a proof. Therefore the page must not be
// connected to real services, and requests from other sites are refused.
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

// maxBody is the maximum size of a request's body in bytes.
const maxBody = 64 << 10

// errNotThere is the error of an Act whose person, group or message does not exist.
var errNotThere = errors.New("there is no such person or message here")

// Config has the fakes that a Demo shows. The caller closes them, after the Demo.
type Config struct {
	Services  *services.Fakes
	Community *community.Community
	Discord   *fakediscord.Server
	// Later lets six hours pass for the saved addresses. It blocks until the bot has checked all of them.
	Later func(context.Context) error
}

// Demo serves the page.
type Demo struct {
	// URL is the page's address.
	URL string

	Config
	feed     *feed
	server   *http.Server
	stop     context.CancelFunc // stops watching badges
	language atomic.Value       // of public answers, a chat.Language
}

// Start serves the page on a free port of 127.0.0.1. It does not block; Close stops it.
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
	d.startWatchingBadges(ctx)
	d.Community.Telegram.Watch(d.addTelegramEvent)
	d.Discord.Watch(d.addDiscordMessage)
	d.server = &http.Server{
		Handler:           guarded(l.Addr().(*net.TCPAddr).Port, d.routes()),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = d.server.Serve(l) }()
	return d, nil
}

// Close stops serving the page, and closes all connections.
func (d *Demo) Close() {
	d.stop()
	_ = d.server.Close()
}

// Language returns the language of public answers that the user of the page has chosen.
func (d *Demo) Language() chat.Language { return d.language.Load().(chat.Language) }

// guarded returns a handler that passes requests to h, unless another site may have sent them: it refuses requests with
// another host name, as in DNS rebinding, and requests from another origin. With its headers, the page can load files
// only from this server.
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
		panic(err) // cannot happen: the folder is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { answer(w, d.state(), nil) })
	mux.HandleFunc("GET /menu", d.serveMenu)
	mux.HandleFunc("GET /events", d.serveEvents)
	mux.HandleFunc("GET /file/", d.servePicture)
	mux.HandleFunc("POST /later", d.serveLater)
	mux.HandleFunc("POST /act", handle(d.act))
	mux.HandleFunc("POST /faults", handle(d.setFaults))
	mux.HandleFunc("POST /language", handle(d.setLanguage))
	return mux
}

func (d *Demo) serveMenu(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	by := d.Community.People.Named(query.Get("as"))
	chatName := query.Get("chat")
	language := languageOf(query.Get("language"))
	answer(w, map[string]any{
		Telegram: d.telegramMenu(chatName, by, language),
		Discord:  d.discordMenu(chatName, by, language),
	}, nil)
}

// serveLater blocks until the bot has checked the saved addresses.
func (d *Demo) serveLater(w http.ResponseWriter, r *http.Request) {
	err := d.Later(r.Context())
	answer(w, strconv.FormatBool(err == nil), err)
}

func (d *Demo) servePicture(w http.ResponseWriter, r *http.Request) {
	picture := d.feed.picture(r.URL.Path)
	if picture == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	_, _ = w.Write(picture)
}

// handle returns a handler that decodes the JSON body of a request, and answers with the result of call.
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

// answer responds with the result as JSON. If err is not nil, it responds with err and status 400.
func answer(w http.ResponseWriter, result any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(result))
}

// serveEvents streams the events of the feed until the page disconnects.
func (d *Demo) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	seen := nothingSeen
	for {
		events, latest, changed := d.feed.since(seen)
		if seen == nothingSeen {
			events = slices.Concat([]Event{{Kind: KindReset}}, events, []Event{{Kind: KindLive}})
		}
		for _, e := range events {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", encoded(e))
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		seen = latest
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// act does an Act on its sides. It returns errNotThere if the person, the group or the message does not exist.
func (d *Demo) act(a Act) (any, error) {
	by := d.Community.People.Named(a.As)
	if by.Name == "" {
		return nil, errNotThere
	}
	if a.Kind == "press" && d.feed.messageOf(a).Kind != KindMessage {
		return nil, errNotThere
	}
	switch a.Side {
	case Telegram:
		return d.actOnTelegram(a, by)
	case Discord:
		return d.actOnDiscord(a, by)
	}
	if _, err := d.actOnTelegram(a, by); err != nil {
		return nil, err
	}
	return d.actOnDiscord(a, by) // Only Discord's Result can have a Hint.
}

// setFaults turns faults on or off, given by their names. It does not change the other faults.
func (d *Demo) setFaults(isOn map[string]bool) (any, error) {
	for _, f := range d.Services.Faults() {
		if on, given := isOn[f.Name]; given {
			f.On.Store(on)
		}
	}
	return d.state(), nil
}

// setLanguage sets the language of public answers.
func (d *Demo) setLanguage(chosen struct{ Language string }) (any, error) {
	d.language.Store(languageOf(chosen.Language))
	return d.state(), nil
}

// state returns the current State.
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
