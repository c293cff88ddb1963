package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"herald/internal/demo/fake/telegramtest"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// sharedFolder is a DATA_DIR that a bot and an operator use at the same time. If the test runs as root, so does the
// operator, and the bot runs as a user without rights, as under systemd. Otherwise both run as the test's user.
type sharedFolder struct {
	*testing.T
	dir      string
	binary   string // a copy of this program, which the bot's user may run
	user     uint32 // the ID of the bot's user
	settings []string
}

func newSharedFolder(t *testing.T) *sharedFolder {
	t.Helper()
	const unprivileged = 61184 // the first user ID of systemd's DynamicUser
	f := &sharedFolder{T: t, dir: t.TempDir(), user: uint32(os.Getuid())}
	top := filepath.Dir(f.dir)
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	f.binary = copyOfTest(t, top)
	if os.Getuid() == 0 {
		f.user = unprivileged
		if err := errors.Join(os.Chmod(f.dir, 0o700), os.Chown(f.dir, int(f.user), int(f.user))); err != nil {
			t.Fatal(err)
		}
	}
	f.settings = e2etest.Settings(fault.Start(t), append(e2etest.Polling(telegramtest.New(t)),
		"DATA_DIR="+f.dir,
		"HTTP_ADDR=127.0.0.1:0",
		"LOG_LEVEL=info",
		"STAKER_TAGS=telegram:-1:Staker")...)
	return f
}

// run runs the bot as its user, and waits until it is ready.
func (f *sharedFolder) run() *e2etest.Process {
	f.Helper()
	cmd := program([]string{"run"}, f.settings...)
	cmd.Path = f.binary
	cmd.Dir = f.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: f.user, Gid: f.user}
	}
	p := e2etest.StartProcess(f, cmd)
	p.AwaitReady()
	return p
}

func TestTheOperatorWorksBesideTheBot(t *testing.T) {
	f := newSharedFolder(t)
	f.run()
	for _, args := range [][]string{{"members"}, {"members", "--release"}, {"check"}} {
		code, _, stderr := runBot(t.Context(), t, args, f.settings...)
		if strings.Contains(stderr, "DATA_DIR") || code == exitUsage {
			t.Errorf("bot %q: exit code %d\n%s", args, code, stderr)
		}
	}
	files, err := filepath.Glob(filepath.Join(f.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Errorf("the folder has the files %q, %v", files, err)
	}
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != f.user {
			t.Errorf("%s belongs to the user %d, want %d", path, owner, f.user)
		}
	}
}

func TestASecondBotCannotUseTheFolder(t *testing.T) {
	f := newSharedFolder(t)
	f.run()
	code, _, stderr := runBot(t.Context(), t, []string{"run"}, f.settings...)
	const want = "DATA_DIR: another `bot run` uses this folder"
	if code != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, want) {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

func TestABotCanUseTheFolderOfAKilledBot(t *testing.T) {
	f := newSharedFolder(t)
	f.run().Kill()
	again := f.run()
	again.Leave()
	if log := again.Log.String(); strings.Contains(log, "DATA_DIR") {
		t.Errorf("logged %s", log)
	}
}

// copyOfTest returns a copy of this program in dir, which every user may run.
func copyOfTest(t *testing.T, dir string) string {
	t.Helper()
	content, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "bot")
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
