package discord

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/config/configtest"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform/platformtest"
	"herald/internal/words"
)

func TestCommandsAreRegistered(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		registered := h.fake.Commands("")
		equal(t, "commands", len(registered), 6)
		equal(t, "calls", h.fake.Overwrites(), 1)
		equal[any](t, "the first command", registered[0]["name"], "price")
		equal[any](t, "its ID", registered[0]["id"], h.commandID("price"))
		equal(t, "the ID of an unknown command", h.commandID("moon"), "")
	})
}

// If one text is too long, Discord refuses all commands.
func TestLongTextsOfCommandsAreShortened(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		long := chat.SayWith("command.supply", chat.Values{"symbol": chat.Plain(strings.Repeat("SYM", 60))})
		forms := []chat.Form{{Params: []chat.Param{{Name: "p", Summary: long}}}}
		commands := chat.Commands{{Name: "x", Summary: long, PersonMenu: long, Forms: forms}}
		equal(t, "register", h.register(t.Context(), commands), nil)
		equal(t, "commands with long texts", len(h.fake.Commands("")), 2)
	})
}

func TestCommandsAreAnsweredBeforeRegistration(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		h.ask(t, command("price"))
		h.mend(fakediscord.Application)
		pass(5 * time.Minute)
		equal(t, "calls", h.fake.Overwrites(), 1)
		h.checkCount(t, "connected as Herald", 1)
		h.ask(t, command("price"))
		equal(t, "the bot's name", h.handler.Requests()[1].BotName, "Herald")
		equal(t, "the bot's handle", h.handler.Requests()[1].BotHandle, "@Herald")
	}, func(h *adapterTest, _ *Config) {
		h.fake.Break(fakediscord.Application, discordtest.Fault{Status: http.StatusInternalServerError})
		h.fake.Script(fakediscord.PutCommands,
			discordtest.Fault{Status: 403, Code: 50001},
			discordtest.Fault{Status: 429, RetryAfter: time.Second})
	})
}

// definedByName returns the definitions of commands, by name.
func definedByName(commands ...chat.Command) map[string]*discordgo.ApplicationCommand {
	all := map[string]*discordgo.ApplicationCommand{}
	for _, c := range definitions(commands) {
		all[c.Name] = c
	}
	return all
}

func TestEachListedCommandIsDefinedForEveryKindOfChat(t *testing.T) {
	all := definedByName((&platformtest.Handler{}).Commands()...)
	for _, name := range []string{"price", "staked", "mylogins", "exists", "help"} {
		c := all[name]
		equal(t, name+" has a description", c.Description != "", true)
		usable := fmt.Sprint(*c.Contexts, *c.IntegrationTypes, c.DefaultMemberPermissions)
		equal(t, name+" can be used by", usable, "[0 1 2] [0 1] <nil>")
	}
	// The sixth is the menu entry of "exists". The alias "start" is not defined, because only Telegram uses it.
	equal(t, "definitions", len(all), 6)
}

func TestAMenuEntryIsForModeratorsOfGuildsThatInstalledTheBot(t *testing.T) {
	menu := definedByName((&platformtest.Handler{}).Commands()...)["Check registration"]
	equal(t, "type", menu.Type, discordgo.UserApplicationCommand)
	equal(t, "description", menu.Description, "")
	equal(t, "permissions", *menu.DefaultMemberPermissions, discordgo.PermissionModerateMembers)
	equal(t, "it can be used by", fmt.Sprint(*menu.Contexts, *menu.IntegrationTypes), "[0] [0]")
}

