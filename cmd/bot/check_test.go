package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/discord/discordtest"
	"herald/internal/sandbox"
	"herald/internal/telegram/telegramtest"
)

// surroundings are every service there is, as stand-ins, and the settings for
// them.
type surroundings struct {
	world    *sandbox.Sandbox
	telegram *telegramtest.Server
	discord  *discordtest.Server
	redis    *miniredis.Miniredis
	settings []string
	secrets  []string
}

const (
	checkRedisPassword = "correct-horse-battery"
	rpcKey             = "rpc-key-0123456789abcdef"
)

func newSurroundings(t *testing.T) *surroundings {
	t.Helper()
	s := &surroundings{
		world:    startSandbox(t),
		telegram: telegramtest.New(t),
		discord:  discordtest.New(),
		redis:    miniredis.RunT(t),
	}
	t.Cleanup(s.discord.Close)
	s.redis.RequireAuth(checkRedisPassword)
	s.settings = append(demoSettings(s.world),
		"EVM_RPC_URL="+s.world.Chain.URL()+"/v1/"+rpcKey,
		"TELEGRAM_BOT_TOKEN="+telegramtest.Token, "TELEGRAM_API_URL="+s.telegram.URL,
		"DISCORD_BOT_TOKEN="+s.discord.Token, "DISCORD_API_URL="+s.discord.URL(),
		"REDIS_URL=redis://:"+checkRedisPassword+"@"+s.redis.Addr())
	s.secrets = []string{s.world.SecretKey, s.world.PriceKey, telegramtest.Token, s.discord.Token, checkRedisPassword, rpcKey}
	return s
}

// check runs `bot check` and returns its table's rows by their first column.
func (s *surroundings) check(t *testing.T, settings ...string) (code int, rows map[string]string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = start(t.Context(), []string{"check"}, process{
		environ: append(s.settings, settings...), stdout: &stdout, stderr: &stderr,
	})
	for _, secret := range s.secrets {
		if strings.Contains(stdout.String()+stderr.String(), secret) {
			t.Errorf("a secret is shown:\n%s%s", &stdout, &stderr)
		}
	}
	rows = map[string]string{}
	for line := range strings.Lines(stdout.String()) {
		if what, rest, found := strings.Cut(line, "  "); found {
			rows[what] = strings.TrimSpace(rest)
		}
	}
	return code, rows
}

var asked = []string{"partner API", "price provider", "supply host", "staking pools", "Telegram", "Discord", "Redis"}

// result is the second word of a row: WHERE has no blank in it.
func result(row string) string {
	if words := strings.Fields(row); len(words) > 1 {
		return words[1]
	}
	return ""
}

func TestCheckOfSoundSettings(t *testing.T) {
	s := newSurroundings(t)
	code, rows := s.check(t)
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, what := range asked {
		if result(rows[what]) != "ok" {
			t.Errorf("%s: %q, want ok", what, rows[what])
		}
	}
	for what, detail := range map[string]string{
		"staking pools": "21 pools", "Telegram": "@" + telegramtest.Username, "Discord": s.discord.ApplicationID,
	} {
		if !strings.Contains(rows[what], detail) {
			t.Errorf("%s: %q does not tell %q", what, rows[what], detail)
		}
	}
	if len(rows) != len(asked)+1 || !strings.HasPrefix(rows["WHAT"], "WHERE") {
		t.Errorf("the table is %q", rows)
	}
}

func TestCheckAsksOnlyWhatIsConfigured(t *testing.T) {
	s := newSurroundings(t)
	s.settings = demoSettings(s.world)
	code, rows := s.check(t)
	if code != exitOK || len(rows) != 5 {
		t.Errorf("exit code %d, rows %q", code, rows)
	}
}

// broken is one thing amiss, and what its row must tell.
type broken struct {
	name     string
	row      string
	wants    []string
	settings []string
	cause    func(*surroundings)
}

// TestCheckNamesWhatIsWrong also demands that everything else stays ok.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	for _, test := range append(brokenServices(), append(brokenChains(), brokenPlatforms()...)...) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSurroundings(t)
			if test.cause != nil {
				test.cause(s)
			}
			code, rows := s.check(t, test.settings...)
			if code != exitFailed {
				t.Errorf("exit code %d", code)
			}
			for _, what := range asked {
				want := "ok"
				if what == test.row {
					want = "WRONG"
				}
				if result(rows[what]) != want {
					t.Errorf("%s: %q, want %s", what, rows[what], want)
				}
			}
			for _, want := range test.wants {
				if !strings.Contains(rows[test.row], want) {
					t.Errorf("%s: %q does not tell %q", test.row, rows[test.row], want)
				}
			}
		})
	}
}

func TestCheckTellsOfAClockThatIsOff(t *testing.T) {
	for fault, want := range map[string]string{
		"clock an hour fast":     "clock is 1h0m0s behind",
		"clock ten minutes slow": "clock is 10m0s ahead",
	} {
		s := newSurroundings(t)
		s.fault("partner", fault)
		code, rows := s.check(t)
		// A second of the measure may be lost to rounding.
		if row := rows["partner API"]; code != exitOK || !strings.Contains(row, want) {
			t.Errorf("%s: exit code %d, %q, want %q", fault, code, row, want)
		}
	}
}

func TestCheckWaitsNoLongerThanACommand(t *testing.T) {
	s := newSurroundings(t)
	for _, service := range []*sandbox.Service{s.world.Partner, s.world.Price, s.world.Supply, s.world.Chain} {
		service.SetFault(sandbox.Hang())
	}
	s.telegram.Fail("getMe", telegramtest.Hang())
	s.discord.Break(discordtest.Application, discordtest.Fault{Latency: time.Hour})
	start := time.Now()
	code, rows := s.check(t, "COMMAND_TIMEOUT=300ms")
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("check took %v with a limit of 300 ms", took)
	}
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	for _, what := range asked[:6] {
		if result(rows[what]) != "WRONG" {
			t.Errorf("%s: %q", what, rows[what])
		}
	}
}

func TestCheckEndsWhenInterrupted(t *testing.T) {
	s := newSurroundings(t)
	s.world.Chain.SetFault(sandbox.Hang())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out bytes.Buffer
	if code := start(ctx, []string{"check"}, process{environ: s.settings, stdout: &out, stderr: &out}); code != exitFailed {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
}
