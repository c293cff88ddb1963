package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/secret"
)

// canary is part of values. A mistake must not repeat it.
const canary = "CANARY"

// sample holds a few settings that differ in how they are declared. table declares them.
type sample struct {
	Name    string
	Key     secret.Value
	Mode    bool
	Address string
	Hook    string
	Pause   time.Duration
}

func (s *sample) table() []Setting {
	return []Setting{
		{
			Name:     "NAME",
			Required: true,
			Example:  "a-name",
			Set:      Field(&s.Name, Visible),
		},
		{
			Name:    "KEY",
			Secret:  true,
			Example: "a-key",
			Set:     Field(&s.Key, Hidden(Text)),
		},
		{
			Name:    "MODE",
			Default: "off",
			Example: "on",
			Set:     Field(&s.Mode, OnOff),
		},
		{
			Name:    "ADDRESS",
			Default: "here",
			Example: "there",
			Set:     Field(&s.Address, Text),
		},
		{
			Name:    "HOOK",
			Needs:   []string{"KEY", "ADDRESS"},
			Example: "a-hook",
			Set:     Field(&s.Hook, Visible),
		},
		{
			Name:    "OTHER_HOOK",
			Needs:   []string{"ADDRESS"},
			Example: "a-hook",
			Set:     Field(&s.Hook, Visible),
		},
		{
			Name:       "KEPT",
			NeedsOneOf: []string{"KEY", "HOOK"},
			Example:    "a-thing",
			Set:        Field(&s.Hook, Visible),
		},
		{
			Name:    "PAUSE",
			Default: "30s",
			Example: "1s",
			Set:     Field(&s.Pause, Duration),
		},
	}
}

// readSample reads a sample from an environment and an env file, and returns all mistakes. If envFile is "", there is
// no file.
func readSample(envFile string, environ ...string) (s sample, mistakes Errors) {
	given, mistakes := Collect(environ, envFile)
	mistakes = append(mistakes, given.Fill(s.table())...)
	return s, mistakes
}

// mustRead is like readSample, but ends the test if there is a mistake.
func mustRead(t *testing.T, envFile string, environ ...string) sample {
	t.Helper()
	s, mistakes := readSample(envFile, environ...)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return s
}

// write writes a new file, and returns its path.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestASettingThatIsMissingOrEmptyHasItsDefault(t *testing.T) {
	want := sample{Name: "x", Address: "here", Pause: 30 * time.Second}
	for _, environ := range [][]string{
		{"NAME=x"},
		{"NAME=  x\t", "PAUSE= ", "KEY="},
		{"NAME=x", "ADDRESS_FILE=" + write(t, "there")}, // Only a secret can be given in a file.
	} {
		if got := mustRead(t, "", environ...); got != want {
			t.Errorf("%q is read as %+v, want %+v", environ, got, want)
		}
	}
}

func TestEnvironmentWinsOverEnvFile(t *testing.T) {
	file := write(t, "\ufeffNAME=file\nMODE=on\n")
	s := mustRead(t, file, "NAME=environment", "MODE=")
	if s.Name != "environment" {
		t.Errorf("the name is %q", s.Name)
	}
	if !s.Mode {
		t.Error("an empty variable hides the mode of the env file")
	}
}

func TestSecretOfTheEnvironmentWinsOverEnvFile(t *testing.T) {
	secretFile := "KEY_FILE=" + write(t, "from-a-secret-file\r\n")
	s := mustRead(t, write(t, "NAME=x\nKEY=from-the-env-file\n"), "KEY=", secretFile)
	if got := s.Key.Reveal(); got != "from-a-secret-file" {
		t.Errorf("with KEY_FILE in the environment the secret is %q", got)
	}
	s = mustRead(t, write(t, "NAME=x\n"+secretFile), "KEY=from-the-environment")
	if got := s.Key.Reveal(); got != "from-the-environment" {
		t.Errorf("with KEY_FILE in the env file the secret is %q", got)
	}
}

