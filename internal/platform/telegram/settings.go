package telegram

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/secret"
)

// Settings are what an operator chooses. Telegram is on if Token is set.
type Settings struct {
	Token secret.Value
	// APIURL is the Bot API server, without a slash at its end.
	APIURL string
	// WebhookURL is where Telegram delivers updates, and WebhookPath is its path. If both are empty, the bot polls.
	WebhookURL    string
	WebhookPath   string
	WebhookSecret secret.Value
	// Pacing keeps sends to Telegram's published rates.
	Pacing bool
	// CleanChat deletes a card in a group once a new one answers the same question.
	CleanChat bool
	// StakerTags holds the tags that come with a stake, in the order of chat.Badge.Compare.
	StakerTags []chat.Badge
	// JoinChats maps the groups whose join requests the bot answers to what they require.
	JoinChats map[int64]chat.Requirement
}

// TokenSetting turns Telegram on.
const TokenSetting = "TELEGRAM_BOT_TOKEN"

// readWebhookSecret reads a secret token: https://core.telegram.org/bots/api#setwebhook
var readWebhookSecret = config.Matching(`[A-Za-z0-9_-]{1,256}`, "1 to 256 of A-Z a-z 0-9 _ -")

// readToken reads a bot's token. A token with two dots is Discord's.
var readToken = config.Except(`[\w-]+\.[\w-]+\.[\w-]+`, "looks like Discord's token (are the two swapped?)",
	config.Matching(`[0-9]+:[A-Za-z0-9_-]+`,
		"a bot's number, a colon, and letters, digits, _ and -, as @BotFather gives it"))

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{
			Heading: "Telegram",
			Name:    TokenSetting,
			Secret:  true,
			Example: "123456789:AAEexample-of-a-token_from-BotFather",
			Comment: "Turns Telegram on. You get it from @BotFather.",
			Set:     config.Field(&s.Token, config.Hidden(readToken)),
		},
		{
			Name:    "TELEGRAM_API_URL",
			Default: "https://api.telegram.org",
			Example: "http://127.0.0.1:8081",
			Comment: "The Bot API server. A self-hosted one works too.",
			Set:     config.Field(&s.APIURL, config.BaseURL),
		},
		{
			Name:    "TELEGRAM_WEBHOOK_URL",
			Example: "https://bot.example.org/telegram",
			Comment: "Public HTTPS URL. A TLS proxy passes its path on to HTTP_ADDR. Needs TELEGRAM_WEBHOOK_SECRET. " +
				"Unset: long polling, which needs no public address.",
			Needs: []string{TokenSetting, "TELEGRAM_WEBHOOK_SECRET", "HTTP_ADDR"},
			Set:   s.setWebhook,
		},
		{
			Name:    "TELEGRAM_WEBHOOK_SECRET",
			Secret:  true,
			Example: "a-long-random_text",
			Comment: "Proves that a delivery comes from Telegram: 1 to 256 characters of A-Z a-z 0-9 _ -, " +
				"for example from `openssl rand -hex 32`.",
			Set: config.Field(&s.WebhookSecret, config.Hidden(readWebhookSecret)),
		},
		{
			Name:    "TELEGRAM_PACING",
			Default: "on",
			Comment: "on: keeps to Telegram's published rates; if too many ask at once, they share answers or read \"busy\". " +
				"off: only Telegram's refusals slow the bot down.",
			Set: config.Field(&s.Pacing, config.OnOff),
		},
		{
			Name:    "CLEAN_CHAT",
			Default: "on",
			Comment: "on: in groups, a new card replaces the bot's previous card that answers the same question. " +
				"off: cards stay.",
			Set: config.Field(&s.CleanChat, config.OnOff),
		},
		{
			Name:    "JOIN_CHATS",
			Example: "telegram:-1001234567890:registered,telegram:-1009876543210:staker:1000",
			Needs:   []string{TokenSetting},
			Set:     s.setJoinChats,
			Comment: "Groups whose join requests the bot approves: telegram:<group ID>:registered, " +
				":staker or :staker:<minimum stake in tokens> (docs/members.md). Unset: none.",
		},
		{
			Name:       "STAKER_TAGS",
			Example:    "telegram:-1001234567890:Staker,telegram:-1001234567890:Big staker:1000",
			Needs:      []string{TokenSetting},
			NeedsOneOf: []string{"DATA_DIR", "REDIS_URL"},
			Set:        s.setStakerTags,
			Comment: "Tags for members who stake: telegram:<group ID>:<tag>, optionally :<minimum stake in tokens>; " +
				"separated by commas. See docs/members.md. Unset: none.",
		},
	}
}

