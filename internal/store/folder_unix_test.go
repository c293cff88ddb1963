//go:build unix

package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/renameio/v2"
)

// An operator may run `bot members --release` as root while the bot runs as another user.
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
	put(t, f.Bucket(members), "7", "a")
	paths := 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		owner := info.Sys().(*syscall.Stat_t)
		if owner.Uid != user || owner.Gid != group {
			t.Errorf("%s belongs to %d:%d", path, owner.Uid, owner.Gid)
		}
		paths++
		return nil
	})
	if paths != 6 {
		t.Errorf("there are %d files and folders, want 6", paths)
	}
}

// If root's process left a folder with the wrong owner, the bot could not write to it.
func TestAFolderWithoutItsOwnerIsNotLeft(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives folders away")
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "members")
	for range 2 {
		err := makeFolder(dir, filepath.Join(parent, "missing"))
		if err == nil {
			t.Error("a folder was made, although its owner is unknown")
		}
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// A killed process may leave what replaceFile and makeFolder make.
func TestTemporaryFilesAreRecognized(t *testing.T) {
	f, _ := newFolder(t, t.TempDir())
	for _, path := range []string{f.answerPath("a"), f.Bucket("members").(folderBucket).path("a")} {
		file, err := renameio.NewPendingFile(path, renameio.WithTempDir(f.dir))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Cleanup() }()
		if !isTemporary(filepath.Base(file.Name())) || isTemporary(filepath.Base(path)) {
			t.Errorf("%s is not recognized", file.Name())
		}
	}
}
