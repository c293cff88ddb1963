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
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

// Each command takes one script before its answer, and a delivered one at most another after it.
func TestACommandAsksRedisOnce(t *testing.T) {
	t.Parallel()
	const commands = 20
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			redis, platform := miniredis.RunT(t), way.Open(t)
			settings := append(app.TTLs(time.Hour), "RATE_LIMIT_USER=1000", "RATE_LIMIT_CHAT=1000")
			platform.Serve(fault.Start(t), append(settings, e2etest.OnRedis(redis)...)...)
			ask := func() { platform.Ask(e2etest.Command{User: 7, Group: true, Name: "price"}).Wait() }
			ask() // fills the cache
			var before, all atomic.Int32
			redis.Server().SetPreHook(func(_ *server.Peer, command string, args ...string) bool {
				text := strings.Join(args, " ")
				if command != "EVALSHA" || strings.Contains(text, "probe") { // of a check, which a busy machine delays
					return false
				}
				all.Add(1)
				if strings.Contains(text, "herald:limit:") {
					before.Add(1)
				}
				return false
			})
			for range commands {
				ask()
			}
			// The tick of saved addresses asks for its turn and takes it, and the first command is released late. On a
			// busy machine, calls that time out are made again.
			const tick = 2
			most := int32(2*commands + commands/2)
			if way.Name == e2etest.Ways[0].Name {
				most = commands + commands/2 // A poll claims nothing.
			}
			extra := before.Load() - commands
			if extra < 0 || extra > tick || all.Load() > most {
				t.Errorf("%d commands take %d scripts, %d of them before the answer", commands, all.Load(), before.Load())
			}
		})
	}
}

func TestEveryCommandIsAnsweredRightlyInEveryWayIn(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			fakes, platform := fault.Start(t), way.Open(t)
			platform.Serve(fakes)
			user := way.User(fakes.World.Registered)
			if !way.OnDiscord {
				platform.Telegram.Start(user)
			}
			for _, want := range []struct {
				command, argument, text string
				private                 bool
			}{
				{command: "price", text: e2etest.Price},
				{command: "supply", text: "987,654,321"},
				{command: "staked", argument: fakes.World.Staker.Hex(), text: "1,012,345.678901234567890124 HRLD"},
				{command: "staked", argument: fakes.World.Idle.Hex(), text: "Not staked"},
				{command: "staked", argument: "0x12", text: "an address has 42", private: way.OnDiscord},
				{command: "mylogins", text: "Harbor Swap", private: true},
				{command: "exists", text: "is registered", private: true},
				{command: "verify", argument: fakes.World.Staker.Hex(), text: "Your wallet", private: true},
				{command: "help", text: "/staked"},
			} {
				asked := platform.Ask(e2etest.Command{User: user, Group: true, Name: want.command, Argument: want.argument})
				got := asked.Wait()
				if !strings.Contains(e2etest.Plain(got.Text), want.text) || got.Private != want.private {
					t.Errorf("/%s %s: %+v, want %q, private %v", want.command, want.argument, got, want.text, want.private)
				}
				if way.OnDiscord || !want.private {
					continue
				}
				e2etest.Eventually(t, "the pointer to a private answer", func() bool { return len(asked.Answers()) == 2 })
				if pointer := asked.Answers()[1]; pointer.Private || strings.Contains(pointer.Text, "egistered") {
					t.Errorf("/%s: the group is told %q", want.command, pointer.Text)
				}
			}
			if way.OnDiscord && len(platform.Discord.Problems()) > 0 {
				t.Errorf("Discord refuses %v", platform.Discord.Problems())
			}
		})
	}
}

var answersMany = regexp.MustCompile(`For (\d+) who asked\.`)

// burst is how many messages a chat may get at once, before it gets one a second.
const burst = 8

