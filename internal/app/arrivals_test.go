package app_test

import (
	"strings"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/telegram/telegramtest"
)

func TestRunSaysWhoItIsOnEachPlatformAndOnceThatItIsReady(t *testing.T) {
	for name, way := range map[string]func(e *e2etest.Everything) []string{
		"polling and gateway": func(e *e2etest.Everything) []string { return nil },
		"webhook and interactions": func(e *e2etest.Everything) []string {
			return append(e2etest.Webhook(e.Telegram), e2etest.Interactions(e.Discord)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := e2etest.NewEverything(t)
			log := &e2etest.Buffer{}
			// Discord comes last.
			e.Discord.Break(discordtest.GatewayBot, discordtest.Fault{Status: 503})
			e.Discord.Break(discordtest.Application, discordtest.Fault{Status: 503})
			bot := e2etest.Serve(t, append(append(e.Settings, way(e)...), "LOG_LEVEL=info"), log)
			said := func(line string) int { return strings.Count(log.String(), line) }
			const (
				telegram = `msg="platform connected" platform=telegram name=@` + telegramtest.Username
				discord  = `msg="platform connected" platform=discord name=` + discordtest.BotName
				ready    = `msg=ready`
			)
			e2etest.Eventually(t, "Telegram is connected", func() bool { return said(telegram) == 1 })
			if said(ready)+said(discord) != 0 {
				t.Errorf("ready without Discord:\n%s", log)
			}
			e.Discord.Break(discordtest.GatewayBot, discordtest.Fault{})
			e.Discord.Break(discordtest.Application, discordtest.Fault{})
			e2etest.Eventually(t, "the bot is ready", func() bool { return said(ready) == 1 })
			if said(telegram) != 1 || said(discord) != 1 {
				t.Errorf("connected otherwise than once:\n%s", log)
			}
			bot.Stop()
			if err := bot.Leave(); err != nil || said(ready) != 1 {
				t.Errorf("%v:\n%s", err, log)
			}
		})
	}
}

func TestRunSaysWhoItIsAgainAfterAnOutageButNotThatItIsReady(t *testing.T) {
	e := e2etest.NewEverything(t)
	log := &e2etest.Buffer{}
	e2etest.Serve(t, append(e2etest.Settings(e.World, e2etest.Polling(e.Telegram)...), "LOG_LEVEL=info"), log)
	connected := func() int { return strings.Count(log.String(), `msg="platform connected" platform=telegram`) }
	e2etest.Eventually(t, "Telegram is connected", func() bool { return connected() == 1 })
	e.Telegram.Fail("getUpdates", telegramtest.Page(502))
	e.Telegram.Push(telegramtest.Text(telegramtest.Private(1), telegramtest.Person(1), "hello")) // which ends a poll
	e2etest.Eventually(t, "Telegram is connected again", func() bool { return connected() == 2 })
	if n := strings.Count(log.String(), "msg=ready"); n != 1 {
		t.Errorf("ready %d times:\n%s", n, log)
	}
}
