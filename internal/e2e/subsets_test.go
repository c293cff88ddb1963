package e2e

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"herald/internal/app"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

// subset is a bot with some of the four services.
type subset struct {
	services string // that are on
	commands string // in the order of menus
	topics   string // of the greeting
}

// subsets are all fifteen, and what a bot offers with each.
var subsets = []subset{
	{
		services: "price",
		commands: "price status help",
		topics:   "HRLD price: ask me here.",
	},
	{
		services: "supply",
		commands: "supply status help",
		topics:   "HRLD supply: ask me here.",
	},
	{
		services: "chain",
		commands: "staked status help",
		topics:   "HRLD stakes: ask me here.",
	},
	{
		services: "partner",
		commands: "mylogins exists verify forget status help",
		topics:   "HRLD registration: ask me here.",
	},
	{
		services: "price supply",
		commands: "price supply status help",
		topics:   "HRLD price and supply: ask me here.",
	},
	{
		services: "price chain",
		commands: "price staked status help",
		topics:   "HRLD price and stakes: ask me here.",
	},
	{
		services: "price partner",
		commands: "price mylogins exists verify forget status help",
		topics:   "HRLD price: ask me here.",
	},
	{
		services: "supply chain",
		commands: "supply staked status help",
		topics:   "HRLD supply and stakes: ask me here.",
	},
	{
		services: "supply partner",
		commands: "supply mylogins exists verify forget status help",
		topics:   "HRLD supply: ask me here.",
	},
	{
		services: "chain partner",
		commands: "staked mylogins exists verify forget status help",
		topics:   "HRLD stakes: ask me here.",
	},
	{
		services: "price supply chain",
		commands: "price supply staked status help",
		topics:   "HRLD price, supply and stakes: ask me here.",
	},
	{
		services: "price supply partner",
		commands: "price supply mylogins exists verify forget status help",
		topics:   "HRLD price and supply: ask me here.",
	},
	{
		services: "price chain partner",
		commands: "price staked mylogins exists verify forget status help",
		topics:   "HRLD price and stakes: ask me here.",
	},
	{
		services: "supply chain partner",
		commands: "supply staked mylogins exists verify forget status help",
		topics:   "HRLD supply and stakes: ask me here.",
	},
	{
		services: "price supply chain partner",
		commands: "price supply staked mylogins exists verify forget status help",
		topics:   "HRLD price, supply and stakes: ask me here.",
	},
}

// serviceParts are the four services: the settings that turn each one on, and its names for people and operators.
var serviceParts = []struct {
	name     string
	settings []string
	inStatus string
	inCheck  string
}{
	{
		name:     "price",
		settings: []string{"PRICE_API_KEY", "PRICE_API_URL"},
		inStatus: "Prices",
		inCheck:  "price provider",
	},
	{
		name:     "supply",
		settings: []string{"SUPPLY_URL"},
		inStatus: "Supply",
		inCheck:  "supply host",
	},
	{
		name:     "chain",
		settings: []string{"EVM_RPC_URL", "EVM_CHAIN_ID", "STAKING_POOLS"},
		inStatus: "Staking",
		inCheck:  "staking pools",
	},
	{
		name:     "partner",
		settings: []string{"PARTNER_BASE_URL", "PARTNER_APP_ID", "PARTNER_SECRET_KEY"},
		inStatus: "Registration",
		inCheck:  "partner API",
	},
}

// everyCommand has all commands of menus.
var everyCommand = strings.Fields(subsets[len(subsets)-1].commands)

func (s subset) isOn(service string) bool {
	return slices.Contains(strings.Fields(s.services), service)
}

// slashed returns commands as people type them.
func slashed(names []string) (commands []string) {
	for _, name := range names {
		commands = append(commands, "/"+name)
	}
	return commands
}

