package discord

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"herald/internal/chat"
	fakediscord "herald/internal/demo/fake/discord"
	"herald/internal/demo/fake/discordtest"
	"herald/internal/platform/platformtest"
)

// withEntryPoint gives the application an Entry Point command with this name.
func withEntryPoint(name string) change {
	return func(h *adapterTest, _ *Config) { h.fake.AddCommand(h.fake.EntryPoint(name)) }
}

// withoutVersion prints a command without its version, which Discord changes itself.
func withoutVersion(command map[string]any) string {
	others := maps.Clone(command)
	delete(others, "version")
	return fmt.Sprint(others)
}

func TestAnEntryPointCommandStaysAsItIs(t *testing.T) {
	for _, name := range []string{"launch", "price", "Check registration"} {
		simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
			var kept, priceID any
			registered := h.fake.Commands("")
			for _, c := range registered {
				switch {
				case c["type"] == float64(entryPoint):
					kept = withoutVersion(c)
				case c["name"] == "price":
					priceID = c["id"]
				}
			}
			equal(t, "commands", len(registered), 7)
			equal[any](t, name+" is kept", kept, withoutVersion(h.fake.EntryPoint(name)))
			equal[any](t, "the ID of /price", h.commandID("price"), priceID)
			equal(t, "ready", h.Ready(), true)
		}, withEntryPoint(name))
	}
}

// The Entry Point command opens the Activity, even if it has the name of one of the bot's commands.
func TestAnEntryPointCommandOpensTheActivity(t *testing.T) {
	for _, name := range []string{"launch", "price"} {
		simulateBothWays(t, func(t *testing.T, h *adapterTest) {
			i := command(name)
			i.EntryPoint = true
			equal(t, "type of the response", h.ask(t, i).Answer().Type, int(launchActivity))
			equal(t, "requests", len(h.handler.Requests()), 0)
		}, withEntryPoint(name))
	}
}

// The bot still answers commands that were registered earlier.
func TestABotWhoseCommandsAreNotRegisteredIsNotReady(t *testing.T) {
	refusals := map[fakediscord.Route]discordtest.Fault{
		fakediscord.PutCommands: {Status: http.StatusBadRequest, Code: 50240},
		fakediscord.GetCommands: {Status: http.StatusForbidden, Code: 50001},
		fakediscord.Application: {Status: http.StatusInternalServerError},
	}
	for route, refusal := range refusals {
		simulateBothWays(t, func(t *testing.T, h *adapterTest) {
			const line = "the commands could not be registered"
			pass(10 * time.Minute)
			equal(t, "ready", h.Ready(), false)
			equal(t, "why", h.NotReady(), "connected, but the commands are not registered")
			equal(t, "lines in the log", h.logged.Lines(line), 1)
			reason := fmt.Sprintf("status %d, code %d", refusal.Status, refusal.Code)
			equal(t, "lines with the reason", h.logged.Lines(reason), 1)
			checkText(t, h.ask(t, command("price")).Answer(), "price")
			h.mend(route)
			pass(2 * time.Minute)
			equal(t, "ready in the end", h.Ready(), true)
			equal(t, "the log says so", h.logged.Lines("the commands are registered"), 1)
			equal(t, "overwrites", h.fake.Overwrites(), 1)
		}, func(h *adapterTest, _ *Config) { h.fake.Break(route, refusal) })
	}
}

// An older version, or somebody with the token, may replace the commands.
func TestReplacedCommandsAreRegisteredAgainWithinTheHour(t *testing.T) {
	simulateBothWays(t, func(t *testing.T, h *adapterTest) {
		pass(time.Minute)
		h.fake.AddCommand(map[string]any{
			"id":          "1",
			"type":        1.0,
			"name":        "old",
			"description": "of another version",
		})
		h.fake.Break(fakediscord.PutCommands, discordtest.Fault{Status: http.StatusForbidden, Code: 50001})
		pass(time.Hour)
		equal(t, "ready", h.Ready(), false)
		h.mend(fakediscord.PutCommands)
		pass(2 * time.Minute)
		equal(t, "ready again", h.Ready(), true)
		equal(t, "commands", len(h.fake.Commands("")), 6)
	})
}

func TestAnotherRefusalIsLoggedAgain(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		pass(10 * time.Minute)
		equal(t, "lines in the log", h.logged.Lines("the commands could not be registered"), 2)
		equal(t, "ready", h.Ready(), false)
	}, func(h *adapterTest, _ *Config) {
		h.fake.Script(fakediscord.PutCommands, discordtest.Fault{Status: 502}, discordtest.Fault{Status: 502})
		h.fake.Break(fakediscord.PutCommands, discordtest.Fault{Status: 400, Code: 50035})
	})
}

