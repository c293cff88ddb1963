package deploy

import (
	"flag"
	"net/http"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

var image = flag.String("image", "", "a folder with the files of the image, which .ci/image builds")

// The image has neither a shell nor a health check to run in it, so the program is asked
// from outside. It runs as the image's user, with the image's files as its root.
func TestTheImageServesAndStops(t *testing.T) {
	if *image == "" {
		t.Skip("it needs the image: see .ci/image")
	}
	const user = 65532
	cmd := exec.CommandContext(t.Context(), "/bot", "run")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: *image, Credential: &syscall.Credential{Uid: user, Gid: user}}
	telegram := e2etest.Ways[0].Open(t)
	cmd.Env = append(e2etest.Settings(fault.Start(t), telegram.Settings()...),
		"HTTP_ADDR=127.0.0.1:0", "LOG_LEVEL=info", "ZONEINFO=/zoneinfo.zip", "DATA_DIR=/data")
	bot := e2etest.StartProcess(t, cmd)
	bot.AwaitReady()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, bot.URL()+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	health, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if health.Body.Close(); health.StatusCode != http.StatusOK {
		t.Errorf("/healthz is %d", health.StatusCode)
	}
	telegram.Ask(e2etest.Command{User: 1, Name: "price"})
	if sent := telegram.Telegram.WaitSent(1, e2etest.Patience); len(sent) != 1 {
		t.Errorf("%d answers to /price, want 1", len(sent))
	}
	bot.Leave()
	if kept, err := filepath.Glob(*image + "/data/*"); err != nil || len(kept) == 0 {
		t.Errorf("nothing is kept in /data: %v", err)
	}
}
