//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// errLocked is returned by lockFile if another process has the lock.
const errLocked = syscall.EWOULDBLOCK

// lockFile locks file until it is closed. It does not wait for another process.
func lockFile(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// matchOwner gives file to the owner and the group of the folder dir, if this process is root's.
func matchOwner(file *os.File, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var folder syscall.Stat_t
	err := syscall.Stat(dir, &folder)
	if err != nil {
		return err
	}
	return file.Chown(int(folder.Uid), int(folder.Gid))
}

// replaceFile sets the content of a file, with mode 0600 and the owner of the folder like. It blocks until the
// content is on disk. If the process is killed meanwhile, the file has the old content or the new.
func replaceFile(path string, content []byte, like string) error {
	dir := filepath.Dir(path)
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = file.Cleanup() }() // It does nothing after a success.
	_, err = file.Write(content)
	if err != nil {
		return err
	}
	err = matchOwner(file.File, like)
	if err != nil {
		return err
	}
	err = file.CloseAtomicallyReplace() // It syncs the content, but not the folder.
	if err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder blocks until the names of the files in dir are on disk, if the file system supports that.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
