package e2etest

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/discord/discordtest"
	"herald/internal/sandbox/fault"
	"herald/internal/telegram/telegramtest"
)

const (
	chainUser     = "ann@chain"
	chainPassword = "pass:word/of+the=chain"
	chainPathKey  = "path-key-of-the-chain-0123456789"
	chainQueryKey = "query/key+of=the?chain"
	redisPassword = "pass/word+of:redis"
)

// Stage is a world in which every wire can be cut, each by its Front.
type Stage struct {
	World    *fault.Sandbox
	Telegram *telegramtest.Server
	Discord  *discordtest.Server

	Services  []*fault.Front
	Telegrams *fault.Front
	Discords  *fault.Front
	Elsewhere *httptest.Server
	// Strayed counts the requests that followed a redirect there.
	Strayed atomic.Int64
}

// NewStage starts it until the test ends.
func NewStage(t *testing.T) *Stage {
	t.Helper()
	s := &Stage{World: Sandbox(t), Telegram: telegramtest.New(t), Discord: Discord(t)}
	s.Elsewhere = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.Strayed.Add(1) }))
	t.Cleanup(s.Elsewhere.Close)
	for _, behind := range []string{s.World.Partner.URL(), s.World.Price.URL(), s.World.Supply.URL(), s.World.Chain.URL() + "/"} {
		s.Services = append(s.Services, fault.NewFront(t, behind))
	}
	s.Telegrams, s.Discords = fault.NewFront(t, s.Telegram.URL), fault.NewFront(t, s.Discord.URL())
	return s
}

// Echoes are what can be done to each wire.
func (s *Stage) Echoes() []fault.Echo { return fault.Echoes(s.Elsewhere.URL) }

// Cut lets every service and platform fail; nil ends it.
func (s *Stage) Cut(echo *fault.Echo) {
	for _, front := range append(s.Services, s.Telegrams, s.Discords) {
		front.Arm(echo, "")
	}
}

// Settings name the fronts, with as many secrets as there can be. Nothing is
// kept, so that everything is asked.
func (s *Stage) Settings(redisAddr string) []string {
	return append(Settings(s.World,
		"PARTNER_BASE_URL="+s.Services[0].URL, "PRICE_API_URL="+s.Services[1].URL, "SUPPLY_URL="+s.Services[2].URL,
		"EVM_RPC_URL="+secretURL(s.Services[3].URL),
		"REDIS_URL="+(&url.URL{Scheme: "redis", User: url.UserPassword("default", redisPassword), Host: redisAddr}).String(),
		"TELEGRAM_BOT_TOKEN="+telegramtest.Token, "TELEGRAM_API_URL="+s.Telegrams.URL, "TELEGRAM_PACING=off",
		"DISCORD_BOT_TOKEN="+s.Discord.Token, "DISCORD_API_URL="+s.Discords.URL,
		"STALE_FOR=0s", "UPSTREAM_TIMEOUT=300ms", "COMMAND_TIMEOUT=1s", "LOG_LEVEL=debug"),
		TTLs(time.Millisecond)...)
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

// Secrets are all in Settings, and that of the webhook.
func (s *Stage) Secrets() Secrets {
	return Secrets{
		"Telegram token": telegramtest.Token, "webhook secret": WebhookSecret, "Discord token": s.Discord.Token,
		"partner's key": s.World.SecretKey, "price key": s.World.PriceKey, "Redis password": redisPassword,
		"chain's user": chainUser, "chain's password": chainPassword, "chain's path": chainPathKey, "chain's query": chainQueryKey,
	}
}

// Nowhere is an address that refuses connections: its port is reserved.
const Nowhere = "127.0.0.1:1"

// Unreachable are settings with which nothing can be reached, by the reason.
func (s *Stage) Unreachable(t *testing.T) map[string][]string {
	t.Helper()
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.TLS = &tls.Config{}
	secured.StartTLS()
	t.Cleanup(secured.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	all := map[string][]string{}
	for name, origin := range map[string]string{
		"unknown host":      "http://nowhere.invalid",
		"refused":           "http://" + Nowhere,
		"unknown authority": secured.URL,
		"no TLS":            strings.Replace(plain.URL, "http:", "https:", 1),
	} {
		_, host, _ := strings.Cut(origin, "//")
		all[name] = append(s.Settings(host), "COMMAND_TIMEOUT=600ms",
			"PARTNER_BASE_URL="+origin, "PRICE_API_URL="+origin, "SUPPLY_URL="+origin, "EVM_RPC_URL="+secretURL(origin),
			"TELEGRAM_API_URL="+origin, "DISCORD_API_URL="+origin)
	}
	return all
}
