package main

import (
	"cmp"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"herald/internal/app"
	"herald/internal/config/configtest"
)

// countingServer returns the URL of a server, and the number of connections to it.
func countingServer(t *testing.T) (url string, connections *atomic.Int64) {
	t.Helper()
	connections = &atomic.Int64{}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, connections
}

const (
	poolA = "0x52908400098527886E0F7030069857D2E4169EE7"
	poolB = "0x8617E340B3D01FA5F11F306F4090FD50E238070D"
)

// secret is part of invalid values. The program must not repeat it.
const secret = "hidden9876543210"

// validSettings returns an environment without a mistake. Every service is at url.
func validSettings(url string) []string {
	return configtest.Environ(new(app.Config).Table(),
		"PARTNER_BASE_URL="+url,
		"PARTNER_APP_ID=app",
		"PARTNER_SECRET_KEY=key-"+secret,
		"PRICE_API_URL="+url,
		"SUPPLY_URL="+url,
		"EVM_RPC_URL="+url,
		"EVM_CHAIN_ID=1",
		"STAKING_POOLS="+poolA,
		"TOKEN_SYMBOL=HRLD",
		"REDIS_URL=redis://"+strings.TrimPrefix(url, "http://"),
		"TELEGRAM_BOT_TOKEN=1:a",
		"TELEGRAM_API_URL="+url,
		"DISCORD_API_URL="+url,
		"HTTP_ADDR=127.0.0.1:0",
	)
}

// deepFolder is a path so long that even root cannot make a file in it. After a slash and a file's name are added, it
// is longer than PATH_MAX, which is 4,096 bytes.
var deepFolder = strings.Repeat("/"+strings.Repeat("d", 252), 16)[1:]

// invalidRun is a run of the program that ends because a setting is invalid.
type invalidRun struct {
	what string // what is invalid
	args string // the command line; "": run, or run --env-file herald.env if there is a file
	file string // the content of herald.env; "": there is no file
	// environ changes the environment, which otherwise is validSettings.
	environ []string
	// onlyEnviron is true if the environment is environ alone, without validSettings.
	onlyEnviron bool
}

var invalidRuns = []invalidRun{
	{
		what:        "nothing is set",
		onlyEnviron: true,
	},
	{
		what:        "there is no file",
		args:        "run --env-file nowhere-" + secret,
		onlyEnviron: true,
	},
	{
		what: "lines of another form",
		file: "LOG_LEVEL: debug\n" +
			secret + "\n\n" +
			"# fine\n" +
			"LOG LEVEL=debug\n" +
			"LOG_FORMAT=text\n" +
			"CLEAN_CHAT=on\n" +
			"STALE_FOR=1h\n",
	},
	{
		what: "a file of JSON",
		file: "{\n  \"LOG_LEVEL\": \"debug\",\n  \"PRICE_API_KEY\": \"" + secret + "\"\n}\n",
	},
	{
		what: "mistyped names in the environment, as docker run --env-file puts them there",
		environ: []string{
			"PRICE_TOKN_ID=" + secret,
			"MODERATOR_CHAT=" + secret,
			"LOG_FORMAT_FILE=/" + secret,
			"REDIS_SERVICE_HOST=10.0.0.1",
			"PATH=/bin",
		},
	},
	{
		what: "characters that nobody sees",
		environ: []string{
			"EVM_RPC_URL=https://c.example/\u200b" + secret,
			"TELEGRAM_BOT_TOKEN=1:" + secret + "\u00a0a",
			"PARTNER_SECRET_KEY=" + secret + "\u00ada",
		},
	},
	{
		what:    "a secret's file that is not there",
		environ: []string{"TELEGRAM_BOT_TOKEN=", "TELEGRAM_BOT_TOKEN_FILE=/nowhere/" + secret},
	},
	{
		what:    "a folder that cannot be made",
		environ: []string{"DATA_DIR=/nowhere/" + secret},
	},
	{
		what:    "a folder that cannot be written to",
		environ: []string{"DATA_DIR=" + deepFolder, "LOG_LEVEL=loud"},
	},
	{
		what:    "a folder that cannot be written to, with bot check",
		args:    "check",
		environ: []string{"DATA_DIR=" + deepFolder + "/" + secret},
	},
	{
		what: "addresses to save, and nothing that keeps them",
		environ: []string{
			"REDIS_URL=",
			"STAKER_TAGS=telegram:-1:Staker",
			"STAKER_ROLES=discord:1:2",
			"DISCORD_BOT_TOKEN=" + secret,
		},
	},
	{
		what:    "a role of a platform that is off",
		environ: []string{"DISCORD_BOT_TOKEN=", "REDIS_URL=", "STAKER_ROLES=discord:1:2:1,000"},
	},
	{
		what:    "two tokens that are swapped",
		environ: []string{"TELEGRAM_BOT_TOKEN=MTIz.abc." + secret, "DISCORD_BOT_TOKEN=123456789:" + secret},
	},
	{
		what: "many at once, from both",
		file: "PRICE_TOKN_ID=1\nCOMMAND_TIMEOUT=soon\nwhat is this\n",
		environ: []string{
			"TELEGRAM_BOT_TOKEN=my token-" + secret,
			"TELEGRAM_WEBHOOK_URL=http://plain.example",
			"DISCORD_PUBLIC_KEY=abc",
			"HTTP_ADDR=off",
			"STAKING_POOLS=" + strings.Replace(poolB, "B3D", "b3D", 1), // a wrong checksum
			"LOG_LEVEL=loud",
		},
	},
}

// run runs the program with every service at url, and returns what a person sees.
func (r invalidRun) run(t *testing.T, url string) string {
	t.Helper()
	args := cmp.Or(r.args, "run")
	if r.file != "" {
		if err := os.WriteFile("herald.env", []byte(r.file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = "run --env-file herald.env"
	}
	if r.onlyEnviron {
		return transcribe(t, strings.Fields(args), r.environ...)
	}
	environ := slices.Clone(r.environ)
	for _, valid := range validSettings(url) {
		name, _, _ := strings.Cut(valid, "=")
		changed := slices.ContainsFunc(r.environ, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		if !changed {
			environ = append(environ, valid)
		}
	}
	return transcribe(t, strings.Fields(args), environ...)
}

// Every mistake is reported, and nothing is contacted. transcribe fails the test if a value is repeated.
func TestInvalidSettingsAreAllReported(t *testing.T) {
	goldenFile, err := filepath.Abs("testdata/settings.golden")
	if err != nil {
		t.Fatal(err)
	}
	url, connections := countingServer(t)
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(deepFolder, 0o700); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, r := range invalidRuns {
		seen := r.run(t, url)
		if !strings.HasSuffix(seen, "exit 2\n\n") {
			t.Errorf("%s is accepted:\n%s", r.what, seen)
		}
		all.WriteString("# " + r.what + "\n" + seen)
	}
	configtest.Golden(t, goldenFile, all.String(), *update)
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made, want 0", n)
	}
}

func TestEverySettingRefusesAValueOfAnotherForm(t *testing.T) {
	var environ []string
	for _, s := range new(app.Config).Table() {
		environ = append(environ, s.Name+"="+secret+" is\nwrong")
	}
	configtest.Golden(t, "testdata/forms.golden", transcribe(t, nil, environ...), *update)
}
