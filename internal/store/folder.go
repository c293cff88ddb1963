package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"herald/internal/config"
)

// Folder keeps each value in a file of DATA_DIR, so that the value outlives the process: the
// quotes seen, the last values of services, and saved addresses, which alone are personal. A
// file has mode 0600 and belongs to the owner of the folder, even if root writes it. Folder
// implements core.Store and members.Store, and is safe for concurrent use.
//
// A value's ttl is ignored: under a wrong clock a value would look expired and be
// overwritten.
type Folder struct {
	dir     string
	log     *slog.Logger
	failing atomic.Bool // the last write failed
	logged  sync.Map    // keys whose files were logged as unreadable
	mutexes sync.Map    // by key: a *sync.Mutex, which is held while its file is used
	lock    *os.File    // nil without Lock
}

// entry is what a file holds.
type entry struct{ Value []byte }

// temporaryNames matches the names of the files that write renames.
var temporaryNames = strings.Repeat("[0-9a-f]", 32) + ".kept.json." + strings.Repeat("[A-Z2-7]", 26)

// damagedSuffix ends the name of a damaged file that was put aside.
const damagedSuffix = ".damaged"

// errDamaged is the error of Load for a damaged file.
var errDamaged = errors.New("a file in DATA_DIR is damaged")

// NewFolder makes a Folder of dir. It reads and writes nothing.
func NewFolder(dir string, log *slog.Logger) *Folder { return &Folder{dir: dir, log: log} }

// Lock makes the folder if its parent exists, and locks it until Close or the end of the
// process. Then it deletes the temporary files of killed processes. It fails with a
// config.Errors if another process has the lock, and does not wait for that process. A folder
// that cannot be locked is used without a lock.
func (f *Folder) Lock() error {
	_ = os.Mkdir(f.dir, 0o700)
	file, err := os.OpenFile(filepath.Join(f.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		_ = ownAs(f.dir, file) // A later process that cannot open it says so.
		if err = lockFile(file); errors.Is(err, errLocked) {
			file.Close()
			return config.Errors{"DATA_DIR: another `bot run` uses this folder; stop it, or name another folder"}
		}
		f.lock = file
	}
	if err != nil {
		f.log.Warn("cannot lock DATA_DIR; a second `bot run` there would go unnoticed", "err", config.WithoutPath(err))
	}
	left, _ := fs.Glob(os.DirFS(f.dir), temporaryNames)
	for _, name := range left {
		_ = os.Remove(filepath.Join(f.dir, name))
	}
	return nil
}

// Close unlocks the folder. Without Lock it fails, and does nothing.
func (f *Folder) Close() error { return f.lock.Close() }

// Load returns the last saved value of key, however old, or nil if there is none. It fails if
// the file cannot be read or is damaged. It renames a damaged file, so that an operator can
// look at it; the next Load returns nil.
func (f *Folder) Load(ctx context.Context, key string) ([]byte, error) {
	defer f.hold(key)()
	return f.load(ctx, key)
}

// hold locks the file of key for this process until unlock.
func (f *Folder) hold(key string) (unlock func()) {
	mu, _ := f.mutexes.LoadOrStore(key, new(sync.Mutex))
	mu.(*sync.Mutex).Lock()
	return mu.(*sync.Mutex).Unlock
}

// load is Load. The caller holds key.
func (f *Folder) load(ctx context.Context, key string) ([]byte, error) {
	path := f.path(key)
	content, err := os.ReadFile(path)
	var saved entry
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		err = config.WithoutPath(err)
		if _, known := f.logged.LoadOrStore(key, true); !known {
			f.log.WarnContext(ctx, "a file in DATA_DIR cannot be read; its owner must be that of the folder, and its mode 0600",
				"file", filepath.Base(path), "err", err)
		}
		return nil, fmt.Errorf("read a file in DATA_DIR: %w", err)
	case json.Unmarshal(content, &saved) == nil && len(saved.Value) > 0:
		return saved.Value, nil
	}
	aside := f.temporary(key) + damagedSuffix
	if os.Rename(path, aside) != nil {
		aside = path
	}
	if _, known := f.logged.LoadOrStore(key, true); !known || aside != path {
		f.log.WarnContext(ctx, "a file in DATA_DIR is damaged; its value is lost", "file", filepath.Base(aside))
	}
	return nil, errDamaged
}

// Save sets the value of key. It logs a failure once, and replaces no file that cannot be
// read.
func (f *Folder) Save(ctx context.Context, key string, value []byte, _ time.Duration) {
	defer f.hold(key)()
	if _, err := f.load(ctx, key); err == nil || errors.Is(err, errDamaged) {
		_ = f.write(ctx, key, value)
	}
}

// Replace saves value and returns true if old is the value of key; an empty old stands for no
// value, and an empty value deletes. It returns false for another value. It blocks until value
// is on disk. After an error either value may be saved. Replace is atomic within this process
// only.
func (f *Folder) Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error) {
	defer f.hold(key)()
	saved, err := f.load(ctx, key)
	if err != nil || !bytes.Equal(saved, old) {
		return false, err
	}
	err = f.write(ctx, key, value)
	return err == nil, err
}

// write sets the value of key, or deletes it if value is empty, and blocks until that is on
// disk. If the process dies meanwhile, the old value stays. It logs the first failure after a
// success. The caller holds key.
func (f *Folder) write(ctx context.Context, key string, value []byte) error {
	path, temporary := f.path(key), f.temporary(key)
	var err error
	if len(value) == 0 {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else if err = f.writeFile(temporary, value); err == nil {
		err = os.Rename(temporary, path)
	}
	if err == nil {
		err = syncFolder(f.dir)
	}
	if err == nil {
		f.failing.Store(false)
		return nil
	}
	_ = os.Remove(temporary)
	err = config.WithoutPath(err)
	if !f.failing.Swap(true) {
		f.log.WarnContext(ctx, "cannot write to DATA_DIR; what is new is lost at the next start", "err", err)
	}
	return fmt.Errorf("write to DATA_DIR: %w", err)
}

// writeFile makes a file of value, and blocks until it is on disk.
func (f *Folder) writeFile(path string, value []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	content, _ := json.Marshal(entry{Value: value}) // Bytes can be JSON.
	_, err = file.Write(content)
	return errors.Join(err, ownAs(f.dir, file), file.Sync(), file.Close())
}

// path returns the file of key.
func (f *Folder) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:16])+".kept.json")
}

// temporary returns a new name for a file that replaces the file of key.
func (f *Folder) temporary(key string) string { return f.path(key) + "." + rand.Text() }
