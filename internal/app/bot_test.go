package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/demo/fake/transporttest"
	"herald/internal/ops"
	"herald/internal/platform"
	"herald/internal/secret/logtest"
)

// startFakes starts the fakes of every service.
func startFakes(t *testing.T) *services.Fakes {
	t.Helper()
	fakes := services.New()
	if err := fakes.Serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fakes.Close() })
	return fakes
}

// newBot returns a bot that logs nothing. Its environment is environ and changes, which win. The caller closes it.
func newBot(t *testing.T, environ []string, changes ...string) *Bot {
	t.Helper()
	cfg := mustLoad(t, append(environ, changes...), "")
	return mustNew(t, cfg, slog.New(slog.DiscardHandler))
}

func mustNew(t *testing.T, cfg *Config, log *slog.Logger) *Bot {
	t.Helper()
	bot, err := New(cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	return bot
}

// thirdReply sends the request three times to a new bot with these settings, and returns the third reply. A rate limit
// of two commands refuses the third one.
func thirdReply(t *testing.T, settings []string, request *chat.Request) *chat.Reply {
	t.Helper()
	bot := newBot(t, settings)
	defer bot.Close()
	bot.Router.Handle(t.Context(), request)
	bot.Router.Handle(t.Context(), request)
	return bot.Router.Handle(t.Context(), request)
}

// priceRequest is a moderator's /price in the chat -5.
var priceRequest = chat.Request{
	Command:   "price",
	From:      chat.User{Platform: "telegram", ID: "77"},
	Role:      chat.Moderator,
	Community: "-5",
	Chat:      "-5",
}

func TestRateLimitsReachTheRouter(t *testing.T) {
	fakes := startFakes(t)
	for setting, title := range map[string]string{
		"RATE_LIMIT_USER=0": "price.title",
		"RATE_LIMIT_USER=2": "limit.title",
		"RATE_LIMIT_CHAT=2": "limit.title",
	} {
		reply := thirdReply(t, append(DemoSettings(fakes), setting), &priceRequest)
		if reply.Title.Key != title {
			t.Errorf("%s: the third reply is %+v, want %s", setting, reply, title)
		}
	}
}

func TestModeratorChatsAndOperatorsReachTheRouter(t *testing.T) {
	fakes := startFakes(t)
	aboutAnother := priceRequest
	aboutAnother.Command = "exists"
	aboutAnother.Args = chat.Typed(fakes.World.Registered.UID("Telegram"))
	for setting, title := range map[string]string{
		"MODERATOR_CHATS=telegram:-6": "unlisted.title",
		"MODERATOR_CHATS=telegram:-5": "exists.yes",
		"OPERATORS=telegram:77":       "exists.yes",
	} {
		settings := append(DemoSettings(fakes), "MODERATOR_CHATS=telegram:-6", setting)
		reply := thirdReply(t, settings, &aboutAnother)
		if reply.Title.Key != title {
			t.Errorf("%s: the third reply is %+v, want %s", setting, reply, title)
		}
	}
}

func TestTheLanguageReachesTheRouter(t *testing.T) {
	fakes := startFakes(t)
	for setting, turkish := range map[string]bool{
		"CHAT_LANGUAGE=en":             false,
		"CHAT_LANGUAGE=tr":             true,
		"CHAT_LANGUAGE=telegram:-5:tr": true,
		"CHAT_LANGUAGE=telegram:-6:tr": false,
	} {
		reply := thirdReply(t, append(DemoSettings(fakes), setting), &priceRequest)
		if reply.Title.Key != "price.title" || (reply.Language == chat.Turkish) != turkish {
			t.Errorf("%s: the reply is %+v", setting, reply)
		}
	}
}

func TestReplicasShareRateLimitsAndOtherBotsDoNot(t *testing.T) {
	fakes := startFakes(t)
	redis := miniredis.RunT(t)
	request := &chat.Request{Command: "price", From: chat.User{Platform: "telegram", ID: "77"}, Direct: true}
	for i, test := range []struct{ token, title string }{
		{"TELEGRAM_BOT_TOKEN=1:a", "price.title"},
		{"TELEGRAM_BOT_TOKEN=1:a", "limit.title"},
		{"TELEGRAM_BOT_TOKEN=2:b", "price.title"},
		{"DISCORD_BOT_TOKEN=a.b.c", "price.title"},
	} {
		bot := newBot(t, DemoSettings(fakes), test.token, "RATE_LIMIT_USER=1", redisSetting(redis))
		reply := bot.Router.Handle(t.Context(), request)
		if reply.Title.Key != test.title {
			t.Errorf("bot %d with %s: the reply is %+v, want %s", i, test.token, reply, test.title)
		}
		bot.Close()
	}
}

// redisSetting returns the setting REDIS_URL for a fake of Redis. Its timeout is long, for slow machines.
func redisSetting(redis *miniredis.Miniredis) string {
	return "REDIS_URL=redis://" + redis.Addr() + "?read_timeout=1s"
}

func TestAnswersAreSavedOnlyInRedisAndQuotesInTheFolderToo(t *testing.T) {
	fakes := startFakes(t)
	redis := miniredis.RunT(t)
	dir := t.TempDir()
	bot := newBot(t, DemoSettings(fakes), "TELEGRAM_BOT_TOKEN=1:a", redisSetting(redis), "DATA_DIR="+dir)
	bot.Router.Handle(t.Context(), &chat.Request{Command: "price", Direct: true})
	bot.Close()
	answers := slices.DeleteFunc(redis.Keys(), func(key string) bool {
		return !strings.HasPrefix(key, "herald:answer:")
	})
	if len(answers) < 2 {
		t.Errorf("Redis holds %q, want a price and the quotes", answers)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) > 1 {
		t.Errorf("DATA_DIR holds %v (%v), want only the quotes", files, err)
	}
}

func TestChartsShowTheLogo(t *testing.T) {
	fakes := startFakes(t)
	bot := newBot(t, DemoSettings(fakes), "TOKEN_LOGO=../pricechart/testdata/logo.png")
	defer bot.Close()
	reply := bot.Router.Handle(t.Context(), &chat.Request{Command: "price", Args: chat.Typed("24h"), Direct: true})
	if reply.Image == nil {
		t.Fatalf("no picture in %+v", reply)
	}
	picture, err := png.Decode(bytes.NewReader(reply.Image.PNG))
	if err != nil {
		t.Fatal(err)
	}
	background := picture.At(0, 0)
	whereLogoIs := picture.At(88, 62)
	if whereLogoIs == background {
		t.Error("the logo is not drawn")
	}
}

func TestQuotesAreSavedWhenTheBotCloses(t *testing.T) {
	fakes := startFakes(t)
	bot := newBot(t, DemoSettings(fakes), "DATA_DIR="+t.TempDir())
	bot.Router.Handle(t.Context(), &chat.Request{Command: "price", Args: chat.Typed("24h"), Direct: true})
	bot.Close()
	saved, err := bot.state.stores[0].Load(t.Context(), "quotes "+tokenID(bot.cfg.Market))
	quote := fakes.World.Quote
	want := fmt.Sprintf(`[{"t":%d,"p":"%s"}]`, quote.LastUpdated.Unix(), quote.Price)
	if err != nil || string(saved) != want {
		t.Errorf("saved %s (%v), want %s", saved, err, want)
	}
}

func TestEachTokenHasItsOwnIDWithoutItsURL(t *testing.T) {
	seen := map[string]bool{}
	for _, setting := range []string{
		"PRICE_API_URL=https://prices.example.org/key",
		"PRICE_TOKEN_ID=1",
		"TOKEN_SYMBOL=OTHR",
		"",
	} {
		id := tokenID(mustLoad(t, settingsWith(setting), "").Market)
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(id) {
			t.Errorf("%s: the ID is %q, want a hash", setting, id)
		}
		if seen[id] {
			t.Errorf("%s: another token has the ID %q", setting, id)
		}
		seen[id] = true
	}
}

// logSecrets logs every secret of a Config that has all settings: as an attribute, in the message and in an error. It
// returns the secrets and the log.
func logSecrets(t *testing.T, format string) (secrets []string, out *logtest.Buffer) {
	t.Helper()
	cfg := mustLoad(t, append(everySetting(), "LOG_LEVEL=info", "LOG_FORMAT="+format), "")
	out = &logtest.Buffer{}
	log := NewLogger(cfg, out)
	log.Debug("not logged")
	for _, secret := range cfg.Secrets() {
		repeated := errors.New(strings.Repeat(secret+" ", 10_000))
		log.With("before", secret).Error("asked "+secret, "err", repeated)
	}
	return cfg.Secrets(), out
}

func TestTheLogHoldsNoSecretAndNoLongLine(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		secrets, out := logSecrets(t, format)
		for line := range strings.Lines(out.String()) {
			if len(line) > 10<<10 {
				t.Errorf("%s: a line of %d bytes: %.300s", format, len(line), line)
			}
			for _, secret := range secrets {
				if len(secret) > 6 && strings.Contains(line, secret) {
					t.Errorf("%s: a secret is logged: %.300s", format, line)
				}
			}
		}
		if n := out.Lines("redacted"); n != len(secrets) {
			t.Errorf("%s: %d redacted lines for %d secrets", format, n, len(secrets))
		}
		if out.Lines("not logged") > 0 {
			t.Errorf("%s: LOG_LEVEL=info logs a debug line", format)
		}
	}
}

