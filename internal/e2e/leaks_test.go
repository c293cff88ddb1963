package e2e

import (
	"flag"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

var leaksAll = flag.Bool("leaks.all", false, "have every way in meet every fault of a wire, not every other one")

// typed stands for whatever people write beside a command.
const typed = "zebra-quagga-zorilla"

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
	world               *fault.Fakes
	telegram, discord   *e2etest.Door
	services            []*fault.Front
	telegrams, discords *fault.Front
	log                 logtest.Buffer
	answers             strings.Builder // in Discord
}

// newStage has the platforms call the bot where byHTTP is true.
func newStage(t *testing.T, byHTTP bool) *stage {
	t.Helper()
	s := &stage{world: e2etest.Sandbox(t), telegram: e2etest.Ways[0].Open(t), discord: e2etest.Ways[2].Open(t)}
	s.telegram.ByHTTP, s.discord.ByHTTP = byHTTP, byHTTP
	s.telegram.Telegram.Start(e2etest.TelegramID(s.world.World.Registered))
	for _, behind := range []string{s.world.Partner.URL(), s.world.Price.URL(), s.world.Supply.URL(), s.world.Chain.URL() + "/"} {
		s.services = append(s.services, fault.NewFront(t, behind))
	}
	s.telegrams, s.discords = fault.NewFront(t, s.telegram.Telegram.URL), fault.NewFront(t, s.discord.Discord.URL())
	return s
}

// settings name the fronts, with as many secrets as there can be. Nothing is
// kept, so that everything is asked.
func (s *stage) settings(redisAddr string) []string {
	settings := append(s.telegram.Settings(), s.discord.Settings()...)
	settings = append(settings, e2etest.TTLs(time.Millisecond)...)
	settings = append(settings,
		"PARTNER_BASE_URL="+s.services[0].URL, "PRICE_API_URL="+s.services[1].URL, "SUPPLY_URL="+s.services[2].URL,
		"EVM_RPC_URL="+secretURL(s.services[3].URL), "TELEGRAM_API_URL="+s.telegrams.URL, "DISCORD_API_URL="+s.discords.URL,
		"REDIS_URL="+(&url.URL{Scheme: "redis", User: url.UserPassword("default", redisPassword), Host: redisAddr}).String(),
		"STALE_FOR=0s", "UPSTREAM_TIMEOUT=300ms", "COMMAND_TIMEOUT=1s", "LOG_LEVEL=debug")
	return e2etest.Settings(s.world, settings...)
}

func secretURL(origin string) string {
	query := url.Values{"apikey": {chainQueryKey}}.Encode()
	return strings.Replace(origin, "//", "//"+url.UserPassword(chainUser, chainPassword).String()+"@", 1) + "/v2/" + chainPathKey + "?" + query
}

// secrets are all in the settings, and the beginning of every interaction's token.
func (s *stage) secrets() e2etest.Secrets {
	return e2etest.Secrets{
		"Telegram token": faketelegram.Token, "webhook secret": e2etest.WebhookSecret, "Discord token": s.discord.Discord.Token,
		"partner's key": s.world.SecretKey, "price key": s.world.PriceKey, "Redis password": redisPassword,
		"chain's user": chainUser, "chain's password": chainPassword, "chain's path": chainPathKey, "chain's query": chainQueryKey,
		"interaction's token": e2etest.InteractionToken,
	}
}

// personal is what may be in answers but in no log and no metric.
func (s *stage) personal() e2etest.Secrets {
	w := s.world.World
	all := e2etest.Secrets{
		"DID": w.Registered.DID, "wallet": w.Staker.Hex(), "wallet in lower case": strings.ToLower(w.Staker.Hex()),
		"Telegram user": w.Registered.UID("Telegram"), "Discord user": w.Registered.UID("Discord"),
		"chat": strconv.Itoa(e2etest.GroupID)[1:], "text": typed, "first name": "Somebody", "user name": "somebody",
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
			s := newStage(t, byHTTP)
			// Runs after the bot has left, so that its last words are there too.
			t.Cleanup(func() { s.mustBeClean(t) })
			bot := e2etest.ServeBare(t, s.settings(fault.EchoingRedis(t)), s.log.Logger())
			s.telegram.Through(bot.URL)
			s.discord.Through(bot.URL)
			bot.AwaitReady(t)
			for i, f := range fault.Echoes(s.world.Elsewhere()) {
				if *leaksAll || i%2 == first {
					s.cutServices(t, &f)
					s.cutPlatforms(t, &f)
				}
			}
			// The values are floats, in whose digits any number can be found.
			names := regexp.MustCompile(`(?m) \S+$`).ReplaceAllString(e2etest.Metrics(t, bot.URL), "")
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
	for _, method := range []string{"sendMessage", "setMyCommands"} {
		for _, call := range s.telegram.Telegram.Calls(method) {
			fmt.Fprintf(&s.answers, "%s\n", call.Params)
		}
	}
	s.secrets().MustNotShow(t, "an answer", s.answers.String())
	if n := s.world.Strayed(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// cutServices asks everything while every service fails, on both platforms, and
// waits for each answer.
func (s *stage) cutServices(t *testing.T, f *fault.Echo) {
	t.Helper()
	for _, service := range s.services {
		service.Arm(f, "")
		defer service.Arm(nil, "")
	}
	wallet := s.world.World.Staker.Hex()
	var asked []*e2etest.Asked
	for _, c := range []e2etest.Command{
		{Name: "price"}, {Name: "supply"}, {Name: "status"}, {Name: "mylogins"}, {Name: "exists"},
		{Name: "staked", Argument: wallet}, {Name: "staked", Argument: typed},
	} {
		asked = append(asked, s.ask(s.telegram, c), s.ask(s.discord, c))
	}
	for _, a := range asked {
		if a.Wait(); a.OnDiscord() {
			fmt.Fprintln(&s.answers, a.Pending.Answer().Everything())
		}
	}
}

// cutPlatforms asks while the platforms fail, until each has failed once.
func (s *stage) cutPlatforms(t *testing.T, f *fault.Echo) {
	t.Helper()
	met := func(front *fault.Front, call string) {
		t.Helper()
		e2etest.Eventually(t, f.Name+": "+call, func() bool { return front.HasMet(call) })
	}
	// Updates still arrive, so that there is something to answer.
	s.telegrams.Arm(f, "sendMessage")
	s.discords.Arm(f, "")
	s.ask(s.telegram, e2etest.Command{Name: "price", Argument: typed})
	met(s.telegrams, "sendMessage")
	if !s.telegram.ByHTTP {
		s.ask(s.discord, e2etest.Command{Name: "price"})
		met(s.discords, "callback")
		s.telegrams.Arm(f, "")
		s.ask(s.telegram, e2etest.Command{Name: "price"}) // ends a poll that is under way
		met(s.telegrams, "getUpdates")
	}
	s.telegrams.Arm(nil, "")
	s.discords.Arm(nil, "")
}

// ask has the registered person ask in a group.
func (s *stage) ask(door *e2etest.Door, c e2etest.Command) *e2etest.Asked {
	c.User, c.Group = e2etest.TelegramID(s.world.World.Registered), true
	if door.OnDiscord {
		c.User, _ = strconv.ParseInt(s.world.World.Registered.UID("Discord"), 10, 64)
	}
	return door.Ask(c)
}