func TestMistakesNameTheSettingAndAnExample(t *testing.T) {
	keyFile := "KEY_FILE=" + write(t, "k")
	for name, test := range map[string]struct {
		environ []string
		want    []string
	}{
		"nothing is set": {
			environ: nil,
			want:    []string{"NAME: is required but not set; for example NAME=a-name"},
		},
		"several at once, in order": {
			environ: []string{"MODE=" + canary, "NAME=" + canary + " x"},
			want: []string{
				"NAME: must be visible ASCII characters without white space; character 7 is U+0020; " +
					"for example NAME=a-name",
				"MODE: must be one of on, off; for example MODE=on",
			},
		},
		"a secret twice": {
			environ: []string{"NAME=x", "KEY=" + canary, keyFile},
			want:    []string{"KEY: is set, and so is KEY_FILE; keep one of the two; for example KEY=a-key"},
		},
		"no secret file": {
			environ: []string{"NAME=x", "KEY_FILE=" + t.TempDir() + "/" + canary},
			want: []string{"KEY: the file named by KEY_FILE cannot be opened: no such file or directory; " +
				"for example KEY=a-key"},
		},
		"a huge secret file": {
			environ: []string{"NAME=x", "KEY_FILE=" + write(t, strings.Repeat(canary, 20000))},
			want:    []string{"KEY: the file named by KEY_FILE is larger than 65536 bytes; for example KEY=a-key"},
		},
	} {
		if _, got := readSample("", test.environ...); !slices.Equal(got, test.want) {
			t.Errorf("%s: got\n%v\nwant\n%v", name, got, Errors(test.want))
		}
	}
}

func TestASettingMayNeedOthers(t *testing.T) {
	keyFile := "KEY_FILE=" + write(t, "k")
	for name, test := range map[string]struct {
		environ []string
		want    []string
	}{
		"one is not set": {
			environ: []string{"HOOK=" + canary},
			want:    []string{"KEY: is needed by HOOK but not set; for example KEY=a-key"},
		},
		"one is off": {
			environ: []string{"HOOK=x", "OTHER_HOOK=x", keyFile, "ADDRESS=off"},
			want:    []string{"ADDRESS: is needed by HOOK and OTHER_HOOK but off; for example ADDRESS=there"},
		},
		"neither of two is set": {
			environ: []string{"KEPT=" + canary},
			want:    []string{"KEPT: needs KEY or HOOK, and neither is set; for example KEY=a-key"},
		},
		"one of two is in a file": {
			environ: []string{"KEPT=x", keyFile},
			want:    nil,
		},
		"one is in a file": {
			environ: []string{"HOOK=x", keyFile},
			want:    nil,
		},
	} {
		if _, got := readSample("", append(test.environ, "NAME=x")...); !slices.Equal(got, test.want) {
			t.Errorf("%s: got\n%v\nwant\n%v", name, got, Errors(test.want))
		}
	}
}

func TestMistakesInAnEnvFileNameItsLine(t *testing.T) {
	noSecret := "KEY_FILE=" + t.TempDir() + "/" + canary
	// FILE stands for the path of the file.
	for _, test := range []struct{ file, environ, want string }{
		{
			file:    "NAME=x\nPAUSE=" + canary,
			environ: "",
			want:    "FILE:2: PAUSE: must be a duration",
		},
		{
			file:    "\n# the name\nNAME= # soon",
			environ: "",
			want:    "FILE:3: NAME: is required but not set; for example NAME=a-name",
		},
		{
			file:    "NAME=x\nKEY=" + canary + "\nKEY_FILE=/x",
			environ: "",
			want:    "FILE:2: KEY: is set, and so is KEY_FILE",
		},
		{
			file:    "NAME=x\n" + noSecret,
			environ: "",
			want:    "FILE:2: KEY: the file named by KEY_FILE cannot be opened",
		},
		{
			file:    "NAME=x\nHOOK=x",
			environ: "",
			want:    "FILE:2: KEY: is needed by HOOK but not set",
		},
		{
			file:    "NAME=x\nHOOK=x\nKEY=",
			environ: "",
			want:    "FILE:3: KEY: is needed by HOOK but not set",
		},
		{
			file:    "NAME=x\nKEY=x\nHOOK=x\nADDRESS=off",
			environ: "",
			want:    "FILE:4: ADDRESS: is needed by HOOK but off",
		},
		{
			file:    "NAME=x\nKEY=x\nHOOK=x",
			environ: "ADDRESS=off",
			want:    "ADDRESS: is needed by HOOK but off",
		},
		{
			file:    "NAME=x\nPAUSE=1s",
			environ: "PAUSE=" + canary,
			want:    "PAUSE: must be a duration",
		},
		{
			file:    "PAUSE=1s\nNAME=x\nPAUSE=2s",
			environ: "",
			want:    "FILE:3: PAUSE: has another value on line 1; keep one of the two",
		},
	} {
		file := write(t, test.file)
		_, got := readSample(file, test.environ)
		wantMistake(t, got, strings.Replace(test.want, "FILE", file, 1))
	}
}

