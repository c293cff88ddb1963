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
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/shopspring/decimal"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/demo/fake/services"
	"herald/internal/demo/fake/transporttest"
	"herald/internal/ops"
	"herald/internal/platform"
	"herald/internal/router"
	"herald/internal/secret/logtest"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/supply"
)

func startSandbox(t *testing.T) *services.Fakes {
	t.Helper()
	world := services.New()
	if err := world.Serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	return world
}

// newBot makes a bot. The caller closes it.
func newBot(t *testing.T, environ []string, settings ...string) *Bot {
	t.Helper()
	return mustNew(t, mustLoad(t, append(environ, settings...), ""), slog.New(slog.DiscardHandler))
}

func mustNew(t *testing.T, cfg *Config, log *slog.Logger) *Bot {
	t.Helper()
	bot, err := New(cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	return bot
}

func TestRightsLimitsAndTheLanguageReachTheRouter(t *testing.T) {
	world := startSandbox(t)
	user := chat.User{Platform: "telegram", ID: "77"}
	price := &chat.Request{Command: "price", From: user, Role: chat.Moderator, Community: "-5", Chat: "-5"}
	another := *price
	ofAnother := &another
	ofAnother.Command, ofAnother.Args = "exists", chat.Typed(world.World.Registered.UID("Telegram"))
	for setting, test := range map[string]struct {
		request *chat.Request
		title   string // of the third answer
	}{
		"MODERATOR_CHATS=telegram:-6":  {ofAnother, "unlisted.title"},
		"MODERATOR_CHATS=telegram:-5":  {ofAnother, "exists.yes"},
		"OPERATORS=telegram:77":        {ofAnother, "exists.yes"},
		"RATE_LIMIT_USER=0":            {price, "price.title"},
		"RATE_LIMIT_USER=2":            {price, "limit.title"},
		"RATE_LIMIT_CHAT=2":            {price, "limit.title"},
		"CHAT_LANGUAGE=tr":             {price, "price.title"},
		"CHAT_LANGUAGE=telegram:-5:tr": {price, "price.title"},
		"CHAT_LANGUAGE=telegram:-6:tr": {price, "price.title"},
	} {
		bot := newBot(t, DemoSettings(world), "MODERATOR_CHATS=telegram:-6", setting)
		var reply *chat.Reply
		for range 3 {
			reply = bot.Router.Handle(t.Context(), test.request)
		}
		wantsTurkish := setting == "CHAT_LANGUAGE=tr" || setting == "CHAT_LANGUAGE=telegram:-5:tr"
		if reply.Title.Key != test.title || (reply.Language == chat.Turkish) != wantsTurkish {
			t.Errorf("%s: answered with %+v", setting, reply)
		}
		bot.Close()
	}
}

// Answers are kept in Redis alone, and quotes in DATA_DIR too.
func TestReplicasShareLimitsAndOtherBotsDoNot(t *testing.T) {
	world, redis, dir := startSandbox(t), miniredis.RunT(t), t.TempDir()
	request := &chat.Request{Command: "price", From: chat.User{Platform: "telegram", ID: "77"}, Direct: true}
	for i, test := range []struct{ token, title string }{
		{"TELEGRAM_BOT_TOKEN=1:a", "price.title"}, {"TELEGRAM_BOT_TOKEN=1:a", "limit.title"},
		{"TELEGRAM_BOT_TOKEN=2:b", "price.title"}, {"DISCORD_BOT_TOKEN=a.b.c", "price.title"},
	} {
		bot := newBot(t, DemoSettings(world), test.token, "RATE_LIMIT_USER=1", "REDIS_URL=redis://"+redis.Addr()+"?read_timeout=1s", "DATA_DIR="+dir)
		if reply := bot.Router.Handle(t.Context(), request); reply.Title.Key != test.title {
			t.Errorf("bot %d: answered with %+v, want %s", i, reply, test.title)
		}
		bot.Close()
	}
	answers := slices.DeleteFunc(redis.Keys(), func(key string) bool { return !strings.HasPrefix(key, "herald:answer:") })
	if len(answers) < 2 {
		t.Errorf("Redis keeps %q, want a price and the quotes", answers)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.json")); len(files) > 1 {
		t.Errorf("DATA_DIR keeps %v, want the quotes alone", files)
	}
}

func TestQuotesSeenAreDrawnAndKept(t *testing.T) {
	world := startSandbox(t)
	bot := newBot(t, DemoSettings(world), "DATA_DIR="+t.TempDir(), "TOKEN_LOGO=../pricechart/testdata/logo.png")
	reply := bot.Router.Handle(t.Context(), &chat.Request{Command: "price", Args: chat.Typed("24h"), Direct: true})
	if reply.Image == nil {
		t.Fatalf("no picture in %+v", reply)
	}
	picture, err := png.Decode(bytes.NewReader(reply.Image.PNG))
	// A chart without a logo has the background there.
	if err != nil || picture.At(88, 62) == picture.At(0, 0) {
		t.Errorf("the logo is not drawn, %v", err)
	}
	bot.Close()
	kept, _ := bot.state.stores[0].Load(t.Context(), "quotes "+tokenID(bot.cfg.Market))
	want := fmt.Sprintf(`[{"t":%d,"p":"%s"}]`, world.World.Quote.LastUpdated.Unix(), world.World.Quote.Price)
	if string(kept) != want {
		t.Errorf("kept %s, want %s", kept, want)
	}
}

func TestTokensAreToldApartWithoutTheirURL(t *testing.T) {
	seen := map[string]bool{}
	for _, change := range []string{"PRICE_API_URL=https://prices.example.org/key", "PRICE_TOKEN_ID=1", "TOKEN_SYMBOL=OTHR", ""} {
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

func TestEverySourceAndOptionReachesTheCommands(t *testing.T) {
	cfg := mustLoad(t, everySetting(), "")
	asked, err := connect(cfg, &state{}, ops.NewMetrics(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer asked.close()
	sources := asked.sources
	sources.Members = newMembers(cfg, memberParts{state: &state{}, services: asked, metrics: ops.NewMetrics()})
	sources.Joins = new(platform.JoinLog)
	sources.Moves = new(platform.Moves)
	sources.Started = time.Now()
	for _, given := range []reflect.Value{reflect.ValueOf(sources), reflect.ValueOf(cfg.Answers)} {
		for i := range given.NumField() {
			if given.Field(i).IsZero() {
				t.Errorf("%s.%s is not set: the functions connect, in services.go, set sources, and settings or Load, in settings.go, set options", given.Type(), given.Type().Field(i).Name)
			}
		}
	}
	for _, s := range asked.list {
		known := s.Health().Service
		if !slices.Contains(commandstest.Services, known) {
			t.Errorf("add the service %s to Sources, in commands/commandstest/answers.go", known.Name)
		}
		if !slices.ContainsFunc(services.New().Services(), func(f *services.Service) bool { return f.Name == known.Name }) {
			t.Errorf("add a stand-in of the service %s to New, in internal/demo/fake/services/services.go", known.Name)
		}
	}
}

// reachOnly makes every connection fail: one to reached is closed, any other refused.
func reachOnly(t *testing.T, reached string) {
	transporttest.ChangeDefault(t, func(d *http.Transport) {
		d.Proxy = nil
		d.DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
			if address != reached {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route to host")}
			}
			near, far := net.Pipe()
			far.Close()
			return near, nil
		}
	})
}

// Both platforms are on. One that is reached, and does not answer, has a line a minute of its own.
func TestWithoutANetworkTheLogHasALineAMinute(t *testing.T) {
	for reached, want := range map[string]int{"": 60, "telegram.example.org:80": 120} {
		synctest.Test(t, func(t *testing.T) {
			reachOnly(t, reached)
			var log logtest.Buffer
			cfg := mustLoad(t, with("TELEGRAM_BOT_TOKEN=1:a", "TELEGRAM_API_URL=http://telegram.example.org", "DISCORD_BOT_TOKEN=a.b.c",
				"DISCORD_API_URL=http://discord.example.org", "DISCORD_PRESENCE=price", "HTTP_ADDR=off", "PRICE_API_KEY=a-key"), "")
			bot := mustNew(t, cfg, slog.New(slog.NewTextHandler(&log, nil)))
			defer bot.Close()
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- bot.Run(ctx) }()
			bot.Router.Handle(t.Context(), &chat.Request{Command: "price"})
			if log.Lines(`msg="a service fails" service=price`) != 1 || log.Lines("msg=command id=") != 1 {
				t.Errorf("%q reached: a command or a service that fails is not logged", reached)
			}
			before := log.Lines("\n")
			time.Sleep(time.Hour)
			tries := log.Lines("a call failed, trying again")
			if n := log.Lines("\n") - before; tries < want*5/6 || tries > want+2 || n > tries+1 {
				t.Errorf("%q reached: %d lines in an hour, %d of them of calls that are made again, want %d", reached, n, tries, want)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheTableOfCheckIsRedacted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my herald.env")
	if err := os.WriteFile(file, []byte("PRICE_MONTHLY_CREDITS=5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bot := mustNew(t, mustLoad(t, append(DemoSettings(startSandbox(t)), "PRICE_API_KEY=a-key-that-nobody-may-see"), file), slog.New(slog.DiscardHandler))
	defer bot.Close()
	said := "with\na-key-that-nobody-may-see\x1b[2J"
	bot.services.list[0].ask = func(context.Context, string) ([]string, error) { return []string{said}, errors.New(said) }
	var table strings.Builder
	_ = bot.Check(t.Context(), &table, "")
	if !strings.HasSuffix(table.String(), "failed: price provider, platform. Correct what their rows name, then run `bot check --env-file \""+file+"\"` again.\n") {
		t.Errorf("what is next is not told:\n%s", &table)
	}
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

func TestDetailsOfProbesInWords(t *testing.T) {
	hourAgo := time.Now().Add(-time.Hour - time.Minute)
	denied := partner.Service.Fail(core.Denied, errors.New("401"))
	text := func(details []string, _ error) string { return strings.Join(details, "|") }
	for name, test := range map[string]struct{ got, want string }{
		"partner":         {text(aboutPartner("https://h.example", 2*time.Second, nil), nil), "the signature is accepted"},
		"partner refuses": {text(aboutPartner("https://h.example", -3*time.Hour, denied), nil), "its clock is 3h0m0s behind this machine's"},
		"clock fast":      {text(aboutPartner("https://h.example", 9*time.Second, nil), nil), "the signature is accepted|its clock is 9s ahead of this machine's"},
		"an old quote": {text(aboutQuote(market.Listing{ID: "1", Symbol: "HRLD", Name: "Herald\x1b[31m\nDemo",
			Quote: core.Quote{Price: decimal.NewFromInt(1), LastUpdated: hourAgo, CurrentUntil: hourAgo}}, nil)),
			"HRLD (Herald[31m Demo), id 1, $1.000, 1 h ago|that price is old: is this the right token?"},
		"credits counted here": {aboutCredits(market.Reading{}, denied, true),
			"it does not say what is left of the plan: credits are counted here, by PRICE_MONTHLY_CREDITS or 10000 a month"},
		"no credits counted": {aboutCredits(market.Reading{}, denied, false),
			"credits are not counted: PRICE_MONTHLY_CREDITS is 0"},
		"no supply": {text(aboutSupply(core.Supply{Total: decimal.NewFromInt(-5)}, "MAT"), nil), ""},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", name, test.got, test.want)
		}
	}
}

// asked is an adapter that is asked by bot check.
type asked struct {
	adapter
	rights []platform.Right
	err    error
}

func (asked) Platform() chat.Platform { return "discord" }

// Check returns the entries as details.
func (a asked) Check(_ context.Context, _ chat.Commands, entries ...platform.Entry) (details []string, _ []platform.Right, err error) {
	for _, e := range entries {
		details = append(details, e.Setting+" "+e.ID)
	}
	return details, a.rights, a.err
}

// watchedAdapter is an adapter whose rights are watched.
type watchedAdapter struct {
	asked
	entries *[]platform.Entry
}

// Rights records the entries that it is asked about.
func (a watchedAdapter) Rights(_ context.Context, entries ...platform.Entry) []platform.Right {
	*a.entries = append(*a.entries, entries...)
	return nil
}

// The watch does not ask about MODERATOR_CHATS; bot check does.
func TestTheWatchAsksAboutTheChatsOfChatLanguage(t *testing.T) {
	var entries []platform.Entry
	b := &Bot{
		cfg: &Config{
			ModeratorChats: []string{"discord:5"},
			ChatLanguages:  map[string]chat.Language{"discord:7": "tr", "telegram:-8": "tr"},
		},
		connections: []connection{{adapter: watchedAdapter{entries: &entries}}},
	}
	b.watchRights(t.Context())
	if want := []platform.Entry{{Setting: "CHAT_LANGUAGE", ID: "7"}}; !slices.Equal(entries, want) {
		t.Errorf("asked about %+v, want %+v", entries, want)
	}
}

func TestAMissingRightFailsTheCheck(t *testing.T) {
	may := platform.Right{Setting: "A", Entry: "group 1", Community: "Owls", May: "it may", Advice: []string{"but see"}}
	mayNot := platform.Right{Setting: "B", Entry: "group 2", Problem: "it may not"}
	refused := errors.New("refused")
	for want, test := range map[string]struct {
		asked
		moderators []string
		languages  map[string]chat.Language
	}{
		"": {}, "A, group 1 (Owls): it may|A, group 1 (Owls): but see": {asked: asked{rights: []platform.Right{may}}}, "|refused": {asked: asked{err: refused}},
		"A, group 1 (Owls): it may|A, group 1 (Owls): but see|B, group 2: it may not|B does not work yet: see above": {asked: asked{rights: []platform.Right{may, mayNot}}},
		"B, group 2: it may not|refused": {asked: asked{rights: []platform.Right{mayNot}, err: refused}},
		"MODERATOR_CHATS 5|MODERATOR_CHATS 6|CHAT_LANGUAGE 5|CHAT_LANGUAGE 7": {
			moderators: []string{"telegram:-6", "*", "discord:5", "discord:6"},
			languages:  map[string]chat.Language{"discord:7": "tr", "telegram:-8": "tr", "discord:5": "es"},
		},
	} {
		b := &Bot{cfg: &Config{ModeratorChats: test.moderators, ChatLanguages: test.languages}, Router: &router.Router{}}
		lines, err := b.probe(connection{adapter: test.asked}).ask(t.Context())
		if err != nil {
			lines = append(lines, probe{}.advice(err)...)
		}
		if got := strings.Join(lines, "|"); got != strings.TrimPrefix(want, "|") {
			t.Errorf("says %q, want %q", got, want)
		}
	}
}
