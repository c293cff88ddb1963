package e2e

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

// servicePart is a service that an operator may leave out, and the part of the bot that needs it.
type servicePart struct {
	name     string
	settings []string // that turn the service on
	commands []string // in the order of menus
	topic    string   // the service's word in a greeting
	// isPrivate means that only the sender of a command may read its answer. A greeting names private topics only
	// if there are no others.
	isPrivate bool
	inStatus  string // the service's name in /status
	inCheck   string // the service's name in the table of the command bot check
	// fake returns the fake of the service, which counts the bot's requests.
	fake func(*fault.Fakes) *fault.Service
}

// serviceParts has every service, in the order of menus.
var serviceParts = []servicePart{
	{
		name:     "price",
		settings: []string{"PRICE_API_KEY", "PRICE_API_URL"},
		commands: []string{"price"},
		topic:    "price",
		inStatus: "Prices",
		inCheck:  "price provider",
		fake:     func(f *fault.Fakes) *fault.Service { return f.Price },
	},
	{
		name:     "supply",
		settings: []string{"SUPPLY_URL"},
		commands: []string{"supply"},
		topic:    "supply",
		inStatus: "Supply",
		inCheck:  "supply host",
		fake:     func(f *fault.Fakes) *fault.Service { return f.Supply },
	},
	{
		name:     "chain",
		settings: []string{"EVM_RPC_URL", "EVM_CHAIN_ID", "STAKING_POOLS"},
		commands: []string{"staked"},
		topic:    "stakes",
		inStatus: "Staking",
		inCheck:  "staking pools",
		fake:     func(f *fault.Fakes) *fault.Service { return f.Chain },
	},
	{
		name:      "partner",
		settings:  []string{"PARTNER_BASE_URL", "PARTNER_APP_ID", "PARTNER_SECRET_KEY"},
		commands:  []string{"mylogins", "exists", "verify", "forget"},
		topic:     "registration",
		isPrivate: true,
		inStatus:  "Registration",
		inCheck:   "partner API",
		fake:      func(f *fault.Fakes) *fault.Service { return f.Partner },
	},
}

// subset is a bot with some of the services, and what it offers.
type subset struct {
	services []string
	commands []string // in the order of menus
	greeting string   // how the bot's greeting in a group begins
}

// isOn reports whether the subset has a service.
func (s subset) isOn(service string) bool { return slices.Contains(s.services, service) }

// offers reports whether the subset has a command.
func (s subset) offers(command string) bool { return slices.Contains(s.commands, command) }

// everything has every service.
var everything = newSubset(serviceParts)

// withServices returns the subset with the services of these names.
func withServices(names ...string) subset {
	var parts []servicePart
	for _, part := range serviceParts {
		if slices.Contains(names, part.name) {
			parts = append(parts, part)
		}
	}
	return newSubset(parts)
}

// newSubset returns the subset with these services.
func newSubset(parts []servicePart) subset {
	var s subset
	var public, private []string
	for _, part := range parts {
		s.services = append(s.services, part.name)
		s.commands = append(s.commands, part.commands...)
		if part.isPrivate {
			private = append(private, part.topic)
		} else {
			public = append(public, part.topic)
		}
	}
	s.commands = append(s.commands, "status", "help")
	topics := public
	if topics == nil {
		topics = private
	}
	s.greeting = "HRLD " + enumerate(topics) + ": ask me here."
	return s
}

// enumerate returns the topics as in "price, supply and stakes".
func enumerate(topics []string) string {
	last := len(topics) - 1
	if last == 0 {
		return topics[0]
	}
	return strings.Join(topics[:last], ", ") + " and " + topics[last]
}

// subsets returns every subset of the services but the empty one: fifteen of four services.
func subsets() (all []subset) {
	// The subsets are numbered from 1 to 15. Bit i of the number is set if the subset has service i.
	for number := 1; number < 1<<len(serviceParts); number++ {
		var parts []servicePart
		for i, part := range serviceParts {
			if number&(1<<i) != 0 {
				parts = append(parts, part)
			}
		}
		all = append(all, newSubset(parts))
	}
	return all
}

