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

const canary = "CANARY"

// sample is filled by its own table.
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
		{Name: "NAME", Required: true, Example: "a-name", Set: Field(&s.Name, Visible)},
		{Name: "KEY", Secret: true, Example: "a-key", Set: Field(&s.Key, Hidden(Text))},
		{Name: "MODE", Default: "off", Example: "on", Set: Field(&s.Mode, OnOff)},
		{Name: "ADDRESS", Default: "here", Example: "there", Set: Field(&s.Address, Text)},
		{Name: "HOOK", Needs: []string{"KEY", "ADDRESS"}, Example: "a-hook", Set: Field(&s.Hook, Visible)},
		{Name: "OTHER_HOOK", Needs: []string{"ADDRESS"}, Example: "a-hook", Set: Field(&s.Hook, Visible)},
		{Name: "KEPT", NeedsOneOf: []string{"KEY", "HOOK"}, Example: "a-thing", Set: Field(&s.Hook, Visible)},
		{Name: "PAUSE", Default: "30s", Example: "1s", Set: Field(&s.Pause, Duration)},
	}
}

func readSample(envFile string, environ ...string) (sample, Errors) {
	var s sample
	given, wrong := Collect(environ, envFile)
	return s, append(wrong, given.Fill(s.table())...)
}

func mustRead(t *testing.T, envFile string, environ ...string) sample {
	t.Helper()
	s, mistakes := readSample(envFile, environ...)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return s
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatIsNotGivenOrEmptyHasItsDefault(t *testing.T) {
	want := sample{Name: "x", Address: "here", Pause: 30 * time.Second}
	for _, environ := range [][]string{{"NAME=x"}, {"NAME=  x\t", "PAUSE= ", "KEY="}, {"NAME=x", "ADDRESS_FILE=" + write(t, "no secret")}} {
		if got := mustRead(t, "", environ...); got != want {
			t.Errorf("%q is read as %+v", environ, got)
		}
	}
}

func TestEnvironmentWinsOverEnvFile(t *testing.T) {
	file := write(t, "\ufeffNAME=file\nMODE=on\nKEY=from-the-env-file\n")
	secret := write(t, "from-a-secret-file\r\n")
	s := mustRead(t, file, "NAME=environment", "MODE=", "KEY=", "KEY_FILE="+secret)
	if s.Name != "environment" || !s.Mode {
		t.Errorf("read %+v", s)
	}
	if got := s.Key.Reveal(); got != "from-a-secret-file" {
		t.Errorf("the secret is %q", got)
	}
	s = mustRead(t, write(t, "NAME=x\nKEY_FILE="+secret), "KEY=from-the-environment")
	if got := s.Key.Reveal(); got != "from-the-environment" {
		t.Errorf("with KEY_FILE in the env file the secret is %q", got)
	}
}

func TestMistakesNameTheSettingAndAnExample(t *testing.T) {
	hook := "KEY_FILE=" + write(t, "k")
	for _, test := range []struct {
		what    string
		environ []string
		want    []string
	}{
		{"nothing", nil, []string{"NAME: is required but not set; for example NAME=a-name"}},
		{"all at once, in order", []string{"MODE=" + canary, "NAME=" + canary + " x"},
			[]string{"NAME: must be visible ASCII characters without white space; character 7 is U+0020; for example NAME=a-name", "MODE: must be one of on, off; for example MODE=on"}},
		{"a secret twice", []string{"NAME=x", "KEY=" + canary, hook},
			[]string{"KEY: is set, and so is KEY_FILE; keep one of the two; for example KEY=a-key"}},
		{"a need that is not set", []string{"NAME=x", "HOOK=" + canary},
			[]string{"KEY: is needed by HOOK but not set; for example KEY=a-key"}},
		{"a need that is off", []string{"NAME=x", "HOOK=x", "OTHER_HOOK=x", hook, "ADDRESS=off"},
			[]string{"ADDRESS: is needed by HOOK and OTHER_HOOK but off; for example ADDRESS=there"}},
		{"a need of one of two", []string{"NAME=x", "KEPT=" + canary},
			[]string{"KEPT: needs KEY or HOOK, and neither is set; for example KEY=a-key"}},
		{"one of two from a file", []string{"NAME=x", "KEPT=x", hook}, nil},
		{"a need that a file gives", []string{"NAME=x", "HOOK=x", hook}, nil},
		{"no secret file", []string{"NAME=x", "KEY_FILE=" + t.TempDir() + "/" + canary},
			[]string{"KEY: the file named by KEY_FILE cannot be opened: no such file or directory; for example KEY=a-key"}},
		{"a huge secret file", []string{"NAME=x", "KEY_FILE=" + write(t, strings.Repeat(canary, 20000))},
			[]string{"KEY: the file named by KEY_FILE is larger than 65536 bytes; for example KEY=a-key"}},
	} {
		if _, got := readSample("", test.environ...); !slices.Equal(got, test.want) {
			t.Errorf("%s: got\n%v\nwant\n%v", test.what, got, Errors(test.want))
		}
	}
}

func TestMistakesInAnEnvFileNameItsLine(t *testing.T) {
	noSecret := "KEY_FILE=" + t.TempDir() + "/" + canary
	for _, test := range []struct{ file, environ, want string }{
		{"NAME=x\nPAUSE=" + canary, "", "FILE:2: PAUSE: must be a duration"},
		{"\n# the name\nNAME= # soon", "", "FILE:3: NAME: is required but not set; for example NAME=a-name"},
		{"NAME=x\nKEY=" + canary + "\nKEY_FILE=/x", "", "FILE:2: KEY: is set, and so is KEY_FILE"},
		{"NAME=x\n" + noSecret, "", "FILE:2: KEY: the file named by KEY_FILE cannot be opened"},
		{"NAME=x\nHOOK=x", "", "FILE:2: KEY: is needed by HOOK but not set"},
		{"NAME=x\nHOOK=x\nKEY=", "", "FILE:3: KEY: is needed by HOOK but not set"},
		{"NAME=x\nKEY=x\nHOOK=x\nADDRESS=off", "", "FILE:4: ADDRESS: is needed by HOOK but off"},
		{"NAME=x\nKEY=x\nHOOK=x", "ADDRESS=off", "ADDRESS: is needed by HOOK but off"},
		{"NAME=x\nPAUSE=1s", "PAUSE=" + canary, "PAUSE: must be a duration"},
		{"PAUSE=1s\nNAME=x\nPAUSE=2s", "", "FILE:3: PAUSE: has another value on line 1; keep one of the two"},
	} {
		file := write(t, test.file)
		_, got := readSample(file, test.environ)
		wantMistake(t, got, strings.Replace(test.want, "FILE", file, 1))
	}
}

// wantMistake fails unless got is one mistake that begins with want and repeats no value.
func wantMistake(t *testing.T, got Errors, want string) {
	t.Helper()
	if len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("got\n%v\nwant %s", got, want)
	}
	if strings.Contains(got.Error(), canary) {
		t.Errorf("the value is repeated: %v", got)
	}
}

