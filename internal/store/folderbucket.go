package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"herald/internal/config"
)

// folderBucket is a Bucket that keeps each value in a file of its own, whose content is the value.
type folderBucket struct {
	folder *Folder
	dir    string
}

// bucketSuffix ends the names of a bucket's files.
const bucketSuffix = ".json"

// readers is the maximum number of files that Each reads at a time.
const readers = 8

// Bucket returns the bucket of this name, such as "members/telegram-7000000001", which is also its folder's name
// in DATA_DIR. Replace is atomic within this process only.
func (f *Folder) Bucket(name string) Bucket {
	return folderBucket{folder: f, dir: filepath.Join(f.dir, filepath.FromSlash(name))}
}

// path returns the file of key.
func (b folderBucket) path(key string) string {
	return filepath.Join(b.dir, hashName(key)+bucketSuffix)
}

// Load implements Bucket.
func (b folderBucket) Load(_ context.Context, key string) ([]byte, error) {
	value, err := readValue(b.path(key))
	if value != nil {
		return value, nil
	}
	if !b.folder.exists() {
		return nil, errNoFolder
	}
	if err != nil {
		return nil, &UnreadableError{Values: 1, Err: err}
	}
	return nil, nil
}

// errNoFolder is returned by a Bucket while DATA_DIR does not exist.
var errNoFolder = errors.New("DATA_DIR is not there: is its file system mounted?")

// readValue returns the content of a file, or nil if there is no such file. It fails if the content is too large for a
// value.
func readValue(path string) ([]byte, error) {
	value, err := readFile(path)
	if err == nil && len(value) > maxValue {
		return nil, errTooLarge
	}
	return value, err
}

// Replace implements Bucket.
func (b folderBucket) Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error) {
	if len(value) > maxValue {
		return false, errTooLarge
	}
	path := b.path(key)
	defer b.folder.locks.lock(path)()
	saved, err := b.Load(ctx, key)
	if err != nil || !bytes.Equal(saved, old) {
		return false, err
	}
	if len(value) > 0 {
		err = b.folder.makeFolders(b.dir)
		if err != nil {
			return false, fmt.Errorf("make a folder in DATA_DIR: %w", config.WithoutPath(err))
		}
	}
	err = b.folder.write(ctx, path, value)
	return err == nil, err
}

// Each implements Bucket.
func (b folderBucket) Each(ctx context.Context, f func(value []byte)) error {
	if !b.folder.exists() {
		return errNoFolder
	}
	paths, err := b.list()
	if err != nil {
		return fmt.Errorf("list a folder in DATA_DIR: %w", config.WithoutPath(err))
	}
	var mu sync.Mutex // guards unreadable, and calls of f
	var unreadable UnreadableError
	visit := func(path string) {
		value, err := readValue(path)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			unreadable.Values++
			unreadable.Err = err
		case value != nil: // It is nil if the file was deleted meanwhile.
			f(value)
		}
	}
	var reading errgroup.Group
	reading.SetLimit(readers)
	for _, path := range paths {
		reading.Go(func() error {
			if ctx.Err() == nil {
				visit(path)
			}
			return ctx.Err()
		})
	}
	err = reading.Wait()
	if err != nil {
		return err
	}
	if unreadable.Values > 0 {
		return &unreadable
	}
	return nil
}

// list returns the paths of the bucket's files.
func (b folderBucket) list() ([]string, error) {
	dir, err := os.Open(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	var paths []string
	for _, name := range names {
		if strings.HasSuffix(name, bucketSuffix) {
			paths = append(paths, filepath.Join(b.dir, name))
		}
	}
	return paths, err
}

// errNotListed is returned by Each of a Former bucket, whose values look like other values in the same place.
var errNotListed = errors.New("former values cannot be listed")

// formerFolder is a Bucket that has each value in a file like an answer's, in DATA_DIR itself.
type formerFolder struct{ *Folder }

// Former returns a Bucket of the addresses that versions up to commit b7a8be84 saved. Its Each fails.
func (f *Folder) Former() Bucket { return formerFolder{f} }

// Load implements Bucket.
func (f formerFolder) Load(_ context.Context, key string) ([]byte, error) {
	content, err := readFile(f.answerPath(key))
	var value []byte
	if err == nil && content != nil {
		value, err = unwrap(content)
	}
	if err != nil {
		return nil, &UnreadableError{Values: 1, Err: err}
	}
	return value, nil
}

// Replace implements Bucket.
func (f formerFolder) Replace(ctx context.Context, key string, old, value []byte) (replaced bool, err error) {
	path := f.answerPath(key)
	defer f.locks.lock(path)()
	saved, err := f.Load(ctx, key)
	if err != nil || !bytes.Equal(saved, old) {
		return false, err
	}
	var content []byte
	if len(value) > 0 {
		content, _ = json.Marshal(wrapped{Value: value}) // It cannot fail.
	}
	err = f.write(ctx, path, content)
	return err == nil, err
}

// Each implements Bucket. It always fails.
func (f formerFolder) Each(context.Context, func(value []byte)) error { return errNotListed }