// Three of the fifteen subsets, written out. newSubset makes the others in the same way.
func TestWhatSubsetsOffer(t *testing.T) {
	for _, test := range []struct {
		subset   subset
		commands string
		greeting string
	}{
		{
			subset:   withServices("price"),
			commands: "price status help",
			greeting: "HRLD price: ask me here.",
		},
		{
			subset:   withServices("partner"),
			commands: "mylogins exists verify forget status help",
			greeting: "HRLD registration: ask me here.",
		},
		{
			subset:   everything,
			commands: "price supply staked mylogins exists verify forget status help",
			greeting: "HRLD price, supply and stakes: ask me here.",
		},
	} {
		got := test.subset
		if strings.Join(got.commands, " ") != test.commands || got.greeting != test.greeting {
			t.Errorf("%v offers %v, and greets with %q, want %s and %q",
				got.services, got.commands, got.greeting, test.commands, test.greeting)
		}
	}
	if n := len(subsets()); n != 15 {
		t.Errorf("there are %d subsets: correct the comments here", n)
	}
}

// settings returns the settings of a bot on the platform, without those of the services that are off.
func (s subset) settings(p *e2etest.Platform, fakes *fault.Fakes) []string {
	all := append(e2etest.Settings(fakes, "LOG_LEVEL=debug"), p.Settings()...)
	for _, part := range serviceParts {
		if s.isOn(part.name) {
			continue
		}
		all = slices.DeleteFunc(all, func(setting string) bool {
			name, _, _ := strings.Cut(setting, "=")
			return slices.Contains(part.settings, name)
		})
	}
	return all
}

// serveSubset runs a bot with the services of s on the platform, and waits until it is ready.
func serveSubset(t *testing.T, s subset, p *e2etest.Platform, fakes *fault.Fakes) *e2etest.Bot {
	bot := e2etest.Serve(t, s.settings(p, fakes), &logtest.Buffer{})
	bot.AwaitReady(t)
	p.Through(bot.URL)
	return bot
}

// checkHas fails the test unless strings.Contains(text, words) is want. what names the text.
func checkHas(t *testing.T, what, text, words string, want bool) {
	t.Helper()
	if has := strings.Contains(text, words); has != want {
		t.Errorf("%s has %q: %t, want %t:\n%.1000s", what, words, has, want, text)
	}
}

// checkCommands fails the test unless the text contains the commands for which isWanted returns true, and no
// others.
func checkCommands(t *testing.T, what, text string, isWanted func(name string) bool) {
	t.Helper()
	for _, name := range everything.commands {
		checkHas(t, what, text, "/"+name, isWanted(name))
	}
}

// The subsets run at once within this one parallel test, because each mostly waits for the greeting.
func TestABotOffersWhatIsConfigured(t *testing.T) {
	t.Parallel()
	var trials errgroup.Group
	trials.SetLimit(trialsAtOnce)
	for _, s := range subsets() {
		for _, way := range []e2etest.Way{e2etest.TelegramPolling, e2etest.DiscordGateway} {
			trials.Go(func() error {
				t.Run(strings.Join(s.services, " ")+" on "+way.Name, func(t *testing.T) { s.checkOffers(t, way) })
				return nil
			})
		}
	}
	_ = trials.Wait() // Trials report to t.
}

// checkOffers runs a bot with the services of s, and checks that they are wherever the bot shows its services.
func (s subset) checkOffers(t *testing.T, way e2etest.Way) {
	fakes := fault.Start(t)
	platform := way.Open(t)
	bot := serveSubset(t, s, platform, fakes)
	t.Run("menu", func(t *testing.T) { s.checkMenu(t, platform) })
	t.Run("help", func(t *testing.T) { s.checkHelp(t, platform) })
	t.Run("greeting", func(t *testing.T) { s.checkGreeting(t, platform) })
	t.Run("status", func(t *testing.T) { s.checkStatus(t, platform) })
	t.Run("unknown", func(t *testing.T) { s.checkUnknown(t, platform) })
	t.Run("metrics", func(t *testing.T) { s.checkMetrics(t, bot) })
	t.Run("requests", func(t *testing.T) { s.checkRequests(t, bot, fakes) })
}

// checkMenu waits until the platform has a menu, and compares its commands.
func (s subset) checkMenu(t *testing.T, p *e2etest.Platform) {
	var menu string
	e2etest.Eventually(t, "the platform has the menu", func() bool {
		menu = menuOf(p)
		return menu != ""
	})
	if want := strings.Join(s.commands, " "); menu != want {
		t.Errorf("the menu is %q, want %q", menu, want)
	}
}