// wantMistake fails the test unless got is one mistake, begins with want, and does not repeat the value.
func wantMistake(t *testing.T, got Errors, want string) {
	t.Helper()
	if len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("got\n%v\nwant %s", got, want)
	}
	if strings.Contains(got.Error(), canary) {
		t.Errorf("the value is repeated: %v", got)
	}
}

// knownSettings is a table of settings, whose names the tests mistype.
var knownSettings = []Setting{
	{Name: "PRICE_TOKEN_ID", Example: "1027"},
	{Name: "PRICE_API_KEY", Secret: true, Example: "a"},
	{Name: "PARTNER_SECRET_KEY", Secret: true, Example: "a"},
	{Name: "TELEGRAM_BOT_TOKEN", Secret: true, Example: "1:a"},
	{Name: "DISCORD_BOT_TOKEN", Secret: true, Example: "a"},
	{Name: "REDIS_URL", Secret: true, Example: "redis://h"},
	{Name: "EVM_RPC_URL", Example: "https://h"},
	{Name: "HTTP_ADDR", Default: "127.0.0.1:8080"},
	{Name: "LOG_LEVEL", Default: "info"},
	{Name: "SUPPLY_URL", Example: "https://h"},
	{Name: "SERVICE_NAME", Example: "a name"},
	{Name: "DATA_DIR", Example: "/data"},
	{Name: "OPERATORS", Example: "telegram:1"},
}

// unknown returns the mistakes about names that knownSettings lacks.
func unknown(t *testing.T, envFile string, environ ...string) Errors {
	t.Helper()
	given, wrong := Collect(environ, envFile)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return given.unknown(knownSettings)
}

func TestAnUnknownNameInAnEnvFileIsAMistake(t *testing.T) {
	const (
		notShown = "the name before = (not shown, since it may be a secret; " +
			"a setting's name is at most 60 of A-Z, 0-9 and _)"
		noneResembles = "; remove it, or look up its right name in config.example.env, such as LOG_LEVEL=info"
	)
	for name, want := range map[string]string{
		"TELEGRAM_BOT_TOKEN_FIEL": "TELEGRAM_BOT_TOKEN_FIEL: is not a setting; " +
			"did you mean TELEGRAM_BOT_TOKEN_FILE? " +
			"For example TELEGRAM_BOT_TOKEN_FILE=/run/secrets/telegram_bot_token",
		"log_level":             notShown + ": is not a setting; did you mean LOG_LEVEL? For example LOG_LEVEL=info",
		"HTTPS_PROXY":           "HTTPS_PROXY: is not a setting" + noneResembles,
		"a123456789_" + canary:  notShown + ": is not a setting" + noneResembles, // like a token
		strings.Repeat("X", 61): notShown + ": is not a setting" + noneResembles,
	} {
		for _, line := range []string{name + "=x", name + "="} {
			file := write(t, "TELEGRAM_BOT_TOKEN_FILE=/a\n"+line)
			if got := unknown(t, file); !slices.Equal(got, Errors{file + ":2: " + want}) {
				t.Errorf("%s: got\n%v\nwant\n%s", line, got, want)
			}
		}
	}
}

