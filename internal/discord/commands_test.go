package discord

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	"herald/internal/chat/chattest"
	"herald/internal/discord/discordtest"
	"herald/internal/words"
)

func TestCommandsAreWrittenOnlyWhenTheyDiffer(t *testing.T) {
	for _, guild := range []string{"", "777"} {
		change := func(_ *harness, c *Config) { c.GuildID = guild }
		h := connected(t, change)
		h.wait(t, "commands", func() bool { return h.counts.of("commands_written") == 1 })
		if got := len(h.fake.Commands(guild)); got != 6 {
			t.Errorf("guild %q: %d commands", guild, got)
		}
		if err := h.registerOnce(h.ctx, h.fake.ApplicationID, h.handler.Commands()); err != nil {
			t.Fatal(err)
		}
		if h.fake.Overwrites() != 1 || h.counts.of("commands_current") != 1 {
			t.Errorf("guild %q: the same commands were written again", guild)
		}
		renamed := h.handler.Commands()
		renamed[0].Summary.Key += "!"
		if err := h.registerOnce(h.ctx, h.fake.ApplicationID, renamed); err != nil || h.fake.Overwrites() != 2 {
			t.Errorf("guild %q: a changed command was not written: %v", guild, err)
		}
		if p := h.fake.Problems(); len(p) > 0 {
			t.Errorf("refused: %q", p)
		}
	}
}

func TestEveryChangeOfACommandIsSeen(t *testing.T) {
	for name, change := range map[string]func(*discordgo.ApplicationCommand){
		"name":        func(c *discordgo.ApplicationCommand) { c.Name += "x" },
		"type":        func(c *discordgo.ApplicationCommand) { c.Type++ },
		"description": func(c *discordgo.ApplicationCommand) { c.Description += "x" },
		"permissions": func(c *discordgo.ApplicationCommand) { c.DefaultMemberPermissions = new(int64) },
		"contexts":    func(c *discordgo.ApplicationCommand) { c.Contexts = &[]discordgo.InteractionContextType{1} },
		"no contexts": func(c *discordgo.ApplicationCommand) { c.Contexts = nil },
		"installed for guilds": func(c *discordgo.ApplicationCommand) {
			c.IntegrationTypes = &[]discordgo.ApplicationIntegrationType{0}
		},
		"installed for users": func(c *discordgo.ApplicationCommand) {
			c.IntegrationTypes = &[]discordgo.ApplicationIntegrationType{1}
		},
		"installation not told": func(c *discordgo.ApplicationCommand) { c.IntegrationTypes = nil },
		"no options":            func(c *discordgo.ApplicationCommand) { c.Options = nil },
		"option":                func(c *discordgo.ApplicationCommand) { c.Options[1].Name += "x" },
		"its type":              func(c *discordgo.ApplicationCommand) { c.Options[1].Type++ },
		"its text":              func(c *discordgo.ApplicationCommand) { c.Options[1].Description += "x" },
		"its translation":       func(c *discordgo.ApplicationCommand) { c.Options[1].DescriptionLocalizations["ru"] = "x" },
		"its translations":      func(c *discordgo.ApplicationCommand) { c.Options[1].DescriptionLocalizations = nil },
		"required":              func(c *discordgo.ApplicationCommand) { c.Options[1].Required = true },
		"no autocompletion":     func(c *discordgo.ApplicationCommand) { c.Options[1].Autocomplete = false },
		"choices": func(c *discordgo.ApplicationCommand) {
			c.Options[1].Choices = []*discordgo.ApplicationCommandOptionChoice{{Name: "EVM", Value: "EVM"}}
		},
		"translation":     func(c *discordgo.ApplicationCommand) { (*c.DescriptionLocalizations)["tr"] = "x" },
		"one less":        func(c *discordgo.ApplicationCommand) { delete(*c.DescriptionLocalizations, "es-419") },
		"no translations": func(c *discordgo.ApplicationCommand) { c.DescriptionLocalizations = nil },
		"translated name": func(c *discordgo.ApplicationCommand) {
			c.NameLocalizations = &map[discordgo.Locale]string{"vi": "x"}
		},
	} {
		defined := func() []*discordgo.ApplicationCommand { return definitions((&chattest.Handler{}).Commands(), true) }
		wanted, registered := defined(), defined()
		slices.Reverse(registered)
		for _, c := range registered {
			// What Discord adds.
			c.ID, c.Version, c.ApplicationID = "1", "2", "3"
			slices.Reverse(*c.Contexts)
			slices.Reverse(*c.IntegrationTypes)
			if c.NameLocalizations == nil {
				c.NameLocalizations = &map[discordgo.Locale]string{}
			}
		}
		if !same(registered, wanted) {
			t.Fatal("what Discord adds is seen as a change")
		}
		for _, c := range registered {
			if c.Name == "exists" {
				change(c)
			}
		}
		if same(registered, wanted) || same(wanted, registered) {
			t.Errorf("%s: no change is seen", name)
		}
	}
	if same(nil, definitions((&chattest.Handler{}).Commands(), true)) {
		t.Error("no command is seen as all")
	}
}

