package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"herald/internal/config"
)

// Folder keeps each value in a file of DATA_DIR, so that it outlives the process:
// the quotes seen, the last values of services, and the credits that are left. What
// cannot be written is only logged, and what cannot be read is not there: nothing
// depends on it. Values hold nothing personal. Several processes may use one
// folder. It implements core.Store and is safe for concurrent use.
//
// No value is ever outdated: this machine's clock may be wrong, and a value that
// seems to be gone would be replaced.
type Folder struct {
	dir     string
	log     *slog.Logger
	failing atomic.Bool
}

// entry is what a file holds.
type entry struct{ Value []byte }

// NewFolder makes a Folder in a folder, which it makes if its parent exists. Whether
// it can be written to shows at the first Save.
func NewFolder(dir string, log *slog.Logger) *Folder {
	_ = os.Mkdir(dir, 0o700)
	return &Folder{dir: dir, log: log}
}

// Load returns the value that was last saved under key, however old.
func (f *Folder) Load(_ context.Context, key string) ([]byte, bool) {
	var kept entry
	content, err := os.ReadFile(f.path(key))
	if err == nil {
		err = json.Unmarshal(content, &kept)
	}
	return kept.Value, err == nil && len(kept.Value) > 0
}

// Save keeps value until the next one. A process that dies meanwhile leaves the
// value from before.
func (f *Folder) Save(ctx context.Context, key string, value []byte, _ time.Duration) {
	path := f.path(key)
	temporary := path + "." + rand.Text()
	content, err := json.Marshal(entry{Value: value})
	if err == nil {
		err = os.WriteFile(temporary, content, 0o600)
	}
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

// path is the file of key.
func (f *Folder) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:16])+".kept.json")
}
