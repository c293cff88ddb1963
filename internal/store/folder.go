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
// Buckets keep saved addresses. It is safe for concurrent use. While a bot has locked the folder, `bot members` may use
// it, too.
//
// A file has mode 0600, a folder 0700, and both belong to the owner of DATA_DIR, even if root writes them. A file
// is replaced as a whole, and is on disk when the call returns.
type Folder struct {
	dir     string
	log     *slog.Logger
	locks   keyLocks    // by path
	failing atomic.Bool // whether the latest write failed
	logged  sync.Map    // has the keys of the answers that were logged as unreadable
	lock    *os.File    // nil unless Lock locked the folder
}

// NewFolder returns a Folder of dir. It reads and writes nothing.
func NewFolder(dir string, log *slog.Logger) *Folder {
	return &Folder{dir: dir, log: log}
}

// Lock makes the folder if its parent exists, locks it until Close or the end of the process, and deletes the temporary
// files of killed processes. If another process has the lock, Lock does not wait, and fails with a config.Errors. If
// the folder cannot be locked for another reason, Lock logs that and succeeds.
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
	_ = matchOwner(file, f.dir) // If it fails, a later process may not be able to open the file, and logs that.
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

// isThere reports whether DATA_DIR is a folder. If it is not, its file system is not mounted, and nothing is known of
// any value.
func (f *Folder) isThere() bool {
	info, err := os.Stat(f.dir)
	return err == nil && info.IsDir()
}

// deleteTemporary deletes the temporary files and folders of killed processes.
func (f *Folder) deleteTemporary() {
	dir, err := filepath.EvalSymlinks(f.dir) // WalkDir does not follow a link.
	if err != nil {
		return // There is no such folder.
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // Files in a folder that cannot be read cannot be deleted.
		}
		isPlain := entry.Type().IsRegular() || entry.IsDir()
		if isPlain && isTemporary(entry.Name()) {
			_ = os.Remove(path) // It fails for a folder that is not empty.
		}
		return nil
	})
}

// wrapped is the content of an answer's file.
type wrapped struct{ Value []byte }

// errDamaged is returned for a file with content that a Folder does not write.
var errDamaged = errors.New("it is damaged")

// unwrap returns the value in the content of an answer's file, or errDamaged.
func unwrap(content []byte) ([]byte, error) {
	var saved wrapped
	if json.Unmarshal(content, &saved) != nil || len(saved.Value) == 0 {
		return nil, errDamaged
	}
	return saved.Value, nil
}

// flatPath returns the path of an answer's file. All answers are in DATA_DIR itself.
func (f *Folder) flatPath(key string) string {
	return filepath.Join(f.dir, hashName(key)+".kept.json")
}

// Load implements query.Store. Values do not expire here, because a value would look expired if the clock were wrong,
// and would be overwritten. A damaged file counts as no value.
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

// Save implements query.Store. It also overwrites a file that cannot be read.
func (f *Folder) Save(ctx context.Context, key string, value []byte, _ time.Duration) {
	content, _ := json.Marshal(wrapped{Value: value}) // It cannot fail.
	path := f.flatPath(key)
	defer f.locks.lock(path)()
	_ = f.write(ctx, path, content) // It logs the failure.
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

// makeFolders makes the missing folders from DATA_DIR down to path.
func (f *Folder) makeFolders(path string) error {
	below, err := filepath.Rel(f.dir, path)
	if err != nil {
		return err
	}
	dir := f.dir
	for name := range strings.SplitSeq(below, string(filepath.Separator)) {
		dir = filepath.Join(dir, name)
		err := makeFolder(dir, f.dir)
		if err != nil {
			return err
		}
	}
	return nil
}
