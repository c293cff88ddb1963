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

// Folder keeps values in files of the folder DATA_DIR, so that they outlive the process. It implements query.Store, and
// its Buckets keep saved addresses. It is safe for concurrent use. The lock of the folder keeps a second `bot run`
// away, but not `bot members`, which may use the folder at the same time.
//
// A file has mode 0600, a folder 0700, and both belong to the owner of DATA_DIR, even if root writes them. A file
// is replaced as a whole, and is on disk when the call returns.
type Folder struct {
	dir     string // DATA_DIR
	log     *slog.Logger
	locks   keyLocks    // one for each path
	failing atomic.Bool // whether the latest write failed
	logged  sync.Map    // the keys of the answers that were logged as unreadable
	lock    *os.File    // the open lock file, or nil if the folder is not locked
}

// NewFolder returns a Folder of dir. It reads and writes nothing.
func NewFolder(dir string, log *slog.Logger) *Folder {
	return &Folder{dir: dir, log: log}
}

// Lock locks the folder until Close is called or the process ends. If the folder does not exist, but its parent does,
// Lock first makes it. It also deletes the temporary files of killed processes. If another process has the lock, Lock
// fails with a config.Errors, without waiting. If the folder cannot be locked for another reason, Lock logs that and
// succeeds.
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

// exists reports whether DATA_DIR is a folder. If it is not, perhaps its file system is not mounted, and it is unknown
// which values there are.
func (f *Folder) exists() bool {
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
			return nil // The folder cannot be read, so the files in it cannot be deleted.
		}
		isFileOrFolder := entry.Type().IsRegular() || entry.IsDir()
		if isFileOrFolder && isTemporary(entry.Name()) {
			_ = os.Remove(path) // This fails if it is a folder that is not empty.
		}
		return nil
	})
}

// wrapped is the content of an answer's file: JSON with the value in base64.
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

// answerPath returns the path of an answer's file. All answers are in DATA_DIR itself.
func (f *Folder) answerPath(key string) string {
	return filepath.Join(f.dir, hashName(key)+".kept.json")
}

// Load implements query.Store. Values in files do not expire: if they did, a wrong clock could make them look expired,
// and they would be overwritten. A damaged file counts as no value.
func (f *Folder) Load(ctx context.Context, key string) ([]byte, error) {
	content, err := readFile(f.answerPath(key))
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

// logOnce logs that an answer cannot be read. It logs each key only once.
func (f *Folder) logOnce(ctx context.Context, key string, err error) {
	_, known := f.logged.LoadOrStore(key, true)
	if known {
		return
	}
	f.log.WarnContext(ctx, "a file in DATA_DIR cannot be read, and will be overwritten; "+
		"it must have the folder's owner and mode 0600", "file", filepath.Base(f.answerPath(key)), "err", err)
}

// Save implements query.Store. It also overwrites a file that cannot be read.
func (f *Folder) Save(ctx context.Context, key string, value []byte, _ time.Duration) {
	content, _ := json.Marshal(wrapped{Value: value}) // It cannot fail.
	path := f.answerPath(key)
	defer f.locks.lock(path)()
	_ = f.write(ctx, path, content) // It logs the failure.
}

// write sets the content of a file, or deletes the file if content is empty. It logs a failure, unless the previous
// write failed, too. The caller holds the lock of path.
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
