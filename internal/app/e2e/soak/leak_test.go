//go:build soak

package soak

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"herald/internal/discord/discordtest"
	"herald/internal/sandbox"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

// leaks knows what may stand nowhere, and what only where one person reads.
type leaks struct {
	tally *tally
	// secrets may be in no answer, log line or metric; personal in no log line
	// or metric; logins in nothing that others can read.
	secrets, personal, logins []string
}

// interactionTokens begins every token that discordtest makes.
const interactionTokens = "aW50ZXJhY3Rpb246"

func newLeaks(t *tally, s *fault.Sandbox, d *discordtest.Server) *leaks {
	_, telegramSecret, _ := strings.Cut(telegramtest.Token, ":")
	l := &leaks{tally: t, secrets: []string{
		telegramSecret, d.Token, url.QueryEscape(d.Token), s.SecretKey, s.PriceKey, interactionTokens,
		s.World.Registered.DID, s.World.Newcomer.DID, badWord,
	}}
	for _, login := range s.World.Logins {
		l.logins = append(l.logins, login.Dapp)
	}
	for _, p := range []sandbox.Person{s.World.Registered, s.World.Newcomer, s.World.Unregistered} {
		for _, account := range p.Accounts {
			// A short number may be any number's part.
			if len(account.UID) > 8 {
				l.personal = append(l.personal, account.UID)
			}
		}
	}
	l.personal = append(l.personal, strings.ToLower(s.World.Staker.Hex()), s.World.Idle.Hex(), strings.ToLower(s.World.Idle.Hex()))
	return l
}

func (l *leaks) find(where, text string, lists ...[]string) {
	for _, list := range lists {
		for _, s := range list {
			if at := strings.Index(text, s); at >= 0 && !endsNumber(text[:at]) {
				l.tally.leak(fmt.Sprintf("%s has %s: %q", where, s, text[max(0, at-100):min(len(text), at+200)]))
			}
		}
	}
}

// endsNumber reports whether a figure goes on behind text, as in a metric.
func endsNumber(text string) bool {
	return text != "" && strings.ContainsRune("0123456789.", rune(text[len(text)-1]))
}

// output looks at a log line or the metrics.
func (l *leaks) output(where, text string) { l.find(where, text, l.secrets, l.personal, l.logins) }

// ping is what Telegram or Discord makes a mention or a link of.
var ping = regexp.MustCompile(`@\w|://`)

// answer looks at what was said.
func (l *leaks) answer(text string, public bool) {
	l.find("an answer", text, l.secrets)
	if public {
		l.find("a public answer", text, l.logins)
	}
}

// pings looks at what was said, without what is in code, where nothing is a
// mention or a link.
func (l *leaks) pings(text string) {
	if ping.MatchString(text) {
		l.tally.leak("an answer pings or links: " + text)
	}
}

// watchedLog is the bot's standard error: each line is looked at and only the
// last are kept.
type watchedLog struct {
	leaks *leaks
	mu    sync.Mutex
	lines int
	last  [][]byte
}

func (w *watchedLog) Write(p []byte) (int, error) {
	w.leaks.output("a log line", string(p))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines++
	if w.last = append(w.last, bytes.Clone(p)); len(w.last) > 60 {
		w.last = w.last[30:]
	}
	return len(p), nil
}

func (w *watchedLog) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(bytes.Join(w.last, nil))
}

// metrics asks the bot for its metrics, looks at them and returns them.
func (s *soak) metrics(ctx context.Context) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.bot.URL+"/metrics", nil)
	if err != nil {
		return ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return ""
	}
	s.leaks.output("the metrics", string(text))
	return string(text)
}

// event reads how often an adapter counted something.
func event(metrics, platform, name string) int {
	_, rest, _ := strings.Cut(metrics, `herald_adapter_events_total{event="`+name+`",platform="`+platform+`"} `)
	number, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	return int(n)
}
