package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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

// Folder keeps each value in a file of DATA_DIR, so that it outlives the process:
// the quotes seen, the last values of services, and the credits that are left. What
// cannot be written is only logged, and a file that cannot be read is logged and counts
// as missing: nothing depends on it. Values hold nothing personal. Several processes may
// use one folder. It implements core.Store and is safe for concurrent use.
//
// A value's lifetime is ignored: under a wrong clock a value would look expired and be
// overwritten.
type Folder struct {
	dir     string
	log     *slog.Logger
	failing atomic.Bool
	damaged sync.Map   // the keys whose files were logged as damaged
	swap    sync.Mutex // held by Swap
}

// entry is what a file holds.
type entry struct{ Value []byte }

// temporaryNames matches the names of the files that Save writes and then renames.
var temporaryNames = strings.Repeat("[0-9a-f]", 32) + ".kept.json." + strings.Repeat("[A-Z2-7]", 26)

// maxWrite is how long a temporary file is there, except if its process was killed.
const maxWrite = time.Second

// NewFolder makes a Folder in a folder, which it makes if its parent exists. It deletes
// the temporary files of killed processes: it waits for maxWrite if it finds any.
func NewFolder(dir string, log *slog.Logger) *Folder {
	_ = os.Mkdir(dir, 0o700)
	left, _ := fs.Glob(os.DirFS(dir), temporaryNames)
	if len(left) > 0 {
		// Another process may be writing. No name is used twice.
		time.Sleep(maxWrite)
	}
	for _, name := range left {
		_ = os.Remove(filepath.Join(dir, name))
	}
	return &Folder{dir: dir, log: log}
}

// Load returns the value that was last saved under key, however old.
func (f *Folder) Load(ctx context.Context, key string) ([]byte, bool) {
	var kept entry
	content, err := os.ReadFile(f.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if err == nil && json.Unmarshal(content, &kept) == nil && len(kept.Value) > 0 {
		return kept.Value, true
	}
	if _, known := f.damaged.LoadOrStore(key, true); !known {
		f.log.WarnContext(ctx, "a damaged file in DATA_DIR cannot be read; its value is lost", "file", filepath.Base(f.path(key)))
	}
	return nil, false
}

// Save keeps value until the next one. A process that dies meanwhile leaves the
// value from before.
func (f *Folder) Save(ctx context.Context, key string, value []byte, _ time.Duration) {
	path, temporary := f.path(key), f.temporary(key)
	content, _ := json.Marshal(entry{Value: value}) // Bytes can be JSON.
	err := os.WriteFile(temporary, content, 0o600)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err == nil {
		f.failing.Store(false)
		return
	}
	_ = os.Remove(temporary)
	if !f.failing.Swap(true) {
		f.log.WarnContext(ctx, "cannot write to DATA_DIR; quotes, prices and credits are forgotten at the next start", "err", config.WithoutPath(err))
	}
}

// Swap saves value if old is what Load returns, or if old is empty and Load returns
// nothing. Otherwise it returns false. It is atomic within this process only. A value that
// cannot be written counts as saved: the caller goes on with what it knows.
func (f *Folder) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) bool {
	f.swap.Lock()
	defer f.swap.Unlock()
	if held, _ := f.Load(ctx, key); !bytes.Equal(held, old) {
		return false
	}
	f.Save(ctx, key, value, ttl)
	return true
}

// path returns the file of key.
func (f *Folder) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:16])+".kept.json")
}

// temporary returns a new name for the file of key while it is written.
func (f *Folder) temporary(key string) string { return f.path(key) + "." + rand.Text() }
