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

// As under systemd: the bot is a user without rights, and the operator is root.
func TestOneBotUsesAFolderAndTheOperatorWorksBesideIt(t *testing.T) {
	const user = 61184
	dir := t.TempDir()
	top := filepath.Dir(dir)
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	as := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		as.Credential = &syscall.Credential{Uid: user, Gid: user}
		if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, user, user)); err != nil {
			t.Fatal(err)
		}
	}
	binary := copyOfTest(t, top)
	settings := e2etest.Settings(fault.Start(t), append(e2etest.Polling(telegramtest.New(t)), "DATA_DIR="+dir, "HTTP_ADDR=127.0.0.1:0", "LOG_LEVEL=info", "STAKER_TAGS=telegram:-1:Staker")...)
	run := func() *e2etest.Process {
		cmd := program([]string{"run"}, settings...)
		cmd.Path, cmd.Dir, cmd.SysProcAttr = binary, dir, as
		p := e2etest.StartProcess(t, cmd)
		p.AwaitReady()
		return p
	}
	first := run()
	for _, args := range [][]string{{"members"}, {"members", "--release"}, {"check"}} {
		if code, _, stderr := runBot(t.Context(), t, args, settings...); strings.Contains(stderr, "DATA_DIR") || code == exitUsage {
			t.Errorf("bot %q beside it: exit code %d\n%s", args, code, stderr)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Error(files, err)
	}
	for _, path := range files {
		if info, err := os.Stat(path); err != nil || as.Credential != nil && info.Sys().(*syscall.Stat_t).Uid != user {
			t.Errorf("%s is not the bot's: %v, %v", path, info.Sys(), err)
		}
	}
	code, _, stderr := runBot(t.Context(), t, []string{"run"}, settings...)
	if code != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "DATA_DIR: another `bot run` uses this folder") {
		t.Errorf("a second one: exit code %d\n%s", code, stderr)
	}
	first.Kill()
	again := run()
	again.Leave()
	if log := again.Log.String(); strings.Contains(log, "DATA_DIR") {
		t.Errorf("logged %s", log)
	}
}

// copyOfTest returns a copy of this program in dir, which every user may run.
func copyOfTest(t *testing.T, dir string) string {
	t.Helper()
	content, err := os.ReadFile(os.Args[0])
	path := filepath.Join(dir, "bot")
	if err := errors.Join(err, os.WriteFile(path, content, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}