// connectServices makes the clients of the services that are on in cfg. They save nothing.
func connectServices(t *testing.T, cfg *Config) *upstreams {
	t.Helper()
	connected, err := connect(cfg, &state{}, ops.NewMetrics(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connected.close)
	return connected
}

func TestEverySourceAndOptionReachesTheCommands(t *testing.T) {
	cfg := mustLoad(t, everySetting(), "")
	connected := connectServices(t, cfg)
	sources := connected.sources
	sources.Members = newMembers(cfg, memberParts{state: &state{}, services: connected, metrics: ops.NewMetrics()})
	sources.Joins = new(platform.JoinLog)
	sources.Moves = new(platform.Moves)
	sources.Started = time.Now()
	requireEveryField(t, sources, "a function in services.go that connects a service must set it")
	requireEveryField(t, cfg.Answers, "a setting or Load, in settings.go, must set it")
}

// requireEveryField fails the test for each field of a struct that is not set.
func requireEveryField(t *testing.T, value any, advice string) {
	t.Helper()
	v := reflect.ValueOf(value)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s.%s is not set: %s", v.Type(), v.Type().Field(i).Name, advice)
		}
	}
}

func TestEachServiceHasAFake(t *testing.T) {
	fakes := services.New().Services()
	for _, upstream := range connectServices(t, mustLoad(t, everySetting(), "")).list {
		service := upstream.Health().Service
		if !slices.Contains(commandstest.Services, service) {
			t.Errorf("add the service %s to Sources, in commands/commandstest/answers.go", service.Name)
		}
		hasName := func(fake *services.Service) bool { return fake.Name == service.Name }
		if !slices.ContainsFunc(fakes, hasName) {
			t.Errorf("add a fake of the service %s to New, in internal/demo/fake/services/services.go", service.Name)
		}
	}
}