// menuOf returns the names in the menu, or "" if none is set yet.
func menuOf(p *e2etest.Platform) string {
	var names []string
	if p.OnDiscord {
		for _, c := range p.Discord.Commands("") {
			if c["type"] == float64(1) { // a slash command
				names = append(names, c["name"].(string))
			}
		}
		return strings.Join(names, " ")
	}
	for _, c := range p.Telegram.MenuOf(faketelegram.MenuKey{Scope: "default"}) {
		names = append(names, c.Command)
	}
	return strings.Join(names, " ")
}

// checkHelp reads /help in a private chat.
func (s subset) checkHelp(t *testing.T, p *e2etest.Platform) {
	help := p.Ask(e2etest.Command{User: 1, Name: "help"}).Wait().Text
	checkCommands(t, "/help", help, s.offers)
}

// checkGreeting reads what the bot says when it is added to a group. Discord has no such greeting.
func (s subset) checkGreeting(t *testing.T, p *e2etest.Platform) {
	if p.OnDiscord {
		t.Skip("Discord's servers are not greeted")
	}
	group := faketelegram.Group(e2etest.GroupID)
	p.Telegram.ChangeBot(group, faketelegram.Standing{Status: "left"}, faketelegram.Standing{Status: "member"})
	var said string
	e2etest.Eventually(t, "the group is greeted", func() bool {
		for _, m := range p.Telegram.Sent() {
			if m.Chat == group.ID {
				said = e2etest.Plain(m.Text)
			}
		}
		return said != ""
	})
	if !strings.HasPrefix(said, s.greeting) {
		t.Errorf("the group is greeted with %q, want %q", said, s.greeting)
	}
	// A greeting names three commands, the first in the menu.
	isNamed := func(command string) bool { return slices.Contains(s.commands[:3], command) }
	checkCommands(t, "the greeting", said, isNamed)
}

// checkStatus reads /status.
func (s subset) checkStatus(t *testing.T, p *e2etest.Platform) {
	status := e2etest.Plain(p.Ask(e2etest.Command{User: 1, Name: "status"}).Wait().Text)
	for _, part := range serviceParts {
		checkHas(t, "/status", status, part.inStatus, s.isOn(part.name))
	}
}

// checkUnknown sends each command that is not offered, which must be unknown.
func (s subset) checkUnknown(t *testing.T, p *e2etest.Platform) {
	for _, name := range everything.commands {
		if s.offers(name) {
			continue
		}
		answer := p.Ask(e2etest.Command{User: 1, Name: name}).Wait().Text
		if !strings.Contains(answer, "Unknown command") {
			t.Errorf("/%s: %s", name, answer)
		}
	}
}

// checkMetrics looks for the services in the metrics.
func (s subset) checkMetrics(t *testing.T, bot *e2etest.Bot) {
	metrics := e2etest.Metrics(t, bot.URL)
	for _, part := range serviceParts {
		checkHas(t, "/metrics", metrics, `service="`+part.name+`"`, s.isOn(part.name))
	}
	checkHas(t, "/metrics", metrics, "herald_partner_clock_skew_seconds", s.isOn("partner"))
}

// checkRequests checks that each service that is on got a request when the bot started, and that no other
// service did.
func (s subset) checkRequests(t *testing.T, bot *e2etest.Bot, fakes *fault.Fakes) {
	bot.AwaitProbes()
	for _, part := range serviceParts {
		if asked := part.fake(fakes).Requests() > 0; asked != s.isOn(part.name) {
			t.Errorf("%s was asked: %t, want %t", part.name, asked, s.isOn(part.name))
		}
	}
}

func TestCheckAsksWhatIsConfigured(t *testing.T) {
	t.Parallel()
	for _, s := range subsets() {
		t.Run(strings.Join(s.services, " "), func(t *testing.T) {
			t.Parallel()
			fakes := fault.Start(t)
			var out bytes.Buffer
			platform := e2etest.TelegramPolling.Open(t)
			bot := e2etest.New(t, s.settings(platform, fakes), slog.New(slog.DiscardHandler))
			err := bot.Check(t.Context(), &out, "")
			if err != nil {
				t.Errorf("%v\n%s", err, out.String())
			}
			for _, part := range serviceParts {
				checkHas(t, "the table", out.String(), part.inCheck, s.isOn(part.name))
			}
		})
	}
}
