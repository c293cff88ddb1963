package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/secret/logtest"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
	"herald/internal/service/supply"
)

func startSandbox(t *testing.T) *services.Fakes {
	t.Helper()
	world, err := services.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	return world
}

// newBot makes a bot, which is to be closed.
func newBot(t *testing.T, world *services.Fakes, settings ...string) *Bot {
	t.Helper()
	bot, err := New(mustLoad(t, append(DemoSettings(world), settings...), ""), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return bot
}

func TestRightsLimitsAndTheLanguageReachTheRouter(t *testing.T) {
	world := startSandbox(t)
	user := chat.User{Platform: "telegram", ID: "77"}
	price := chat.Request{Command: "price", From: user, Role: chat.Moderator, Community: "-5", Chat: "-5"}
	ofAnother := price
	ofAnother.Command, ofAnother.Args = "exists", chat.Typed(world.World.Registered.UID("Telegram"))
	for setting, test := range map[string]struct {
		request chat.Request
		title   string // of the third answer
	}{
		"MODERATOR_CHATS=telegram:-6": {ofAnother, "unlisted.title"},
		"MODERATOR_CHATS=telegram:-5": {ofAnother, "exists.yes"},
		"OPERATORS=telegram:77":       {ofAnother, "exists.yes"},
		"RATE_LIMIT_USER=0":           {price, "price.title"},
		"RATE_LIMIT_USER=2":           {price, "limit.title"},
		"RATE_LIMIT_CHAT=2":           {price, "limit.title"},
		"CHAT_LANGUAGE=tr":            {price, "price.title"},
	} {
		bot := newBot(t, world, "MODERATOR_CHATS=telegram:-6", setting)
		var reply chat.Reply
		for range 3 {
			reply = bot.Router.Handle(t.Context(), test.request)
		}
		if reply.Title.Key != test.title || (reply.Language == chat.Turkish) != (setting == "CHAT_LANGUAGE=tr") {
			t.Errorf("%s: answered with %+v", setting, reply)
		}
		bot.Close()
	}
}

func TestReplicasShareLimitsAndOtherBotsOnTheSameRedisDoNot(t *testing.T) {
	world, redis := startSandbox(t), miniredis.RunT(t)
	request := chat.Request{Command: "price", From: chat.User{Platform: "telegram", ID: "77"}, Direct: true}
	for i, test := range []struct{ token, title string }{
		{"TELEGRAM_BOT_TOKEN=1:a", "price.title"}, {"TELEGRAM_BOT_TOKEN=1:a", "limit.title"},
		{"TELEGRAM_BOT_TOKEN=2:b", "price.title"}, {"DISCORD_BOT_TOKEN=a.b.c", "price.title"},
	} {
		bot := newBot(t, world, test.token, "RATE_LIMIT_USER=1", "REDIS_URL=redis://"+redis.Addr()+"?read_timeout=1s")
		if reply := bot.Router.Handle(t.Context(), request); reply.Title.Key != test.title {
			t.Errorf("bot %d: answered with %+v, want %s", i, reply, test.title)
		}
		bot.Close()
	}
}

func TestThePriceProviderIsSparedAcrossAStart(t *testing.T) {
	world := startSandbox(t)
	dir := "DATA_DIR=" + t.TempDir()
	asked := 0
	for range 3 {
		bot := newBot(t, world, dir, "PRICE_MONTHLY_CREDITS=100", "PRICE_TTL=1ms")
		for range 20 {
			if reply := bot.Router.Handle(t.Context(), chat.Request{Command: "price", Direct: true}); reply.Tone == chat.Warning {
				t.Fatalf("answered with %+v", reply)
			}
		}
		asked += int(bot.credits.Taken())
		bot.Close()
	}
	if asked < 1 || asked > 2 {
		t.Errorf("the provider was asked %d times", asked)
	}
}

func TestQuotesSeenAreDrawnAndKept(t *testing.T) {
	world := startSandbox(t)
	bot := newBot(t, world, "DATA_DIR="+t.TempDir(), "CHART_THEME=light")
	reply := bot.Router.Handle(t.Context(), chat.Request{Command: "price", Args: chat.Typed("24h"), Direct: true})
	if reply.Image == nil {
		t.Fatalf("no picture in %+v", reply)
	}
	picture, err := png.Decode(bytes.NewReader(reply.Image.PNG))
	if err != nil || picture.At(0, 0) != color.Color(color.RGBA{R: 255, G: 255, B: 255, A: 255}) {
		t.Errorf("the picture is not light, %v", err)
	}
	bot.Close()
	kept, _ := bot.disk.Load(t.Context(), "quotes "+tokenID(bot.cfg.Market))
	want := fmt.Sprintf(`[{"t":%d,"p":"%s"}]`, world.World.Quote.LastUpdated.Unix(), world.World.Quote.Price)
	if string(kept) != want {
		t.Errorf("kept %s, want %s", kept, want)
	}
}

func TestTokensAreToldApartWithoutTheirURL(t *testing.T) {
	seen := map[string]bool{}
	for _, change := range []string{"PRICE_API_URL=https://prices.example.org/key", "PRICE_TOKEN_ID=1", "PRICE_TOKEN_SLUG=1", "TOKEN_SYMBOL=OTHR", ""} {
		id := tokenID(mustLoad(t, with(change), "").Market)
		if seen[id] || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(id) {
			t.Errorf("%s: the ID is %q", change, id)
		}
		seen[id] = true
	}
}

func TestTheLogHoldsNoSecretAndNoLongLine(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		cfg := mustLoad(t, append(everySetting(), "LOG_LEVEL=info", "LOG_FORMAT="+format), "")
		var out logtest.Buffer
		log := NewLogger(cfg, &out)
		log.Debug("not logged")
		for _, secret := range cfg.Secrets() {
			log.With("before", secret).Error("asked "+secret, "err", errors.New(strings.Repeat(secret+" ", 10_000)))
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > 10<<10 || slices.ContainsFunc(cfg.Secrets(), func(s string) bool { return len(s) > 6 && strings.Contains(line, s) }) {
				t.Errorf("%s: %d bytes: %.300s", format, len(line), line)
			}
		}
		if n := out.Lines("redacted"); n != len(cfg.Secrets()) || out.Lines("not logged") > 0 {
			t.Errorf("%s: %d lines for %d secrets", format, n, len(cfg.Secrets()))
		}
	}
}