// A hundred people ask the same in one group at once. Few messages answer them, and each
// says how many people it is for.
func TestAHundredWhoAskTheSameAreServedByAFewMessages(t *testing.T) {
	t.Parallel()
	const askers = 100
	platform := e2etest.Ways[0].Open(t)
	platform.Serve(fault.Start(t), "TELEGRAM_PACING=on")
	began := time.Now()
	for i := range int64(askers) {
		platform.Ask(e2etest.Command{User: 1 + i, Group: true, Name: "price"})
	}
	served := 0
	var sent []faketelegram.Sent
	e2etest.Eventually(t, "all are served", func() bool {
		served, sent = 0, platform.Telegram.Sent()
		for _, m := range sent {
			if !strings.Contains(m.Text, e2etest.Price) {
				t.Fatalf("sent %+v", m)
			}
			n := 1
			if many := answersMany.FindStringSubmatch(m.Text); many != nil {
				n, _ = strconv.Atoi(many[1])
			}
			served += n
		}
		return served >= askers
	})
	// A busy machine takes longer, and another message for each second.
	if took := sent[len(sent)-1].At.Sub(began); served != askers || len(sent) > burst+int(took.Seconds()) {
		t.Errorf("%d messages serve %d of %d, in %v", len(sent), served, askers, took)
	}
}

// A platform whose token is refused stops with one log line that names the setting, and the
// other goes on. Once both have stopped, the bot ends.
func TestAPlatformsEndLeavesTheOther(t *testing.T) {
	t.Parallel()
	telegram, discord, log := e2etest.Ways[0].Open(t), e2etest.Ways[2].Open(t), &logtest.Buffer{}
	settings := slices.Concat(telegram.Settings(), discord.Settings(), []string{"LOG_LEVEL=info"})
	bot := e2etest.Serve(t, e2etest.Settings(fault.Start(t), settings...), log)
	connected := func(onTelegram, onDiscord string, status, errors int, answers *e2etest.Platform) {
		t.Helper()
		want := "telegram: " + onTelegram + "\ndiscord: " + onDiscord + "\n"
		e2etest.Eventually(t, want, func() bool {
			got, text := bot.Readyz()
			return got == status && text == want && log.Lines("level=ERROR") >= errors
		})
		if got := answers.Ask(e2etest.Command{User: 7, Name: "price"}).Wait(); !strings.Contains(got.Text, e2etest.Price) {
			t.Errorf("%s answers %+v", answers.Name, got)
		}
		if n := log.Lines("level=ERROR"); n != errors {
			t.Errorf("%d errors are logged, want %d:\n%s", n, errors, log)
		}
	}
	connected("connected", "connected", http.StatusOK, 0, discord)
	telegram.Telegram.Revoke()
	telegram.Telegram.Push(faketelegram.Message{}) // ends a poll
	connected("not connected", "connected", http.StatusServiceUnavailable, 1, discord)
	discord.Discord.Do(fakediscord.Action{Close: 4014})
	if err := bot.Leave(); err == nil || !strings.Contains(err.Error(), "no platform is left to serve") {
		t.Errorf("the bot left with %v", err)
	}
	for platform, setting := range app.TokenSettings() {
		if log.Lines(`msg="platform stopped" platform=`+string(platform)) != 1 || log.Lines(setting) != 1 {
			t.Errorf("not one line tells that %s stopped:\n%s", platform, log)
		}
	}
}

// A bot without its commands is connected, but not ready. It answers commands from before.
func TestReadyOnlyWithTheCommandsOfDiscord(t *testing.T) {
	discord, log := e2etest.Ways[2].Open(t), &logtest.Buffer{}
	discord.Discord.AddCommand(discord.Discord.EntryPoint("price"))
	discord.Discord.Break(fakediscord.PutCommands, discordtest.Fault{Status: http.StatusBadRequest, Code: 50035})
	bot := e2etest.Serve(t, e2etest.Settings(fault.Start(t), append(discord.Settings(), "LOG_LEVEL=info")...), log)
	state := func(want string, wantStatus int) {
		t.Helper()
		e2etest.Eventually(t, want, func() bool {
			status, text := bot.Readyz()
			return status == wantStatus && text == want
		})
	}
	state("discord: connected, but the commands are not registered\n", http.StatusServiceUnavailable)
	e2etest.Eventually(t, "one line of the log", func() bool { return log.Lines("the commands could not be registered") == 1 })
	answer := discord.Ask(e2etest.Command{User: 7, Name: "price"}).Wait()
	if !strings.Contains(answer.Text, e2etest.Price) {
		t.Errorf("the bot answers %+v", answer)
	}
	discord.Discord.Break(fakediscord.PutCommands, discordtest.Fault{})
	state("discord: connected\n", http.StatusOK)
	entryPoints := 0
	for _, c := range discord.Discord.Commands("") {
		if c["type"] == 4.0 {
			entryPoints++
		}
	}
	if entryPoints != 1 {
		t.Errorf("%d Entry Point commands are left", entryPoints)
	}
}
