package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/demo/community"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/terminal"
	"herald/internal/demo/web"
	"herald/internal/members"
	"herald/internal/ops"
	"herald/internal/platform"
	"herald/internal/ratelimit"
	"herald/internal/router"
	"herald/internal/store"
	"herald/internal/transport"
)

// Demo runs the whole bot against fakes of the services and of Telegram, with a chat in the terminal. It blocks until
// in ends or ctx is done. It writes a greeting to stderr.
func Demo(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	fake, err := faketelegram.Start()
	if err != nil {
		return err
	}
	defer fake.Close()
	bot, err := newDemoBot(stderr, demoParts{
		settings: onTelegram(fake),
		tags:     community.StakerTags(),
	})
	if err != nil {
		return err
	}
	defer bot.Close()
	group := community.Open(bot.fakes.World, fake)
	stopBackground := runInBackground(ctx, bot.members.Run, bot.watchRights, func(ctx context.Context) {
		_ = serve(ctx, bot.handler(), bot.connections, bot.log) // The fake never refuses the token.
	})
	defer stopBackground()
	if !await(ctx, bot.isReady, hasTexts(fake)) {
		return nil
	}
	fmt.Fprint(stderr, terminal.Wrap(terminal.Greeting(bot.fakes.World), terminal.Width(out)))
	// A terminal without a type, or of the type dumb, prints escape sequences instead of obeying them:
	// https://man7.org/linux/man-pages/man7/term.7.html
	terminalType := os.Getenv("TERM")
	obeysEscapes := isTerminal(out) && terminalType != "" && terminalType != "dumb"
	return terminal.Run(ctx, terminal.Config{
		In:        in,
		Out:       out,
		Community: group,
		Services:  bot.fakes,
		Later:     bot.skipHours,
		Idle:      func() bool { return bot.connections[0].adapter.InFlight() == 0 },
		Edit:      obeysEscapes && isTerminal(in),
		Colour:    obeysEscapes && os.Getenv("NO_COLOR") == "", // https://no-color.org
	})
}

// isTerminal reports whether file is an *os.File of a terminal.
func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// DemoWeb runs the whole bot against fakes of the services and of both chat platforms, and serves a page on loopback
// that shows both chats. It blocks until ctx is done. It writes the page's address to out once the page can be used.
func DemoWeb(ctx context.Context, out, stderr io.Writer) error {
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
	bot, err := newDemoBot(stderr, demoParts{
		settings: append(onTelegram(telegram), "DISCORD_BOT_TOKEN="+discord.Token, "DISCORD_API_URL="+discord.URL()),
		tags:     community.StakerTags(),
		roles:    web.StakerRoles(),
	})
	if err != nil {
		return err
	}
	defer bot.Close()
	// fresh has recorded no quotes. A switch on the page lets it answer instead of bot.
	fresh, err := New(bot.cfg, bot.log)
	if err != nil {
		return err
	}
	defer fresh.Close()
	page, err := web.Start(web.Config{
		Services:  bot.fakes,
		Community: community.Open(bot.fakes.World, telegram),
		Discord:   discord,
		Later:     bot.skipHours,
	})
	if err != nil {
		return err
	}
	defer page.Close()
	stopBackground := runInBackground(ctx, bot.members.Run, bot.watchRights, func(ctx context.Context) {
		hasCommands := func() bool { return discord.Overwrites() > 0 }
		if await(ctx, bot.isReady, hasTexts(telegram), hasCommands) {
			fmt.Fprintf(out, "Herald with simulated services and chats, nothing here is real:\n%s\nPress Ctrl-C to end it.\n",
				page.URL)
		}
	})
	defer stopBackground()
	switched := pageHandler{Handler: bot.handler(), router: bot.Router, fresh: fresh.Router, page: page}
	return serve(ctx, switched, bot.connections, bot.log)
}

// pageHandler is the platform.Handler of the demo on a page. The page has two switches. One chooses the language of
// public answers. The other chooses the bot that answers: the demo's bot, or a fresh bot, which has recorded no quotes.
type pageHandler struct {
	platform.Handler                // of the demo's bot
	router           *router.Router // of the demo's bot
	fresh            *router.Router // of the fresh bot
	page             *web.Demo
}

// chosen returns the Router that the switches choose now. It is a copy, so that its language can be set.
func (h pageHandler) chosen() *router.Router {
	chosen := *h.router
	if h.page.Services.FreshBot.On.Load() {
		chosen = *h.fresh
	}
	chosen.Config.Language = h.page.Language()
	return &chosen
}

// Language implements platform.Handler.
func (h pageHandler) Language(req *chat.Request, visibility chat.Visibility) chat.Language {
	return h.chosen().Language(req, visibility)
}

// Handle implements platform.Handler.
func (h pageHandler) Handle(ctx context.Context, req *chat.Request) *chat.Reply {
	return h.chosen().Handle(ctx, req)
}

// demoBot is a Bot and the fakes of the services that it asks. It must be closed.
type demoBot struct {
	*Bot
	fakes *services.Fakes
}

// demoParts are what a demoBot is made with.
type demoParts struct {
	settings    []string
	tags, roles []chat.Badge
}