// groupID matches the ID of a group, which is negative. It has at most 18 digits, so that it fits in an int64.
const groupID = `-[1-9][0-9]{0,17}`

// readJoinChats and readStakerTags read the entries of their settings.
var (
	readJoinChats = config.Entries(config.SplitList, "telegram:"+groupID+":(registered|staker(:.*)?)",
		"telegram:ID:registered, telegram:ID:staker or telegram:ID:staker:AMOUNT with the ID of a Telegram group, "+
			"which is negative")
	readStakerTags = config.Entries(config.SplitCommas, "telegram:"+groupID+":.+",
		"telegram:ID:TAG or telegram:ID:TAG:AMOUNT with the ID of a Telegram group, which is negative")
)

// setJoinChats sets JoinChats. It fails if a group is named twice.
func (s *Settings) setJoinChats(value string) error {
	entries, err := readJoinChats(value)
	if err != nil {
		return err
	}
	s.JoinChats = map[int64]chat.Requirement{}
	for i, e := range entries {
		first := slices.IndexFunc(entries, func(other config.Entry) bool { return other.Community == e.Community })
		if first < i {
			return fmt.Errorf("entry %d names the group of entry %d again; keep one of the two", i+1, first+1)
		}
		s.JoinChats[idOf(e.Community)] = chat.Requirement{Staker: e.Value == "staker", Amount: e.Amount}
	}
	return nil
}

// maxTag limits a tag, in characters: https://core.telegram.org/bots/api#setchatmembertag
const maxTag = 16

// setStakerTags sets StakerTags. It fails if a group has two entries with the same tag, or with the same amount.
func (s *Settings) setStakerTags(value string) error {
	entries, err := readStakerTags(value)
	if err != nil {
		return err
	}
	s.StakerTags = nil
	for i, e := range entries {
		if !isTag(e.Value) {
			return fmt.Errorf("entry %d must have a tag of 1 to %d letters, digits, spaces and signs, without colons and emoji",
				i+1, maxTag)
		}
		for j, other := range entries[:i] {
			clashes := e.Value == other.Value || e.Amount.Equal(other.Amount)
			if e.Community == other.Community && clashes {
				return fmt.Errorf("must have each tag of a group once, and each with an amount of its own: see entries %d and %d",
					j+1, i+1)
			}
		}
		s.StakerTags = append(s.StakerTags, chat.Badge{Community: e.Community, ID: e.Value, Amount: e.Amount})
	}
	slices.SortFunc(s.StakerTags, chat.Badge.Compare)
	return nil
}

// isTag reports whether Telegram accepts a text as a tag.
func isTag(text string) bool {
	length := utf8.RuneCountInString(text)
	for _, r := range text {
		if !isInTag(r) {
			return false
		}
	}
	return length >= 1 && length <= maxTag
}

// isInTag reports whether a character may be in a tag. Emoji may not. Most of them are symbols by Unicode, but the
// characters of partsOfEmoji are marks or letters.
func isInTag(r rune) bool {
	const partsOfEmoji = "\uFE0F\u20E3\u2139" // the emoji selector, the keycap and the information sign
	isASCII := r >= ' ' && r <= '~'
	isText := isASCII || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
	return isText && !strings.ContainsRune(partsOfEmoji, r)
}

// reservedPaths are served on HTTP_ADDR beside the webhook.
var reservedPaths = []string{"/healthz", "/readyz", "/metrics", "/discord/interactions"}

var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._~/-]*$`)

// setWebhook sets WebhookURL and WebhookPath. A URL without a path has the path "/".
func (s *Settings) setWebhook(value string) error {
	u, err := config.URL(value, "https")
	if err != nil {
		return err
	}
	if u.User != nil || strings.ContainsAny(value, "?#") {
		return errors.New("must have no user, query or fragment")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	// net/http.ServeMux, which matches the path, cleans the paths of requests and reads braces as wildcards.
	if !plainPath.MatchString(u.EscapedPath()) || path.Clean(u.Path) != u.Path {
		return errors.New("must have a path of letters, digits and ._~- without empty parts or a slash at its end")
	}
	if slices.Contains(reservedPaths, u.Path) {
		return fmt.Errorf("must have another path than %s, which are taken", strings.Join(reservedPaths, ", "))
	}
	s.WebhookURL = u.String()
	s.WebhookPath = u.Path
	return nil
}
