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
	"herald/internal/claim"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/web"
	"herald/internal/members"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
	"herald/internal/platform/terminal"
	"herald/internal/ratelimit"
	"herald/internal/router"
	"herald/internal/store"
	"herald/internal/transport"
)

// Demo runs the whole bot against stand-ins, with a chat in the terminal. It blocks until
// the end of in or until ctx is done. It writes a greeting to stderr.
func Demo(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	bot, err := newDemoBot(stderr, nil, []chat.Badge{{Community: "-1001000000001", ID: "Staker"}}, nil)
	if err != nil {
		return err
	}
	defer bot.Close()
	world := bot.fakes.World
	if err := bot.addStory(bot.fakes); err != nil {
		return err
	}
	stopMembers := runInBackground(ctx, bot.members.Run)
	defer stopMembers()
	const staked = "/staked\u00a0" // The command stays whole, so that it can be copied.
	stakes, idle := staked+world.Staker.Hex(), staked+world.Idle.Hex()
	greeting := fmt.Sprintf(demoGreeting, stakes, idle, world.Registered.UID("Telegram"))
	fmt.Fprint(stderr, terminal.Wrap(greeting, terminal.Width(out)))
	// A terminal of type dumb, or of none, prints escape sequences instead of obeying them:
	// https://man7.org/linux/man-pages/man7/term.7.html
	escapes := isTerminal(out) && !slices.Contains([]string{"", "dumb"}, os.Getenv("TERM"))
	return terminal.New(terminal.Config{
		In:  in,
		Out: out,
		Users: []terminal.User{
			{Name: "registered", User: telegramUser(world.Registered)},
			{Name: "unregistered", User: telegramUser(world.Unregistered)},
			{Name: "moderator", User: telegramUser(world.Newcomer), Role: chat.Moderator},
		},
		Edit:   escapes && isTerminal(in),
		Colour: escapes && os.Getenv("NO_COLOR") == "", // https://no-color.org
		Mark:   chat.Say("terminal.simulated"),
		Log:    bot.log,
	}).Run(ctx, bot.Router)
}

// demoGreeting has at most 64 columns.
const demoGreeting = `This is Herald with simulated services: nothing is real. Try
  %s (stakes)
  %s (does not)
  /price 7d, /supply, /mylogins; /help lists more
You ask as "registered". Switch with /as unregistered or with
  /as moderator, who may ask about others: /exists %s
Get a role: /verify, then /save, each with the first wallet
Lose it: /unstake, then /later (six hours) twice, then /verify
Be let in: start it with --web, and ask to join a group
To leave: exit, quit or Ctrl-D

`

func telegramUser(p services.Person) chat.User {
	return chat.User{Platform: "telegram", ID: p.UID("Telegram")}
}

func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// DemoWeb runs the whole bot against stand-ins of the services and of both chat platforms,
// and serves a page on loopback that shows both chats. It blocks until ctx is done. It
// writes the page's address to out once the page can be used.
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
	bot, err := newDemoBot(stderr, append(TTLs(time.Second),
		"TELEGRAM_BOT_TOKEN="+faketelegram.Token, "TELEGRAM_API_URL="+telegram.URL, "TELEGRAM_PACING=off", web.JoinSetting(),
		"DISCORD_BOT_TOKEN="+discord.Token, "DISCORD_API_URL="+discord.URL(),
		// With these and the TTLs, people soon see what the bot says about a service that fails.
		"UPSTREAM_TIMEOUT=2s",
	), web.StakerTags(), web.StakerRoles())
	if err != nil {
		return err
	}
	defer bot.Close()
	fresh, err := New(bot.cfg, bot.log)
	if err != nil {
		return err
	}
	defer fresh.Close()
	page, err := web.Start(web.Config{
		Services: bot.fakes,
		Telegram: telegram,
		Discord:  discord,
		Later:    func(ctx context.Context) error { return bot.members.CheckAll(ctx, bot.cfg.Members.Every) },
	})
	if err != nil {
		return err
	}
	defer page.Close()
	platforms := bot.newPlatforms()
	for _, p := range platforms {
		// Instead of the Badges that newPlatforms has set, which mark nothing.
		bot.members.Use(p.adapter.Platform(), markedBadges{p.adapter.(chat.Badges)})
	}
	stopMembers := runInBackground(ctx, bot.members.Run)
	defer stopMembers()
	go announce(ctx, out, page, bot.members)
	return serve(ctx, demoHandler{Router: bot.Router, fresh: fresh.Router, page: page}, platforms, bot.log)
}

