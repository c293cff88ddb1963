package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"herald/internal/chat"
	"herald/internal/demo/fake/services"
	"herald/internal/platform/terminal"
)

// Demo runs the whole bot against stand-ins, with a chat in the terminal, until
// the end of in. It writes a greeting to stderr.
func Demo(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	return demo(stderr, nil, func(world *services.Sandbox, bot *Bot) error {
		fmt.Fprint(stderr, demoGreeting(world))
		console := terminal.New(terminal.Config{
			In:  in,
			Out: out,
			Users: []terminal.User{
				{Name: "registered", User: telegramUser(world.World.Registered)},
				{Name: "unregistered", User: telegramUser(world.World.Unregistered)},
				{Name: "moderator", User: telegramUser(world.World.Newcomer), Role: chat.Moderator},
			},
			Edit:   isTerminal(in) && isTerminal(out) && !isDumb(),
			Colour: wantsColour(out),
			Mark:   chat.Say("terminal.simulated"),
			Log:    bot.log,
		})
		return console.Run(ctx, bot.Router)
	})
}

// demo runs a bot that asks stand-ins, with further settings.
func demo(stderr io.Writer, settings []string, run func(*services.Sandbox, *Bot) error) (err error) {
	world, err := services.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	cfg, err := Load(append(DemoSettings(world), settings...), "")
	if err != nil {
		return err
	}
	// STAKING_POOLS names pools only in a file.
	cfg.Staking.Pools = world.World.Pools
	bot, err := New(cfg, NewLogger(cfg, stderr))
	if err != nil {
		return err
	}
	defer bot.Close()
	return run(world, bot)
}

// DemoSettings are the settings with which a bot asks the stand-ins. No rate
// limit or budget is in the way of one person at a keyboard, or a script, and every
// moderator may use the moderators' forms.
func DemoSettings(s *services.Sandbox) []string {
	var pools []string
	for _, pool := range s.World.Pools {
		pools = append(pools, pool.Address.Hex())
	}
	return []string{
		"PARTNER_BASE_URL=" + s.Partner.URL(),
		"PARTNER_APP_ID=" + s.AppID,
		"PARTNER_SECRET_KEY=" + s.SecretKey,
		"PRICE_API_URL=" + s.Price.URL(),
		"PRICE_API_KEY=" + s.PriceKey,
		"PRICE_TOKEN_ID=" + services.TokenID,
		"PRICE_MONTHLY_CREDITS=0",
		"SUPPLY_URL=" + s.Supply.URL(),
		"EVM_RPC_URL=" + s.Chain.URL(),
		fmt.Sprintf("EVM_CHAIN_ID=%d", services.ChainID),
		"STAKING_POOLS=" + strings.Join(pools, ","),
		"STAKING_METHOD=" + services.StakingMethod,
		"STAKING_PENDING_METHOD=" + services.PendingMethod,
		"TOKEN_SYMBOL=" + services.Symbol,
		"RATE_LIMIT_USER=0",
		"RATE_LIMIT_CHAT=0",
		"MODERATOR_CHATS=" + chat.EveryChat,
		"LOG_LEVEL=error",
	}
}

func demoGreeting(s *services.Sandbox) string {
	return fmt.Sprintf(`This is Herald with simulated services: nothing here is real. Try
  /price, /price 7d, /supply, /mylogins, /exists, /status, /help
  /staked %s   a wallet that stakes
  /staked %s   one that does not
  /verify and a wallet   whether it is yours
  /exists %s   about somebody else, once you are a moderator
You are asking as "registered".
To ask as another: /as unregistered, /as moderator, /as registered
To leave: exit, quit or Ctrl-D

`, s.World.Staker.Hex(), s.World.Idle.Hex(), s.World.Registered.UID("Telegram"))
}

func telegramUser(p services.Person) chat.User {
	return chat.User{Platform: "telegram", ID: p.UID("Telegram")}
}

// isTerminal reports whether file is a terminal, at which somebody types or
// reads.
func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// isDumb reports whether the terminal knows no escape sequences, or nobody knows
// which: https://man7.org/linux/man-pages/man7/term.7.html
func isDumb() bool { return slices.Contains([]string{"", "dumb"}, os.Getenv("TERM")) }

// wantsColour reports whether w is a terminal whose user does not forbid
// colours: https://no-color.org
func wantsColour(w io.Writer) bool {
	return isTerminal(w) && !isDumb() && os.Getenv("NO_COLOR") == ""
}
