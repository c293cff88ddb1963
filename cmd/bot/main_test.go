package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"herald/internal/app"
	"herald/internal/app/e2e/e2etest"
	"herald/internal/discord/discordtest"
	"herald/internal/sandbox"
	"herald/internal/telegram/telegramtest"
)

// runBot runs the program with nothing but this environment.
func runBot(t *testing.T, args string, environ ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = start(t.Context(), strings.Fields(args), process{
		environ: environ, stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
	})
	return code, out.String(), errs.String()
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

func TestAnEnvFileIsReadAndTheEnvironmentWins(t *testing.T) {
	world := startStandIns(t)
	file := filepath.Join(t.TempDir(), "herald.env")
	settings := slices.DeleteFunc(app.DemoSettings(world), func(s string) bool { return strings.HasPrefix(s, "EVM_CHAIN_ID=") })
	settings = append(settings, append(e2etest.Polling(telegramtest.New(t)), "EVM_CHAIN_ID=1")...)
	if err := os.WriteFile(file, []byte(strings.Join(settings, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"check --env-file ", "check --env-file=", "check -env-file ", "--env-file ", "--env-file="} {
		args += file
		if strings.HasPrefix(args, "--") {
			args += " check"
		}
		if code, stdout, stderr := runBot(t, args); code != exitFailed || !strings.Contains(stdout, "chain 1 is configured") {
			t.Errorf("bot %s, with the file's chain: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
	if code, stdout, stderr := runBot(t, "check --env-file "+file, "EVM_CHAIN_ID=424242"); code != exitOK {
		t.Errorf("with the environment's chain: exit code %d\n%s%s", code, stdout, stderr)
	}
}

func TestCheckIsNotContentWithoutAPlatform(t *testing.T) {
	code, stdout, stderr := runBot(t, "check", app.DemoSettings(startStandIns(t))...)
	if code != exitFailed || !strings.Contains(stdout, "TELEGRAM_BOT_TOKEN") || !strings.Contains(stdout, "DISCORD_BOT_TOKEN") ||
		strings.Contains(stdout, "\x1b") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// The bot that runs may have the file of quotes open.
func TestCheckLeavesDataDirAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	settings := append(app.DemoSettings(startStandIns(t)), e2etest.Polling(telegramtest.New(t))...)
	code, stdout, stderr := runBot(t, "check", append(settings, "DATA_DIR="+dir)...)
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