// breakNetwork makes every connection of the default HTTP transport fail. A connection to the address reached is opened
// and then closed. All others are refused.
func breakNetwork(t *testing.T, reached string) {
	transporttest.ChangeDefault(t, func(d *http.Transport) {
		d.Proxy = nil
		d.DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
			if address != reached {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route to host")}
			}
			bot, host := net.Pipe()
			host.Close()
			return bot, nil
		}
	})
}

// Connections to Telegram and Discord fail. All platforms together have one line a minute about calls that could not
// connect. If Telegram's host is reached but does not answer, these calls have another line a minute.
func TestWithoutANetworkTheLogHasALineAMinute(t *testing.T) {
	for reached, perHour := range map[string]int{
		"":                        60,
		"telegram.example.org:80": 120,
	} {
		t.Run("reached "+reached, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				breakNetwork(t, reached)
				requireRetryLines(t, perHour)
			})
		})
	}
}

// requireRetryLines runs a bot on both platforms for an hour. It fails the test unless the log has about perHour lines
// about calls that are retried, and almost no other lines.
func requireRetryLines(t *testing.T, perHour int) {
	var log logtest.Buffer
	cfg := mustLoad(t, settingsWith(
		"TELEGRAM_BOT_TOKEN=1:a",
		"TELEGRAM_API_URL=http://telegram.example.org",
		"DISCORD_BOT_TOKEN=a.b.c",
		"DISCORD_API_URL=http://discord.example.org",
		"DISCORD_PRESENCE=price",
		"HTTP_ADDR=off",
		"PRICE_API_KEY=a-key",
	), "")
	bot := mustNew(t, cfg, slog.New(slog.NewTextHandler(&log, nil)))
	defer bot.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- bot.Run(ctx) }()
	bot.Router.Handle(t.Context(), &chat.Request{Command: "price"})
	if log.Lines(`msg="a service fails" service=price`) != 1 || log.Lines("msg=command id=") != 1 {
		t.Errorf("a command or its failing service is not logged:\n%s", log.String())
	}

	before := log.Lines("\n")
	time.Sleep(time.Hour)
	retries := log.Lines("a call failed, trying again")
	lines := log.Lines("\n") - before
	if retries < perHour*5/6 || retries > perHour+2 {
		t.Errorf("an hour has %d lines about retried calls, want %d", retries, perHour)
	}
	if lines > retries+1 {
		t.Errorf("an hour has %d lines, of which %d are about retried calls", lines, retries)
	}

	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