func TestMistypedNameSuggestsTheIntendedSetting(t *testing.T) {
	for name, intended := range map[string]string{
		// A word is missing.
		"TELEGRAM_TOKEN": "TELEGRAM_BOT_TOKEN",
		"DISCORD_TOKEN":  "DISCORD_BOT_TOKEN",
		"PARTNER_KEY":    "PARTNER_SECRET_KEY",
		"PRICE_KEY":      "PRICE_API_KEY",
		"RPC_URL":        "EVM_RPC_URL",
		"LOGLEVEL":       "LOG_LEVEL",
		// An S is missing or added.
		"OPERATOR":        "OPERATORS",
		"PRICE_TOKENS_ID": "PRICE_TOKEN_ID",
		"LOGS_LEVEL":      "LOG_LEVEL",
		// Letters are mistyped.
		"PRICE_TOEKN_ID":    "PRICE_TOKEN_ID",
		"TELEGARM_BOT_TOKN": "TELEGRAM_BOT_TOKEN",
		"SUPLY_URI":         "SUPPLY_URL",
	} {
		got := unknown(t, write(t, name+"=x"))
		if len(got) != 1 || !strings.Contains(got[0], "did you mean "+intended+"? ") {
			t.Errorf("%s: %v, want %s", name, got, intended)
		}
	}
}

func TestMistypedNameInTheEnvironmentSuggestsTheIntendedSetting(t *testing.T) {
	for name, intended := range map[string]string{
		"PRICE_TOKN_ID":          "PRICE_TOKEN_ID",
		"PRICE_TOEKN_ID":         "PRICE_TOKEN_ID",
		"SUPPLY_URI":             "SUPPLY_URL",
		"TELEGRAM_BOTTOKEN_FILE": "TELEGRAM_BOT_TOKEN_FILE",
	} {
		got := unknown(t, "", name+"=x", "PATH=/bin")
		if len(got) != 1 || !strings.Contains(got[0], " (in the environment); did you mean "+intended+"? ") {
			t.Errorf("%s: %v, want %s", name, got, intended)
		}
	}
}

func TestTheNearestNameIsFoundThroughOneSlip(t *testing.T) {
	known := []string{
		"price", "supply", "staked", "mylogins", "exists", "verify", "forget", "status", "start", "help",
	}
	for name, want := range map[string]string{
		// Two letters that changed places are one slip, even in short names.
		"hlep":   "help",
		"ehlp":   "help",
		"hepl":   "help",
		"pirce":  "price",
		"satrt":  "start",
		"stauts": "status",
		"exsits": "exists",
		// A letter is missing or replaced.
		"hel":  "help",
		"halp": "help",
		// These are too far from any name.
		"moon": "",
		"plhe": "",
		"le":   "",
		"":     "",
		"ph":   "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%q is nearest to %q, want %q", name, got, want)
		}
	}
}

// namesOfOthers lists names that shells, CI, Kubernetes, container hosts and other bots use. Many resemble a setting.
const namesOfOthers = `
	PATH HOSTNAME XDG_DATA_DIRS
	HTTP_PROXY HTTPS_PROXY HTTP_HOST HTTPS_ADDR SSL_CERT_FILE
	KUBERNETES_SERVICE_PORT_HTTPS POD_NAME SERVICE_HOST OTEL_SERVICE_NAME GITHUB_TOKEN
	REDIS_PORT REDIS_SERVICE_HOST REDIS_PASSWORD REDIS_TLS_URL REDIS_URI
	SUPPLY_PORT EVM_RPC_PORT EVM_RPC_URI ETH_RPC_URL
	DISCORD_APPLICATION_ID DISCORD_GUILD_ID CHART_THEME CACHE_MAX_ITEMS PRICE_TOKEN_SLUG
	LOGLEVEL LOG_FILE LOG_DIR DATABASE_URL DATADIR DATA_PATH
	TELEGRAM_TOKEN DISCORD_TOKEN SLACK_BOT_TOKEN OPERATOR OPERATOR_NAME
`

func TestNamesOfOthersInTheEnvironmentAreIgnored(t *testing.T) {
	environ := []string{"EVM_RPC_URL=https://h"}
	for _, name := range strings.Fields(namesOfOthers) {
		environ = append(environ, name+"=x")
	}
	if got := unknown(t, "", environ...); len(got) > 0 {
		t.Errorf("got\n%v", got)
	}
}
