// Package leaks is what must not be shown: no secret in a log, a metric or an
// answer, nobody's data in a log or a metric, whatever fails.
package leaks

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox/fault"
)

const (
	// typed stands for whatever people write beside a command.
	typed   = "zebra-quagga-zorilla"
	groupID = -1009876543210
)

// stage is a bot in a world where every wire can be cut.
type stage struct {
	*e2etest.Stage
	bot *e2etest.Bot
	log *e2etest.Buffer
	// overHTTP is whether updates are delivered rather than fetched.
	overHTTP bool
	// answers are those in Discord.
	answers strings.Builder
	// tokens are those of Discord's interactions.
	tokens []string
}

func newStage(t *testing.T) *stage {
	s := &stage{Stage: e2etest.NewStage(t), log: &e2etest.Buffer{}}
	s.Telegram.Start(e2etest.TelegramID(s.World.World.Registered))
	return s
}

func (s *stage) secrets() e2etest.Secrets {
	all := s.Secrets()
	for i, token := range s.tokens {
		all[fmt.Sprint("interaction token ", i)] = token
	}
	return all
}

// personal is what may be in answers but in no log and no metric.
func (s *stage) personal() e2etest.Secrets {
	w := s.World.World
	all := e2etest.Secrets{
		"DID": w.Registered.DID, "wallet": w.Staker.Hex(), "wallet in lower case": strings.ToLower(w.Staker.Hex()),
		"Telegram user": w.Registered.UID("Telegram"), "Discord user": w.Registered.UID("Discord"),
		"chat": strconv.Itoa(groupID)[1:], "text": typed, "first name": "Somebody", "user name": "somebody",
	}
	for _, login := range w.Logins {
		all["dapp "+login.Dapp] = login.Dapp
	}
	return all
}

// ways of running the bot: with its own logger, and with one that redacts
// nothing, so that only what never held a secret passes. Each meets every
// stride-th fault from the first on.
var ways = []struct {
	name, format  string
	redacted      bool
	overHTTP      bool
	first, stride int
}{
	{"its own log as text, polling and gateway", "text", true, false, 0, 8},
	{"its own log as JSON, both over HTTP", "json", true, true, 4, 8},
	{"a bare log as JSON, polling and gateway", "json", false, false, 0, 3},
	{"a bare log as text, polling and gateway", "text", false, false, 1, 3},
	{"a bare log as JSON again, polling and gateway", "json", false, false, 2, 3},
	{"a bare log as text, both over HTTP", "text", false, true, 0, 2},
	{"a bare log as JSON, both over HTTP", "json", false, true, 1, 2},
}

// serve runs the bot until the test ends, with its own log or a bare one.
func (s *stage) serve(t *testing.T, settings []string, redacted, json bool) {
	t.Helper()
	if redacted {
		s.bot = e2etest.Serve(t, settings, s.log)
	} else {
		s.bot = e2etest.ServeBare(t, settings, e2etest.BareLog(json, s.log))
	}
}

func TestNothingLeaksWhateverFails(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			settings := append(s.Settings(fault.EchoingRedis(t)), "LOG_FORMAT="+way.format)
			if s.overHTTP = way.overHTTP; s.overHTTP {
				settings = append(settings, "TELEGRAM_WEBHOOK_URL=https://bot.example"+e2etest.WebhookPath,
					"TELEGRAM_WEBHOOK_SECRET="+e2etest.WebhookSecret, "DISCORD_PUBLIC_KEY="+hex.EncodeToString(s.Discord.PublicKey))
			}
			// Runs after the bot has left, so that its last words are there too.
			t.Cleanup(func() { s.mustBeClean(t) })
			s.serve(t, settings, way.redacted, way.format == "json")
			s.bot.AwaitReady(t)
			faults := s.Echoes()
			for i := way.first; i < len(faults); i += way.stride {
				// How updates arrive makes no difference to the services.
				if way.overHTTP || way.redacted {
					s.cutServices(t, &faults[i])
				}
				s.cutPlatforms(t, &faults[i])
			}
			body := metrics(t, s.bot.URL)
			s.secrets().MustNotShow(t, "/metrics", body)
			s.personal().MustNotShow(t, "/metrics", body)
		})
	}
}

// mustBeClean searches all that the bot has said.
func (s *stage) mustBeClean(t *testing.T) {
	t.Helper()
	text := s.log.String()
	if !strings.Contains(text, "WARN") {
		t.Errorf("the log tells of no failure, so that nothing was searched:\n%s", text)
	}
	s.secrets().MustNotShow(t, "the log", text)
	s.personal().MustNotShow(t, "the log", text)
	var calls strings.Builder
	for _, call := range slices.Concat(s.Telegram.Calls("sendMessage"), s.Telegram.Calls("setMyCommands")) {
		fmt.Fprintf(&calls, "%s\n", call.Params)
	}
	s.secrets().MustNotShow(t, "an answer in Telegram", calls.String())
	s.secrets().MustNotShow(t, "an answer in Discord", s.answers.String())
	if n := s.Strayed.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// metrics are the names and labels of /metrics.
func metrics(t *testing.T, base string) string {
	t.Helper()
	// The values are floats, in whose digits any number can be found.
	return regexp.MustCompile(`(?m) \S+$`).ReplaceAllString(e2etest.Metrics(t, base), "")
}
