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

func TestCommandsAreWritten(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		written := h.fake.Commands("")
		equal(t, "commands", len(written), 6)
		equal(t, "calls", h.fake.Overwrites(), 1)
		equal[any](t, "the first", written[0]["name"], "price")
		equal[any](t, "its ID", written[0]["id"], h.commandID("price"))
		equal(t, "the ID of an unknown one", h.commandID("moon"), "")
		// One text that is too long would keep all commands from being registered.
		long := chat.SayWith("command.supply", chat.Values{"symbol": chat.Plain(strings.Repeat("SYM", 60))})
		forms := []chat.Form{{Params: []chat.Param{{Name: "p", Summary: long}}}}
		others := chat.Commands{{Name: "x", Summary: long, PersonMenu: long, Forms: forms}}
		equal(t, "register", h.register(t.Context(), others), nil)
		equal(t, "commands with long texts", len(h.fake.Commands("")), 2)
	})
}

func TestCommandsAreAnsweredBeforeRegistration(t *testing.T) {
	eachWay(t, func(t *testing.T, h *adapterTest) {
		h.ask(t, command("price"))
		h.fake.Break(fakediscord.Application, discordtest.Fault{})
		pass(5 * time.Minute)
		equal(t, "calls", h.fake.Overwrites(), 1)
		h.counted(t, "as Herald", 1)
		h.ask(t, command("price"))
		equal(t, "the bot's name", h.handler.Requests()[1].BotName, "Herald")
		equal(t, "the bot's handle", h.handler.Requests()[1].BotHandle, "@Herald")
	}, func(h *adapterTest, _ *Config) {
		h.fake.Break(fakediscord.Application, discordtest.Fault{Status: http.StatusInternalServerError})
		h.fake.Script(fakediscord.PutCommands, discordtest.Fault{Status: 403, Code: 50001}, discordtest.Fault{Status: 429, RetryAfter: time.Second})
	})
}

func TestDefinitions(t *testing.T) {
	late, early := chat.Param{Name: "late", Summary: chat.Say("s")}, chat.Param{Name: "early", Summary: chat.Say("s")}
	late.Choices = slices.Repeat([]string{"choice"}, 100)
	mixed := chat.Command{Name: "x", Summary: chat.Say("s"), Forms: []chat.Form{{Params: []chat.Param{late, early}}, {Params: []chat.Param{early}}}}
	all := map[string]*discordgo.ApplicationCommand{}
	for _, c := range definitions(append((&platformtest.Handler{}).Commands(), mixed)) {
		all[c.Name] = c
	}
	for _, name := range []string{"price", "staked", "mylogins", "exists", "help"} {
		c := all[name]
		equal(t, name+" has a description", c.Description != "", true)
		equal(t, name+" can be used by", fmt.Sprint(*c.Contexts, *c.IntegrationTypes, c.DefaultMemberPermissions), "[0 1 2] [0 1] <nil>")
	}
	equal(t, "commands", len(all), 7) // "start" is Telegram's
	// A menu is for the moderators of a guild that the bot is a member of.
	menu := all["Check registration"]
	equal(t, "type of the menu", menu.Type, discordgo.UserApplicationCommand)
	equal(t, "its description", menu.Description, "")
	equal(t, "its permissions", *menu.DefaultMemberPermissions, discordgo.PermissionModerateMembers)
	equal(t, "it can be used by", fmt.Sprint(*menu.Contexts, *menu.IntegrationTypes), "[0] [0]")
	for name, want := range map[string]string{
		"staked": "wallet string required, 0 choices; ",
		"exists": "user user, 0 choices; platform string, 3 choices; uid string, 0 choices; ",
		"x":      fmt.Sprintf("early string required, 0 choices; late string, %d choices; ", maxChoices), // required ones first
	} {
		got := ""
		for _, o := range all[name].Options {
			kind := map[discordgo.ApplicationCommandOptionType]string{discordgo.ApplicationCommandOptionString: " string", discordgo.ApplicationCommandOptionUser: " user"}[o.Type]
			got += o.Name + kind + map[bool]string{true: " required"}[o.Required] + fmt.Sprintf(", %d choices; ", len(o.Choices))
		}
		equal(t, "options of "+name, got, want)
	}
}

