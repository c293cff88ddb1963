package main

import (
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// wiretap is an address that counts who connects to it.
func wiretap(t *testing.T) (url string, connections *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	connections = &atomic.Int64{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			conn.Close()
		}
	}()
	return "http://" + listener.Addr().String(), connections
}

const poolA, poolB = "0x52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D"

// secret is in every value that is wrong, and may not be repeated.
const secret = "hidden9876543210"

// goodSettings are without mistakes.
func goodSettings(url string) []string {
	return []string{
		"PARTNER_BASE_URL=" + url, "PARTNER_APP_ID=app", "PARTNER_SECRET_KEY=key-" + secret,
		"PRICE_API_URL=" + url, "SUPPLY_URL=" + url, "EVM_RPC_URL=" + url, "EVM_CHAIN_ID=1",
		"STAKING_POOLS=" + poolA, "TOKEN_SYMBOL=HRLD", "REDIS_URL=redis://" + strings.TrimPrefix(url, "http://"),
		"TELEGRAM_BOT_TOKEN=1:a", "TELEGRAM_API_URL=" + url, "DISCORD_API_URL=" + url, "HTTP_ADDR=127.0.0.1:0",
	}
}

// mistakenSettings are runs of the program that end with what is wrong in the
// settings.
var mistakenSettings = []struct {
	what string
	args string // `run` with --env-file herald.env, if file is not empty
	// file is herald.env, and environ the process environment. The good settings
	// are there too, unless bare is set.
	file    string
	environ []string
	bare    bool
}{
	{what: "nothing is set", args: "run", bare: true},
	{what: "nothing is set, and no platform is needed", args: "check", bare: true},
	{what: "nothing is set but what the image sets", bare: true, environ: []string{"HTTP_ADDR=0.0.0.0:8080", "PATH=/bin"}},
	{what: "nothing is set, and one name is mistyped", bare: true, environ: []string{"TELEGRAM_BOT_TOKN=1:" + secret}},
	{what: "no platform, and a token in the environment under another name", environ: []string{"TELEGRAM_BOT_TOKEN=", "TELEGRAM_TOKEN=1:" + secret}},
	{what: "a copy of the example that nobody has filled in", bare: true, file: "PARTNER_BASE_URL=\nTOKEN_SYMBOL=\n# nothing else\n"},
	{what: "no platform", environ: []string{"TELEGRAM_BOT_TOKEN="}},
	{what: "one is missing", environ: []string{"EVM_CHAIN_ID="}},
	{what: "check, with a mistake", args: "check", environ: []string{"EVM_CHAIN_ID=one"}},

	{what: "there is no file", args: "run --env-file nowhere-" + secret, bare: true},
	{what: "a folder", args: "check --env-file ."},
	{what: "a file in UTF-16", file: "\xff\xfeA\x00=\x001\x00"},
	{what: "lines of another form", file: "LOG_LEVEL: debug\n" + secret + "\n\n# fine\nLOG LEVEL=debug\n"},
	{what: "a file of rubbish", file: strings.Repeat(secret+"\n", 1000)},

	{what: "a mistyped name", file: "# the token\nPRICE_TOKN_ID=" + secret},
	{what: "two letters that changed places", file: "PRICE_TOEKN_ID=" + secret},
	{what: "a shorter name", file: "DISCORD_TOKEN=" + secret},
	{what: "a name in lower case", file: "log_level=debug"},
	{what: "a name of something else", file: "TZ=Europe/Berlin\nexport HTTPS_PROXY=http://" + secret},
	{what: "a token in place of a name", file: "MTIz" + secret + "Abc=\nTok" + secret + "=x"},
	{what: "a mistyped name of a secret's file", file: "REDIS_URL_FIEL=/" + secret},
	{what: "a file for what is no secret", file: "LOG_LEVEL_FILE=/" + secret},
	{what: "mistyped names in the environment, as docker run --env-file puts them there",
		environ: []string{"PRICE_TOKN_ID=" + secret, "MODERATOR_CHAT=" + secret, "LOG_FORMAT_FILE=/" + secret, "REDIS_SERVICE_HOST=10.0.0.1", "PATH=/bin"}},
	{what: "two values for one setting", file: "LOG_LEVEL=info\nPRICE_TTL=1m\nLOG_LEVEL='info'\nPRICE_TTL=2m\n"},
	{what: "a value, and then none", file: "LOG_LEVEL=info\nLOG_LEVEL=\n"},

	{what: "what is around a value is understood, in the file", bare: true,
		file: "\ufeffexport PARTNER_BASE_URL = \"https://p.example\" # the partner\r\nPARTNER_APP_ID='app'\r\nPARTNER_SECRET_KEY=\u00a0key\u200b\r\n" +
			"SUPPLY_URL=https://s.example # supply\r\nTOKEN_SYMBOL=\"HRLD\"#\r\nEVM_CHAIN_ID=1 # one\r\n"},
	{what: "what is around a value is understood, in the environment", bare: true, environ: []string{
		`PARTNER_BASE_URL="https://p.example" # the partner`, "PARTNER_APP_ID='app'\r", "PARTNER_SECRET_KEY=\u00a0key\u200b",
		"SUPPLY_URL=https://s.example # supply", `TOKEN_SYMBOL="HRLD"`, "EVM_CHAIN_ID=1 # one", "EVM_RPC_URL=# still to come"}},
	{what: "quotes that do not match", file: `LOG_LEVEL="debug`, environ: []string{`PARTNER_SECRET_KEY="` + secret + `'`}},
	{what: "something behind the quotes", file: `LOG_LEVEL="debug" info`},
	{what: "a backslash in double quotes", environ: []string{`PARTNER_SECRET_KEY="` + secret + `\n"`}},
	{what: "a # that may be a part of it", file: "SERVICE_NAME=Team # One", environ: []string{"PARTNER_SECRET_KEY=" + secret + " # x"}},
	{what: "typographic quotes", file: "PRICE_TTL=“30s”", environ: []string{"PARTNER_SECRET_KEY=“" + secret + "”"}},
	{what: "characters that nobody sees", environ: []string{"EVM_RPC_URL=https://c.example/\u200b" + secret,
		"TELEGRAM_BOT_TOKEN=1:" + secret + "\u00a0a", "PARTNER_SECRET_KEY=" + secret + "\u00ada"}},
	{what: "a typographic dash", file: "OPERATORS=telegram:–" + secret},

	{what: "a secret twice", environ: []string{"PRICE_API_KEY=" + secret, "PRICE_API_KEY_FILE=/" + secret}},
	{what: "a secret's file that is not there", environ: []string{"TELEGRAM_BOT_TOKEN=", "TELEGRAM_BOT_TOKEN_FILE=/nowhere/" + secret}},
	{what: "a secret's file that is a folder", environ: []string{"PRICE_API_KEY_FILE=."}},
	{what: "a secret's file that is empty", environ: []string{"PRICE_API_KEY_FILE=empty"}},
	{what: "a secret's file whose name has no end", environ: []string{`PRICE_API_KEY_FILE="` + secret}},

	{what: "a webhook without its secret", environ: []string{"TELEGRAM_WEBHOOK_URL=https://b.example/t"}},
	{what: "a webhook without Telegram", environ: []string{"TELEGRAM_BOT_TOKEN=", "DISCORD_BOT_TOKEN=" + secret,
		"TELEGRAM_WEBHOOK_URL=https://b.example/t", "TELEGRAM_WEBHOOK_SECRET=" + secret}},
	{what: "webhooks without an HTTP server", environ: []string{"TELEGRAM_WEBHOOK_URL=https://b.example/t", "TELEGRAM_WEBHOOK_SECRET=" + secret,
		"DISCORD_BOT_TOKEN=" + secret, "DISCORD_PUBLIC_KEY=" + strings.Repeat("ab", 32), "HTTP_ADDR=off"}},
	{what: "what only Discord uses, without Discord", environ: []string{"DISCORD_APPLICATION_ID=1", "DISCORD_GUILD_ID=2",
		"DISCORD_PUBLIC_KEY=" + strings.Repeat("ab", 32)}},
	{what: "a webhook at a path that is taken", environ: []string{"TELEGRAM_WEBHOOK_URL=https://b.example/metrics", "TELEGRAM_WEBHOOK_SECRET=a"}},
	{what: "pools that are wrong", environ: []string{"STAKING_POOLS=" + poolA + "," + poolB + " " + strings.ToLower(poolA) + ", 0x" + secret +
		",0x" + strings.Repeat("0", 40) + "," + strings.Replace(poolB, "B3D", "b3D", 1)}},
	{what: "pools that are wrong, in a file", environ: []string{"STAKING_POOLS=@pools"}},
	{what: "a file of pools that is not there", environ: []string{"STAKING_POOLS=@nowhere-" + secret}},
	{what: "moderators of every chat, and of one", environ: []string{"MODERATOR_CHATS=*,telegram:-1"}},
	{what: "an operator by name", environ: []string{"OPERATORS=discord:ann, telegram:1"}},
	{what: "many at once, from both", file: "PRICE_TOKN_ID=1\nCOMMAND_TIMEOUT=soon\nwhat is this\n",
		environ: []string{"TELEGRAM_BOT_TOKEN=my token-" + secret, "TELEGRAM_WEBHOOK_URL=http://plain.example", "DISCORD_PUBLIC_KEY=abc",
			"HTTP_ADDR=off", "STAKING_POOLS=" + strings.Replace(poolB, "B3D", "b3D", 1), "LOG_LEVEL=loud"}},
}

