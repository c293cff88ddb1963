package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/web"
	"herald/internal/members"
	"herald/internal/platform/terminal"
	"herald/internal/store"
	"herald/internal/transport"
)

// Demo runs the whole bot against stand-ins, with a chat in the terminal. It blocks until
// the end of in or until ctx is done. It writes a greeting to stderr.
func Demo(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	tags := func(cfg *Config) {
		cfg.Telegram.StakerTags = []chat.Badge{{Community: "-1001000000001", ID: "Staker"}}
	}
	return demo(stderr, nil, tags, func(world *services.Fakes, bot *Bot) error {
		if err := bot.addStory(world); err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		defer bot.runMembers(ctx)()
		defer stop()
		fmt.Fprintf(stderr, demoGreeting, otherCommands(bot.Router.Commands()),
			world.World.Staker.Hex(), world.World.Idle.Hex(), world.World.Registered.UID("Telegram"))
		// https://man7.org/linux/man-pages/man7/term.7.html
		escapes := isTerminal(out) && !slices.Contains([]string{"", "dumb"}, os.Getenv("TERM"))
		return terminal.New(terminal.Config{
			In:  in,
			Out: out,
			Users: []terminal.User{
				{Name: "registered", User: telegramUser(world.World.Registered)},
				{Name: "unregistered", User: telegramUser(world.World.Unregistered)},
				{Name: "moderator", User: telegramUser(world.World.Newcomer), Role: chat.Moderator},
			},
			Edit:   escapes && isTerminal(in),
			Colour: escapes && os.Getenv("NO_COLOR") == "", // https://no-color.org
			Mark:   chat.Say("terminal.simulated"),
			Log:    bot.log,
		}).Run(ctx, bot.Router)
	})
}

// demoGreeting has at most 64 columns.
const demoGreeting = `This is Herald with simulated services, nothing is real. Try
  %s
  /staked %s
  /staked %s (no stake)
  /verify and a wallet, /exists %s as a moderator
  /save and a wallet, /unstake, /later (6 hours) twice, /verify
You are "registered"; try also /as unregistered, /as moderator
To leave: exit, quit or Ctrl-D

`

