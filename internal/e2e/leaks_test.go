package e2e

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	fakediscord "herald/internal/demo/fake/discord"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

var leaksAll = flag.Bool("leaks.all", false, "have every way in meet every fault of a wire, not every other one")

const (
	// typed stands for whatever people write beside a command.
	typed   = "zebra-quagga-zorilla"
	groupID = -1009876543210
)

const (
	chainUser     = "ann@chain"
	chainPassword = "pass:word/of+the=chain"
	chainPathKey  = "path-key-of-the-chain-0123456789"
	chainQueryKey = "query/key+of=the?chain"
	redisPassword = "pass/word+of:redis"
)

// stage is a bot in a world where every wire can be cut, each by its front. Its
// log redacts nothing, so that only what never held a secret passes.
type stage struct {
	world    *fault.Fakes
	telegram *faketelegram.Server
	discord  *fakediscord.Server

	services            []*fault.Front
	telegrams, discords *fault.Front
	elsewhere           *httptest.Server
	// strayed counts the requests that followed a redirect there.
	strayed atomic.Int64

	bot *e2etest.Bot
	log logtest.Buffer
	// byHTTP means that updates are delivered rather than fetched.
	byHTTP bool
	// answers are those in Discord, tokens those of its interactions.
	answers strings.Builder
	tokens  []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{world: e2etest.Sandbox(t), telegram: faketelegram.New(t), discord: e2etest.Discord(t)}
	s.telegram.Start(e2etest.TelegramID(s.world.World.Registered))
	s.elsewhere = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.strayed.Add(1) }))
	t.Cleanup(s.elsewhere.Close)
	for _, behind := range []string{s.world.Partner.URL(), s.world.Price.URL(), s.world.Supply.URL(), s.world.Chain.URL() + "/"} {
		s.services = append(s.services, fault.NewFront(t, behind))
	}
	s.telegrams, s.discords = fault.NewFront(t, s.telegram.URL), fault.NewFront(t, s.discord.URL())
	return s
}

