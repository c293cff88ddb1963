//go:build !unix

package store

import (
	"errors"
	"os"
)

// errLocked is returned on no system but Unix.
var errLocked = errors.New("locked by another process")

// lockFile does nothing: two processes on one folder go unnoticed.
func lockFile(*os.File) error { return nil }

// ownAs does nothing: a new file has the rights of its folder.
func ownAs(string, *os.File) error { return nil }

// syncFolder does nothing.
func syncFolder(string) error { return nil }