// Each mistake in the settings, with all that is printed about it. Mistakes are
// told at once, before anything is contacted, and repeat no value.
func TestMistakenSettings(t *testing.T) {
	url, connections := wiretap(t)
	var all strings.Builder
	for _, tt := range mistakenSettings {
		t.Run(tt.what, func(t *testing.T) {
			t.Chdir(t.TempDir())
			args := tt.args
			if tt.file != "" {
				args = "run --env-file herald.env"
			}
			for name, content := range map[string]string{
				"herald.env": tt.file, "empty": " \n",
				"pools": "# ours\n" + poolA + " Pool #1\n0x" + secret + " Pool 2\n" + poolA + " # again\n" + poolB + " " + strings.Repeat("n", 65) + "\n",
			} {
				if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			environ := tt.environ
			for _, good := range goodSettings(url) {
				name, _, _ := strings.Cut(good, "=")
				replaced := slices.ContainsFunc(tt.environ, func(s string) bool { return strings.HasPrefix(s, name+"=") })
				if !tt.bare && !replaced {
					environ = append(environ, good)
				}
			}
			seen := transcribe(t, strings.Fields(args), environ...)
			if _, printed, _ := strings.Cut(seen, "\n"); strings.Contains(printed, secret) {
				t.Errorf("a value is repeated:\n%s", printed)
			}
			if !strings.HasSuffix(seen, "exit 2\n\n") {
				t.Errorf("it is no mistake:\n%s", seen)
			}
			all.WriteString("# " + tt.what + "\n" + seen)
		})
	}
	golden(t, "testdata/mistakes.golden", all.String())
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// A value of the wrong form, given to every setting there is.
func TestMistakenForms(t *testing.T) {
	environ := []string{"TELEGRAM_BOT_TOKEN=" + secret}
	for _, name := range matches(`(?m)^#?([A-Z_]+)=`, read(t, "config.example.env")) {
		environ = append(environ, name+"="+secret+" is\nwrong")
	}
	seen := transcribe(t, nil, environ...)
	if strings.Contains(seen, secret) {
		t.Errorf("a value is repeated:\n%s", seen)
	}
	golden(t, "testdata/forms.golden", seen)
}

func TestAnEnvFileThatMayNotBeRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read every file")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("herald.env", nil, 0); err != nil {
		t.Fatal(err)
	}
	want := "$ bot run --env-file herald.env\n! --env-file: the user that runs Herald may not read the file. " +
		"Let them, for example with `chown`, or run Herald as the file's owner\nexit 2\n\n"
	if seen := transcribe(t, []string{"run", "--env-file", "herald.env"}); seen != want {
		t.Errorf("got\n%s", seen)
	}
}

func TestMistakesEndTheProcess(t *testing.T) {
	for _, args := range [][]string{{"run"}, {"chek"}, {"check", "--env-file", "/nowhere"}} {
		c := prepare(t, args)
		c.start()
		c.leaves(exitMistaken)
		if c.stderr.String() == "" || c.stdout.String() != "" {
			t.Errorf("%v: standard output %q, standard error:\n%s", args, c.stdout, c.stderr)
		}
	}
}