// announce writes the page's address to out once both platforms have the bot's menus, and the
// bot has the names of its badges. It blocks until then, or until ctx is done.
func announce(ctx context.Context, out io.Writer, page *web.Demo, m *members.Members) {
	unnamed := func(b members.Badge) bool { return b.Name == "" || b.CommunityName == "" }
	for _, p := range []chat.Platform{web.Telegram, web.Discord} {
		for slices.ContainsFunc(m.Badges(p, ""), unnamed) {
			if !transport.Sleep(ctx, 10*time.Millisecond) {
				return
			}
		}
	}
	languages := chat.Languages() // in this order the adapter sets Telegram's menus and texts
	last := string(languages[len(languages)-1])
	telegramReady := func() bool { return page.Telegram.ShortDescription(last) != "" }
	discordReady := func() bool { return page.Discord.Connected() > 0 && page.Discord.Overwrites() > 0 }
	if page.Discord.Wait(ctx, discordReady) == nil && page.Telegram.Wait(ctx, telegramReady) == nil {
		fmt.Fprintf(out, "Herald with simulated services and chats, nothing here is real:\n%s\nPress Ctrl-C to end it.\n",
			page.URL)
	}
}

// demoHandler is a platform.Handler that marks every answer as simulated. It obeys the switches of
// the page: the language of public answers, and whether the bot is a fresh one.
type demoHandler struct {
	*router.Router
	fresh *router.Router // of a bot that has recorded no quotes
	page  *web.Demo
}

// router returns a copy of the Router with what the page's switches say now.
func (h demoHandler) router() *router.Router {
	chosen := *h.Router
	if h.page.Services.FreshBot.On.Load() {
		chosen = *h.fresh
	}
	chosen.Config.Language = h.page.Language()
	return &chosen
}

// Language implements platform.Handler.
func (h demoHandler) Language(req *chat.Request, visibility chat.Visibility) chat.Language {
	return h.router().Language(req, visibility)
}

// Handle implements platform.Handler.
func (h demoHandler) Handle(ctx context.Context, req *chat.Request) *chat.Reply {
	return marked(h.router().Handle(ctx, req))
}

// marked returns reply with a footer that says that it is simulated.
func marked(reply *chat.Reply) *chat.Reply {
	reply.Footer = append(slices.Clone(reply.Footer), chat.Say("terminal.simulated"))
	reply.Rendered = nil
	return reply
}

// markedBadges are Badges whose Notify marks the reply as simulated.
type markedBadges struct{ chat.Badges }

// Notify implements chat.Badges.
func (m markedBadges) Notify(ctx context.Context, user string, reply *chat.Reply) {
	m.Badges.Notify(ctx, user, marked(reply))
}

// demoBot is a Bot, and the stand-ins that it asks. It must be closed.
type demoBot struct {
	*Bot
	fakes *services.Fakes
}

