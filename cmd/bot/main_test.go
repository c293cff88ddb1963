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

// runBot runs the program with this environment alone. It repeats no secret.
func runBot(ctx context.Context, t *testing.T, args []string, environ ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = start(ctx, args, process{environ: environ, stdin: strings.NewReader(""), stdout: &out, stderr: &errs})
	if strings.Contains(out.String()+errs.String(), secret) {
		t.Errorf("bot %q repeats what may be a secret:\n%s%s", args, &out, &errs)
	}
	return code, out.String(), errs.String()
}

// net/http writes what a server sends unasked to the standard logger, perhaps with a
// token. The whole process shares that logger, so this test is not parallel.
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

// A running bot may be writing there.
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
	world, telegram := fault.Start(t).Fakes, telegramtest.New(t)
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	telegram.Revoke()
	for want, address := range map[string]string{"no platform is left to serve": "off", "HTTP_ADDR": taken.Listener.Addr().String()} {
		code, _, stderr := runBot(t.Context(), t, []string{"run"}, append(app.DemoSettings(world), append(e2etest.Polling(telegram), "HTTP_ADDR="+address)...)...)
		if code != exitFailed || !strings.Contains(stderr, want) || strings.Contains(stderr, faketelegram.Token) {
			t.Errorf("%s: exit code %d:\n%s", want, code, stderr)
		}
	}
}

// asBot makes this test binary the bot itself, so that real signals can be
// sent to a real process.
const asBot = "HERALD_TEST_AS_BOT"

func TestMain(m *testing.M) {
	if os.Getenv(asBot) != "" {
		main() // leaves by os.Exit
	}
	os.Exit(m.Run())
}

// program is the bot with these arguments and settings alone.
func program(args []string, environ ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	// The race detector sleeps for a second at exit unless told otherwise.
	cmd.Env = append(environ, asBot+"=1", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// With webhooks, the server answers 503 for a second before it closes. Both commands ask the
// chain, which shows when both are in flight.
func TestAStoppedProcessAnswersWhatIsInFlight(t *testing.T) {
	for i, way := range e2etest.Ways[:2] {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			world, telegram, discord := fault.Start(t), way.Open(t), e2etest.Ways[i+2].Open(t)
			refuses := make(chan struct{})
			settings := slices.Concat(telegram.Settings(), discord.Settings(), []string{"HTTP_ADDR=127.0.0.1:0", "LOG_LEVEL=debug"})
			p := e2etest.StartProcess(t, program([]string{"run"}, e2etest.Settings(world, settings...)...))
			p.AwaitReady()
			if !strings.Contains(p.Log.String(), `msg="herald starts" version=`+version+" commit=") {
				t.Error("the log does not name the version")
			}
			healthy := func() bool {
				code, _, _ := runBot(t.Context(), t, []string{"health"}, "HTTP_ADDR="+strings.TrimPrefix(p.URL(), "http://"))
				return code == exitOK
			}
			if !healthy() {
				t.Error("bot health fails")
			}
			p.Await(e2etest.Probed, func() bool { return strings.Contains(p.Log.String(), e2etest.Probed) })
			world.Supply.SetFault(fault.LateUntil(refuses))
			world.Chain.SetFault(fault.LateUntil(refuses))
			supplies, chain := world.Supply.Requests(), world.Chain.Requests()
			telegram.Through(p.URL())
			discord.Through(p.URL())
			supply := telegram.Ask(e2etest.Command{User: 1, Name: "supply"})
			staked := discord.Ask(e2etest.Command{User: 1, Name: "staked", Argument: world.World.Staker.Hex()})
			e2etest.Eventually(t, "the commands are in flight", func() bool {
				return world.Supply.Requests() > supplies && world.Chain.Requests() > chain+1
			})
			told := time.Now()
			p.Tell(syscall.SIGTERM)
			e2etest.Eventually(t, "the process refuses", func() bool { return p.Readyz() == http.StatusServiceUnavailable && !healthy() })
			close(refuses)
			p.Leaves()
			if took := time.Since(told); way.ByHTTP && took < time.Second {
				t.Errorf("it refused for %v only", took)
			}
			for want, asked := range map[string]*e2etest.Asked{"612,345,679": supply, "1,012,345.6789": staked} {
				if got := asked.Wait(); !strings.Contains(e2etest.Plain(got.Text), want) || len(asked.Answers()) != 1 {
					t.Errorf("answered with %+v, want %s", got, want)
				}
			}
			if n := len(telegram.Telegram.Pending()); n > 0 {
				t.Errorf("Telegram has %d updates left", n)
			}
		})
	}
}
