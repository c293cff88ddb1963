package discord

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/config"
	fakediscord "herald/internal/demo/fake/discord"
)

func TestCheckTellsWhoTheBotIsAndHowInteractionsCome(t *testing.T) {
	const name = "Herald, application 1100000000000000001"
	const endpoint = "https://bot.example/secret-path/discord/interactions"
	nowhere := "it has no interactions endpoint URL yet: while the bot runs, enter " +
		"https://<your host>/discord/interactions in the Developer Portal"
	for about, tt := range map[string]struct {
		way      way
		change   change
		endpoint string
		learned  []string
		problem  string // what is wrong, and with which setting
		setting  string
	}{
		"gateway":       {overGateway, nil, "", []string{name, "interactions come over the gateway"}, "", ""},
		"HTTP":          {byHTTP, nil, endpoint, []string{name, "interactions come by HTTP, to bot.example"}, "", ""},
		"HTTP, nowhere": {byHTTP, nil, "", []string{name, nowhere}, "", ""},
		"another application": {overGateway, func(_ *harness, c *Config) { c.ApplicationID = "42" }, "",
			[]string{name}, "belongs to this application", "DISCORD_APPLICATION_ID"},
		"another key": {byHTTP, func(_ *harness, c *Config) { c.PublicKey = make(ed25519.PublicKey, ed25519.PublicKeySize) }, endpoint,
			[]string{name}, "another public key", "DISCORD_PUBLIC_KEY"},
		"gateway beside HTTP": {overGateway, nil, endpoint,
			[]string{name}, "interactions endpoint URL, at bot.example, so nothing comes", "DISCORD_PUBLIC_KEY"},
	} {
		t.Run(about, func(t *testing.T) {
			changes := slices.DeleteFunc([]change{tt.change}, func(c change) bool { return c == nil })
			h := newHarness(t, fakediscord.New(), tt.way, changes...)
			h.fake.EnterEndpoint(tt.endpoint)
			learned, err := h.Check(t.Context())
			if !slices.Equal(learned, tt.learned) {
				t.Errorf("learned %q, want %q", learned, tt.learned)
			}
			wrong, is := errors.AsType[*config.WrongError](err)
			switch {
			case tt.problem == "" && err != nil:
				t.Error(err)
			case tt.problem == "":
			case !is || !strings.Contains(wrong.Problem, tt.problem) || !strings.Contains(wrong.Settings, tt.setting),
				strings.Contains(wrong.Problem, "secret"):
				t.Errorf("got %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err = h.register(ctx, h.handler.Commands())
			if told := h.logged.Lines("may not arrive") > 0; err != nil || told != (tt.problem != "") {
				t.Errorf("%v; while it runs the log says:\n%s", err, h.logged)
			}
			h.fake.Break(fakediscord.Application, fakediscord.Fault{Status: 503})
			if _, err := h.Check(t.Context()); err == nil {
				t.Error("a refusal passed")
			}
		})
	}
}
