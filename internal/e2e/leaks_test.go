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

	"herald/internal/app"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/faketest"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

var leaksAll = flag.Bool("leaks.all", false, "have every way in meet every fault of a wire, not every other one")

// typed stands for what people write after a command.
const typed = "zebra-quagga-zorilla"

const (
	chainUser     = "ann@chain"
	chainPassword = "pass:word/of+the=chain"
	chainPathKey  = "path-key-of-the-chain-0123456789"
	chainQueryKey = "query/key+of=the?chain"
	redisPassword = "pass/word+of:redis"
)

// leakTest is a bot whose services and platforms can fail. Its log redacts nothing, so that
// only errors that never held a secret pass.
type leakTest struct {
	fakes             *fault.Fakes
	telegram, discord *e2etest.Platform
	log               logtest.Buffer
	answers           strings.Builder // in Discord
}

// newLeakTest starts everything but the bot. Platforms call the bot if byHTTP is set.
func newLeakTest(t *testing.T, byHTTP bool) *leakTest {
	t.Helper()
	l := &leakTest{fakes: fault.Start(t), telegram: e2etest.Ways[0].Open(t), discord: e2etest.Ways[2].Open(t)}
	l.telegram.ByHTTP, l.discord.ByHTTP = byHTTP, byHTTP
	l.telegram.Telegram.Start(l.telegram.User(l.fakes.World.Registered))
	l.telegram.Telegram.GrantInvite(e2etest.GroupID, true)
	l.telegram.Telegram.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Group(e2etest.GroupID), JoinByRequest: true})
	return l
}

// settings returns settings with every secret. Nothing is cached, so that every command asks
// its services.
func (l *leakTest) settings(redisAddr string) []string {
	settings := append(l.telegram.Settings(), l.discord.Settings()...)
	settings = append(settings, app.TTLs(time.Millisecond)...)
	settings = append(settings, "EVM_RPC_URL="+secretURL(l.fakes.Chain.URL()),
		"REDIS_URL="+(&url.URL{Scheme: "redis", User: url.UserPassword("default", redisPassword), Host: redisAddr}).String(),
		fmt.Sprintf("JOIN_CHATS=telegram:%d:registered", e2etest.GroupID),
		"STALE_FOR=0s", "UPSTREAM_TIMEOUT=300ms", "COMMAND_TIMEOUT=1s", "LOG_LEVEL=debug")
	return e2etest.Settings(l.fakes, settings...)
}

func secretURL(origin string) string {
	query := url.Values{"apikey": {chainQueryKey}}.Encode()
	return strings.Replace(origin, "//", "//"+url.UserPassword(chainUser, chainPassword).String()+"@", 1) + "/v2/" + chainPathKey + "?" + query
}

// secrets returns those in the settings, and the beginning of every interaction's token.
func (l *leakTest) secrets() e2etest.Secrets {
	return e2etest.Secrets{
		"Telegram token": faketelegram.Token, "webhook secret": e2etest.WebhookSecret, "Discord token": l.discord.Discord.Token,
		"partner's key": l.fakes.SecretKey, "price key": l.fakes.PriceKey, "Redis password": redisPassword,
		"chain's user": chainUser, "chain's password": chainPassword, "chain's path": chainPathKey, "chain's query": chainQueryKey,
		"interaction's token": e2etest.InteractionToken,
	}
}

// personal returns what may be in answers, but in no log and no metric.
func (l *leakTest) personal() e2etest.Secrets {
	w := l.fakes.World
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
			l := newLeakTest(t, byHTTP)
			// It runs after the bot has ended, so that its last log lines are searched too.
			t.Cleanup(func() { l.mustBeClean(t) })
			bot := e2etest.ServeBare(t, l.settings(fault.EchoingRedis(t)), l.log.Logger())
			l.telegram.Through(bot.URL)
			l.discord.Through(bot.URL)
			bot.AwaitReady(t)
			for i, f := range fault.Echoes(l.fakes.Elsewhere()) {
				if *leaksAll || i%2 == first {
					l.cutServices(t, f)
					l.cutPlatforms(t, f)
				}
			}
			// The values are floats, in whose digits any number can be found.
			names := regexp.MustCompile(`(?m) \S+$`).ReplaceAllString(e2etest.Metrics(t, bot.URL), "")
			l.secrets().MustNotShow(t, "/metrics", names)
			l.personal().MustNotShow(t, "/metrics", names)
		})
	}
}

