package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"herald/internal/config"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox"
	"herald/internal/telegram/telegramtest"
)

const (
	webhookSecret = "wh00k-secret_of-telegram"
	chainUser     = "ann@chain"
	chainPassword = "pass:word/of+the=chain"
	chainPathKey  = "path-key-of-the-chain-0123456789"
	chainQueryKey = "query/key+of=the?chain"
	redisPassword = "pass/word+of:redis"
	// typed stands for whatever people write beside a command.
	typed   = "zebra-quagga-zorilla"
	leaksIn = -1009876543210
)

// stage is a bot in a world where every wire can be cut.
type stage struct {
	world     *sandbox.Sandbox
	telegram  *telegramtest.Server
	discord   *discordtest.Server
	services  []*front
	telegrams *front
	discords  *front
	elsewhere *httptest.Server
	// strayed counts requests that followed a redirect.
	strayed atomic.Int64
	log     *lockedBuffer
	// answers are those in Discord.
	answers strings.Builder
	// tokens are those of Discord's interactions.
	tokens []string
}

func newStage(t *testing.T) *stage {
	s := &stage{world: startSandbox(t), telegram: telegramtest.New(t), discord: discordtest.New(), log: &lockedBuffer{}}
	t.Cleanup(s.discord.Close)
	s.elsewhere = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.strayed.Add(1) }))
	t.Cleanup(s.elsewhere.Close)
	for _, behind := range []string{s.world.Partner.URL(), s.world.Price.URL(), s.world.Supply.URL(), s.world.Chain.URL() + "/"} {
		s.services = append(s.services, newFront(t, behind))
	}
	s.telegrams, s.discords = newFront(t, s.telegram.URL), newFront(t, s.discord.URL())
	s.telegram.Start(s.person())
	return s
}

func (s *stage) person() int64 {
	id, err := strconv.ParseInt(s.world.World.Registered.UID("Telegram"), 10, 64)
	if err != nil {
		panic(err)
	}
	return id
}

// settings name the fronts. Nothing is kept, so that everything is asked.
func (s *stage) settings(redisAddr string) []string {
	return append(demoSettings(s.world),
		"PARTNER_BASE_URL="+s.services[0].URL, "PRICE_API_URL="+s.services[1].URL, "SUPPLY_URL="+s.services[2].URL,
		"EVM_RPC_URL="+secretURL(s.services[3].URL),
		"REDIS_URL="+(&url.URL{Scheme: "redis", User: url.UserPassword("default", redisPassword), Host: redisAddr}).String(),
		"TELEGRAM_BOT_TOKEN="+telegramtest.Token, "TELEGRAM_API_URL="+s.telegrams.URL, "TELEGRAM_PACING=off",
		"DISCORD_BOT_TOKEN="+s.discord.Token, "DISCORD_API_URL="+s.discords.URL,
		"PRICE_TTL=1ms", "SUPPLY_TTL=1ms", "STAKE_TTL=1ms", "EXISTS_TTL=1ms", "LOGINS_TTL=1ms", "STALE_FOR=0s",
		"UPSTREAM_TIMEOUT=300ms", "COMMAND_TIMEOUT=1s", "LOG_LEVEL=debug")
}

func secretURL(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		panic(err)
	}
	u.User = url.UserPassword(chainUser, chainPassword)
	u.Path = "/v2/" + chainPathKey
	u.RawQuery = url.Values{"apikey": {chainQueryKey}}.Encode()
	return u.String()
}

func (s *stage) secrets() secrets {
	all := secrets{
		"Telegram token": telegramtest.Token, "webhook secret": webhookSecret, "Discord token": s.discord.Token,
		"partner's key": s.world.SecretKey, "price key": s.world.PriceKey, "Redis password": redisPassword,
		"chain's user": chainUser, "chain's password": chainPassword, "chain's path": chainPathKey, "chain's query": chainQueryKey,
	}
	for i, token := range s.tokens {
		all[fmt.Sprint("interaction token ", i)] = token
	}
	return all
}

// personal is what may be in answers but in no log and no metric.
func (s *stage) personal() secrets {
	w := s.world.World
	all := secrets{
		"DID": w.Registered.DID, "wallet": w.Staker.Hex(), "wallet in lower case": strings.ToLower(w.Staker.Hex()),
		"Telegram user": w.Registered.UID("Telegram"), "Discord user": w.Registered.UID("Discord"),
		"chat": strconv.Itoa(leaksIn)[1:], "text": typed, "first name": "Somebody", "user name": "somebody",
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

// run runs the bot until the test ends and returns its HTTP server's URL.
func (s *stage) run(t *testing.T, settings []string, redacted bool) (exit chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	exit = make(chan error, 1)
	go func() {
		if redacted {
			var err error
			if code := start(ctx, []string{"run"}, process{environ: settings, stderr: s.log}); code != exitOK {
				err = fmt.Errorf("exit code %d", code)
			}
			exit <- err
			return
		}
		cfg, err := config.LoadToServe(settings, "")
		if err == nil {
			err = serveBot(ctx, cfg, bareLog(cfg.Log.JSON, s.log))
		}
		exit <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-exit; err != nil {
			t.Errorf("%v:\n%s", err, s.log)
		}
	})
	return exit
}

// bareLog redacts nothing.
func bareLog(json bool, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelDebug}
	if json {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func TestNothingLeaksWhateverFails(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			addr := freeAddr(t)
			settings := append(s.settings(hostileRedis(t)), "HTTP_ADDR="+addr, "LOG_FORMAT="+way.format)
			if way.overHTTP {
				settings = append(settings, "TELEGRAM_WEBHOOK_URL=https://bot.example/hook", "TELEGRAM_WEBHOOK_SECRET="+webhookSecret,
					"DISCORD_PUBLIC_KEY="+hex.EncodeToString(s.discord.PublicKey))
			}
			var base string
			if way.overHTTP {
				base = "http://" + addr
			}
			// Runs after the bot has left, so that its last words are there too.
			t.Cleanup(func() { s.mustBeClean(t) })
			s.run(t, settings, way.redacted)
			eventually(t, "the bot is ready", func() bool { return status("http://"+addr+"/readyz") == http.StatusOK })
			faults := faultsOfAnswers(s.elsewhere.URL)
			for i := way.first; i < len(faults); i += way.stride {
				// How updates arrive makes no difference to the services.
				if way.overHTTP || way.redacted {
					s.cutServices(t, base, &faults[i])
				}
				s.cutPlatforms(t, base, &faults[i])
			}
			body := metrics(t, addr)
			s.secrets().mustNotShow(t, "/metrics", body)
			s.personal().mustNotShow(t, "/metrics", body)
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
	s.secrets().mustNotShow(t, "the log", text)
	s.personal().mustNotShow(t, "the log", text)
	var calls strings.Builder
	for _, call := range slices.Concat(s.telegram.Calls("sendMessage"), s.telegram.Calls("setMyCommands")) {
		fmt.Fprintf(&calls, "%s\n", call.Params)
	}
	s.secrets().mustNotShow(t, "an answer in Telegram", calls.String())
	s.secrets().mustNotShow(t, "an answer in Discord", s.answers.String())
	if n := s.strayed.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func status(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// metrics are the names and labels of /metrics.
func metrics(t *testing.T, addr string) string {
	t.Helper()
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	// The values are floats, in whose digits any number can be found.
	return regexp.MustCompile(`(?m) \S+$`).ReplaceAllString(string(body), "")
}