// newDemoBot starts the stand-ins and makes a bot with these settings, tags and roles. The bot
// has no limits, saves addresses in memory, and has recorded the quotes of 30 days.
func newDemoBot(stderr io.Writer, settings []string, tags, roles []chat.Badge) (_ *demoBot, err error) {
	fakes := services.New()
	recorded := fakes.Walk()
	if err := fakes.Serve(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = fakes.Close()
		}
	}()
	cfg, err := Load(slices.Concat(DemoSettings(fakes), []string{"SERVICE_NAME=Example Passport"}, settings), "", ToLook)
	if err != nil {
		return nil, err
	}
	cfg.Staking.Pools = fakes.World.Pools // STAKING_POOLS could name them only in a file.
	cfg.Staking.TTL = time.Nanosecond     // A stake that has gone is not shown again.
	cfg.Telegram.StakerTags = tags
	cfg.Discord.StakerRoles = roles // The settings require a store.
	bot, err := newWithState(cfg, NewLogger(cfg, stderr), (*Bot).openDemoState)
	if err != nil {
		return nil, err
	}
	for _, quote := range recorded {
		bot.quotes.Add(quote)
	}
	return &demoBot{Bot: bot, fakes: fakes}, nil
}

// openDemoState keeps all in memory, and sets no limits.
func (b *Bot) openDemoState() error {
	memory := store.NewMemory()
	b.state = unlimited{memory}
	b.rows = rowStore{
		bucket: memory.Bucket,
		bots:   map[chat.Platform]string{telegram.Platform: "demo", discord.Platform: "demo"},
	}
	return nil
}

// Close closes the bot, then the stand-ins.
func (d *demoBot) Close() {
	d.Bot.Close()
	_ = d.fakes.Close()
}

// unlimited is a Bot's state without limits. Visitors of the demo ask to join groups, and skip
// hours, more often than people may.
type unlimited struct{ claim.Claims }

// Claim implements claim.Claims.
func (u unlimited) Claim(ctx context.Context, key string, _ ...ratelimit.Limit) (claim.Progress, time.Duration) {
	return u.Claims.Claim(ctx, key)
}

// Reserve implements ratelimit.Limiter.
func (unlimited) Reserve(context.Context, time.Duration, ...ratelimit.Limit) (time.Duration, bool) {
	return 0, true
}

// Peek implements ratelimit.Limiter.
func (unlimited) Peek(context.Context, ...ratelimit.Limit) time.Duration { return 0 }

// DemoSettings returns the settings for a bot that asks the stand-ins. They set no rate
// limit and no budget, and let every moderator use the moderators' forms.
func DemoSettings(s *services.Fakes) []string {
	var pools []string
	for _, pool := range s.World.Pools {
		pools = append(pools, pool.Address.Hex())
	}
	settings := []string{
		"PARTNER_APP_ID=" + s.AppID, "PARTNER_SECRET_KEY=" + s.SecretKey,
		"PRICE_API_KEY=" + s.PriceKey, "PRICE_MONTHLY_CREDITS=0",
		"PRICE_TOKEN_ID=" + services.TokenID, "TOKEN_SYMBOL=" + services.Symbol,
		fmt.Sprintf("EVM_CHAIN_ID=%d", services.ChainID), "STAKING_POOLS=" + strings.Join(pools, ","),
		"STAKING_METHOD=" + services.StakingMethod, "STAKING_PENDING_METHOD=" + services.PendingMethod,
		fmt.Sprintf("STAKING_CLAIM_BLOCKS=%d", services.ClaimBlocks), "STAKING_TOTAL_METHOD=" + services.TotalMethod,
		"REGISTER_URL=https://example.org/register", "STAKE_URL=https://example.org/stake",
		"RATE_LIMIT_USER=0", "RATE_LIMIT_CHAT=0", "MODERATOR_CHATS=" + router.EveryChat, "LOG_LEVEL=error",
	}
	for _, service := range s.Services() {
		settings = append(settings, service.Setting+"="+service.URL())
	}
	return settings
}

// TTLs returns settings that cache every answer of a service for d.
func TTLs(d time.Duration) (settings []string) {
	for _, s := range new(Services).table() {
		if strings.HasSuffix(s.Name, "_TTL") {
			settings = append(settings, s.Name+"="+d.String())
		}
	}
	return settings
}
