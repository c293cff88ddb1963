package main

import (
	"bytes"
	"errors"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"herald/internal/app"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
)

// runBot runs the program with this environment alone.
func runBot(t *testing.T, args string, environ ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = start(t.Context(), strings.Fields(args), process{
		environ: environ, stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
	})
	return code, out.String(), errs.String()
}

// net/http writes what a server sends unasked to the standard logger, perhaps with a
// token. The whole process shares that logger, so this test is not parallel.
func TestTheStandardLogOfLibrariesIsSilent(t *testing.T) {
	var printed bytes.Buffer
	before := log.Writer()
	log.SetOutput(&printed)
	t.Cleanup(func() { log.SetOutput(before) })
	runBot(t, "version")
	log.Print("unsolicited response")
	if printed.Len() > 0 {
		t.Errorf("printed: %s", &printed)
	}
}

// The running bot may be writing there.
func TestCheckLeavesDataDirAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	settings := append(app.DemoSettings(e2etest.Sandbox(t).Fakes), e2etest.Polling(faketelegram.New(t))...)
	code, stdout, stderr := runBot(t, "check", append(settings, "DATA_DIR="+dir)...)
	if code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

func TestRunFailsIfItCannotServe(t *testing.T) {
	world, telegram := e2etest.Sandbox(t).Fakes, faketelegram.New(t)
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	telegram.Revoke()
	for want, address := range map[string]string{"no platform is left to serve": "off", "HTTP_ADDR": taken.Listener.Addr().String()} {
		code, _, stderr := runBot(t, "run", append(app.DemoSettings(world), append(e2etest.Polling(telegram), "HTTP_ADDR="+address)...)...)
		if code != exitFailed || !strings.Contains(stderr, want) || strings.Contains(stderr, faketelegram.Token) {
			t.Errorf("%s: exit code %d:\n%s", want, code, stderr)
		}
	}
}
