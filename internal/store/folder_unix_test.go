//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// ownersFolder, if it is set, names a folder for TestRootLeavesFilesToTheFoldersOwner in a
// process of the owner.
const ownersFolder = "HERALD_TEST_OWNERS_FOLDER"

// As `bot members --release` by root beside a bot of a user without rights.
func TestRootLeavesFilesToTheFoldersOwner(t *testing.T) {
	if dir := os.Getenv(ownersFolder); dir != "" {
		readAsOwner(t, dir)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can write for others")
	}
	const user, group = 61184, 61185
	dir := t.TempDir()
	top := filepath.Dir(dir)
	program := filepath.Join(top, "program")
	content, err := os.ReadFile(os.Args[0])
	if err := errors.Join(err, os.WriteFile(program, content, 0o755), os.Chmod(top, 0o755), os.Chmod(dir, 0o700), os.Chown(dir, user, group)); err != nil {
		t.Fatal(err)
	}
	f, _ := newFolder(t, dir)
	lock(t, f)
	f.Save(t.Context(), "quotes", []byte("1"), time.Hour)
	if replaced, err := f.Replace(t.Context(), "members 1", nil, []byte("1")); !replaced || err != nil {
		t.Error(replaced, err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, path := range left {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != user || owner.Gid != group || info.Mode() != 0o600 {
			t.Errorf("%s has mode %v, and is that of %d:%d", path, info.Mode(), owner.Uid, owner.Gid)
		}
	}
	if len(left) != 3 {
		t.Errorf("left are %q", left)
	}
	if err := os.WriteFile(f.path("copied by root"), []byte(`{"Value":"MQ=="}`), 0o600); err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(program, "-test.run=^"+t.Name()+"$")
	owner.Dir, owner.Env = dir, append(os.Environ(), ownersFolder+"="+dir)
	owner.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: group}}
	if out, err := owner.CombinedOutput(); err != nil {
		t.Errorf("the owner: %v\n%s", err, out)
	}
}

// readAsOwner uses a folder to which root has written.
func readAsOwner(t *testing.T, dir string) {
	f, log := newFolder(t, dir)
	expectKept(t, f, "quotes", "1")
	if replaced, err := f.Replace(t.Context(), "members 1", []byte("1"), []byte("2")); !replaced || err != nil {
		t.Error(replaced, err)
	}
	if value, err := f.Load(t.Context(), "copied by root"); value != nil || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("loaded %q, %v", value, err)
	}
	f.Save(t.Context(), "copied by root", []byte("2"), time.Hour)
	if _, err := os.Stat(f.path("copied by root")); err != nil || log.Lines("cannot be read; its owner") != 1 {
		t.Errorf("%v, logged %s", err, log)
	}
}