// settings name the fronts, with as many secrets as there can be. Nothing is
// kept, so that everything is asked.
func (s *stage) settings(redisAddr string) []string {
	return append(e2etest.Settings(s.world,
		"PARTNER_BASE_URL="+s.services[0].URL, "PRICE_API_URL="+s.services[1].URL, "SUPPLY_URL="+s.services[2].URL,
		"EVM_RPC_URL="+secretURL(s.services[3].URL),
		"REDIS_URL="+(&url.URL{Scheme: "redis", User: url.UserPassword("default", redisPassword), Host: redisAddr}).String(),
		"TELEGRAM_BOT_TOKEN="+faketelegram.Token, "TELEGRAM_API_URL="+s.telegrams.URL, "TELEGRAM_PACING=off",
		"DISCORD_BOT_TOKEN="+s.discord.Token, "DISCORD_API_URL="+s.discords.URL,
		"STALE_FOR=0s", "UPSTREAM_TIMEOUT=300ms", "COMMAND_TIMEOUT=1s", "LOG_LEVEL=debug"),
		e2etest.TTLs(time.Millisecond)...)
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

// secrets are all in the settings, that of the webhook, and those of
// interactions.
func (s *stage) secrets() e2etest.Secrets {
	all := e2etest.Secrets{
		"Telegram token": faketelegram.Token, "webhook secret": e2etest.WebhookSecret, "Discord token": s.discord.Token,
		"partner's key": s.world.SecretKey, "price key": s.world.PriceKey, "Redis password": redisPassword,
		"chain's user": chainUser, "chain's password": chainPassword, "chain's path": chainPathKey, "chain's query": chainQueryKey,
	}
	for i, token := range s.tokens {
		all[fmt.Sprint("interaction token ", i)] = token
	}
	return all
}

// personal is what may be in answers but in no log and no metric.
func (s *stage) personal() e2etest.Secrets {
	w := s.world.World
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

func TestNothingLeaksWhateverFails(t *testing.T) {
	t.Parallel()
	for first, byHTTP := range []bool{false, true} {
		t.Run(fmt.Sprintf("by HTTP %v", byHTTP), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			settings := s.settings(fault.EchoingRedis(t))
			if s.byHTTP = byHTTP; byHTTP {
				settings = append(settings, "TELEGRAM_WEBHOOK_URL=https://bot.example"+e2etest.WebhookPath,
					"TELEGRAM_WEBHOOK_SECRET="+e2etest.WebhookSecret, "DISCORD_PUBLIC_KEY="+hex.EncodeToString(s.discord.PublicKey))
			}
			// Runs after the bot has left, so that its last words are there too.
			t.Cleanup(func() { s.mustBeClean(t) })
			s.bot = e2etest.ServeBare(t, settings, s.log.Logger())
			s.bot.AwaitReady(t)
			for i, f := range fault.Echoes(s.elsewhere.URL) {
				if *leaksAll || i%2 == first {
					s.cutServices(t, &f)
					s.cutPlatforms(t, &f)
				}
			}
			// The values are floats, in whose digits any number can be found.
			names := regexp.MustCompile(`(?m) \S+$`).ReplaceAllString(e2etest.Metrics(t, s.bot.URL), "")
			s.secrets().MustNotShow(t, "/metrics", names)
			s.personal().MustNotShow(t, "/metrics", names)
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
	for _, method := range []string{"sendMessage", "setMyCommands"} {
		for _, call := range s.telegram.Calls(method) {
			fmt.Fprintf(&calls, "%s\n", call.Params)
		}
	}
	s.secrets().MustNotShow(t, "an answer in Telegram", calls.String())
	s.secrets().MustNotShow(t, "an answer in Discord", s.answers.String())
	if n := s.strayed.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// cutServices asks everything while every service fails, on both platforms,
// and waits for each answer.
func (s *stage) cutServices(t *testing.T, f *fault.Echo) {
	t.Helper()
	for _, service := range s.services {
		service.Arm(f, "")
		defer service.Arm(nil, "")
	}
	wallet := s.world.World.Staker.Hex()
	before := len(s.telegram.Sent())
	for _, text := range []string{"/price", "/supply", "/staked " + wallet, "/status", "/mylogins", "/exists " + typed} {
		s.tell(t, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
	defer cancel()
	var asked []*fakediscord.Pending
	for _, i := range []fakediscord.Interaction{
		{Command: "price"}, {Command: "supply"}, {Command: "status"}, {Command: "mylogins"}, {Command: "exists"},
		{Command: "staked", Options: map[string]string{"wallet": wallet}},
		{Command: "staked", Options: map[string]string{"wallet": typed}},
	} {
		asked = append(asked, s.interact(ctx, t, i))
	}
	for _, pending := range asked {
		got, err := pending.Wait(ctx)
		if err != nil {
			t.Errorf("%s: not answered in Discord: %v", f.Name, err)
		}
		fmt.Fprintf(&s.answers, "%+v\n%s\n", got, got.Text())
	}
	// Each private one has a pointer in the group.
	const messages = 4 + 2*2
	if sent := s.telegram.WaitSent(before+messages, e2etest.Patience); len(sent) < before+messages {
		t.Errorf("%s: %d messages in Telegram, want %d", f.Name, len(sent)-before, messages)
	}
}

// cutPlatforms asks while the platforms fail, until each has failed once.
func (s *stage) cutPlatforms(t *testing.T, f *fault.Echo) {
	t.Helper()
	// Updates still arrive, so that there is something to answer.
	s.telegrams.Arm(f, "sendMessage")
	s.discords.Arm(f, "")
	s.tell(t, "/price "+typed)
	e2etest.Eventually(t, f.Name+": Telegram is answered", func() bool { return s.telegrams.HasMet("sendMessage") })
	if !s.byHTTP {
		ctx, cancel := context.WithTimeout(t.Context(), e2etest.Patience)
		defer cancel()
		s.interact(ctx, t, fakediscord.Interaction{Command: "price"})
		e2etest.Eventually(t, f.Name+": Discord is answered", func() bool { return s.discords.HasMet("callback") })
		s.telegrams.Arm(f, "")
		s.tell(t, "/price") // ends a poll that is under way
		e2etest.Eventually(t, f.Name+": Telegram is asked for updates", func() bool { return s.telegrams.HasMet("getUpdates") })
	}
	s.telegrams.Arm(nil, "")
	s.discords.Arm(nil, "")
}

// tell writes a text in a group of Telegram as the registered person.
func (s *stage) tell(t *testing.T, text string) {
	t.Helper()
	m := faketelegram.Text(faketelegram.Group(groupID), faketelegram.Person(e2etest.TelegramID(s.world.World.Registered)), text)
	if !s.byHTTP {
		s.telegram.Push(m)
		return
	}
	body := s.telegram.Update(m)
	go func() { // a delivery lasts until the answer is out
		if got, err := s.telegram.Deliver(t.Context(), s.bot.URL+e2etest.WebhookPath, body); err == nil && got != http.StatusOK && got != http.StatusServiceUnavailable {
			t.Errorf("a delivery is answered with %d", got)
		}
	}()
}

// interact uses a command in Discord as the registered person.
func (s *stage) interact(ctx context.Context, t *testing.T, i fakediscord.Interaction) *fakediscord.Pending {
	t.Helper()
	i.UserID, i.GuildID, i.ChannelID = s.world.World.Registered.UID("Discord"), "9988776655443322", "1122334455667788"
	var pending *fakediscord.Pending
	var err error
	if !s.byHTTP {
		pending, err = s.discord.Push(i)
	} else {
		pending, _, err = s.discord.Post(ctx, s.bot.URL+e2etest.InteractionsPath, i)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.tokens = append(s.tokens, pending.Token)
	return pending
}

// Nothing can be reached, for each reason.
func TestWhatCannotBeReachedLeaksNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.StartTLS()
	t.Cleanup(secured.Close)
	for name, origin := range map[string]string{
		"unknown host":      "http://nowhere.invalid",
		"refused":           "http://" + nowhere,
		"unknown authority": secured.URL,
		"no TLS":            strings.Replace(s.elsewhere.URL, "http:", "https:", 1),
	} {
		t.Run(name, func(t *testing.T) {
			var log logtest.Buffer
			t.Cleanup(func() { s.secrets().MustNotShow(t, "the log", log.String()) })
			_, host, _ := strings.Cut(origin, "//")
			e2etest.ServeBare(t, append(s.settings(host), "COMMAND_TIMEOUT=600ms",
				"PARTNER_BASE_URL="+origin, "PRICE_API_URL="+origin, "SUPPLY_URL="+origin, "EVM_RPC_URL="+secretURL(origin),
				"TELEGRAM_API_URL="+origin, "DISCORD_API_URL="+origin), log.Logger())
			e2etest.Eventually(t, "both platforms have failed", func() bool {
				return log.Lines("telegram: a call failed") > 0 && log.Lines("discord") > 0
			})
		})
	}
}

// nowhere is an address that refuses connections: its port is reserved.
const nowhere = "127.0.0.1:1"

func TestARefusedTokenIsNotShown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	refuse := &fault.Echo{Name: "401", Serve: func(w http.ResponseWriter, _ *http.Request, echo string) {
		text, _ := json.Marshal(echo)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"ok":false,"error_code":401,"description":%s,"message":%[1]s,"code":0}`, text)
	}}
	s.telegrams.Arm(refuse, "")
	s.discords.Arm(refuse, "")
	s.bot = e2etest.ServeBare(t, s.settings(nowhere), s.log.Logger())
	err := s.bot.Leave()
	if err == nil {
		t.Error("the bot left in good order")
	}
	said := fmt.Sprintf("%v %+[1]v", err) + s.log.String()
	if !strings.Contains(said, "TELEGRAM_BOT_TOKEN") || !strings.Contains(said, "DISCORD_BOT_TOKEN") {
		t.Errorf("the two settings are not named: %s", said)
	}
	s.secrets().MustNotShow(t, "the log", said)
}
