package discord

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/config"
	"herald/internal/secret"
)

// Settings are what an operator chooses. Discord is on if Token is set.
type Settings struct {
	Token secret.Value
	// APIURL is the REST origin, without a slash at the end: https://discord.com.
	APIURL string
	// PublicKey verifies interactions that arrive by HTTP. If it is nil, interactions arrive over the gateway.
	PublicKey ed25519.PublicKey
	// StakerRoles holds the roles that come with a stake, sorted by chat.Badge.Compare.
	StakerRoles []chat.Badge
	// Presence turns on the price under the bot's name in member lists.
	Presence bool
}

// Config is what an Adapter works with.
type Config struct {
	Settings
	Dedup claim.Claims // An interaction may arrive twice, and is answered once.
	Log   *slog.Logger
	// Count is called with the name of an event, and must not block. The events are
	//   - of an interaction: interaction, duplicate, ignored, too_late, dropped, bad_signature, panic;
	//   - of its answer: deferred, answered, answer_expired, answer_failed,
	//     answer_outcome_unknown, picture_failed;
	//   - of any call: rate_limited, retried;
	//   - of the gateway: identified, identify_throttled, connected, resumed, disconnected.
	Count func(event string)
	// Connected is called with the bot's name: whenever the gateway connects or, if interactions arrive by HTTP, whenever
	// the commands have been registered. It must not block.
	Connected func(name string)
	// Retried is called with the error of a call that is retried because the connection failed, and of a connection to
	// the gateway that could not be made, or was lost within a minute of the one before. It must not block.
	Retried func(err error)
	// Status is the Status of gateway.Config. It is not called if interactions arrive by HTTP.
	Status func(ctx context.Context) string
}

// TokenSetting turns Discord on.
const TokenSetting = "DISCORD_BOT_TOKEN"

// parseToken accepts any visible text except a token of Telegram.
var parseToken = config.Except(`[0-9]+:[\w-]+`, "looks like Telegram's token (are the two swapped?)", config.Visible)

// Table declares the settings that fill s. Rows are read in order. Token and PublicKey stand before Presence, because
// parsePresence uses both.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{
			Heading: "Discord",
			Name:    TokenSetting,
			Secret:  true,
			Example: "MTIzNDU2Nzg5MDEyMzQ1Njc4.example.of-a-bot-token",
			Comment: "Turns Discord on. It is on the Developer Portal's page \"Bot\".",
			Set:     config.Field(&s.Token, config.Hidden(parseToken)),
		},
		{
			Name:    "DISCORD_API_URL",
			Default: "https://discord.com",
			Example: "http://127.0.0.1:3000",
			Comment: "Scheme and host of the REST API, which names the gateway. A proxy works too.",
			Set:     config.Field(&s.APIURL, parseOrigin),
		},
		{
			Name:    "DISCORD_PUBLIC_KEY",
			Example: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
			Comment: "The application's public key. Set: interactions arrive by HTTP at /discord/interactions. " +
				"Unset: over the gateway, without a public address.",
			Needs: []string{TokenSetting, "HTTP_ADDR"},
			Set:   config.Field(&s.PublicKey, parsePublicKey),
		},
		{
			Name:    "DISCORD_PRESENCE",
			Default: config.Off,
			Comment: "price: the member list shows the price and its change over 24 hours under the bot's name. " +
				"Needs the gateway and a price. off: it does not.",
			Set: config.Field(&s.Presence, s.parsePresence),
		},
		{
			Name:    "STAKER_ROLES",
			Example: "discord:123456789012345678:234567890123456789,discord:123456789012345678:345678901234567890:1000",
			Comment: "Roles for members who stake: discord:<server ID>:<role ID>, optionally :<minimum stake in tokens>. " +
				"See docs/members.md. Unset: none.",
			Needs:      []string{TokenSetting},
			NeedsOneOf: []string{"DATA_DIR", "REDIS_URL"},
			Set:        s.setStakerRoles,
		},
	}
}

var readStakerRoles = config.Entries(config.SplitList, `discord:[1-9][0-9]{0,19}:[1-9][0-9]{0,19}(:.*)?`,
	"discord:ID:ID or discord:ID:ID:AMOUNT with the IDs of a server and of a role in it")

// setStakerRoles sets StakerRoles, sorted. It fails if an entry cannot be read, or names @everyone or the role of an
// earlier entry.
func (s *Settings) setStakerRoles(value string) error {
	entries, err := readStakerRoles(value)
	if err != nil {
		return err
	}
	s.StakerRoles = nil
	for i, e := range entries {
		if e.Value == e.Community {
			return fmt.Errorf("entry %d must be a role of some members: the one with the server's ID is @everyone", i+1)
		}
		first := slices.IndexFunc(entries,
			func(other config.Entry) bool { return other.Community == e.Community && other.Value == e.Value })
		if first < i {
			return fmt.Errorf("entry %d names the role of entry %d again; keep one of the two", i+1, first+1)
		}
		s.StakerRoles = append(s.StakerRoles, chat.Badge{Community: e.Community, ID: e.Value, Amount: e.Amount})
	}
	slices.SortFunc(s.StakerRoles, chat.Badge.Compare)
	return nil
}

// parsePresence parses DISCORD_PRESENCE. It fails for "price" unless Discord is on and uses the gateway.
func (s *Settings) parsePresence(value string) (bool, error) {
	price, err := config.OneOf([]string{"price", config.Off}, []bool{true, false})(value)
	switch {
	case price && !s.Token.IsSet():
		return false, errors.New("is price, but " + TokenSetting + " is not set")
	case price && s.PublicKey != nil:
		return false, errors.New("is price, which needs the gateway, but DISCORD_PUBLIC_KEY turns that off; " +
			"unset one of the two")
	}
	return price, err
}

// parseOrigin parses a URL that has only a scheme and a host, and returns it in lower case.
func parseOrigin(value string) (string, error) {
	origin, err := config.BaseURL(value)
	_, host, _ := strings.Cut(origin, "://")
	if err == nil && strings.Contains(host, "/") {
		err = errors.New("must be a scheme and a host without a path")
	}
	return strings.ToLower(origin), err
}

// parsePublicKey parses a key in hexadecimal digits.
func parsePublicKey(value string) (ed25519.PublicKey, error) {
	key, err := hex.DecodeString(value)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("must be an Ed25519 public key, %d hexadecimal digits", 2*ed25519.PublicKeySize)
	}
	return key, nil
}