func TestEveryOptionOfCommandsIsSet(t *testing.T) {
	options := reflect.ValueOf(mustLoad(t, everySetting(), "").options())
	for i := range options.NumField() {
		if options.Field(i).IsZero() {
			t.Errorf("commands.Options.%s is empty with every setting: options in settings.go does not set it", options.Type().Field(i).Name)
		}
	}
}

func TestWhatProbesSayIsRedactedAndOfOneLine(t *testing.T) {
	bot := newBot(t, startSandbox(t), "PRICE_API_KEY=a-key-that-nobody-may-see")
	defer bot.Close()
	said := "with\na-key-that-nobody-may-see\x1b[2J"
	bot.services[0].probe = func(context.Context) ([]string, error) { return []string{said}, errors.New(said) }
	var table strings.Builder
	_ = bot.Check(t.Context(), &table)
	if strings.Count(table.String(), "with [redacted][2J\n") != 2 {
		t.Errorf("the table is\n%s", &table)
	}
}

func TestAdviceNamesTheReasonAndTheSettings(t *testing.T) {
	p := probe{title: "supply host", settings: "SUPPLY_URL"}
	cause := errors.New("the cause")
	for want, err := range map[string]error{
		"did not answer within UPSTREAM_TIMEOUT: the cause|look at SUPPLY_URL": supply.Service.Fail(core.SlowAnswer, cause),
		"is rate-limiting us: the cause|look at SUPPLY_URL":                    supply.Service.Fail(core.Limited, cause),
		"the cause|look at SUPPLY_URL":                                         cause,
		"wrong|look at A":                                                      supply.Service.Fail(core.Denied, &config.WrongError{Problem: "wrong", Settings: "A"}),
		"wrong, set A":                                                         &config.WrongError{Problem: "wrong, set A"},
	} {
		if got := strings.Join(p.advice(err), "|"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWhatProbesFoundOutInWords(t *testing.T) {
	hourAgo := time.Now().Add(-time.Hour - time.Minute)
	denied := partner.Service.Fail(core.Denied, errors.New("401"))
	text := func(details []string, _ error) string { return strings.Join(details, "|") }
	for name, test := range map[string]struct{ got, want string }{
		"partner":         {text(aboutPartner("https://h.example", 2*time.Second, nil), nil), "the signature is accepted"},
		"partner refuses": {text(aboutPartner("https://h.example", -3*time.Hour, denied), nil), "its clock is 3h0m0s behind this machine's"},
		"clock fast":      {text(aboutPartner("https://h.example", 9*time.Second, nil), nil), "the signature is accepted|its clock is 9s ahead of this machine's"},
		"an old quote": {text(aboutQuote(market.Listing{ID: "1", Symbol: "HRLD", Name: "Herald\x1b[31m\nDemo",
			Quote: core.Quote{Price: decimal.NewFromInt(1), LastUpdated: hourAgo, OldFrom: hourAgo}}, nil)),
			"HRLD (Herald[31m Demo), id 1, $1.000, 1 h ago|that price is old: is this the right token?"},
		"no supply":        {text(aboutSupply(core.Supply{Total: decimal.NewFromInt(-5)}, "MAT"), nil), ""},
		"pools, some gone": {text(aboutPools(staking.Found{Deployed: 20, Missing: 1}, nil)), "pools with code: 20, without: 1"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", name, test.got, test.want)
		}
	}
}
