//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// errLocked is the error of lockFile if another process has the lock.
const errLocked = syscall.EWOULDBLOCK

// lockFile locks file until it is closed, without waiting.
func lockFile(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// ownAs gives file to the owner and the group of the folder dir if this process is root's.
func ownAs(dir string, file *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var folder syscall.Stat_t
	if err := syscall.Stat(dir, &folder); err != nil {
		return err
	}
	return file.Chown(int(folder.Uid), int(folder.Gid))
}

// syncFolder blocks until the names of the files in dir are on disk, where the file system
// can tell.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err = folder.Sync(); errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