// mustBeClean searches the log and the answers.
func (l *leakTest) mustBeClean(t *testing.T) {
	t.Helper()
	text := l.log.String()
	if !strings.Contains(text, "WARN") {
		t.Errorf("the log tells of no failure, so that nothing was searched:\n%s", text)
	}
	l.secrets().MustNotShow(t, "the log", text)
	l.personal().MustNotShow(t, "the log", text)
	for _, method := range []string{"sendMessage", "setMyCommands"} {
		for _, call := range l.telegram.Telegram.Calls(method) {
			fmt.Fprintf(&l.answers, "%s\n", call.Params)
		}
	}
	l.secrets().MustNotShow(t, "an answer", l.answers.String())
	if n := l.fakes.Strayed(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// cutServices gives every command on both platforms while every service fails, and waits for
// each answer.
func (l *leakTest) cutServices(t *testing.T, f fault.Echo) {
	t.Helper()
	for _, target := range fault.Targets {
		l.fakes.At(target).SetFault(f.Fault())
		defer l.fakes.At(target).SetFault(fault.Fault{})
	}
	wallet := l.fakes.World.Staker.Hex()
	knocked := l.knock()
	var asked []*e2etest.Asked
	for _, c := range []e2etest.Command{
		{Name: "price"}, {Name: "supply"}, {Name: "status"}, {Name: "mylogins"}, {Name: "exists"},
		{Name: "staked", Argument: wallet}, {Name: "staked", Argument: typed},
	} {
		asked = append(asked, l.ask(l.telegram, c), l.ask(l.discord, c))
	}
	for _, a := range asked {
		a.Wait()
		if a.OnDiscord() {
			fmt.Fprintln(&l.answers, a.Pending.Answer().Everything())
		}
	}
	e2etest.Eventually(t, "the request to join is answered", func() bool { return len(l.telegram.Telegram.JoinRequests()[knocked].Answers) > 0 })
}

// knock has the registered person ask to join the group, and returns the number of the
// request.
func (l *leakTest) knock() (request int) {
	telegram, user := l.telegram.Telegram, l.telegram.User(l.fakes.World.Registered)
	telegram.CloseJoin(e2etest.GroupID, user, faketelegram.JoinWithdrawn)
	telegram.Promote(e2etest.GroupID, user, "left") // An approval may have come late.
	l.telegram.Deliver(user, 1, func() { telegram.RequestJoin(faketelegram.Group(e2etest.GroupID), faketelegram.Person(user), true) })
	return len(telegram.JoinRequests()) - 1
}

// cutPlatforms gives commands while the platforms fail, until each kind of call has failed.
func (l *leakTest) cutPlatforms(t *testing.T, f fault.Echo) {
	t.Helper()
	telegram, discord, echo := l.telegram.Telegram, l.discord.Discord, faketest.Fault{Answer: f}
	meets := func(method string, act func()) {
		t.Helper()
		telegram.Break(method, echo)
		defer telegram.Break(method, faketest.Fault{})
		before := len(telegram.Calls(method))
		act()
		e2etest.Eventually(t, f.Name+": "+method, func() bool { return len(telegram.Calls(method)) > before })
	}
	meets("sendMessage", func() { l.ask(l.telegram, e2etest.Command{Name: "price", Argument: typed}) })
	meets("answerChatJoinRequestQuery", func() { l.knock() })
	if l.telegram.ByHTTP {
		return
	}
	discord.Break(fakediscord.Callback, echo)
	before := discord.Calls(fakediscord.Callback)
	l.ask(l.discord, e2etest.Command{Name: "price"})
	e2etest.Eventually(t, f.Name+": callback", func() bool { return discord.Calls(fakediscord.Callback) > before })
	discord.Break(fakediscord.Callback, faketest.Fault{})
	meets("getUpdates", func() { l.ask(l.telegram, e2etest.Command{Name: "price"}) }) // which ends a poll that is under way
}

// ask has the registered person give a command in a group.
func (l *leakTest) ask(platform *e2etest.Platform, c e2etest.Command) *e2etest.Asked {
	c.User, c.Group = platform.User(l.fakes.World.Registered), true
	return platform.Ask(c)
}
