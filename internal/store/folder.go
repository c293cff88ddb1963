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

// Folder keeps each value in a file of DATA_DIR, so that it outlives the process: the
// quotes seen, the last values of services, when all credits are back, and kept wallets, which
// alone are personal. A value that cannot be written is only logged. A file that cannot be
// read is logged. Several processes may use one folder. Folder implements core.Store,
// credits.Store and members.Store, and is safe for concurrent use.
//
// A value's ttl is ignored: under a wrong clock a value would look expired and be
// overwritten.
type Folder struct {
	dir     string
	log     *slog.Logger
	failing atomic.Bool
	damaged sync.Map   // keys whose files were logged as damaged
	swap    sync.Mutex // held by Swap
}

// entry is what a file holds.
type entry struct{ Value []byte }

// temporaryNames matches the names of the files that Save writes and then renames.
var temporaryNames = strings.Repeat("[0-9a-f]", 32) + ".kept.json." + strings.Repeat("[A-Z2-7]", 26)

// damagedSuffix ends the name of a file that could not be read and is kept aside.
const damagedSuffix = ".damaged"

// errDamaged is the error of Load for a file that cannot be read.
var errDamaged = errors.New("a file in DATA_DIR cannot be read")

// maxWrite is the longest life of a temporary file whose process was not killed.
const maxWrite = time.Second

// NewFolder makes a Folder of dir. It creates dir if its parent exists. It deletes the
// temporary files of killed processes, and blocks for maxWrite if there are any.
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

// Load returns the last saved value of key, however old, or nil if there is none. It fails if
// the file cannot be read. It renames a damaged file, so that an operator can look at the file
// and Save does not replace it.
func (f *Folder) Load(ctx context.Context, key string) ([]byte, error) {
	var kept entry
	content, err := os.ReadFile(f.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && json.Unmarshal(content, &kept) == nil && len(kept.Value) > 0 {
		return kept.Value, nil
	}
	aside := f.path(key)
	if err == nil && os.Rename(aside, aside+damagedSuffix) == nil {
		aside += damagedSuffix
	}
	if _, known := f.damaged.LoadOrStore(key, true); !known {
		f.log.WarnContext(ctx, "a damaged file in DATA_DIR cannot be read; its value is lost", "file", filepath.Base(aside))
	}
	return nil, errDamaged
}

// Save sets the value of key. If the process dies meanwhile, the old value stays.
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

// Swap saves value and returns true if old is the value of key; an empty old stands for
// no value. Otherwise it returns false. It is atomic within this process only. It returns
// true also if value could not be written: the caller goes on with what it knows.
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

// temporary returns a new name for a file that replaces the file of key.
func (f *Folder) temporary(key string) string { return f.path(key) + "." + rand.Text() }
