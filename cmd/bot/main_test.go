package main

import (
	"bytes"
	"context"
	"errors"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/internal/app"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// runBot runs the program with only this environment. It fails the test if the program repeats a secret.
func runBot(ctx context.Context, t *testing.T, args []string, environ ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = start(ctx, args, process{
		environ: environ,
		stdin:   strings.NewReader(""),
		stdout:  &out,
		stderr:  &errs,
	})
	if strings.Contains(out.String()+errs.String(), secret) {
		t.Errorf("bot %q repeats what may be a secret:\n%s%s", args, &out, &errs)
	}
	return code, out.String(), errs.String()
}

// net/http logs unsolicited responses, which may contain a token, to the standard logger. The whole
// process shares that logger, so this test is not parallel.
func TestTheStandardLogOfLibrariesIsSilent(t *testing.T) {
	var printed bytes.Buffer
	before := log.Writer()
	log.SetOutput(&printed)
	t.Cleanup(func() { log.SetOutput(before) })
	runBot(t.Context(), t, []string{"version"})
	log.Print("unsolicited response")
	if printed.Len() > 0 {
		t.Errorf("printed: %s", &printed)
	}
}

// bot check works beside a running bot, which may be writing to DATA_DIR.
func TestCheckLeavesDataDirAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	settings := append(app.DemoSettings(fault.Start(t).Fakes), e2etest.Polling(telegramtest.New(t))...)
	code, stdout, stderr := runBot(t.Context(), t, []string{"check"}, append(settings, "DATA_DIR="+dir)...)
	if code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

func TestRunFailsIfItCannotServe(t *testing.T) {
	telegram := telegramtest.New(t)
	telegram.Revoke()
	settings := append(app.DemoSettings(fault.Start(t).Fakes), e2etest.Polling(telegram)...)
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	for want, address := range map[string]string{
		"no platform is left to serve": "off",
		"HTTP_ADDR":                    taken.Listener.Addr().String(),
	} {
		environ := append(slices.Clone(settings), "HTTP_ADDR="+address)
		code, _, stderr := runBot(t.Context(), t, []string{"run"}, environ...)
		if code != exitFailed || !strings.Contains(stderr, want) || strings.Contains(stderr, faketelegram.Token) {
			t.Errorf("%s: exit code %d:\n%s", want, code, stderr)
		}
	}
}

// asBot is an environment variable. If it is set, this test binary runs the bot instead of the tests. So a test can
// start the bot as a process, and send it signals.
const asBot = "HERALD_TEST_AS_BOT"

func TestMain(m *testing.M) {
	if os.Getenv(asBot) != "" {
		main() // It ends the process.
	}
	os.Exit(m.Run())
}

// program returns a command that runs the bot with these arguments, and only these settings.
func program(args []string, environ ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	// The race detector sleeps for a second at exit by default.
	cmd.Env = append(environ, asBot+"=1", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// stopTest is a bot in a process of its own, on both platforms. After ask, its services answer once release is closed.
type stopTest struct {
	*testing.T
	world             *fault.Fakes
	telegram, discord *e2etest.Platform
	process           *e2etest.Process
	release           chan struct{}
}

func newStopTest(t *testing.T, telegram, discord e2etest.Way) *stopTest {
	t.Helper()
	s := &stopTest{
		T:        t,
		world:    fault.Start(t),
		telegram: telegram.Open(t),
		discord:  discord.Open(t),
		release:  make(chan struct{}),
	}
	settings := slices.Concat(s.telegram.Settings(), s.discord.Settings(),
		[]string{"HTTP_ADDR=127.0.0.1:0", "LOG_LEVEL=debug"})
	s.process = e2etest.StartProcess(t, program([]string{"run"}, e2etest.Settings(s.world, settings...)...))
	s.process.AwaitReady()
	s.process.Await(e2etest.Probed, func() bool { return strings.Contains(s.process.Log.String(), e2etest.Probed) })
	s.telegram.Through(s.process.URL())
	s.discord.Through(s.process.URL())
	return s
}

// healthy reports whether bot health succeeds.
func (s *stopTest) healthy() bool {
	s.Helper()
	address := strings.TrimPrefix(s.process.URL(), "http://")
	code, _, _ := runBot(s.Context(), s.T, []string{"health"}, "HTTP_ADDR="+address)
	return code == exitOK
}

// ask sends /supply on Telegram and /staked on Discord, and returns once both are in flight.
func (s *stopTest) ask() (supply, staked *e2etest.Asked) {
	s.Helper()
	s.world.Supply.SetFault(fault.LateUntil(s.release))
	s.world.Chain.SetFault(fault.LateUntil(s.release))
	supplies, calls := s.world.Supply.Requests(), s.world.Chain.Requests()
	supply = s.telegram.Ask(e2etest.Command{User: 1, Name: "supply"})
	staked = s.discord.Ask(e2etest.Command{User: 1, Name: "staked", Argument: s.world.World.Staker.Hex()})
	e2etest.Eventually(s, "the commands are in flight", func() bool {
		// Both commands call the chain.
		return s.world.Supply.Requests() > supplies && s.world.Chain.Requests() > calls+1
	})
	return supply, staked
}

// wantAnswer fails the test unless a command has one answer, which contains want.
func (s *stopTest) wantAnswer(asked *e2etest.Asked, want string) {
	s.Helper()
	got := asked.Wait()
	if !strings.Contains(e2etest.Plain(got.Text), want) || len(asked.Answers()) != 1 {
		s.Errorf("/%s is answered with %+v, want %s once", asked.Name, got, want)
	}
}

// If the platforms call the bot over HTTP, it answers 503 for a second before it stops listening.
func TestAStoppedProcessAnswersWhatIsInFlight(t *testing.T) {
	for _, ways := range []struct{ telegram, discord e2etest.Way }{
		{e2etest.TelegramPolling, e2etest.DiscordGateway},
		{e2etest.TelegramWebhook, e2etest.DiscordHTTP},
	} {
		t.Run(ways.telegram.Name, func(t *testing.T) {
			t.Parallel()
			s := newStopTest(t, ways.telegram, ways.discord)
			if !s.healthy() {
				t.Error("bot health fails")
			}
			supply, staked := s.ask()
			signalled := time.Now()
			s.process.Tell(syscall.SIGTERM)
			e2etest.Eventually(t, "the process is unhealthy", func() bool {
				return s.process.Readyz() == http.StatusServiceUnavailable && !s.healthy()
			})
			close(s.release)
			s.process.AwaitEnd()
			if took := time.Since(signalled); ways.telegram.ByHTTP && took < time.Second {
				t.Errorf("it refused only for %v, want a second", took)
			}
			s.wantAnswer(supply, "612,345,679")
			s.wantAnswer(staked, "1,012,345.6789")
			if n := len(s.telegram.Telegram.Pending()); n > 0 {
				t.Errorf("%d updates of Telegram are not acknowledged", n)
			}
			if !strings.Contains(s.process.Log.String(), `msg="herald starts" version=`+version+" commit=") {
				t.Error("the log does not name the version")
			}
		})
	}
}
