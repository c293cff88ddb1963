package app

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/config/configtest"
	"herald/internal/router"
	"herald/internal/secret"
)

const canary = configtest.Canary

// settings is the table of every setting. It fills a Config that tests do not read.
var settings = new(Config).Table()

// settingsWith returns an environment with the example of each required setting. changes are NAME=value strings.
func settingsWith(changes ...string) []string { return configtest.Environ(settings, changes...) }

func mustLoad(t *testing.T, environ []string, envFile string) *Config {
	t.Helper()
	c, err := Load(environ, envFile, ToLook)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

// mistakesOf returns the lines of an error that Load returned.
func mistakesOf(t *testing.T, err error) config.Errors {
	t.Helper()
	var mistakes config.Errors
	if err != nil && !errors.As(err, &mistakes) {
		t.Fatalf("the error is not a config.Errors: %v", err)
	}
	return mistakes
}

// everySetting returns an environment in which each setting has its example.
func everySetting() []string {
	var environ []string
	for _, s := range settings {
		environ = append(environ, s.Name+"="+cmp.Or(s.Example, s.Default))
	}
	return append(environ, "TOKEN_LOGO=../pricechart/testdata/logo.png", "DATA_DIR="+os.TempDir())
}

func TestLoadReadsEverySetting(t *testing.T) {
	c := mustLoad(t, everySetting(), "")
	// EnvFile is empty because no file is loaded. The examples turn off Multicall and Discord's presence, and limit the
	// credits.
	unset := []string{
		"Config.EnvFile",
		"Config.Services.Staking.Multicall",
		"Config.Discord.Presence",
		"Config.Services.Market.Unlimited",
	}
	visitFields("Config", reflect.ValueOf(*c), func(name string, field reflect.Value) {
		if field.IsZero() != slices.Contains(unset, name) {
			t.Errorf("%s is %v: its setting's example must fill it, or add it to unset in this test", name, field)
		}
	})
}

// visitFields calls visit for each field of a struct and of the structs in it, with a name
// such as "Config.Ops.Addr".
func visitFields(name string, v reflect.Value, visit func(name string, field reflect.Value)) {
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[secret.Value]() {
		visit(name, v)
		return
	}
	for i := range v.NumField() {
		visitFields(name+"."+v.Type().Field(i).Name, v.Field(i), visit)
	}
}

func TestLoadReadsOperatorsAndModeratorChats(t *testing.T) {
	c := mustLoad(t, everySetting(), "")
	operators := []chat.User{
		{Platform: "telegram", ID: "123456789"},
		{Platform: "discord", ID: "123456789012345678"},
	}
	if !slices.Equal(c.Operators, operators) {
		t.Errorf("Operators are %v, want %v", c.Operators, operators)
	}
	chats := []string{"telegram:-1001234567890", "discord:123456789012345678"}
	if !slices.Equal(c.ModeratorChats, chats) {
		t.Errorf("ModeratorChats are %v, want %v", c.ModeratorChats, chats)
	}
}

func TestUnusualValuesAreAccepted(t *testing.T) {
	longestName := strings.Repeat("é", 40)
	longestURL := "https://h/" + strings.Repeat("a", 502)
	const symbol = "\u5e01🚀ABCDEFGHIJKLMN$H\u2764\ufe0f" // 20 characters, the most
	c := mustLoad(t, settingsWith(
		"COMMAND_TIMEOUT=14m",
		"EXPLORER_URL=https://address.example/addresses/",
		"HTTP_ADDR=off",
		"MODERATOR_CHATS=*",
		"RATE_LIMIT_CHAT=0",
		"RATE_LIMIT_USER=0",
		"REGISTER_URL=http://h?a#b",
		"SERVICE_NAME="+longestName,
		"STAKE_URL="+longestURL,
		"TOKEN_SYMBOL="+symbol,
	), "")
	for _, test := range []struct {
		setting   string
		got, want any
	}{
		{"COMMAND_TIMEOUT", c.Limits.CommandTimeout, 14 * time.Minute},
		{"EXPLORER_URL", c.Answers.ExplorerURL, "https://address.example/addresses"},
		{"HTTP_ADDR", c.Ops.Addr, ""},
		{"MODERATOR_CHATS", strings.Join(c.ModeratorChats, " "), router.EveryChat},
		{"RATE_LIMIT_CHAT", c.Limits.ChatPerMinute, 0},
		{"RATE_LIMIT_USER", c.Limits.UserPerMinute, 0},
		{"REGISTER_URL", c.Answers.RegisterURL, "http://h?a#b"},
		{"SERVICE_NAME", c.Answers.ServiceName, longestName},
		{"STAKE_URL", c.Answers.StakeURL, longestURL},
		{"TOKEN_SYMBOL", c.Market.Symbol, symbol},
	} {
		if test.got != test.want {
			t.Errorf("%s is read as %q, want %q", test.setting, test.got, test.want)
		}
	}
}

func TestServiceNameIsEmptyByDefault(t *testing.T) {
	if name := mustLoad(t, settingsWith(), "").Answers.ServiceName; name != "" {
		t.Errorf("without SERVICE_NAME the name is %q", name)
	}
}

func TestChatLanguageTakesEntriesForChats(t *testing.T) {
	for value, want := range map[string]struct {
		language chat.Language            // the default
		chats    map[string]chat.Language // of the chats with an entry
	}{
		"": {
			language: chat.English,
		},
		"vi": {
			language: chat.Vietnamese,
		},
		"telegram:-1:tr": {
			language: chat.English,
			chats:    map[string]chat.Language{"telegram:-1": chat.Turkish},
		},
		"telegram:-1:tr,es": {
			language: chat.Spanish,
			chats:    map[string]chat.Language{"telegram:-1": chat.Turkish},
		},
		"discord:1:ru , en": {
			language: chat.English,
			chats:    map[string]chat.Language{"discord:1": chat.Russian},
		},
		"discord:1:ru,discord:2:ru,zh,telegram:-1:en": {
			language: chat.Chinese,
			chats: map[string]chat.Language{
				"discord:1":   chat.Russian,
				"discord:2":   chat.Russian,
				"telegram:-1": chat.English,
			},
		},
	} {
		c := mustLoad(t, settingsWith("CHAT_LANGUAGE="+value), "")
		if c.Language != want.language {
			t.Errorf("%q: the default is read as %q, want %q", value, c.Language, want.language)
		}
		if !maps.Equal(c.ChatLanguages, want.chats) {
			t.Errorf("%q: the chats are read as %q, want %q", value, c.ChatLanguages, want.chats)
		}
	}
}

func TestEachInvalidEntryOfChatLanguageIsReported(t *testing.T) {
	mistakes := configtest.Try(settings, "CHAT_LANGUAGE=xx,telegram:5:tr,discord:1:tr,discord:1:es,en,tr")
	wants := []string{
		"entry 1 must name one of",
		"entry 2 must be a language, or",
		"entry 4 names the chat of entry 3",
		"entry 6 is a second default",
	}
	if len(mistakes) != len(wants) {
		t.Fatalf("%d mistakes, want %d: %q", len(mistakes), len(wants), mistakes)
	}
	for i, want := range wants {
		if !strings.HasPrefix(mistakes[i], "CHAT_LANGUAGE: "+want) {
			t.Errorf("got %q, want %q", mistakes[i], want)
		}
	}
}

func TestEachSettingIsCompleteAndListedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings {
		if seen[s.Name] {
			t.Errorf("%s is listed twice", s.Name)
		}
		seen[s.Name] = true
		if s.Set == nil || s.Comment == "" {
			t.Errorf("%s lacks Set or Comment", s.Name)
		}
		if s.Example == "" && s.Default == "" {
			t.Errorf("%s has neither an Example nor a Default", s.Name)
		}
		if s.Required && s.Default != "" {
			t.Errorf("%s is required, but has a Default", s.Name)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for i, s := range settings {
		f.Add(uint(i), cmp.Or(s.Example, s.Default))
		f.Add(uint(i), "https://user:pass@host:1/%zz?a=%")
	}
	f.Fuzz(func(t *testing.T, i uint, value string) {
		s := settings[i%uint(len(settings))]
		if s.Name == "STAKING_POOLS" && strings.HasPrefix(strings.TrimSpace(value), "@") {
			return // The value names a file of this machine.
		}
		c, err := Load(settingsWith("TELEGRAM_BOT_TOKEN=1:a", "DISCORD_BOT_TOKEN=b", s.Name+"="+value), "", ToServe)
		if (c == nil) == (err == nil) {
			t.Fatalf("Load returned %v and %v", c, err)
		}
		for _, line := range mistakesOf(t, err) {
			if strings.Contains(line, "\n") || !strings.Contains(line, "example") {
				t.Errorf("the mistake is more than one line, or gives no example: %q", line)
			}
		}
		if c != nil {
			c.Secrets() // It must not panic.
		}
	})
}