// Discord would refuse another registration of the same commands. The bot does not try one.
func TestCommandsThatDiscordHasAreNotRegisteredAgain(t *testing.T) {
	simulate(t, overGateway, func(t *testing.T, h *adapterTest) {
		equal(t, "calls", h.fake.Overwrites(), 1)
		h.fake.Break(fakediscord.PutCommands, discordtest.Fault{Status: 400, Code: 50240})
		h.hasCommands.Store(false)
		h.commandIDs.Store(new(map[string]string))
		equal(t, "register", h.register(t.Context(), h.handler.Commands()), nil)
		equal(t, "ready", h.Ready(), true)
		equal(t, "the ID of /price is known", h.commandID("price") != "", true)
		h.mend(fakediscord.PutCommands)
		equal(t, "register fewer", h.register(t.Context(), h.handler.Commands()[1:]), nil)
		equal(t, "commands", len(h.fake.Commands("")), 5)
		equal(t, "calls in the end", h.fake.Overwrites(), 2)
	})
}

// Discord returns more fields than were sent, and may leave out empty ones.
func TestACommandIsRecognizedInTheFormThatDiscordReturns(t *testing.T) {
	const asWanted, different = "[] [] []", "[] [/x] []"
	param := chat.Param{Name: "p", Summary: chat.Say("s")}
	c := chat.Command{Name: "x", Summary: chat.Say("s"), Forms: []chat.Form{{Params: []chat.Param{param}}}}
	wanted := definitions(chat.Commands{c})
	set := func(field string, value any) func(map[string]any) {
		return func(c map[string]any) { c[field] = value }
	}
	setOfOption := func(field string, value any) func(map[string]any) {
		return func(c map[string]any) { c["options"].([]any)[0].(map[string]any)[field] = value }
	}
	addFields := func(c map[string]any) {
		maps.Copy(c, map[string]any{"id": "1", "version": "2", "nsfw": false, "dm_permission": true})
	}
	addNulls := func(c map[string]any) {
		maps.Copy(c, map[string]any{"default_member_permissions": nil, "name_localizations": nil})
	}
	for name, tt := range map[string]struct {
		change func(map[string]any)
		want   string // of the comparison: missing, different, surplus
	}{
		"no change":              {func(map[string]any) {}, asWanted},
		"with Discord's fields":  {addFields, asWanted},
		"with null":              {addNulls, asWanted},
		"contexts reordered":     {set("contexts", []any{2, 1, 0}), asWanted},
		"empty lists":            {setOfOption("choices", []any{}), asWanted},
		"another description":    {set("description", "y"), different},
		"another option":         {setOfOption("required", false), different},
		"no option":              {func(c map[string]any) { delete(c, "options") }, different},
		"fewer contexts":         {set("contexts", []any{0}), different},
		"for moderators":         {set("default_member_permissions", "8"), different},
		"unreadable contexts":    {set("contexts", "all"), different},
		"another name":           {set("name", "y"), "[/x] [] [/y]"},
		"another type":           {set("type", 3), `[/x] [] ["x"]`},
		"an Entry Point command": {set("type", 4), "[/x] [] []"},
	} {
		var returned map[string]any
		sent, _ := json.Marshal(wanted[0])
		_ = json.Unmarshal(sent, &returned)
		tt.change(returned)
		text, _ := json.Marshal([]any{returned})
		var found registration
		equal(t, name+": error", json.Unmarshal(text, &found), nil)
		got := found.compare(wanted)
		equal(t, name, fmt.Sprint(got.missing, got.different, got.surplus), tt.want)
	}
}

func TestCheckComparesTheRegisteredCommands(t *testing.T) {
	ours := (&platformtest.Handler{}).Commands()
	for name, tt := range map[string]struct {
		registered chat.Commands
		want       string // the beginning of the last detail
	}{
		"before the first run": {
			registered: nil,
			want: "its commands are not registered yet: `bot run` registers them; " +
				"if it runs already, its log says why it could not",
		},
		"after the first run": {
			registered: ours,
			want:       "its 6 commands are registered",
		},
		"one is missing": {
			registered: ours[1:],
			want:       "`bot run` replaces the registered commands by its own",
		},
		"only an old one": {
			registered: chat.Commands{{Name: "old", Summary: chat.Say("s"), Forms: []chat.Form{{}}}},
			want:       "its commands are not registered yet",
		},
	} {
		h := newAdapterTest(t, discordtest.New(), overGateway, func(h *adapterTest, c *Config) {
			h.fake.AddCommand(h.fake.EntryPoint("launch"))
		})
		if len(tt.registered) > 0 {
			equal(t, "register", h.registerOnce(t.Context(), tt.registered), nil)
		}
		details, _, err := h.Check(t.Context(), ours)
		equal(t, name+": error", err, nil)
		last := details[len(details)-1]
		equal(t, name+": "+last, strings.HasPrefix(last, tt.want), true)
		h.fake.Break(fakediscord.GetCommands, discordtest.Fault{Status: 500})
		_, _, err = h.Check(t.Context(), ours)
		equal(t, name+": an outage fails the check", err != nil, true)
	}
}

func TestAdviceNamesTheDifferences(t *testing.T) {
	c := comparison{
		missing:   []string{"/price"},
		different: []string{"/staked", `"Check"`},
		surplus:   []string{"/old"},
		same:      1,
	}
	const want = "; missing: /price; of another form: /staked, \"Check\"; not the bot's: /old"
	equal(t, "advice "+c.advice(), strings.HasSuffix(c.advice(), want), true)
	long := discordgo.ApplicationCommand{Name: strings.Repeat("x", 1000)}
	equal(t, "a long name is shortened", len(shownCommand(long)) < 50, true)
}
