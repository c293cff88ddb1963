package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/discord/discordtest"
	"herald/internal/sandbox"
	"herald/internal/telegram/telegramtest"
)

// patience is how long an answer may take on a busy machine.
const patience = 20 * time.Second

// answer is what an asker was told, and where.
type answer struct {
	text    string
	private bool
}

// wayIn is one way in which a command can reach the bot: it asks as the
// registered person of the sandbox, in a group.
type wayIn func(t *testing.T, command, argument string) answer

func TestEveryCommandIsAnsweredRightlyInEveryWayIn(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *sandbox.Sandbox) wayIn{
		"telegram polling":  telegramPolling,
		"telegram webhook":  telegramWebhook,
		"discord gateway":   discordGateway,
		"discord over http": discordHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := startSandbox(t)
			ask := open(t, world)
			for _, want := range []struct {
				command, argument, text string
				private                 bool
			}{
				{command: "price", text: "$0.0417264"},
				{command: "supply", text: "987,654,321.123456789012345678 HRLD"},
				{command: "staked", argument: world.World.Staker.Hex(), text: "1,012,345.678901234567890124 HRLD"},
				{command: "staked", argument: world.World.Idle.Hex(), text: "Not staked"},
				{command: "staked", argument: "0x12", text: "40 hexadecimal digits"},
				{command: "mylogins", text: "Harbor Swap", private: true},
				{command: "exists", text: "is registered", private: true},
				{command: "help", text: "/staked <wallet>"},
			} {
				got := ask(t, want.command, want.argument)
				if !strings.Contains(got.text, want.text) || got.private != want.private {
					t.Errorf("/%s %s: %+v, want %q, private %v", want.command, want.argument, got, want.text, want.private)
				}
			}
		})
	}
}

func startSandbox(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	world, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	})
	return world
}

// lockedBuffer is a standard error that a test can read meanwhile.
type lockedBuffer struct {
	mu      sync.Mutex
	written bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written.String()
}

// startBot runs the bot with these settings until the test ends, and then
// demands that it left in good order. It returns the HTTP server's URL.
func startBot(t *testing.T, world *sandbox.Sandbox, settings ...string) (baseURL string) {
	t.Helper()
	addr := freeAddr(t)
	environ := append(demoSettings(world), "HTTP_ADDR="+addr, "LOG_LEVEL=debug")
	ctx, stop := context.WithCancel(context.Background())
	log := &lockedBuffer{}
	exit := make(chan int, 1)
	go func() {
		exit <- start(ctx, []string{"run"}, process{environ: append(environ, settings...), stderr: log})
	}()
	t.Cleanup(func() {
		stop()
		if code := <-exit; code != exitOK {
			t.Errorf("exit code %d:\n%s", code, log)
		}
	})
	eventually(t, "the bot is ready", func() bool {
		resp, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return "http://" + addr
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually waits until done is true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(patience); !done(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not in time: %s", what)
		}
	}
}

const groupID = -1001

func telegramPolling(t *testing.T, world *sandbox.Sandbox) wayIn {
	fake := telegramtest.New(t)
	startBot(t, world, "TELEGRAM_BOT_TOKEN="+telegramtest.Token, "TELEGRAM_API_URL="+fake.URL, "TELEGRAM_PACING=off")
	return telegramAsk(t, world, fake, func(m telegramtest.Message) { fake.Push(m) })
}

func telegramWebhook(t *testing.T, world *sandbox.Sandbox) wayIn {
	fake := telegramtest.New(t)
	url := startBot(t, world, "TELEGRAM_BOT_TOKEN="+telegramtest.Token, "TELEGRAM_API_URL="+fake.URL, "TELEGRAM_PACING=off",
		"TELEGRAM_WEBHOOK_URL=https://bot.example/hooks/telegram", "TELEGRAM_WEBHOOK_SECRET=s3cret")
	return telegramAsk(t, world, fake, func(m telegramtest.Message) {
		status, err := fake.Deliver(t.Context(), url+"/hooks/telegram", fake.Update(m))
		if err != nil || status != http.StatusOK {
			t.Errorf("delivery: %d, %v", status, err)
		}
	})
}

// telegramAsk asks in a group. A private answer is one in the asker's private
// chat, with a pointer in the group that tells nothing of it.
func telegramAsk(t *testing.T, world *sandbox.Sandbox, fake *telegramtest.Server, send func(telegramtest.Message)) wayIn {
	user, err := strconv.ParseInt(world.World.Registered.UID("Telegram"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	fake.Start(user)
	return func(t *testing.T, command, argument string) answer {
		t.Helper()
		before := len(fake.Sent())
		text := strings.TrimSpace(fmt.Sprintf("/%s@%s %s", command, strings.ToUpper(telegramtest.Username), argument))
		send(telegramtest.Text(telegramtest.Group(groupID), telegramtest.Person(user), text))
		first := fake.WaitSent(before+1, patience)[before:]
		if len(first) == 0 {
			t.Fatalf("/%s is not answered", command)
		}
		if first[0].Chat == groupID {
			return answer{text: first[0].Text}
		}
		both := fake.WaitSent(before+2, patience)[before:]
		if len(both) != 2 || both[0].Chat != user || both[1].Chat != groupID || strings.Contains(both[1].Text, "egistered") {
			t.Errorf("/%s: the private answer and its pointer are %+v", command, both)
		}
		return answer{text: both[0].Text, private: true}
	}
}

func discordGateway(t *testing.T, world *sandbox.Sandbox) wayIn {
	fake := discordtest.New()
	t.Cleanup(fake.Close)
	startBot(t, world, "DISCORD_BOT_TOKEN="+fake.Token, "DISCORD_API_URL="+fake.URL())
	return discordAsk(world, fake, func(_ context.Context, i discordtest.Interaction) (*discordtest.Pending, error) {
		return fake.Push(i)
	})
}

func discordHTTP(t *testing.T, world *sandbox.Sandbox) wayIn {
	fake := discordtest.New()
	t.Cleanup(fake.Close)
	url := startBot(t, world, "DISCORD_BOT_TOKEN="+fake.Token, "DISCORD_API_URL="+fake.URL(),
		"DISCORD_PUBLIC_KEY="+hex.EncodeToString(fake.PublicKey))
	return discordAsk(world, fake, func(ctx context.Context, i discordtest.Interaction) (*discordtest.Pending, error) {
		pending, status, err := fake.Post(ctx, url+"/discord/interactions", i)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		return pending, err
	})
}

func discordAsk(world *sandbox.Sandbox, fake *discordtest.Server, send func(context.Context, discordtest.Interaction) (*discordtest.Pending, error)) wayIn {
	return func(t *testing.T, command, argument string) answer {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		i := discordtest.Interaction{Command: command, UserID: world.World.Registered.UID("Discord"), GuildID: "42"}
		if argument != "" {
			i.Options = map[string]string{"wallet": argument}
		}
		pending, err := send(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pending.Wait(ctx)
		if err != nil {
			t.Fatalf("/%s: %v", command, err)
		}
		if problems := fake.Problems(); len(problems) > 0 {
			t.Errorf("/%s: Discord refuses %v", command, problems)
		}
		return answer{text: got.Text(), private: got.Ephemeral}
	}
}