// A parameter is named, and a choice called, in the language of the app; neither if
// there is no such message.
func TestEveryTextOfACommandIsInEveryLanguage(t *testing.T) {
	busy := chat.Say("busy.title")
	period := chat.Param{Name: "period", Summary: busy, Choices: []string{"7d", "EVM"}}
	c := chat.Command{Name: "x", Summary: busy, PersonMenu: busy, Forms: []chat.Form{{Params: []chat.Param{period, {Name: "nameless", Summary: busy}}}}}
	defined := definitions(chat.Commands{c})
	command, menu, options := defined[0], defined[1], defined[0].Options
	week, evm := options[0].Choices[0], options[0].Choices[1]
	equal[any](t, "value of a choice", week.Value, "7d")
	equal(t, "a choice without a message", evm.Name, "EVM")
	equal(t, "its names in other languages", len(evm.NameLocalizations), 0)
	equal(t, "name of an option", options[0].Name, "period")
	equal(t, "names of an option without a message", len(options[1].NameLocalizations), 0)
	for _, l := range chat.Languages() {
		for _, name := range l.Info().Discord {
			in := discordgo.Locale(name)
			got := []string{(*command.DescriptionLocalizations)[in], (*menu.NameLocalizations)[in], options[0].DescriptionLocalizations[in],
				week.NameLocalizations[in], options[0].NameLocalizations[in]}
			want := []string{words.Say(l, busy), words.Say(l, busy), words.Say(l, busy), words.Say(l, chat.ChoiceLabel("7d")), words.Say(l, period.Label())}
			if l == chat.English {
				got = []string{command.Description, menu.Name, options[0].Description, week.Name, options[0].Name}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", in, got, want)
			}
		}
	}
}

func TestCheckTellsWhoTheBotIsAndHowInteractionsCome(t *testing.T) {
	const name = "Herald, application 1100000000000000001"
	const endpoint = "https://bot.example/secret-path/discord/interactions"
	nowhere := "it has no interactions endpoint URL yet: while the bot runs, enter " +
		"https://<your host>/discord/interactions in the Developer Portal"
	for about, tt := range map[string]struct {
		way      way
		otherKey bool
		endpoint string
		details  []string
		problem  string // with DISCORD_PUBLIC_KEY, or ""
	}{
		"gateway":             {overGateway, false, "", []string{name, "interactions come over the gateway"}, ""},
		"HTTP":                {byHTTP, false, endpoint, []string{name, "interactions come by HTTP, to bot.example"}, ""},
		"HTTP, nowhere":       {byHTTP, false, "", []string{name, nowhere}, ""},
		"another application": {byHTTP, true, endpoint, []string{name}, "another public key"},
		"gateway beside HTTP": {overGateway, false, endpoint, []string{name}, "interactions endpoint URL, at bot.example, so nothing comes"},
	} {
		t.Run(about, func(t *testing.T) {
			h := newAdapterTest(t, discordtest.New(), tt.way, func(_ *adapterTest, c *Config) {
				if tt.otherKey {
					c.PublicKey = make(ed25519.PublicKey, ed25519.PublicKeySize)
				}
			})
			h.fake.EnterEndpoint(tt.endpoint)
			details, _, err := h.Check(t.Context(), nil)
			if want := append(tt.details, "its 0 commands are registered"); !slices.Equal(details, want) {
				t.Errorf("details %q, want %q", details, want)
			}
			wrong, is := errors.AsType[*config.WrongError](err)
			equal(t, "a setting is wrong", is, tt.problem != "")
			if is {
				equal(t, "the setting", wrong.Settings, "DISCORD_PUBLIC_KEY")
				equal(t, "it says what", strings.Contains(wrong.Problem, tt.problem), true)
				equal(t, "it shows the path", strings.Contains(wrong.Problem, "secret"), false)
			} else {
				equal(t, "error", err, nil)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			equal(t, "register", h.register(ctx, h.handler.Commands()), nil)
			equal(t, "it is logged", h.logged.Lines("may not arrive") > 0, tt.problem != "")
			h.fake.Break(fakediscord.Application, discordtest.Fault{Status: 503})
			if _, _, err := h.Check(t.Context(), nil); err == nil {
				t.Error("a refusal passed")
			}
		})
	}
}

func TestWhatOnlyDiscordUsesNeedsAToken(t *testing.T) {
	table := new(Settings).Table()
	for _, s := range table {
		if s.Name == "DISCORD_BOT_TOKEN" || s.Default != "" || s.NeedsOneOf != nil {
			continue
		}
		configtest.OneMistake(t, table, configtest.Try(table, s.Name+"="+s.Example), "DISCORD_BOT_TOKEN", "is needed by "+s.Name+" but not set")
	}
}

func TestAPresenceNeedsTheGateway(t *testing.T) {
	const token, key = "DISCORD_BOT_TOKEN=a", "DISCORD_PUBLIC_KEY=d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
	for presence, wrong := range map[string]string{
		token + " DISCORD_PRESENCE=price":             "",
		token + " " + key + " DISCORD_PRESENCE=off":   "",
		token + " " + key + " DISCORD_PRESENCE=price": "DISCORD_PUBLIC_KEY turns that off",
		"DISCORD_PRESENCE=price":                      "DISCORD_BOT_TOKEN is not set",
		token + " DISCORD_PRESENCE=on":                "must be one of price, off",
	} {
		s := new(Settings)
		table := s.Table()
		mistakes := configtest.Try(table, strings.Fields(presence)...)
		if wrong != "" {
			configtest.OneMistake(t, table, mistakes, "DISCORD_PRESENCE", wrong)
		} else if on := strings.HasSuffix(presence, "price"); len(mistakes) > 0 || s.Presence != on {
			t.Errorf("%s: on %t, %v", presence, s.Presence, mistakes)
		}
	}
}
