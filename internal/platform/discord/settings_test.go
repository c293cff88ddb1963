package discord_test

import (
	"strings"
	"testing"

	"herald/internal/config/configtest"
	"herald/internal/platform/discord"
)

// For a key of small order anybody can make a signature. The points are from
// https://cr.yp.to/ecdh.html#validate, on the Edwards curve.
func TestAPublicKeyOfSmallOrderIsRefused(t *testing.T) {
	table := new(discord.Settings).Table()
	const ones, sevens = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"
	for _, key := range []string{
		"01" + strings.Repeat("00", 31), "01" + strings.Repeat("00", 30) + "80", "ec" + ones + "7f", "ec" + ones + "ff", "ee" + ones + "7f", "ee" + ones + "ff",
		strings.Repeat("00", 32), strings.Repeat("00", 31) + "80", "ed" + ones + "7f", "ed" + ones + "ff",
		sevens, sevens[:62] + "fa", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	} {
		configtest.OneMistake(t, table, configtest.Try(table, "DISCORD_BOT_TOKEN=a", "DISCORD_PUBLIC_KEY="+key), "DISCORD_PUBLIC_KEY", "small order")
	}
}

func TestWhatOnlyDiscordUsesNeedsAToken(t *testing.T) {
	table := new(discord.Settings).Table()
	for _, s := range table {
		if s.Name == "DISCORD_BOT_TOKEN" || s.Default != "" {
			continue
		}
		configtest.OneMistake(t, table, configtest.Try(table, s.Name+"="+s.Example), "DISCORD_BOT_TOKEN", "is needed by "+s.Name+" and not set")
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
		s := new(discord.Settings)
		table := s.Table()
		mistakes := configtest.Try(table, strings.Fields(presence)...)
		if wrong != "" {
			configtest.OneMistake(t, table, mistakes, "DISCORD_PRESENCE", wrong)
		} else if on := strings.HasSuffix(presence, "price"); len(mistakes) > 0 || s.Presence != on {
			t.Errorf("%s: on %t, %v", presence, s.Presence, mistakes)
		}
	}
}