// Discord demands that the required options come first.
func TestOptionsOfACommand(t *testing.T) {
	late := chat.Param{Name: "late", Summary: chat.Say("s"), Choices: slices.Repeat([]string{"choice"}, 100)}
	early := chat.Param{Name: "early", Summary: chat.Say("s")}
	mixed := chat.Command{ // Its second form lacks late, so late is optional.
		Name:    "mixed",
		Summary: chat.Say("s"),
		Forms:   []chat.Form{{Params: []chat.Param{late, early}}, {Params: []chat.Param{early}}},
	}
	kinds := map[discordgo.ApplicationCommandOptionType]string{
		discordgo.ApplicationCommandOptionString: "string",
		discordgo.ApplicationCommandOptionUser:   "user",
	}
	all := definedByName(append((&platformtest.Handler{}).Commands(), mixed)...)
	for name, want := range map[string][]string{
		"staked": {"wallet string, required true, 0 choices"},
		"exists": {
			"user user, required false, 0 choices",
			"platform string, required false, 3 choices",
			"uid string, required false, 0 choices",
		},
		"mixed": {
			"early string, required true, 0 choices",
			fmt.Sprintf("late string, required false, %d choices", maxChoices),
		},
	} {
		var got []string
		for _, o := range all[name].Options {
			shown := fmt.Sprintf("%s %s, required %t, %d choices", o.Name, kinds[o.Type], o.Required, len(o.Choices))
			got = append(got, shown)
		}
		if !slices.Equal(got, want) {
			t.Errorf("options of %s: got %q, want %q", name, got, want)
		}
	}
}

// Names of parameters and choices are translated only if there is a message for them.
func TestATextWithoutAMessageHasNoTranslations(t *testing.T) {
	busy := chat.Say("busy.title")
	nameless := chat.Param{Name: "nameless", Summary: busy, Choices: []string{"EVM"}}
	c := chat.Command{Name: "x", Summary: busy, Forms: []chat.Form{{Params: []chat.Param{nameless}}}}
	option := definedByName(c)["x"].Options[0]
	equal(t, "names of the option", len(option.NameLocalizations), 0)
	equal(t, "a choice", option.Choices[0].Name, "EVM")
	equal(t, "names of the choice", len(option.Choices[0].NameLocalizations), 0)
}

func TestEveryTextOfACommandIsInEveryLanguage(t *testing.T) {
	busy := chat.Say("busy.title")
	period := chat.Param{Name: "period", Summary: busy, Choices: []string{"7d"}}
	command := chat.Command{
		Name:       "x",
		Summary:    busy,
		PersonMenu: busy,
		Forms:      []chat.Form{{Params: []chat.Param{period}}},
	}
	all := definitions(chat.Commands{command})
	slash, menu, option := all[0], all[1], all[0].Options[0]
	week := option.Choices[0]
	equal[any](t, "value of the choice", week.Value, "7d")
	for what, text := range map[string]struct {
		english string
		others  map[discordgo.Locale]string // in the other languages
		want    chat.Text
	}{
		"description of the command": {slash.Description, *slash.DescriptionLocalizations, busy},
		"label of the menu":          {menu.Name, *menu.NameLocalizations, busy},
		"description of the option":  {option.Description, option.DescriptionLocalizations, busy},
		"name of the choice":         {week.Name, week.NameLocalizations, chat.ChoiceLabel("7d")},
		"name of the option":         {option.Name, option.NameLocalizations, period.Label()},
	} {
		for _, l := range chat.Languages() {
			if l == chat.English {
				equal(t, what+" in English", text.english, words.Say(l, text.want))
				continue
			}
			for _, locale := range l.Info().Discord {
				equal(t, what+" in "+locale, text.others[discordgo.Locale(locale)], words.Say(l, text.want))
			}
		}
	}
}

// nameDetail is the first detail that Check returns.
const nameDetail = "Herald, application 1100000000000000001"

// testEndpoint is the application's interactions endpoint URL. Its path may be a secret.
const testEndpoint = "https://bot.example/secret-path/discord/interactions"

// withOtherKey sets a public key that is not the application's.
func withOtherKey(_ *adapterTest, c *Config) {
	c.PublicKey = make(ed25519.PublicKey, ed25519.PublicKeySize)
}

func TestCheckNamesTheBotAndHowInteractionsArrive(t *testing.T) {
	noEndpoint := "it has no interactions endpoint URL yet: while the bot runs, enter " +
		"https://<your host>/discord/interactions in the Developer Portal"
	for name, tt := range map[string]struct {
		way      way
		endpoint string
		want     string
	}{
		"gateway":      {overGateway, "", "interactions come over the gateway"},
		"HTTP":         {byHTTP, testEndpoint, "interactions come by HTTP, to bot.example"},
		"HTTP, no URL": {byHTTP, "", noEndpoint},
	} {
		h := newAdapterTest(t, discordtest.New(), tt.way)
		h.fake.SetEndpoint(tt.endpoint)
		details, _, err := h.Check(t.Context(), nil)
		equal(t, name+": error", err, nil)
		want := []string{nameDetail, tt.want, "its 0 commands are registered"}
		equal(t, name+": details", strings.Join(details, "\n"), strings.Join(want, "\n"))
		equal(t, name+": lines of the log", h.linesAfterRegister(t), 0)
	}
}