// newDemoBot starts the fakes of the services and makes a bot that asks them. The bot has no rate limits, saves
// addresses in memory, and has recorded the quotes of 30 days.
func newDemoBot(stderr io.Writer, with demoParts) (_ *demoBot, err error) {
	fakes := services.New()
	pastQuotes := fakes.Walk()
	if err := fakes.Serve(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = fakes.Close()
		}
	}()
	// With a short timeout and short TTLs, visitors soon see what the bot says about a service that fails.
	environ := slices.Concat(DemoSettings(fakes), TTLs(time.Second), with.settings,
		[]string{"SERVICE_NAME=Example Passport", "UPSTREAM_TIMEOUT=2s"})
	cfg, err := Load(environ, "", ToLook)
	if err != nil {
		return nil, err
	}
	cfg.Staking.TTL = time.Nanosecond // Each answer shows the stake as it is now.
	// Load cannot set these: STAKING_POOLS gives pools names only in a file, and the settings of badges require a
	// store.
	cfg.Staking.Pools = fakes.World.Pools
	cfg.Telegram.StakerTags = with.tags
	cfg.Discord.StakerRoles = with.roles
	bot, err := construct(cfg, NewLogger(cfg, stderr), parts{open: openDemoState})
	if err != nil {
		return nil, err
	}
	for _, quote := range pastQuotes {
		bot.services.quotes.Add(quote)
	}
	return &demoBot{Bot: bot, fakes: fakes}, nil
}

// openDemoState returns a state in memory, without limits.
func openDemoState(*Config, *ops.Metrics, *slog.Logger) (*state, error) {
	memory := store.NewMemory()
	noLimits := unlimited{memory}
	return &state{claims: noLimits, limiter: noLimits, rows: rowStore{bucket: memory.Bucket}}, nil
}

// unlimited is claim.Claims and a ratelimit.Limiter, both without limits: visitors of the demo send join requests, and
// skip hours, more often than the limits allow.
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

// Close closes the bot, and then the fakes.
func (d *demoBot) Close() {
	d.Bot.Close()
	_ = d.fakes.Close()
}

// isReady reports whether the platforms are connected and the bot knows the names of its badges and of their
// communities.
func (d *demoBot) isReady() bool {
	unnamed := func(b members.Badge) bool { return b.Name == "" || b.CommunityName == "" }
	for _, c := range d.connections {
		badges := d.members.ConfiguredBadges(c.adapter.Platform(), "")
		if !c.adapter.Ready() || slices.ContainsFunc(badges, unnamed) {
			return false
		}
	}
	return true
}

// skipHours checks all saved addresses as if RECHECK_EVERY had passed. It blocks until they are checked.
func (d *demoBot) skipHours(ctx context.Context) error {
	return d.members.CheckAll(ctx, d.cfg.Members.Every)
}

// onTelegram returns settings for a bot on the fake Telegram.
func onTelegram(fake *faketelegram.Server) []string {
	return []string{
		"TELEGRAM_BOT_TOKEN=" + faketelegram.Token,
		"TELEGRAM_API_URL=" + fake.URL,
		"TELEGRAM_PACING=off",
		community.JoinSetting(),
	}
}

// await waits until the first condition is true, then until the second one is, and so on. It returns false if ctx is
// done before the last one is true.
func await(ctx context.Context, conditions ...func() bool) bool {
	for _, isTrue := range conditions {
		for !isTrue() {
			if !transport.Sleep(ctx, 10*time.Millisecond) {
				return false
			}
		}
	}
	return true
}

// hasTexts returns a condition for await: Telegram has all menus and texts of the bot. The adapter sets them in the
// order of chat.Languages, so the condition only looks for a text in the last language.
func hasTexts(fake *faketelegram.Server) func() bool {
	languages := chat.Languages()
	last := string(languages[len(languages)-1])
	return func() bool { return fake.ShortDescription(last) != "" }
}

// DemoSettings returns settings for a bot that asks the fakes. They turn off the rate limits and the budget of the
// price provider's credits, and let the moderators of every chat ask about others.
func DemoSettings(s *services.Fakes) []string {
	var pools []string
	for _, pool := range s.World.Pools {
		pools = append(pools, pool.Address.Hex())
	}
	settings := []string{
		"PARTNER_APP_ID=" + s.AppID,
		"PARTNER_SECRET_KEY=" + s.SecretKey,
		"PRICE_API_KEY=" + s.PriceKey,
		"PRICE_MONTHLY_CREDITS=0",
		"PRICE_TOKEN_ID=" + services.TokenID,
		"TOKEN_SYMBOL=" + services.Symbol,
		fmt.Sprintf("EVM_CHAIN_ID=%d", services.ChainID),
		"STAKING_POOLS=" + strings.Join(pools, ","),
		"STAKING_METHOD=" + services.StakingMethod,
		"STAKING_PENDING_METHOD=" + services.PendingMethod,
		fmt.Sprintf("STAKING_CLAIM_BLOCKS=%d", services.ClaimBlocks),
		"STAKING_TOTAL_METHOD=" + services.TotalMethod,
		"REGISTER_URL=https://example.org/register",
		"STAKE_URL=https://example.org/stake",
		"RATE_LIMIT_USER=0",
		"RATE_LIMIT_CHAT=0",
		"MODERATOR_CHATS=" + router.EveryChat,
		"LOG_LEVEL=error",
	}
	for _, service := range s.Services() {
		settings = append(settings, service.Setting+"="+service.URL())
	}
	return settings
}

// TTLs returns settings that set the TTL of every service's answers to d.
func TTLs(d time.Duration) (settings []string) {
	for _, s := range new(Services).table() {
		if strings.HasSuffix(s.Name, "_TTL") {
			settings = append(settings, s.Name+"="+d.String())
		}
	}
	return settings
}
