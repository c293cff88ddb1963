package deploy

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

var image = flag.String("image", "", "a folder with the files of the image, which .ci/image builds")

// The test runs the program as the image's user, with the folder of the image's files as its root directory. The test
// must run as root, as .ci/image runs it.
func TestTheImageServesAndStops(t *testing.T) {
	if *image == "" {
		t.Skip("no image is given with -image: see .ci/image")
	}
	const user = 65532
	program := func(command string, environ ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/bot", command)
		cmd.Dir = "/"
		cmd.Env = environ
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Chroot:     *image,
			Credential: &syscall.Credential{Uid: user, Gid: user},
		}
		return cmd
	}
	telegram := e2etest.TelegramPolling.Open(t)
	settings := append(e2etest.Settings(fault.Start(t), telegram.Settings()...),
		"HTTP_ADDR=127.0.0.1:0",
		"LOG_LEVEL=info",
		"ZONEINFO=/zoneinfo.zip",
		"DATA_DIR=/data",
	)
	bot := e2etest.StartProcess(t, program("run", settings...))
	bot.AwaitReady()
	address := strings.TrimPrefix(bot.URL(), "http://")
	out, err := program("health", "HTTP_ADDR="+address).CombinedOutput()
	if err != nil || string(out) != "ready: telegram: connected\n" {
		t.Errorf("bot health: %v: %s", err, out)
	}
	telegram.Ask(e2etest.Command{User: 1, Name: "price"})
	if sent := telegram.Telegram.WaitSent(1, e2etest.Patience); len(sent) != 1 {
		t.Errorf("%d answers to /price, want 1", len(sent))
	}
	bot.Leave() // The test fails unless the exit code is 0.
	if kept, err := filepath.Glob(*image + "/data/*"); err != nil || len(kept) == 0 {
		t.Errorf("nothing is kept in /data: %v", err)
	}
}
