package history

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shopspring/decimal"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"herald/internal/panics"
)

const (
	fileName = "quotes.db"
	// lockWait is how long to wait for another process that has the file.
	lockWait = time.Second
	// mostOthers bounds the other sources in the file. A bucket of so few keys
	// is one page for bbolt, never a tree, in which a damaged link could lead it
	// round in circles.
	mostOthers = 3
)

// bucket holds one value a source: a checksum and all of its points. bbolt
// checks its own pages only in part.
var bucket = []byte("quotes")

var (
	errDamaged = errors.New("damaged")
	errLocked  = errors.New("locked by another process")
)

// file is the copy of the points on disk, a bbolt database. It is used by one
// goroutine at a time.
type file struct {
	path string
	log  *slog.Logger
	db   *bbolt.DB // nil: not open
	// handle is db's, by which the file is let go where db cannot be trusted to.
	handle *os.File
	// renewed is set after a damaged file was set aside. That happens once: a
	// disk that damages every file would fill up with them.
	renewed bool
	// outdated are sources that the next save deletes.
	outdated []string
}

func newFile(dir string, log *slog.Logger) *file {
	return &file{path: filepath.Join(dir, fileName), log: log}
}

// makeDir makes the folder unless it exists.
func makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot make the folder: %w", reason(err))
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cannot use the folder: %w", reason(err))
	}
	if !info.IsDir() {
		return errors.New("is not a folder")
	}
	return nil
}

// reason is err without the path, in place of which a secret may have been
// given.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// withoutPath is err with the file's name for its path. bbolt puts paths into
// text.
func (f *file) withoutPath(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), f.path, fileName))
}

func (f *file) isOpen() bool { return f.db != nil }

// open opens the file and returns the points of the source. A damaged one is
// set aside for a new one.
func (f *file) open(source string) ([]Point, error) {
	points, err := f.openOnce(source)
	if errors.Is(err, errDamaged) {
		if err := f.setAside(err); err != nil {
			return nil, err
		}
		return f.openOnce(source)
	}
	return points, err
}

// setAside renames the file and logs the damage. It fails if it did that before.
func (f *file) setAside(damage error) error {
	if f.renewed {
		return damage
	}
	aside := f.path + ".damaged-" + time.Now().UTC().Format("20060102T150405Z")
	if err := os.Rename(f.path, aside); err != nil {
		return fmt.Errorf("set the damaged file aside: %w", f.withoutPath(err))
	}
	f.renewed = true
	f.log.Warn("the file of quotes is damaged; it is set aside and a new one begun",
		"file", fileName, "set_aside", filepath.Base(aside), "err", damage)
	return nil
}

func (f *file) openOnce(source string) (points []Point, err error) {
	err = f.guarded(func() error {
		// bbolt takes an empty file for a new one. None of its files is ever
		// empty, so this one has lost what was in it.
		if info, err := os.Stat(f.path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			return fmt.Errorf("%w: empty", errDamaged)
		}
		db, err := bbolt.Open(f.path, 0o600, &bbolt.Options{Timeout: lockWait, OpenFile: f.openHandle})
		if err != nil {
			return f.openError(err)
		}
		f.db = db
		var others map[string]time.Time
		if err = db.View(func(tx *bbolt.Tx) error {
			points, others, err = read(tx, source)
			return err
		}); err != nil {
			return err
		}
		f.outdated = outdated(others)
		return nil
	})
	if err != nil {
		f.close()
	}
	return points, err
}

// openHandle remembers the handle that bbolt works with.
func (f *file) openHandle(path string, flag int, mode os.FileMode) (_ *os.File, err error) {
	f.handle, err = os.OpenFile(path, flag, mode)
	return f.handle, err
}

// openError tells a file that is no database from one that cannot be had.
func (f *file) openError(err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return errLocked
	case errors.As(err, &errno):
		return fmt.Errorf("open the file: %w", f.withoutPath(err))
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

// read returns the points of the source, and the others with the times of their
// newest points. It fails if anything in the file is damaged.
func read(tx *bbolt.Tx, source string) (points []Point, others map[string]time.Time, err error) {
	if err := checkPages(tx); err != nil {
		return nil, nil, err
	}
	empty := tx.ID() > 1 // Every transaction but bbolt's own first two leaves a value.
	others = map[string]time.Time{}
	err = tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		if b == nil || !bytes.Equal(name, bucket) {
			return fmt.Errorf("%w: something else is in it", errDamaged)
		}
		return b.ForEach(func(key, value []byte) error {
			empty = false
			decoded, err := decode(key, value)
			switch {
			case string(key) == source:
				points = decoded
			case len(decoded) > 0:
				others[string(key)] = decoded[len(decoded)-1].At
			default:
				others[string(key)] = time.Time{}
			}
			return err
		})
	})
	if empty && err == nil {
		err = fmt.Errorf("%w: nothing is in it", errDamaged)
	}
	return points, others, err
}