// unknown returns the mistakes of names, with a table of a few settings.
func unknown(t *testing.T, envFile string, environ ...string) Errors {
	t.Helper()
	given, wrong := Collect(environ, envFile)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return given.unknown([]Setting{
		{Name: "PRICE_TOKEN_ID", Example: "1027"},
		{Name: "PRICE_API_KEY", Secret: true, Example: "a"}, {Name: "PARTNER_SECRET_KEY", Secret: true, Example: "a"},
		{Name: "TELEGRAM_BOT_TOKEN", Secret: true, Example: "1:a"}, {Name: "DISCORD_BOT_TOKEN", Secret: true, Example: "a"},
		{Name: "REDIS_URL", Secret: true, Example: "redis://h"}, {Name: "EVM_RPC_URL", Example: "https://h"},
		{Name: "HTTP_ADDR", Default: "127.0.0.1:8080"}, {Name: "LOG_LEVEL", Default: "info"}, {Name: "SUPPLY_URL", Example: "https://h"},
		{Name: "SERVICE_NAME", Example: "a name"}, {Name: "DATA_DIR", Example: "/data"}, {Name: "OPERATORS", Example: "telegram:1"},
	})
}

func TestANameInAnEnvFileThatIsNoSettingIsWrong(t *testing.T) {
	const hidden = "the name before = (not shown, since it may be a secret; a setting's name is at most 60 of A-Z, 0-9 and _)"
	const elsewhere = "; remove it, or look up its right name in config.example.env, such as LOG_LEVEL=info"
	token := "a123456789_" + canary
	for name, want := range map[string]string{
		"TELEGRAM_BOT_TOKEN_FIEL": "TELEGRAM_BOT_TOKEN_FIEL: is not a setting; did you mean TELEGRAM_BOT_TOKEN_FILE? " +
			"For example TELEGRAM_BOT_TOKEN_FILE=/run/secrets/telegram_bot_token",
		"log_level":             hidden + ": is not a setting; did you mean LOG_LEVEL? For example LOG_LEVEL=info",
		"HTTPS_PROXY":           "HTTPS_PROXY: is not a setting" + elsewhere,
		token:                   hidden + ": is not a setting" + elsewhere,
		strings.Repeat("X", 61): hidden + ": is not a setting" + elsewhere,
	} {
		for _, line := range []string{name + "=x", name + "="} {
			file := write(t, "TELEGRAM_BOT_TOKEN_FILE=/a\n"+line)
			if got := unknown(t, file); !slices.Equal(got, Errors{file + ":2: " + want}) {
				t.Errorf("%s: got\n%v\nwant\n%s", line, got, want)
			}
		}
	}
}