// otherCommands lists the commands of which demoGreeting has no example.
func otherCommands(all chat.Commands) string {
	var names []string
	for _, c := range all {
		if name := "/" + c.Name; !strings.Contains(demoGreeting, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func telegramUser(p services.Person) chat.User {
	return chat.User{Platform: "telegram", ID: p.UID("Telegram")}
}

func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// DemoWeb runs the whole bot against stand-ins of the services and of both chat platforms,
// and serves a page on loopback that shows both chats. It blocks until ctx is done. It
// writes the page's address to out once the bot's menus are set.
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
	settings := []string{
		"TELEGRAM_BOT_TOKEN=" + faketelegram.Token, "TELEGRAM_API_URL=" + telegram.URL, "TELEGRAM_PACING=off", web.JoinSetting(),
		"DISCORD_BOT_TOKEN=" + discord.Token, "DISCORD_API_URL=" + discord.URL(),
		// People soon see what the bot says about a service that fails.
		"PRICE_TTL=1s", "SUPPLY_TTL=1s", "EXISTS_TTL=1s", "LOGINS_TTL=1s", "UPSTREAM_TIMEOUT=2s",
	}
	badges := func(cfg *Config) {
		cfg.Telegram.StakerTags, cfg.Discord.StakerRoles = web.StakerTags(), web.StakerRoles()
	}
	return demo(stderr, settings, badges, func(world *services.Fakes, bot *Bot) error {
		fresh, err := New(bot.cfg, bot.log)
		if err != nil {
			return err
		}
		defer fresh.Close()
		page, err := web.Start(web.Config{Services: world, Telegram: telegram, Discord: discord,
			Later: func(ctx context.Context) error { return bot.members.CheckAll(ctx, bot.cfg.Members.Every) }})
		if err != nil {
			return err
		}
		defer page.Close()
		platforms := bot.newPlatforms()
		for _, p := range platforms {
			bot.members.Use(p.adapter.Platform(), simulatedNotes{p.adapter.(chat.Badges)})
		}
		defer bot.runMembers(ctx)()
		go announce(ctx, out, page.URL, telegram, discord, bot)
		return serve(ctx, simulated{Router: bot.Router, fresh: fresh.Router, page: page}, platforms, bot.log)
	})
}

// unlimited is a bot's state whose Limiter refuses nothing and never waits. A visitor asks to
// join groups, and has hours pass, more often than people may.
type unlimited struct{ chat.Dedup }

// Claim implements chat.Dedup.
func (u unlimited) Claim(ctx context.Context, key string, _ ...chat.Limit) (chat.Progress, time.Duration) {
	return u.Dedup.Claim(ctx, key)
}

// Reserve implements chat.Limiter.
func (unlimited) Reserve(context.Context, time.Duration, ...chat.Limit) (time.Duration, bool) {
	return 0, true
}

// announce writes the page's address to out once both platforms have the bot's menus, and the
// bot has the names of its badges. It blocks until then, or until ctx is done.
func announce(ctx context.Context, out io.Writer, url string, telegram *faketelegram.Server, discord *fakediscord.Server, bot *Bot) {
	unnamed := func(b members.Badge) bool { return b.Name == "" || b.CommunityName == "" }
	for _, p := range []chat.Platform{web.Telegram, web.Discord} {
		for slices.ContainsFunc(bot.members.Badges(p, ""), unnamed) && transport.Sleep(ctx, 10*time.Millisecond) {
		}
	}
	languages := chat.Languages()
	last := string(languages[len(languages)-1]) // whose menu is set last
	if discord.Wait(ctx, func() bool { return discord.Connected() > 0 && discord.Overwrites() > 0 }) == nil &&
		telegram.Wait(ctx, func() bool { return telegram.ShortDescription(last) != "" }) == nil {
		fmt.Fprintf(out, "Herald with simulated services and chats, nothing here is real:\n%s\nPress Ctrl-C to end it.\n", url)
	}
}

// simulated is a Handler that marks every answer as simulated, and gives public answers in
// the page's language.
type simulated struct {
	*chat.Router
	fresh *chat.Router // of a bot without recorded quotes
	page  *web.Demo
}

func (s simulated) router() *chat.Router {
	now := *s.Router
	now.Config.Language = s.page.Language()
	if s.page.Services.FreshBot.On.Load() {
		now.Config.Commands = s.fresh.Config.Commands
	}
	return &now
}

// Language implements chat.Handler.
func (s simulated) Language(req chat.Request, private bool) chat.Language {
	return s.router().Language(req, private)
}

// Handle implements chat.Handler.
func (s simulated) Handle(ctx context.Context, req chat.Request) chat.Reply {
	return marked(s.router().Handle(ctx, req))
}

// marked returns a reply that is marked as simulated.
func marked(reply chat.Reply) chat.Reply {
	reply.Footer = append(slices.Clone(reply.Footer), chat.Say("terminal.simulated"))
	return reply
}

// simulatedNotes are Badges that mark what they tell people.
type simulatedNotes struct{ chat.Badges }

// Notify implements chat.Badges.
func (s simulatedNotes) Notify(ctx context.Context, user string, reply chat.Reply) {
	s.Badges.Notify(ctx, user, marked(reply))
}

// demo makes a bot that asks stand-ins, with further settings and a change of them, and calls
// run with both.
func demo(stderr io.Writer, settings []string, change func(*Config), run func(*services.Fakes, *Bot) error) error {
	world := services.New()
	past := world.Walk()
	if err := world.Serve(); err != nil {
		return err
	}
	defer func() { _ = world.Close() }()
	cfg, err := Load(slices.Concat(DemoSettings(world), []string{"SERVICE_NAME=Example Passport"}, settings), "", false)
	if err != nil {
		return err
	}
	// STAKING_POOLS names pools only in a file, and STAKE_TTL would show a stake that has gone.
	cfg.Staking.Pools, cfg.Staking.TTL = world.World.Pools, time.Nanosecond
	change(cfg)
	bot, err := New(cfg, NewLogger(cfg, stderr))
	if err != nil {
		return err
	}
	defer bot.Close()
	bot.state = unlimited{bot.state}
	bot.Router.Limiter, bot.members.Limiter = bot.state, bot.state
	bot.members.Store = store.NewMemory()
	for _, quote := range past {
		bot.quotes.Add(quote)
	}
	return run(world, bot)
}

// DemoSettings returns the settings for a bot that asks the stand-ins. They set no rate
// limit and no budget, and let every moderator use the moderators' forms.
func DemoSettings(s *services.Fakes) []string {
	var pools []string
	for _, pool := range s.World.Pools {
		pools = append(pools, pool.Address.Hex())
	}
	return []string{
		"PARTNER_BASE_URL=" + s.Partner.URL(), "PARTNER_APP_ID=" + s.AppID, "PARTNER_SECRET_KEY=" + s.SecretKey,
		"PRICE_API_URL=" + s.Price.URL(), "PRICE_API_KEY=" + s.PriceKey, "PRICE_MONTHLY_CREDITS=0",
		"PRICE_TOKEN_ID=" + services.TokenID, "TOKEN_SYMBOL=" + services.Symbol,
		"SUPPLY_URL=" + s.Supply.URL(),
		"EVM_RPC_URL=" + s.Chain.URL(), fmt.Sprintf("EVM_CHAIN_ID=%d", services.ChainID),
		"STAKING_POOLS=" + strings.Join(pools, ","),
		"STAKING_METHOD=" + services.StakingMethod, "STAKING_PENDING_METHOD=" + services.PendingMethod,
		fmt.Sprintf("STAKING_CLAIM_BLOCKS=%d", services.ClaimBlocks), "STAKING_TOTAL_METHOD=" + services.TotalMethod,
		"REGISTER_URL=https://example.org/register", "STAKE_URL=https://example.org/stake",
		"RATE_LIMIT_USER=0", "RATE_LIMIT_CHAT=0", "MODERATOR_CHATS=" + chat.EveryChat, "LOG_LEVEL=error",
	}
}