// An earlier version of a bot may have let its commands be installed for guilds
// alone, or have left that to the application's own settings.
func TestCommandsInstalledInAnotherWayAreWrittenAgain(t *testing.T) {
	for name, earlier := range map[string]*[]discordgo.ApplicationIntegrationType{
		"guilds alone": {0}, "users alone": {1}, "left to the application": nil,
	} {
		h := prepare(t, nil)
		h.fake.InstallFor(0)
		commands := definitions(h.handler.Commands(), true)
		for _, c := range commands {
			c.IntegrationTypes = earlier
		}
		endpoint := discordgo.EndpointApplicationGlobalCommands(h.fake.ApplicationID)
		if err := h.call(h.ctx, callTime, http.MethodPut, endpoint, commands, nil); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := h.registerOnce(h.ctx, h.fake.ApplicationID, h.handler.Commands()); err != nil {
				t.Fatal(err)
			}
		}
		if n := h.counts.of("commands_written"); n != 1 || h.counts.of("commands_current") != 1 {
			t.Errorf("%s: written %d times", name, n)
		}
		for _, c := range h.fake.Commands("") {
			want := "[0 1]"
			if c["type"] == float64(discordgo.UserApplicationCommand) {
				want = "[0]" // where the permission that it needs means something
			}
			if types := fmt.Sprint(c["integration_types"]); types != want {
				t.Errorf("%s: %v is installed for %s", name, c["name"], types)
			}
		}
	}
}

func TestRegistrationFailingDoesNotHoldTheService(t *testing.T) {
	h := prepare(t, func(_ *harness, c *Config) { c.ApplicationID = "" })
	h.fake.Break(discordtest.Application, discordtest.Fault{Status: 500})
	h.fake.Script(discordtest.ListCommands, discordtest.Fault{Status: 403, Code: 50001})
	h.fake.Script(discordtest.PutCommands, discordtest.Fault{Status: 429, RetryAfter: 1})
	h.run(t)
	h.wait(t, "a connection", h.Ready)
	h.answer(t, discordtest.Interaction{Command: "price"})
	h.fake.Break(discordtest.Application, discordtest.Fault{})
	h.wait(t, "commands", func() bool { return h.counts.of("commands_written") == 1 })
}

func TestDefinitions(t *testing.T) {
	all := map[string]*discordgo.ApplicationCommand{}
	for _, c := range definitions((&chattest.Handler{}).Commands(), true) {
		all[c.Name] = c
	}
	for _, name := range []string{"price", "staked", "mylogins", "exists", "help"} {
		if c := all[name]; c == nil || c.Description == "" || len(*c.Contexts) != 3 || len(*c.IntegrationTypes) != 2 || c.DefaultMemberPermissions != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if len(all) != 6 {
		t.Errorf("%d commands", len(all)) // "start" is Telegram's
	}
	menu := all["Check registration"]
	if menu == nil || menu.Type != discordgo.UserApplicationCommand || menu.Description != "" || len(*menu.Contexts) != 1 ||
		len(*menu.IntegrationTypes) != 1 || *menu.DefaultMemberPermissions != discordgo.PermissionModerateMembers {
		t.Errorf("menu: %+v", menu)
	}
	if o := all["staked"].Options; len(o) != 1 || !o[0].Required || o[0].Type != discordgo.ApplicationCommandOptionString || o[0].Autocomplete {
		t.Errorf("staked: %+v", o)
	}
	o := all["exists"].Options
	if len(o) != 3 || o[0].Required || o[0].Type != discordgo.ApplicationCommandOptionUser || !o[1].Autocomplete || o[2].Autocomplete || o[1].Choices != nil {
		t.Errorf("exists: %+v", o)
	}
}

// Each language of the bot is one of Discord's at least, and its text is there.
func TestDescriptionsAndMenusAreInEveryLanguage(t *testing.T) {
	c := chat.Command{Name: "x", Summary: chat.Say("busy.title"), PersonMenu: chat.Say("busy.title"),
		Forms: []chat.Form{{Params: []chat.Param{{Name: "p", Summary: chat.Say("busy.text")}}}}}
	defined := definitions(chat.Commands{c}, true)
	option := defined[0].Options[0]
	for _, l := range chat.Languages() {
		title, text := words.Say(l, c.Summary), words.Say(l, chat.Say("busy.text"))
		if l == chat.English {
			if defined[0].Description != title || defined[1].Name != title || option.Description != text {
				t.Errorf("in English: %+v %+v %+v", defined[0], defined[1], option)
			}
			continue
		}
		if len(localesOf[l]) == 0 {
			t.Errorf("%s is none of Discord's", l)
		}
		for _, locale := range localesOf[l] {
			if own, spoken := chat.LanguageOf(string(locale)); !spoken || own != l {
				t.Errorf("%s is shown to those who read %s", l, locale)
			}
			if (*defined[0].DescriptionLocalizations)[locale] != title || (*defined[1].NameLocalizations)[locale] != title ||
				option.DescriptionLocalizations[locale] != text {
				t.Errorf("%s is missing", locale)
			}
		}
	}
}

// One text that is too long would keep all commands from being registered.
func TestDescriptionsOfAnyLengthAreRegistered(t *testing.T) {
	h := prepare(t, nil)
	long := chat.SayWith("command.supply", chat.Values{"symbol": chat.Plain(strings.Repeat("SYM", 60))})
	commands := chat.Commands{{Name: "x", Summary: long, PersonMenu: long, Forms: []chat.Form{{Params: []chat.Param{{Name: "p", Summary: long}}}}}}
	if err := h.registerOnce(h.ctx, h.fake.ApplicationID, commands); err != nil {
		t.Error(err)
	}
	h.unrefused(t)
}

func TestRequiredOptionsComeFirst(t *testing.T) {
	late := chat.Param{Name: "late", Summary: chat.Say("s")}
	early := chat.Param{Name: "early", Summary: chat.Say("s")}
	c := chat.Command{Name: "x", Summary: chat.Say("s"), Forms: []chat.Form{{Params: []chat.Param{late, early}}, {Params: []chat.Param{early}}}}
	o := slash(c).Options
	if o[0].Name != "early" || !o[0].Required || o[1].Required {
		t.Errorf("%+v %+v", o[0], o[1])
	}
}
