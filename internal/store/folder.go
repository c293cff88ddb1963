package store

import (
	"context"
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

// Folder keeps values in files of DATA_DIR, so that they outlive the process. It implements query.Store, and its
// Buckets keep saved addresses. It is safe for concurrent use. `bot members` may use the folder beside a bot that
// has locked it.
//
// A file has mode 0600, a folder 0700, and both belong to the owner of DATA_DIR, even if root writes them. A file
// is replaced as a whole, and is on disk when the call returns.
type Folder struct {
	dir     string
	log     *slog.Logger
	locks   keyLocks    // by path
	failing atomic.Bool // the latest write failed
	logged  sync.Map    // keys of answers that were logged as unreadable
	lock    *os.File    // nil unless Lock locked the folder
}

// NewFolder returns a Folder of dir. It reads and writes nothing.
func NewFolder(dir string, log *slog.Logger) *Folder {
	return &Folder{dir: dir, log: log}
}

// Lock makes the folder if its parent exists, and locks it until Close or the end of the process. Then it deletes
// the temporary files of killed processes. It fails with a config.Errors if another process has the lock, and does
// not wait for that process. A folder that cannot be locked is used without a lock.
func (f *Folder) Lock() error {
	_ = os.Mkdir(f.dir, 0o700)
	err := f.openLock()
	if errors.Is(err, errLocked) {
		return config.Errors{"DATA_DIR: another `bot run` uses this folder; stop it, or name another folder"}
	}
	if err != nil {
		f.log.Warn("cannot lock DATA_DIR; a second `bot run` there would go unnoticed", "err", config.WithoutPath(err))
	}
	f.deleteTemporary()
	return nil
}

// openLock opens the lock file and locks it. It fails with errLocked if another process has the lock.
func (f *Folder) openLock() error {
	file, err := os.OpenFile(filepath.Join(f.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_ = matchOwner(file, f.dir) // A later process that cannot open it says so.
	err = lockFile(file)
	if err != nil {
		file.Close()
		return err
	}
	f.lock = file
	return nil
}

// Close unlocks the folder. It fails if the folder is not locked.
func (f *Folder) Close() error { return f.lock.Close() }

// isThere reports whether DATA_DIR is a folder. If not, its file system is away, and nothing is known of any value.
func (f *Folder) isThere() bool {
	info, err := os.Stat(f.dir)
	return err == nil && info.IsDir()
}

// deleteTemporary deletes the temporary files of killed processes.
func (f *Folder) deleteTemporary() {
	dir, err := filepath.EvalSymlinks(f.dir) // WalkDir follows none.
	if err != nil {
		return // There is no such folder.
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && isTemporary(entry.Name()) {
			_ = os.Remove(path)
		}
		return nil // What cannot be read has nothing that can be deleted.
	})
}

// wrapped is the content of an answer's file.
type wrapped struct{ Value []byte }

// errDamaged is returned for a file whose content was not written by Save.
var errDamaged = errors.New("it is damaged")

// unwrap returns the value in an answer's file. It fails with errDamaged.
func unwrap(content []byte) ([]byte, error) {
	var saved wrapped
	if json.Unmarshal(content, &saved) != nil || len(saved.Value) == 0 {
		return nil, errDamaged
	}
	return saved.Value, nil
}

// flatPath returns the file of an answer: all answers are in DATA_DIR itself.
func (f *Folder) flatPath(key string) string {
	return filepath.Join(f.dir, hashName(key)+".kept.json")
}

// Load implements query.Store. It ignores how long the value was to be kept: under a wrong clock, a value would
// look expired and be overwritten. A damaged file counts as no value.
func (f *Folder) Load(ctx context.Context, key string) ([]byte, error) {
	content, err := readFile(f.flatPath(key))
	if err != nil {
		f.logOnce(ctx, key, err)
		return nil, fmt.Errorf("read a file in DATA_DIR: %w", err)
	}
	if content == nil {
		return nil, nil
	}
	value, err := unwrap(content)
	if err != nil {
		f.logOnce(ctx, key, err)
		return nil, nil
	}
	return value, nil
}

// logOnce logs an answer that cannot be read, once for each key.
func (f *Folder) logOnce(ctx context.Context, key string, err error) {
	_, known := f.logged.LoadOrStore(key, true)
	if known {
		return
	}
	f.log.WarnContext(ctx, "a file in DATA_DIR cannot be read, and will be overwritten; "+
		"it must have the folder's owner and mode 0600", "file", filepath.Base(f.flatPath(key)), "err", err)
}

// Save implements query.Store. It overwrites a file that cannot be read.
func (f *Folder) Save(ctx context.Context, key string, value []byte, _ time.Duration) {
	content, _ := json.Marshal(wrapped{Value: value}) // Bytes can be JSON.
	path := f.flatPath(key)
	defer f.locks.lock(path)()
	_ = f.write(ctx, path, content) // The failure is logged.
}

// write sets the content of a file, or deletes the file if content is empty. It logs the first failure after a
// success. The caller holds the lock of path.
func (f *Folder) write(ctx context.Context, path string, content []byte) error {
	var err error
	if len(content) == 0 {
		err = deleteFile(path)
	} else {
		err = replaceFile(path, content, f.dir)
	}
	if err == nil {
		f.failing.Store(false)
		return nil
	}
	err = config.WithoutPath(err)
	if !f.failing.Swap(true) {
		f.log.WarnContext(ctx, "cannot write to DATA_DIR; what is new is lost at the next start", "err", err)
	}
	return fmt.Errorf("write to DATA_DIR: %w", err)
}

// makeFolders makes the folders from DATA_DIR down to path, as far as they are missing.
func (f *Folder) makeFolders(path string) error {
	below, err := filepath.Rel(f.dir, path)
	if err != nil {
		return err
	}
	dir := f.dir
	for name := range strings.SplitSeq(below, string(filepath.Separator)) {
		parent := dir
		dir = filepath.Join(dir, name)
		err := makeFolder(parent, dir, f.dir)
		if err != nil {
			return err
		}
	}
	return nil
}
