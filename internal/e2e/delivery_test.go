package e2e

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"herald/internal/app"
	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

// Each command takes one script before its answer. Another one after the answer remembers that the update was
// answered. By polling there is no such script, because the bot does not claim updates.
func TestACommandAsksRedisOnce(t *testing.T) {
	t.Parallel()
	const commands = 20
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			redis := miniredis.RunT(t)
			platform := way.Open(t)
			settings := append(app.TTLs(time.Hour), "RATE_LIMIT_USER=1000", "RATE_LIMIT_CHAT=1000")
			platform.Serve(fault.Start(t), append(settings, e2etest.OnRedis(redis)...)...)
			price := e2etest.Command{User: 7, Group: true, Name: "price"}
			platform.Ask(price).Wait() // It fills the cache.
			scripts := countScripts(redis)
			for range commands {
				platform.Ask(price).Wait()
			}
			before, all := scripts.before.Load(), scripts.all.Load()
			// The check of all saved addresses begins with two such scripts.
			const recheck = 2
			if before < commands || before > commands+recheck {
				t.Errorf("%d commands take %d scripts before the answer, want %d to %d",
					commands, before, commands, commands+recheck)
			}
			// On a busy machine, calls that time out are retried.
			const maxRetries = commands / 2
			maxAll := int32(2*commands + maxRetries)
			if way == e2etest.TelegramPolling {
				maxAll = commands + maxRetries
			}
			if all > maxAll {
				t.Errorf("%d commands take %d scripts, want at most %d", commands, all, maxAll)
			}
		})
	}
}

// redisScripts counts the scripts that a bot runs in Redis.
type redisScripts struct {
	before atomic.Int32 // scripts before an answer, which claim the update and check the rate limits
	all    atomic.Int32
}

// countScripts counts scripts from now on, except those of health checks, which may come late on a busy machine.
func countScripts(redis *miniredis.Miniredis) *redisScripts {
	var scripts redisScripts
	redis.Server().SetPreHook(func(_ *server.Peer, command string, args ...string) bool {
		text := strings.Join(args, " ")
		if command != "EVALSHA" || strings.Contains(text, "probe") {
			return false
		}
		scripts.all.Add(1)
		if strings.Contains(text, "herald:limit:") {
			scripts.before.Add(1)
		}
		return false
	})
	return &scripts
}

func TestEveryCommandIsAnsweredInEveryWayIn(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			fakes := fault.Start(t)
			platform := way.Open(t)
			platform.Serve(fakes)
			user := way.User(fakes.World.Registered)
			if !way.OnDiscord {
				platform.Telegram.Start(user)
			}
			for _, test := range answerTests(way, fakes.World) {
				command := e2etest.Command{User: user, Group: true, Name: test.command, Argument: test.argument}
				asked := platform.Ask(command)
				got := asked.Wait()
				if !strings.Contains(e2etest.Plain(got.Text), test.want) || got.Private != test.private {
					t.Errorf("%+v: answered with %+v", test, got)
				}
				if test.private && !way.OnDiscord {
					checkPointer(t, asked)
				}
			}
			if way.OnDiscord && len(platform.Discord.Problems()) > 0 {
				t.Errorf("Discord refuses %v", platform.Discord.Problems())
			}
		})
	}
}

// answerTest is a command, and what its answer must contain.
type answerTest struct {
	command, argument string
	want              string
	private           bool // the answer must be private
}

// answerTests returns a test of each command.
func answerTests(way e2etest.Way, world services.World) []answerTest {
	staker, idle := world.Staker.Hex(), world.Idle.Hex()
	return []answerTest{
		{command: "price", want: e2etest.Price},
		{command: "supply", want: "987,654,321"},
		{command: "staked", argument: staker, want: "1,012,345.678901234567890124 HRLD"},
		{command: "staked", argument: idle, want: "Not staked"},
		{command: "staked", argument: "0x12", want: "an address has 42", private: way.OnDiscord},
		{command: "mylogins", want: "Harbor Swap", private: true},
		{command: "exists", want: "is registered", private: true},
		{command: "verify", argument: staker, want: "Your wallet", private: true},
		{command: "help", want: "/staked"},
	}
}

