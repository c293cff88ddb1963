//go:build !unix

package store

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// errLocked is returned only on Unix.
var errLocked = errors.New("locked by another process")

// lockFile does nothing: a second process that uses the folder goes unnoticed.
func lockFile(*os.File) error { return nil }

// matchOwner does nothing: a new file has the rights of its folder.
func matchOwner(*os.File, string) error { return nil }

// syncFolder does nothing.
func syncFolder(string) error { return nil }

// replaceFile sets the content of a file, and blocks until the content is on disk.
func replaceFile(path string, content []byte, _ string) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+strconv.FormatInt(rand.Int64(), 10))
	defer os.Remove(temporary) // It fails after a success.
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