func TestCheckNamesTheSettingThatKeepsInteractionsFromArriving(t *testing.T) {
	for name, tt := range map[string]struct {
		way     way
		changes []change
		problem string // part of the error
	}{
		"the key of another application": {
			way:     byHTTP,
			changes: []change{withOtherKey},
			problem: "another public key",
		},
		"no key, although interactions arrive by HTTP": {
			way:     overGateway,
			problem: "interactions endpoint URL, at bot.example, so nothing comes",
		},
	} {
		h := newAdapterTest(t, discordtest.New(), tt.way, tt.changes...)
		h.fake.SetEndpoint(testEndpoint)
		details, _, err := h.Check(t.Context(), nil)
		want := []string{nameDetail, "its 0 commands are registered"}
		equal(t, name+": details", strings.Join(details, "\n"), strings.Join(want, "\n"))
		wrong, is := errors.AsType[*config.WrongError](err)
		if !is {
			t.Fatalf("%s: got %v", name, err)
		}
		equal(t, name+": setting", wrong.Settings, "DISCORD_PUBLIC_KEY")
		equal(t, name+": "+wrong.Problem, strings.Contains(wrong.Problem, tt.problem), true)
		equal(t, name+": the problem shows the path", strings.Contains(wrong.Problem, "secret"), false)
		equal(t, name+": the problem is logged", h.linesAfterRegister(t) > 0, true)
	}
}

// linesAfterRegister registers the commands, and returns how many lines of the log say that interactions may not
// arrive.
func (h *adapterTest) linesAfterRegister(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	equal(t, "register", h.register(ctx, h.handler.Commands()), nil)
	return h.logged.Lines("may not arrive")
}

func TestCheckFailsIfDiscordRefuses(t *testing.T) {
	for _, way := range []way{overGateway, byHTTP} {
		h := newAdapterTest(t, discordtest.New(), way)
		h.fake.Break(fakediscord.Application, discordtest.Fault{Status: 503})
		if _, _, err := h.Check(t.Context(), nil); err == nil {
			t.Errorf("%s: no error", way)
		}
	}
}

func TestSettingsOfDiscordNeedAToken(t *testing.T) {
	table := new(Settings).Table()
	for _, s := range table {
		if s.Name == "DISCORD_BOT_TOKEN" || s.Default != "" || s.NeedsOneOf != nil {
			continue
		}
		mistakes := configtest.Try(table, s.Name+"="+s.Example)
		configtest.OneMistake(t, table, mistakes, "DISCORD_BOT_TOKEN", "is needed by "+s.Name+" but not set")
	}
}

func TestAPresenceNeedsTheGateway(t *testing.T) {
	const token = "DISCORD_BOT_TOKEN=a"
	const key = "DISCORD_PUBLIC_KEY=d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
	for settings, wrong := range map[string]string{ // wrong is part of the error, or "" if there is none
		token + " DISCORD_PRESENCE=price":             "",
		token + " " + key + " DISCORD_PRESENCE=off":   "",
		token + " " + key + " DISCORD_PRESENCE=price": "DISCORD_PUBLIC_KEY turns that off",
		"DISCORD_PRESENCE=price":                      "DISCORD_BOT_TOKEN is not set",
		token + " DISCORD_PRESENCE=on":                "must be one of price, off",
	} {
		s := new(Settings)
		table := s.Table()
		mistakes := configtest.Try(table, strings.Fields(settings)...)
		if wrong != "" {
			configtest.OneMistake(t, table, mistakes, "DISCORD_PRESENCE", wrong)
			continue
		}
		isOn := strings.HasSuffix(settings, "price")
		if len(mistakes) > 0 || s.Presence != isOn {
			t.Errorf("%s: Presence is %t, mistakes %v", settings, s.Presence, mistakes)
		}
	}
}