// checkPointer waits for the pointer: the message that tells the group that the answer came in private. It fails
// the test if the pointer says what the answer is.
func checkPointer(t *testing.T, asked *e2etest.Asked) {
	t.Helper()
	e2etest.Eventually(t, "the pointer to a private answer", func() bool { return len(asked.Answers()) == 2 })
	pointer := asked.Answers()[1]
	if pointer.Private || strings.Contains(pointer.Text, "egistered") {
		t.Errorf("/%s: the group is told %q", asked.Name, pointer.Text)
	}
}

// A hundred people send a command in one group at once. Each message says how many people it answers.
func TestAHundredWhoAskTheSameAreServedByAFewMessages(t *testing.T) {
	t.Parallel()
	const (
		askers = 100
		burst  = 8 // how many messages a chat may get at once, before it gets one a second
	)
	platform := e2etest.TelegramPolling.Open(t)
	platform.Serve(fault.Start(t), "TELEGRAM_PACING=on")
	began := time.Now()
	for i := range int64(askers) {
		platform.Ask(e2etest.Command{User: 1 + i, Group: true, Name: "price"})
	}
	served := 0
	var sent []faketelegram.Sent
	e2etest.Eventually(t, "all are served", func() bool {
		served = 0
		sent = platform.Telegram.Sent()
		for _, m := range sent {
			if !strings.Contains(m.Text, e2etest.Price) {
				t.Fatalf("sent %+v", m)
			}
			served += servedBy(t, m)
		}
		return served >= askers
	})
	// On a busy machine, the answers take longer. Each second allows one more message.
	took := sent[len(sent)-1].At.Sub(began)
	maxMessages := burst + int(took.Seconds())
	if served != askers || len(sent) > maxMessages {
		t.Errorf("%d messages serve %d of %d in %v, want at most %d messages",
			len(sent), served, askers, took, maxMessages)
	}
}

var servesMany = regexp.MustCompile(`For (\d+) who asked\.`)

