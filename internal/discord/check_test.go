package discord

import (
	"crypto/ed25519"
	"errors"
	"slices"
	"strings"
	"testing"

	"herald/internal/config"
	"herald/internal/discord/discordtest"
)

const (
	checkedName = "Herald, application 1100000000000000001"
	endpoint    = "https://bot.example/secret-path/discord/interactions"
)

func TestCheckTellsWhoTheBotIsAndHowInteractionsCome(t *testing.T) {
	byHTTP := func(h *harness, c *Config) { c.PublicKey = h.fake.PublicKey }
	for name, test := range map[string]struct {
		change   func(*harness, *Config)
		endpoint string
		want     []string
	}{
		"gateway":       {nil, "", []string{checkedName, "interactions come over the gateway"}},
		"asked for ID":  {func(_ *harness, c *Config) { c.ApplicationID = "" }, "", []string{checkedName, "interactions come over the gateway"}},
		"HTTP":          {byHTTP, endpoint, []string{checkedName, "interactions come by HTTP, to bot.example"}},
		"HTTP, nowhere": {byHTTP, "", []string{checkedName, "it has no interactions endpoint URL yet: while the bot runs, enter https://<your host>/discord/interactions in the Developer Portal"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := prepare(t, test.change)
			h.fake.EnterEndpoint(test.endpoint)
			if learned, err := h.Check(h.ctx); err != nil || !slices.Equal(learned, test.want) {
				t.Errorf("got %q, %v, want %q", learned, err, test.want)
			}
		})
	}
}

func TestCheckFailsWhereNoInteractionWouldCome(t *testing.T) {
	for name, test := range map[string]struct {
		change         func(*harness, *Config)
		endpoint       string
		wants, setting string
	}{
		"another application": {func(_ *harness, c *Config) { c.ApplicationID = "42" }, "", "belongs to this application", "DISCORD_APPLICATION_ID"},
		"another key":         {func(_ *harness, c *Config) { c.PublicKey = make(ed25519.PublicKey, ed25519.PublicKeySize) }, endpoint, "another public key", "DISCORD_PUBLIC_KEY"},
		"gateway beside HTTP": {nil, endpoint, "interactions endpoint URL, at bot.example, so nothing comes", "DISCORD_PUBLIC_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			h := prepare(t, test.change)
			h.fake.EnterEndpoint(test.endpoint)
			learned, err := h.Check(h.ctx)
			wrong, is := errors.AsType[*config.WrongError](err)
			if !is || !strings.Contains(wrong.Problem, test.wants) || !strings.Contains(wrong.Settings, test.setting) || strings.Contains(wrong.Problem, "secret") {
				t.Errorf("got %v", err)
			}
			if len(learned) == 0 || learned[0] != checkedName {
				t.Errorf("learned %q", learned)
			}
		})
	}
	h := prepare(t, nil)
	h.fake.Break(discordtest.Application, discordtest.Fault{Status: 503})
	if _, err := h.Check(h.ctx); err == nil {
		t.Error("a refusal passed")
	}
}

func TestConnectedIsToldWithTheBotsName(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		h := prepare(t, func(h *harness, c *Config) {
			if byHTTP {
				c.PublicKey = h.fake.PublicKey
			}
		})
		// Asked again, it is still told once.
		h.fake.Script(discordtest.ListCommands, discordtest.Fault{Status: 503})
		h.run(t)
		h.wait(t, "the commands are registered", func() bool { return h.counts.of("commands_written") == 1 })
		h.wait(t, "it is told", func() bool { return h.counts.of("as Herald") == 1 })
	}
}
