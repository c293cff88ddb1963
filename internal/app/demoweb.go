package app

import (
	"context"
	"fmt"
	"io"
	"slices"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/web"
)

// DemoWeb runs the whole bot against stand-ins of the services and of both chat
// platforms, with a page on loopback that shows what those are told to show, until
// ctx is done. It writes the page's address to out once the bot is connected and
// its menus are set.
func DemoWeb(ctx context.Context, out, stderr io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	telegram, err := faketelegram.Start()
	if err != nil {
		return err
	}
	defer telegram.Close()
	discord, err := fakediscord.Start()
	if err != nil {
		return err
	}
	defer discord.Close()
	return demo(stderr, demoPlatforms(telegram, discord), func(world *services.Fakes, bot *Bot) error {
		for _, quote := range world.World.Past() {
			bot.quotes.Add(quote)
		}
		platforms, err := bot.platforms()
		if err != nil {
			return err
		}
		page, err := web.Start(web.Config{Services: world, Telegram: telegram, Discord: discord})
		if err != nil {
			return err
		}
		defer page.Close()
		languages := chat.Languages()
		lastIntroduced := string(languages[len(languages)-1])
		go func() {
			if discord.Wait(ctx, func() bool { return discord.Connected() > 0 && discord.Overwrites() > 0 }) == nil &&
				telegram.Wait(ctx, func() bool { return telegram.ShortDescription(lastIntroduced) != "" }) == nil {
				fmt.Fprintf(out, "Herald with simulated services and chats, nothing here is real: %s\nPress Ctrl-C to end it.\n", page.URL)
			}
		}()
		return serve(ctx, simulated{bot.Router}, adapters(platforms), bot.log)
	})
}

// demoPlatforms are the settings with which the bot serves the stand-ins of both
// platforms. Answers are fresh for a second and calls last two at most, so that
// people see soon what the bot says of a service that fails.
func demoPlatforms(telegram *faketelegram.Server, discord *fakediscord.Server) []string {
	return []string{
		"TELEGRAM_BOT_TOKEN=" + faketelegram.Token,
		"TELEGRAM_API_URL=" + telegram.URL,
		"TELEGRAM_PACING=off",
		"DISCORD_BOT_TOKEN=" + discord.Token,
		"DISCORD_API_URL=" + discord.URL(),
		"PRICE_TTL=1s", "SUPPLY_TTL=1s", "STAKE_TTL=1s", "EXISTS_TTL=1s", "LOGINS_TTL=1s",
		"UPSTREAM_TIMEOUT=2s",
	}
}

// simulated marks every answer as such.
type simulated struct{ chat.Handler }

// Handle implements chat.Handler.
func (s simulated) Handle(ctx context.Context, req chat.Request) chat.Reply {
	reply := s.Handler.Handle(ctx, req)
	reply.Notes = append(slices.Clone(reply.Notes), chat.Say("terminal.simulated"))
	return reply
}