// servedBy returns how many people a message answers.
func servedBy(t *testing.T, m faketelegram.Sent) int {
	t.Helper()
	match := servesMany.FindStringSubmatch(m.Text)
	if match == nil {
		return 1
	}
	n, err := strconv.Atoi(match[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// bothPlatforms is a bot on Telegram and Discord.
type bothPlatforms struct {
	telegram, discord *e2etest.Platform
	bot               *e2etest.Bot
	log               logtest.Buffer
}

func serveBoth(t *testing.T) *bothPlatforms {
	t.Helper()
	b := &bothPlatforms{telegram: e2etest.TelegramPolling.Open(t), discord: e2etest.DiscordGateway.Open(t)}
	settings := slices.Concat(b.telegram.Settings(), b.discord.Settings(), []string{"LOG_LEVEL=info"})
	b.bot = e2etest.Serve(t, e2etest.Settings(fault.Start(t), settings...), &b.log)
	return b
}

// revokeTelegram makes Telegram refuse the token.
func (b *bothPlatforms) revokeTelegram() {
	b.telegram.Telegram.Revoke()
	b.telegram.Telegram.Push(faketelegram.Message{}) // It ends the poll in flight, so that the bot polls again.
}

// awaitReadyz waits until /readyz responds with this status and text.
func awaitReadyz(t *testing.T, bot *e2etest.Bot, wantStatus int, want string) {
	t.Helper()
	e2etest.Eventually(t, want, func() bool {
		status, text := bot.Readyz()
		return status == wantStatus && text == want
	})
}

// checkPrice sends /price, and fails the test unless it is answered.
func checkPrice(t *testing.T, platform *e2etest.Platform) {
	t.Helper()
	answer := platform.Ask(e2etest.Command{User: 7, Name: "price"}).Wait()
	if !strings.Contains(answer.Text, e2etest.Price) {
		t.Errorf("%s: /price is answered with %+v", platform.Name, answer)
	}
}

func TestAPlatformsEndLeavesTheOther(t *testing.T) {
	t.Parallel()
	b := serveBoth(t)
	awaitReadyz(t, b.bot, http.StatusOK, "telegram: connected\ndiscord: connected\n")
	b.revokeTelegram()
	awaitReadyz(t, b.bot, http.StatusServiceUnavailable, "telegram: not connected\ndiscord: connected\n")
	checkPrice(t, b.discord)
	e2etest.Eventually(t, "an error in the log", func() bool { return b.log.Lines("level=ERROR") > 0 })
	if n := b.log.Lines("level=ERROR"); n != 1 {
		t.Errorf("%d errors are logged, want 1:\n%s", n, &b.log)
	}
	b.checkStopped(t, "telegram", "TELEGRAM_BOT_TOKEN")
}

// checkStopped fails the test unless one line of the log says that a platform stopped, and names the
// setting of its token.
func (b *bothPlatforms) checkStopped(t *testing.T, platform chat.Platform, setting string) {
	t.Helper()
	if b.log.Lines(`msg="platform stopped" platform=`+string(platform)) != 1 || b.log.Lines(setting) != 1 {
		t.Errorf("not one line says that %s stopped:\n%s", platform, &b.log)
	}
}

func TestTheBotEndsWithItsLastPlatform(t *testing.T) {
	t.Parallel()
	b := serveBoth(t)
	b.bot.AwaitReady(t)
	checkPrice(t, b.discord)
	if n := b.log.Lines("level=ERROR"); n != 0 {
		t.Errorf("%d errors are logged before a platform fails:\n%s", n, &b.log)
	}
	b.revokeTelegram()
	awaitReadyz(t, b.bot, http.StatusServiceUnavailable, "telegram: not connected\ndiscord: connected\n")
	b.discord.Discord.Do(fakediscord.Action{Close: 4014})
	err := b.bot.AwaitEnd()
	if err == nil || !strings.Contains(err.Error(), "no platform is left to serve") {
		t.Errorf("the bot ended with %v, want an error that no platform is left", err)
	}
	for platform, setting := range app.TokenSettings() {
		b.checkStopped(t, platform, setting)
	}
}

// serveWithoutCommands runs a bot whose commands Discord refuses to register. The bot's application on Discord
// already has a command of another kind, its Entry Point, which is also called price.
func serveWithoutCommands(t *testing.T) (*e2etest.Bot, *e2etest.Platform, *logtest.Buffer) {
	t.Helper()
	discord, log := e2etest.DiscordGateway.Open(t), &logtest.Buffer{}
	discord.Discord.AddCommand(discord.Discord.EntryPoint("price"))
	discord.Discord.Break(fakediscord.PutCommands, discordtest.Fault{Status: http.StatusBadRequest, Code: 50035})
	settings := append(discord.Settings(), "LOG_LEVEL=info")
	bot := e2etest.Serve(t, e2etest.Settings(fault.Start(t), settings...), log)
	awaitReadyz(t, bot, http.StatusServiceUnavailable, "discord: connected, but the commands are not registered\n")
	return bot, discord, log
}

func TestWithoutItsCommandsABotIsNotReadyButAnswers(t *testing.T) {
	t.Parallel()
	_, discord, log := serveWithoutCommands(t)
	e2etest.Eventually(t, "one line of the log", func() bool {
		return log.Lines("the commands could not be registered") == 1
	})
	checkPrice(t, discord)
}

func TestABotIsReadyOnceItsCommandsAreRegistered(t *testing.T) {
	t.Parallel()
	bot, discord, _ := serveWithoutCommands(t)
	discord.Discord.Break(fakediscord.PutCommands, discordtest.Fault{})
	awaitReadyz(t, bot, http.StatusOK, "discord: connected\n")
	entryPoints := 0
	for _, c := range discord.Discord.Commands("") {
		if c["type"] == 4.0 {
			entryPoints++
		}
	}
	if entryPoints != 1 {
		t.Errorf("%d Entry Point commands are left, want 1", entryPoints)
	}
}
