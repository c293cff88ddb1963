package delivery

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/telegram/telegramtest"
)

// both is a bot on both platforms.
type both struct {
	*testing.T
	*e2etest.Bot
	telegram *telegramtest.Server
	discord  *discordtest.Server
	log      *e2etest.Buffer
}

func startBoth(t *testing.T, prepare func(*telegramtest.Server, *discordtest.Server)) *both {
	t.Helper()
	b := &both{T: t, telegram: telegramtest.New(t), discord: e2etest.Discord(t), log: &e2etest.Buffer{}}
	if prepare != nil {
		prepare(b.telegram, b.discord)
	}
	settings := append(e2etest.Polling(b.telegram), e2etest.Gateway(b.discord)...)
	b.Bot = e2etest.Serve(t, e2etest.Settings(e2etest.Sandbox(t), append(settings, "LOG_LEVEL=info")...), b.log)
	return b
}

// awaitReadyz waits for 200, or for 503 with these lines.
func (b *both) awaitReadyz(status int, lines string) {
	b.Helper()
	e2etest.Eventually(b.T, lines, func() bool {
		got, text := b.Readyz()
		return got == status && text == lines
	})
}

func (b *both) askTelegram() {
	b.Helper()
	n := len(b.telegram.Sent())
	b.telegram.Push(telegramtest.Text(telegramtest.Private(7), telegramtest.Person(7), "/price"))
	if sent := b.telegram.WaitSent(n+1, e2etest.Patience); len(sent) != n+1 || !strings.Contains(sent[n].Text, e2etest.Price) {
		b.Errorf("telegram answers %+v", sent)
	}
}

func (b *both) askDiscord() {
	b.Helper()
	pending, err := b.discord.Push(discordtest.Interaction{Command: "price"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), e2etest.Patience)
	defer cancel()
	if answer, err := pending.Wait(ctx); err != nil || !strings.Contains(answer.Text(), e2etest.Price) {
		b.Errorf("discord answers %+v, %v", answer, err)
	}
}

// stopped fails the test unless just one line of the log tells of each of
// these platforms that it stopped, with the setting to look at.
func (b *both) stopped(settings map[string]string) {
	b.Helper()
	var lines []string
	for line := range strings.Lines(b.log.String()) {
		if strings.Contains(line, "level=ERROR") {
			lines = append(lines, line)
		}
	}
	if len(lines) != len(settings) {
		b.Errorf("%d errors are logged:\n%s", len(lines), b.log)
	}
	for platform, setting := range settings {
		found := 0
		for _, line := range lines {
			if strings.Contains(line, `msg="platform stopped" platform=`+platform) && strings.Contains(line, setting) {
				found++
			}
		}
		if found != 1 {
			b.Errorf("%d lines tell that %s stopped:\n%s", found, platform, b.log)
		}
	}
}

// leavesInOrder stops the bot.
func (b *both) leavesInOrder() {
	b.Helper()
	b.Stop()
	if err := b.Leave(); err != nil {
		b.Errorf("the bot left with %v:\n%s", err, b.log)
	}
}

const (
	bothConnected = "telegram: connected\ndiscord: connected\n"
	onlyDiscord   = "telegram: not connected\ndiscord: connected\n"
	onlyTelegram  = "telegram: connected\ndiscord: not connected\n"
)

// closing makes the gateway end every connection with a code.
func closing(code int) func(*telegramtest.Server, *discordtest.Server) {
	return func(_ *telegramtest.Server, d *discordtest.Server) {
		d.Behave(discordtest.Behaviour{InsteadOfReady: []discordtest.Action{{Close: code}}})
	}
}