func TestTheSettingIsNamedThatWasMeant(t *testing.T) {
	for name, meant := range map[string]string{
		"TELEGRAM_TOKEN": "TELEGRAM_BOT_TOKEN", "DISCORD_TOKEN": "DISCORD_BOT_TOKEN", "PARTNER_KEY": "PARTNER_SECRET_KEY", // a word is missing
		"PRICE_KEY": "PRICE_API_KEY", "RPC_URL": "EVM_RPC_URL", "LOGLEVEL": "LOG_LEVEL",
		"OPERATOR": "OPERATORS", "PRICE_TOKENS_ID": "PRICE_TOKEN_ID", "LOGS_LEVEL": "LOG_LEVEL", // plural
		"PRICE_TOEKN_ID": "PRICE_TOKEN_ID", "TELEGARM_BOT_TOKN": "TELEGRAM_BOT_TOKEN", "SUPLY_URI": "SUPPLY_URL", // slips
	} {
		if got := unknown(t, write(t, name+"=x")); len(got) != 1 || !strings.Contains(got[0], "did you mean "+meant+"? ") {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, meant := range map[string]string{
		"PRICE_TOKN_ID": "PRICE_TOKEN_ID", "PRICE_TOEKN_ID": "PRICE_TOKEN_ID", "SUPPLY_URI": "SUPPLY_URL",
		"TELEGRAM_BOTTOKEN_FILE": "TELEGRAM_BOT_TOKEN_FILE",
	} {
		if got := unknown(t, "", name+"=x", "PATH=/bin"); len(got) != 1 || !strings.Contains(got[0], " (in the environment); did you mean "+meant+"? ") {
			t.Errorf("%s in the environment: %v", name, got)
		}
	}
}

// Two letters that changed places are one slip, in short names too.
func TestTheNearestNameIsFoundThroughOneSlip(t *testing.T) {
	known := []string{"price", "supply", "staked", "mylogins", "exists", "verify", "forget", "status", "start", "help"}
	for name, want := range map[string]string{
		"hlep": "help", "ehlp": "help", "hepl": "help", "hel": "help", "halp": "help", "pirce": "price", "satrt": "start", "stauts": "status", "exsits": "exists",
		"moon": "", "plhe": "", "le": "", "": "", "ph": "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%q is nearest to %q, want %q", name, got, want)
		}
	}
}

// Shells, CI, Kubernetes, container hosts and other bots use these names.
func TestNamesOfOthersInTheEnvironmentAreLeftAlone(t *testing.T) {
	environ := []string{"EVM_RPC_URL=https://h"}
	for _, name := range strings.Fields(`
		PATH HOSTNAME XDG_DATA_DIRS HTTP_PROXY HTTPS_PROXY HTTP_HOST HTTPS_ADDR SSL_CERT_FILE KUBERNETES_SERVICE_PORT_HTTPS REDIS_PORT
		REDIS_SERVICE_HOST REDIS_PASSWORD REDIS_TLS_URL REDIS_URI SUPPLY_PORT EVM_RPC_PORT EVM_RPC_URI POD_NAME SERVICE_HOST OTEL_SERVICE_NAME GITHUB_TOKEN
		DISCORD_APPLICATION_ID DISCORD_GUILD_ID CHART_THEME CACHE_MAX_ITEMS PRICE_TOKEN_SLUG
		LOGLEVEL LOG_FILE LOG_DIR DATABASE_URL DATADIR DATA_PATH TELEGRAM_TOKEN DISCORD_TOKEN SLACK_BOT_TOKEN ETH_RPC_URL OPERATOR OPERATOR_NAME`) {
		environ = append(environ, name+"=x")
	}
	if got := unknown(t, "", environ...); len(got) > 0 {
		t.Errorf("got\n%v", got)
	}
}
