package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"herald/internal/config"
)

// maxFile is the maximum number of bytes of a file. The base64 of a value of maxValue bytes fits into it.
const maxFile = 2 * maxValue

// hashName returns a file name for a key, which may name a user.
func hashName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// temporaryName matches what replaceFile calls a file before it renames it, and what versions before
// DATA_DIR/members called it.
var temporaryName = regexp.MustCompile(`^(\.[0-9a-f]{32}(\.kept)?\.json[0-9]+|[0-9a-f]{32}\.kept\.json\.[A-Z2-7]{26})$`)

// isTemporary reports whether a killed process may have left a file of this name.
func isTemporary(name string) bool {
	return temporaryName.MatchString(name)
}

// readFile returns the content of a file, or nil if there is none. It fails if the file is empty, or larger than
// maxFile. The error has no path.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, config.WithoutPath(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, config.WithoutPath(err)
	case len(content) > maxFile:
		return nil, errTooLarge
	case len(content) == 0:
		return nil, errDamaged
	}
	return content, nil
}

// deleteFile deletes a file, if it is there, and blocks until that is on disk.
func deleteFile(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// makeFolder makes the folder dir in parent, unless it is there, and gives it the owner of like. It blocks until
// that is on disk.
func makeFolder(parent, dir, like string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	made, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer made.Close()
	err = matchOwner(made, like)
	if err != nil {
		return err
	}
	return syncFolder(parent)
}

// keyLocks is a set of locks by key. It remembers only those that are held. Its zero value is ready for use.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed by unlock
}

// lock blocks until nobody else holds the lock of key. The caller then holds it until unlock.
func (l *keyLocks) lock(key string) (unlock func()) {
	for {
		l.mu.Lock()
		unlocked, isHeld := l.held[key]
		if !isHeld {
			break
		}
		l.mu.Unlock()
		<-unlocked
	}
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	unlocked := make(chan struct{})
	l.held[key] = unlocked
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, key)
		close(unlocked)
	}
}
