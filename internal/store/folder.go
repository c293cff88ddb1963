// Package disk keeps values in files of DATA_DIR, so that they outlive the process:
// the quotes seen, the last answers of services, and the credits that are left.
//
// What cannot be written is only logged, and what cannot be read is not there: it
// is a copy, which nothing depends on. Values hold nothing personal.
package store

import (
	"context"
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
	"sync/atomic"
	"time"

	"herald/internal/config"
)

// Folder is a folder with a file a value. Several processes may use one. It is
// safe for concurrent use.
type Folder struct {
	dir     string
	log     *slog.Logger
	failing atomic.Bool
}

// keptFile is what a file holds.
type keptFile struct {
	Until time.Time
	Value []byte
}

const (
	// keptSuffix ends the names of the files.
	keptSuffix = ".kept.json"
	// writeTime is more than writing one takes.
	writeTime = time.Minute
)

// NewFolder makes a Folder in a folder, which it makes if its parent exists, and deletes
// what is outdated there. It fails with config.Errors if there then is no such
// folder; whether it can be written to shows at the first Save.
func NewFolder(dir string, log *slog.Logger) (*Folder, error) {
	err := os.Mkdir(dir, 0o700)
	if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
		s := &Folder{dir: dir, log: log}
		s.sweep()
		return s, nil
	}
	if errors.Is(err, fs.ErrExist) {
		err = errors.New("it is no folder")
	}
	return nil, config.Errors{fmt.Sprintf("DATA_DIR: cannot make the folder: %v; for example DATA_DIR=%s", config.WithoutPath(err), exampleDir)}
}

// Load is the value saved under key, unless it is outdated.
func (s *Folder) Load(_ context.Context, key string) ([]byte, bool) {
	kept, err := readKept(s.path(key))
	if err != nil {
		return nil, false
	}
	return kept.Value, true
}

// readKept reads a file that is not outdated.
func readKept(path string) (kept keptFile, err error) {
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &kept)
	}
	if err == nil && !time.Now().Before(kept.Until) {
		err = errors.New("outdated")
	}
	return kept, err
}

// Save keeps value for ttl. A process that dies meanwhile leaves the value from
// before.
func (s *Folder) Save(ctx context.Context, key string, value []byte, ttl time.Duration) {
	err := s.write(s.path(key), keptFile{time.Now().Add(ttl), value})
	switch {
	case err == nil:
		s.failing.Store(false)
	case !s.failing.Swap(true):
		s.log.WarnContext(ctx, "cannot write to DATA_DIR; quotes, prices and credits are forgotten at the next start", "err", err)
	}
}

func (s *Folder) write(path string, kept keptFile) error {
	content, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("encode a value: %w", err)
	}
	temporary, err := os.CreateTemp(s.dir, "*"+keptSuffix)
	if err != nil {
		return fmt.Errorf("make a file: %w", config.WithoutPath(err))
	}
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("write a file: %w", config.WithoutPath(err))
	}
	return nil
}

// path is the file of key.
func (s *Folder) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+keptSuffix)
}

// sweep deletes what is outdated, as after a change of settings, and what a
// process that died was writing.
func (s *Folder) sweep() {
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		path := filepath.Join(s.dir, e.Name())
		info, err := e.Info()
		if err != nil || !strings.HasSuffix(path, keptSuffix) || time.Since(info.ModTime()) < writeTime {
			continue
		}
		if _, err := readKept(path); err != nil {
			_ = os.Remove(path)
		}
	}
}
