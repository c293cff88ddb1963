package discord_test

import (
	"strings"
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/discord"
)

func TestSettingsRefuseOtherForms(t *testing.T) {
	const canary = configtest.Canary
	table := new(discord.Settings).Table()
	configtest.Refuses(t, table, "DISCORD_BOT_TOKEN", "visible", "Bot "+canary, canary+"é")
	configtest.Refuses(t, table, "DISCORD_APPLICATION_ID", "numeric", canary, "0", "-1", "012")
	configtest.Refuses(t, table, "DISCORD_API_URL", "without a path", "https://host/"+canary)
	configtest.Refuses(t, table, "DISCORD_API_URL", "URL", "https://exa"+canary+" mple", canary, "ftp://"+canary, "https://")
	configtest.Refuses(t, table, "DISCORD_GUILD_ID", "numeric", canary)
	for _, key := range []string{canary, "ab", strings.Repeat("zz", 32), strings.Repeat("ab", 33)} {
		mistakes := configtest.Try(table, "DISCORD_BOT_TOKEN=a", "DISCORD_PUBLIC_KEY="+key)
		configtest.OneMistake(t, table, mistakes, "DISCORD_PUBLIC_KEY", "64 hexadecimal digits")
	}
}

func TestAPublicKeyNeedsAToken(t *testing.T) {
	table := new(discord.Settings).Table()
	mistakes := configtest.Try(table, "DISCORD_PUBLIC_KEY=d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
	configtest.OneMistake(t, table, mistakes, "DISCORD_BOT_TOKEN", "is needed by DISCORD_PUBLIC_KEY and not set")
}

func TestTheOriginHasOneForm(t *testing.T) {
	s := new(discord.Settings)
	if mistakes := configtest.Try(s.Table(), "DISCORD_BOT_TOKEN=a", "DISCORD_API_URL=HTTP://127.0.0.1:3000/"); len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	if s.APIURL != "http://127.0.0.1:3000" {
		t.Errorf("%q", s.APIURL)
	}
}
