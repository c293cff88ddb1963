//go:build unix

package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// As `bot members --release` by root beside a bot of a user without rights.
func TestRootLeavesFilesToTheFoldersOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can write for others")
	}
	const user, group = 61184, 61185
	dir := t.TempDir()
	if err := os.Chown(dir, user, group); err != nil {
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
}