func (s subset) offers(command string) bool {
	return slices.Contains(strings.Fields(s.commands), command)
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

// mustHave fails unless the text contains each name that wanted returns true for, and no other.
func mustHave(t *testing.T, what, text string, names []string, wanted func(name string) bool) {
	t.Helper()
	for _, name := range names {
		if strings.Contains(text, name) != wanted(name) {
			t.Errorf("%s has %q: %t, want %t:\n%.1000s", what, name, !wanted(name), wanted(name), text)
		}
	}
}

func TestABotOffersWhatIsConfigured(t *testing.T) {
	t.Parallel()
	for _, s := range subsets {
		for _, way := range []e2etest.Way{e2etest.Ways[0], e2etest.Ways[2]} {
			t.Run(s.services+" on "+way.Name, func(t *testing.T) {
				t.Parallel()
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
			})
		}
	}
}

// checkMenu compares the menu of the platform.
func (s subset) checkMenu(t *testing.T, p *e2etest.Platform) {
	var menu string
	e2etest.Eventually(t, "the platform has the menu", func() bool {
		menu = menuOf(p)
		return menu != ""
	})
	if menu != s.commands {
		t.Errorf("the menu is %q, want %q", menu, s.commands)
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
	isOffered := func(command string) bool { return s.offers(strings.TrimPrefix(command, "/")) }
	mustHave(t, "/help", help, slashed(everyCommand), isOffered)
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
	if !strings.HasPrefix(said, s.topics) {
		t.Errorf("the group is greeted with %q, want %q", said, s.topics)
	}
	first := strings.Fields(s.commands)[:3]
	isFirst := func(command string) bool { return slices.Contains(first, strings.TrimPrefix(command, "/")) }
	mustHave(t, "the greeting", said, slashed(everyCommand), isFirst)
}

// checkStatus reads /status.
func (s subset) checkStatus(t *testing.T, p *e2etest.Platform) {
	status := e2etest.Plain(p.Ask(e2etest.Command{User: 1, Name: "status"}).Wait().Text)
	for _, part := range serviceParts {
		mustHave(t, "/status", status, []string{part.inStatus}, func(string) bool { return s.isOn(part.name) })
	}
}

// checkUnknown types each command that is not offered.
func (s subset) checkUnknown(t *testing.T, p *e2etest.Platform) {
	for _, name := range everyCommand {
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
		label := []string{`service="` + part.name + `"`}
		mustHave(t, "/metrics", metrics, label, func(string) bool { return s.isOn(part.name) })
	}
	skew := []string{"herald_partner_clock_skew_seconds"}
	mustHave(t, "/metrics", metrics, skew, func(string) bool { return s.isOn("partner") })
}

// checkRequests looks for requests to services that are off.
func (s subset) checkRequests(t *testing.T, bot *e2etest.Bot, fakes *fault.Fakes) {
	bot.AwaitProbes()
	for name, service := range map[string]*fault.Service{
		"price":   fakes.Price,
		"supply":  fakes.Supply,
		"chain":   fakes.Chain,
		"partner": fakes.Partner,
	} {
		if asked := service.Requests() > 0; asked != s.isOn(name) {
			t.Errorf("%s was asked: %t", name, asked)
		}
	}
}

func TestCheckAsksWhatIsConfigured(t *testing.T) {
	t.Parallel()
	for _, s := range subsets {
		t.Run(s.services, func(t *testing.T) {
			t.Parallel()
			fakes := fault.Start(t)
			var out bytes.Buffer
			bot := e2etest.New(t, s.settings(e2etest.Ways[0].Open(t), fakes), slog.New(slog.DiscardHandler))
			err := bot.Check(t.Context(), &out, "")
			if errors.Is(err, app.ErrCheckFailed) {
				t.Errorf("the check fails:\n%s", out.String())
			}
			for _, part := range serviceParts {
				mustHave(t, "the table", out.String(), []string{part.inCheck}, func(string) bool { return s.isOn(part.name) })
			}
		})
	}
}

func TestAnOldButtonOfAServiceThatIsOffIsRefusedToThePresserAlone(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			fakes := fault.Start(t)
			platform := way.Open(t)
			before := serveSubset(t, subsets[len(subsets)-1], platform, fakes)
			card := platform.Ask(e2etest.Command{User: 1, Group: true, Name: "supply"})
			shown := card.Wait().Text
			before.Stop()
			if err := before.Leave(); err != nil {
				t.Fatal(err)
			}
			serveSubset(t, subsets[0], platform, fakes)
			told := card.Press(1, card.States()[0]).Wait()
			if !told.Private || !strings.Contains(told.Text, "Unknown command") {
				t.Errorf("the presser is told, privately %t: %q", told.Private, told.Text)
			}
			if answers := card.Answers(); len(answers) != 1 || answers[0].Text != shown {
				t.Errorf("the card in the group has changed: %+v", answers)
			}
		})
	}
}

func TestAnOldButtonAnswersWithAServiceThatIsSetLater(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			fakes := fault.Start(t)
			platform := way.Open(t)
			before := serveSubset(t, subsets[1], platform, fakes)
			card := platform.Ask(e2etest.Command{User: 1, Group: true, Name: "supply"})
			if text := e2etest.Plain(card.Wait().Text); strings.Contains(text, "Market cap") {
				t.Fatalf("a service is on too early: %s", text)
			}
			before.Stop()
			if err := before.Leave(); err != nil {
				t.Fatal(err)
			}
			serveSubset(t, subsets[len(subsets)-1], platform, fakes)
			card.Press(1, card.States()[0])
			e2etest.Eventually(t, "the card says what the supply is worth", func() bool {
				return strings.Contains(e2etest.Plain(card.Answers()[0].Text), "Market cap")
			})
		})
	}
}
