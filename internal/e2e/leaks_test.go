package e2e

import (
	"flag"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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

var leaksAll = flag.Bool("leaks.all", false, "test every fault of a wire in every way in, not only every other one")

// Services and platforms fail, and repeat the bot's requests with all secrets. By HTTP, the bot meets every other
// fault, and otherwise the rest. If -leaks.all is set, it meets all faults in both ways.
//
// The subtests run at once, without t.Parallel: parallel subtests would begin only after all other tests, with
// nothing beside them.
func TestNothingLeaksWhateverFails(t *testing.T) {
	t.Parallel()
	var ways sync.WaitGroup
	for first, byHTTP := range []bool{false, true} {
		ways.Go(func() {
			t.Run(fmt.Sprintf("by HTTP %v", byHTTP), func(t *testing.T) { checkNothingLeaks(t, first, byHTTP) })
		})
	}
	ways.Wait()
}

// checkNothingLeaks makes everything fail with one fault after another, and then searches what the bot has shown
// for secrets. It takes every other fault, beginning with the one of index first.
func checkNothingLeaks(t *testing.T, first int, byHTTP bool) {
	l := newLeakTest(t, byHTTP)
	// The log is searched after the bot has ended, so that its last lines are searched, too.
	t.Cleanup(func() { l.checkIsClean(t) })
	bot := e2etest.ServeBare(t, l.settings(fault.EchoingRedis(t)), l.log.Logger())
	l.telegram.Through(bot.URL)
	l.discord.Through(bot.URL)
	bot.AwaitReady(t)
	for i, f := range fault.Echoes(l.fakes.Elsewhere()) {
		if *leaksAll || i%2 == first {
			l.breakServices(t, f)
			l.breakPlatforms(t, f)
		}
	}
	l.checkMetricsAreClean(t, e2etest.Metrics(t, bot.URL))
}

// typed is what people write after a command. It must not be logged.
const typed = "zebra-quagga-zorilla"

// Secrets in the URLs of settings.
const (
	chainUser     = "ann@chain"
	chainPassword = "pass:word/of+the=chain"
	chainPathKey  = "path-key-of-the-chain-0123456789"
	chainQueryKey = "query/key+of=the?chain"
	redisPassword = "pass/word+of:redis"
)

// leakTest is a bot whose services and platforms fail and repeat its requests, secrets included. The log is not
// redacted, so that no error may contain a secret in the first place.
type leakTest struct {
	fakes             *fault.Fakes
	telegram, discord *e2etest.Platform
	log               logtest.Buffer
	answers           strings.Builder // all that people are shown
}

// newLeakTest starts everything except the bot. If byHTTP is set, both platforms call the bot.
func newLeakTest(t *testing.T, byHTTP bool) *leakTest {
	t.Helper()
	l := &leakTest{
		fakes:    fault.Start(t),
		telegram: e2etest.TelegramPolling.Open(t),
		discord:  e2etest.DiscordGateway.Open(t),
	}
	l.telegram.ByHTTP = byHTTP
	l.discord.ByHTTP = byHTTP
	telegram := l.telegram.Telegram
	telegram.Start(l.telegram.User(l.fakes.World.Registered))
	telegram.GrantInvite(e2etest.GroupID, true)
	telegram.SetChat(faketelegram.ChatInfo{Chat: faketelegram.Group(e2etest.GroupID), JoinByRequest: true})
	return l
}

// settings returns the settings of the bot, with every secret. Nothing is cached, so that every command asks its
// services.
func (l *leakTest) settings(redisAddr string) []string {
	redisURL := url.URL{Scheme: "redis", User: url.UserPassword("default", redisPassword), Host: redisAddr}
	settings := slices.Concat(
		l.telegram.Settings(),
		l.discord.Settings(),
		app.TTLs(time.Millisecond),
		[]string{
			"EVM_RPC_URL=" + secretURL(l.fakes.Chain.URL()),
			"REDIS_URL=" + redisURL.String(),
			fmt.Sprintf("JOIN_CHATS=telegram:%d:registered", e2etest.GroupID),
			"STALE_FOR=0s",
			"UPSTREAM_TIMEOUT=300ms",
			"COMMAND_TIMEOUT=1s",
			"LOG_LEVEL=debug",
		},
	)
	return e2etest.Settings(l.fakes, settings...)
}

// secretURL adds secrets to the URL of a node: a user, a password, and keys in the path and the query.
func secretURL(origin string) string {
	user := url.UserPassword(chainUser, chainPassword).String()
	query := url.Values{"apikey": {chainQueryKey}}.Encode()
	return strings.Replace(origin, "//", "//"+user+"@", 1) + "/v2/" + chainPathKey + "?" + query
}

// secrets returns what nothing may show: the secrets in the settings, and the tokens of interactions.
func (l *leakTest) secrets() e2etest.Secrets {
	return e2etest.Secrets{
		"Telegram token":      faketelegram.Token,
		"webhook secret":      e2etest.WebhookSecret,
		"Discord token":       l.discord.Discord.Token,
		"interaction's token": e2etest.InteractionToken,
		"partner's key":       l.fakes.SecretKey,
		"price key":           l.fakes.PriceKey,
		"Redis password":      redisPassword,
		"chain's user":        chainUser,
		"chain's password":    chainPassword,
		"chain's path":        chainPathKey,
		"chain's query":       chainQueryKey,
	}
}

// personal returns what answers may show, but the log and the metrics may not.
func (l *leakTest) personal() e2etest.Secrets {
	w := l.fakes.World
	all := e2etest.Secrets{
		"DID":                  w.Registered.DID,
		"wallet":               w.Staker.Hex(),
		"wallet in lower case": strings.ToLower(w.Staker.Hex()),
		"Telegram user":        w.Registered.UID("Telegram"),
		"Discord user":         w.Registered.UID("Discord"),
		"chat":                 strconv.Itoa(e2etest.GroupID)[1:],
		"text":                 typed,
		"first name":           "Somebody",
		"user name":            "somebody",
	}
	for _, login := range w.Logins {
		all["dapp "+login.Dapp] = login.Dapp
	}
	return all
}

// checkMetricsAreClean searches a page of metrics for secrets and personal data. It leaves out the values, because
// their digits may contain any number.
func (l *leakTest) checkMetricsAreClean(t *testing.T, page string) {
	t.Helper()
	names := regexp.MustCompile(`(?m) \S+$`).ReplaceAllString(page, "")
	l.secrets().CheckHides(t, "/metrics", names)
	l.personal().CheckHides(t, "/metrics", names)
}

// checkIsClean searches the log and the answers for secrets, and the log for personal data. It also fails the test
// if the bot followed a redirect.
func (l *leakTest) checkIsClean(t *testing.T) {
	t.Helper()
	text := l.log.String()
	if !strings.Contains(text, "WARN") {
		t.Errorf("the log has no failure, so nothing was searched:\n%s", text)
	}
	l.secrets().CheckHides(t, "the log", text)
	l.personal().CheckHides(t, "the log", text)
	for _, method := range []string{"sendMessage", "setMyCommands"} {
		for _, call := range l.telegram.Telegram.Calls(method) {
			fmt.Fprintf(&l.answers, "%s\n", call.Params)
		}
	}
	l.secrets().CheckHides(t, "an answer", l.answers.String())
	if n := l.fakes.Strayed(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// breakServices sends every command on both platforms while every service fails, and waits for each answer.
func (l *leakTest) breakServices(t *testing.T, f fault.Echo) {
	t.Helper()
	for _, target := range fault.Targets {
		l.fakes.At(target).SetFault(f.Fault())
		defer l.fakes.At(target).SetFault(fault.Fault{})
	}
	joining := l.requestJoin()
	var asked []*e2etest.Asked
	for _, c := range []e2etest.Command{
		{Name: "price"},
		{Name: "supply"},
		{Name: "status"},
		{Name: "mylogins"},
		{Name: "exists"},
		{Name: "staked", Argument: l.fakes.World.Staker.Hex()},
		{Name: "staked", Argument: typed},
	} {
		asked = append(asked, l.ask(l.telegram, c), l.ask(l.discord, c))
	}
	for _, a := range asked {
		a.Wait()
		if a.OnDiscord() {
			fmt.Fprintln(&l.answers, a.Pending.Answer().Everything())
		}
	}
	e2etest.Eventually(t, "the join request is answered", func() bool {
		return len(l.telegram.Telegram.JoinRequests()[joining].Answers) > 0
	})
}

// requestJoin makes the registered person ask to join the group, and returns the index of the request.
func (l *leakTest) requestJoin() (index int) {
	telegram, user := l.telegram.Telegram, l.telegram.User(l.fakes.World.Registered)
	telegram.CloseJoin(e2etest.GroupID, user, faketelegram.JoinWithdrawn)
	telegram.Promote(e2etest.GroupID, user, "left") // An earlier request may have been approved late.
	l.telegram.Deliver(user, 1, func() {
		telegram.RequestJoin(faketelegram.Group(e2etest.GroupID), faketelegram.Person(user), true)
	})
	return len(telegram.JoinRequests()) - 1
}

// breakPlatforms makes one kind of call to the platforms fail after another, and waits until a call of each kind
// has failed.
func (l *leakTest) breakPlatforms(t *testing.T, f fault.Echo) {
	t.Helper()
	l.breakTelegram(t, f, "sendMessage", func() {
		l.ask(l.telegram, e2etest.Command{Name: "price", Argument: typed})
	})
	l.breakTelegram(t, f, "answerChatJoinRequestQuery", func() { l.requestJoin() })
	if l.telegram.ByHTTP {
		return
	}
	l.breakCallbacks(t, f)
	l.breakTelegram(t, f, "getUpdates", func() {
		l.ask(l.telegram, e2etest.Command{Name: "price"}) // It ends the poll in flight.
	})
}

// breakTelegram makes a method of the Bot API fail until act has led to a call of the method.
func (l *leakTest) breakTelegram(t *testing.T, f fault.Echo, method string, act func()) {
	t.Helper()
	telegram := l.telegram.Telegram
	telegram.Break(method, faketest.Fault{Answer: f})
	defer telegram.Break(method, faketest.Fault{})
	before := len(telegram.Calls(method))
	act()
	e2etest.Eventually(t, f.Name+": "+method, func() bool { return len(telegram.Calls(method)) > before })
}

// breakCallbacks makes callbacks, the first responses to interactions, fail until a command has led to one.
func (l *leakTest) breakCallbacks(t *testing.T, f fault.Echo) {
	t.Helper()
	discord := l.discord.Discord
	discord.Break(fakediscord.Callback, faketest.Fault{Answer: f})
	defer discord.Break(fakediscord.Callback, faketest.Fault{})
	before := discord.Calls(fakediscord.Callback)
	l.ask(l.discord, e2etest.Command{Name: "price"})
	e2etest.Eventually(t, f.Name+": callback", func() bool { return discord.Calls(fakediscord.Callback) > before })
}

// ask makes the registered person send a command in a group.
func (l *leakTest) ask(platform *e2etest.Platform, c e2etest.Command) *e2etest.Asked {
	c.User = platform.User(l.fakes.World.Registered)
	c.Group = true
	return platform.Ask(c)
}
