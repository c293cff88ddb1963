package config

import (
	"slices"
	"strings"
	"testing"
)

// unknown returns what Unknown finds, with a table of a few settings.
func unknown(t *testing.T, envFile string, environ ...string) Errors {
	t.Helper()
	given, wrong := Collect(environ, envFile)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return given.unknown([]Setting{
		{Name: "PRICE_TOKEN_ID", Example: "1027"}, {Name: "PRICE_TOKEN_SLUG", Example: "ethereum"},
		{Name: "PRICE_API_KEY", Secret: true, Example: "a"}, {Name: "PARTNER_SECRET_KEY", Secret: true, Example: "a"},
		{Name: "TELEGRAM_BOT_TOKEN", Secret: true, Example: "1:a"}, {Name: "DISCORD_BOT_TOKEN", Secret: true, Example: "a"},
		{Name: "REDIS_URL", Secret: true, Example: "redis://h"}, {Name: "EVM_RPC_URL", Example: "https://h"},
		{Name: "HTTP_ADDR", Default: "127.0.0.1:8080"}, {Name: "LOG_LEVEL", Default: "info"}, {Name: "SUPPLY_URL", Example: "https://h"},
		{Name: "SERVICE_NAME", Example: "a name"}, {Name: "DATA_DIR", Example: "/data"}, {Name: "OPERATORS", Example: "telegram:1"},
	})
}

func TestANameInAnEnvFileThatIsNoSettingIsWrong(t *testing.T) {
	const elsewhere = "; remove it, or look up its right name in config.example.env, such as LOG_LEVEL=info"
	token := "a123456789_" + canary
	for name, want := range map[string]string{
		"TELEGRAM_BOT_TOKEN_FIEL": "TELEGRAM_BOT_TOKEN_FIEL: is not a setting; did you mean TELEGRAM_BOT_TOKEN_FILE? " +
			"For example TELEGRAM_BOT_TOKEN_FILE=/run/secrets/telegram_bot_token",
		"log_level":             "a name not shown here: is not a setting; did you mean LOG_LEVEL? For example LOG_LEVEL=info",
		"HTTPS_PROXY":           "HTTPS_PROXY: is not a setting" + elsewhere,
		token:                   "a name not shown here: is not a setting" + elsewhere,
		strings.Repeat("X", 61): "a name not shown here: is not a setting" + elsewhere,
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
		if got := unknown(t, "", name+"=x", "PATH=/bin"); len(got) != 1 || !strings.Contains(got[0], "did you mean "+meant+"? ") {
			t.Errorf("%s in the environment: %v", name, got)
		}
	}
}

// The names are common in a process environment: a shell's, CI's, Kubernetes', container
// hosts' and other bots'.
func TestNamesOfOthersInTheEnvironmentAreLeftAlone(t *testing.T) {
	environ := []string{"EVM_RPC_URL=https://h"}
	for _, name := range strings.Fields(`
		PATH HOSTNAME XDG_DATA_DIRS HTTP_PROXY HTTPS_PROXY HTTP_HOST HTTPS_ADDR SSL_CERT_FILE KUBERNETES_SERVICE_PORT_HTTPS REDIS_PORT
		REDIS_SERVICE_HOST REDIS_PASSWORD REDIS_TLS_URL REDIS_URI SUPPLY_PORT EVM_RPC_PORT POD_NAME SERVICE_HOST OTEL_SERVICE_NAME GITHUB_TOKEN
		LOGLEVEL LOG_FILE LOG_DIR DATABASE_URL DATADIR DATA_PATH TELEGRAM_TOKEN DISCORD_TOKEN SLACK_BOT_TOKEN ETH_RPC_URL OPERATOR OPERATOR_NAME`) {
		environ = append(environ, name+"=x")
	}
	if got := unknown(t, "", environ...); len(got) > 0 {
		t.Errorf("got\n%v", got)
	}
}