func TestAPlatformThatDiesLeavesTheOther(t *testing.T) {
	for _, tt := range []struct {
		name     string
		prepare  func(*telegramtest.Server, *discordtest.Server)
		later    func(*both)
		ready    string // once it is dead
		platform string
		setting  string
		ask      func(*both)
	}{
		{"telegram's token revoked", nil, func(b *both) { b.telegram.Revoke(); b.telegram.Push(telegramtest.Message{}) },
			onlyDiscord, "telegram", "TELEGRAM_BOT_TOKEN", (*both).askDiscord},
		{"telegram's token refused", func(f *telegramtest.Server, _ *discordtest.Server) { f.Revoke() }, nil,
			onlyDiscord, "telegram", "TELEGRAM_BOT_TOKEN", (*both).askDiscord},
		{"discord's token refused", func(_ *telegramtest.Server, f *discordtest.Server) {
			f.Break(discordtest.GatewayBot, discordtest.Fault{Status: http.StatusUnauthorized})
		}, nil, onlyTelegram, "discord", "DISCORD_BOT_TOKEN", (*both).askTelegram},
		{"close 4004", closing(4004), nil, onlyTelegram, "discord", "DISCORD_BOT_TOKEN", (*both).askTelegram},
		{"close 4010", closing(4010), nil, onlyTelegram, "discord", "DISCORD_BOT_TOKEN", (*both).askTelegram},
		{"close 4011", closing(4011), nil, onlyTelegram, "discord", "DISCORD_PUBLIC_KEY", (*both).askTelegram},
		{"close 4012", closing(4012), nil, onlyTelegram, "discord", "DISCORD_API_URL", (*both).askTelegram},
		{"close 4013", closing(4013), nil, onlyTelegram, "discord", "DISCORD_API_URL", (*both).askTelegram},
		{"close 4014 later", nil, func(b *both) { b.discord.Do(discordtest.Action{Close: 4014}) },
			onlyTelegram, "discord", "DISCORD_BOT_TOKEN", (*both).askTelegram},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := startBoth(t, tt.prepare)
			if tt.later != nil {
				b.awaitReadyz(http.StatusOK, bothConnected)
				tt.later(b)
			}
			b.awaitReadyz(http.StatusServiceUnavailable, tt.ready)
			e2etest.Eventually(t, "the end of "+tt.platform, func() bool { return strings.Contains(b.log.String(), "platform stopped") })
			identifies := len(b.discord.Identifies())
			tt.ask(b)
			b.stopped(map[string]string{tt.platform: tt.setting})
			if n := len(b.discord.Identifies()); n != identifies || n > 1 {
				t.Errorf("identified %d times", n)
			}
			b.leavesInOrder()
		})
	}
}

func TestWithBothPlatformsDeadTheBotEnds(t *testing.T) {
	b := startBoth(t, func(f *telegramtest.Server, d *discordtest.Server) { f.Revoke(); closing(4014)(f, d) })
	if err := b.Leave(); err == nil || !strings.Contains(err.Error(), "no platform is left to serve") {
		t.Errorf("the bot left with %v", err)
	}
	b.stopped(map[string]string{"telegram": "TELEGRAM_BOT_TOKEN", "discord": "DISCORD_BOT_TOKEN"})
}

// A lost connection is resumed at once, and Discord then delivers what was asked
// meanwhile.
func TestWhatIsAskedWhileTheGatewayIsLostIsAnswered(t *testing.T) {
	for name, lost := range map[string]discordtest.Action{"op 7": {Op: 7}, "a drop": {Drop: true}, "close 4000": {Close: 4000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBoth(t, nil)
			b.awaitReadyz(http.StatusOK, bothConnected)
			b.discord.Do(lost)
			b.askDiscord()
			if n := len(b.discord.Identifies()); n != 1 || b.discord.Resumes() != 1 {
				t.Errorf("identified %d times, resumed %d", n, b.discord.Resumes())
			}
			b.stopped(nil)
			b.leavesInOrder()
		})
	}
}

// What a platform recovers from ends neither of them.
func TestAnOutageOfOnePlatformPasses(t *testing.T) {
	t.Parallel()
	b := startBoth(t, func(_ *telegramtest.Server, f *discordtest.Server) {
		f.Break(discordtest.GatewayBot, discordtest.Fault{Status: http.StatusBadGateway})
	})
	b.awaitReadyz(http.StatusServiceUnavailable, onlyTelegram)
	b.askTelegram()
	b.discord.Break(discordtest.GatewayBot, discordtest.Fault{})
	b.awaitReadyz(http.StatusOK, bothConnected)
	b.askDiscord()
	b.stopped(nil)
	b.leavesInOrder()
}