// checkPages fails if a page reaches beyond the end of the file, or one beyond
// it is said to be free: bbolt would follow both. Its own check follows them
// too, in a goroutine in which a page that cannot be read ends the process.
func checkPages(tx *bbolt.Tx) error {
	end := int(tx.Size()) / tx.DB().Info().PageSize
	free := 0
	for id := 0; id < end; {
		page, err := tx.Page(id)
		if err != nil {
			return fmt.Errorf("look at a page: %w", err)
		}
		id++
		if page.Type == "free" {
			free++
			continue
		}
		if id += page.OverflowCount; id > end {
			return fmt.Errorf("%w: a page reaches beyond the end", errDamaged)
		}
	}
	if said := tx.DB().Stats().FreePageN; free != said {
		return fmt.Errorf("%w: %d pages are free, not %d", errDamaged, free, said)
	}
	return nil
}

// outdated are the sources that have no point of the last 90 days, and all but
// the few with the newest.
func outdated(others map[string]time.Time) []string {
	sources := slices.SortedFunc(maps.Keys(others), func(a, b string) int { return others[b].Compare(others[a]) })
	since := time.Now().Add(-Kept)
	old := slices.IndexFunc(sources, func(s string) bool { return others[s].Before(since) })
	if old < 0 {
		old = len(sources)
	}
	return sources[min(old, mostOthers):]
}

// save replaces the points of the source and deletes what is outdated. Damage
// that shows only now is answered by a new file.
func (f *file) save(source string, points []Point) error {
	err := f.saveOnce(source, points)
	if !errors.Is(err, errDamaged) {
		return err
	}
	if err := f.setAside(err); err != nil {
		return err
	}
	if _, err := f.openOnce(source); err != nil {
		return err
	}
	return f.saveOnce(source, points)
}

func (f *file) saveOnce(source string, points []Point) error {
	return f.guarded(func() error {
		value, err := encode([]byte(source), points)
		if err != nil {
			return err
		}
		err = f.db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			for _, other := range f.outdated {
				if err := b.Delete([]byte(other)); err != nil {
					return err
				}
			}
			return b.Put([]byte(source), value)
		})
		if err != nil {
			return fmt.Errorf("write the points: %w", f.withoutPath(err))
		}
		f.outdated = nil
		return nil
	})
}

// guarded does what reads or writes the file. bbolt panics on what it cannot
// make sense of, and a mapped page that the disk does not give is a fault of
// memory: both mean that the file is damaged, and it is let go.
func (f *file) guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %w", errDamaged, panics.Error(v))
			f.abandon()
		}
	}()
	return do()
}

// close lets go of the file.
func (f *file) close() {
	if f.db == nil {
		return
	}
	if err := f.db.Close(); err != nil {
		f.log.Warn("cannot close the file of quotes", "file", fileName, "err", f.withoutPath(err))
	}
	f.db, f.handle = nil, nil
}

// abandon lets go of the file without db, which may wait for locks of its own.
// The memory into which it mapped the file stays mapped, and would keep the
// file locked.
func (f *file) abandon() {
	if f.handle != nil {
		_ = syscall.Flock(int(f.handle.Fd()), syscall.LOCK_UN)
		f.handle.Close()
	}
	f.db, f.handle = nil, nil
}

// storedPoint is the form of a Point in the file.
type storedPoint struct {
	At    int64           `json:"t"` // Unix seconds
	Price decimal.Decimal `json:"p"`
}

// checksum is CRC-32C: damage by accident, not by an attacker. A value under
// another source's name is damage too.
func checksum(source, text []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(source, table), table, text)
}

func encode(source []byte, points []Point) ([]byte, error) {
	stored := make([]storedPoint, len(points))
	for i, p := range points {
		stored[i] = storedPoint{p.At.Unix(), p.Price}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("encode the points: %w", err)
	}
	return append(binary.BigEndian.AppendUint32(nil, checksum(source, text)), text...), nil
}

func decode(source, value []byte) ([]Point, error) {
	if len(value) < 4 || binary.BigEndian.Uint32(value) != checksum(source, value[4:]) {
		return nil, fmt.Errorf("%w: wrong checksum", errDamaged)
	}
	var stored []storedPoint
	if err := json.Unmarshal(value[4:], &stored); err != nil {
		return nil, fmt.Errorf("%w: not a list of points", errDamaged)
	}
	points := make([]Point, len(stored))
	for i, p := range stored {
		points[i] = Point{At: time.Unix(p.At, 0).UTC(), Price: p.Price}
	}
	return points, nil
}
