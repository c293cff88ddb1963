package main

import (
	"bytes"
	"errors"
	"flag"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"herald/internal/app"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox"
	"herald/internal/telegram/telegramtest"
)

func TestArguments(t *testing.T) {
	for _, test := range []struct {
		args          string
		name, envFile string
	}{
		{"", "run", ""},
		{"run", "run", ""},
		{"check", "check", ""},
		{"--env-file a.env", "run", "a.env"},
		{"--env-file a.env check", "check", "a.env"},
		{"check --env-file a.env", "check", "a.env"},
		{"check -env-file=a.env", "check", "a.env"},
		{"--env-file a.env check --env-file b.env", "check", "b.env"},
	} {
		name, envFile, err := parseArgs(strings.Fields(test.args))
		if err != nil || name != test.name || envFile != test.envFile {
			t.Errorf("bot %s: %q, %q, %v", test.args, name, envFile, err)
		}
	}
}

func TestArgumentsThatAskForHelp(t *testing.T) {
	for _, args := range []string{"help", "-h", "--help", "check --help", "help check", "--env-file a.env help"} {
		if _, _, err := parseArgs(strings.Fields(args)); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("bot %s: %v", args, err)
		}
	}
}

// runBot runs the program with nothing but this environment.
func runBot(t *testing.T, args string, environ ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = start(t.Context(), strings.Fields(args), process{
		environ: environ, stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
	})
	return code, out.String(), errs.String()
}

func TestMistakesInTheCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"serve":               "the commands are run, demo, check and version",
		"run now":             "words after the command",
		"version --env-file":  "needs a file",
		"--token=x run":       "the one flag is --env-file",
		"check -env-file a b": "words after the command",
	} {
		code, stdout, stderr := runBot(t, args)
		if code != exitMistaken || stdout != "" || !strings.Contains(stderr, want) || !strings.HasSuffix(stderr, usage) {
			t.Errorf("bot %s: exit code %d, %q on standard output, and on standard error\n%s", args, code, stdout, stderr)
		}
	}
}

func TestHelpIsNoMistake(t *testing.T) {
	code, stdout, stderr := runBot(t, "check --help")
	if code != exitOK || stdout != usage || stderr != "" {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestVersion(t *testing.T) {
	version, commit = "1.2.3", "0123abc"
	defer func() { version, commit = "dev", "" }()
	code, stdout, _ := runBot(t, "version")
	if want := "herald 1.2.3, commit 0123abc, " + runtime.Version() + "\n"; code != exitOK || stdout != want {
		t.Errorf("exit code %d, %q, want %q", code, stdout, want)
	}
	commit = ""
	if _, stdout, _ := runBot(t, "version"); strings.Contains(stdout, "commit ,") {
		t.Errorf("nothing stands for an unknown commit: %q", stdout)
	}
}

func TestRunWithNothingSetListsEveryMistake(t *testing.T) {
	code, stdout, stderr := runBot(t, "run")
	if code != exitMistaken || stdout != "" {
		t.Errorf("exit code %d, %q on standard output", code, stdout)
	}
	lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
	for _, want := range []string{"TELEGRAM_BOT_TOKEN", "DISCORD_BOT_TOKEN", "bot demo"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("the first line does not name %s: %s", want, lines[0])
		}
	}
	for i, name := range []string{"PARTNER_BASE_URL", "PARTNER_APP_ID", "PARTNER_SECRET_KEY", "TOKEN_SYMBOL",
		"SUPPLY_URL", "EVM_RPC_URL", "EVM_CHAIN_ID", "STAKING_POOLS"} {
		if i+1 >= len(lines) || !strings.HasPrefix(lines[i+1], name+": ") || !strings.Contains(lines[i+1], "for example "+name+"=") {
			t.Errorf("line %d is not about %s:\n%s", i+2, name, stderr)
		}
	}
	if len(lines) != 9 {
		t.Errorf("%d lines:\n%s", len(lines), stderr)
	}
}

func TestAnEnvFileIsReadAndTheEnvironmentWins(t *testing.T) {
	world := startStandIns(t)
	file := filepath.Join(t.TempDir(), "herald.env")
	settings := append(app.DemoSettings(world), "EVM_CHAIN_ID=1")
	if err := os.WriteFile(file, []byte(strings.Join(settings, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := runBot(t, "check --env-file "+file); code != exitFailed || !strings.Contains(stdout, "chain 1 is configured") {
		t.Errorf("with the file's chain: exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := runBot(t, "check --env-file "+file, "EVM_CHAIN_ID=424242"); code != exitOK {
		t.Errorf("with the environment's chain: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// The bot that runs may have the file of quotes open.
func TestCheckLeavesDataDirAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	code, stdout, stderr := runBot(t, "check", append(app.DemoSettings(startStandIns(t)), "DATA_DIR="+dir)...)
	if code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

func TestRunFailsIfItsAddressIsTaken(t *testing.T) {
	world := startStandIns(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	code, _, stderr := runBot(t, "run", append(app.DemoSettings(world),
		"TELEGRAM_BOT_TOKEN=1:aaaaaaaa", "HTTP_ADDR="+taken.Addr().String())...)
	if code != exitFailed || !strings.Contains(stderr, "HTTP_ADDR") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestRunEndsWhenNoPlatformCanBeServed(t *testing.T) {
	world := startStandIns(t)
	refusingTelegram := telegramtest.New(t)
	refusingTelegram.Revoke()
	refusingDiscord := discordtest.New()
	t.Cleanup(refusingDiscord.Close)
	const discordToken = "a.refused.token"
	code, _, stderr := runBot(t, "run", append(app.DemoSettings(world), "HTTP_ADDR=off",
		"TELEGRAM_BOT_TOKEN="+telegramtest.Token, "TELEGRAM_API_URL="+refusingTelegram.URL,
		"DISCORD_BOT_TOKEN="+discordToken, "DISCORD_API_URL="+refusingDiscord.URL())...)
	if code != exitFailed || !strings.Contains(stderr, "no platform is left to serve") {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
	for _, secret := range []string{world.SecretKey, world.PriceKey, telegramtest.Token, discordToken} {
		if strings.Contains(stderr, secret) {
			t.Errorf("a secret is shown:\n%s", stderr)
		}
	}
}

func startStandIns(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	world, err := sandbox.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	})
	return world
}
