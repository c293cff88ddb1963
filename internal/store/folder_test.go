package store

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/config"
	"herald/internal/secret/logtest"
)

func newFolder(t *testing.T, dir string) (*Folder, *logtest.Buffer) {
	t.Helper()
	var log logtest.Buffer
	return NewFolder(dir, log.Logger()), &log
}

func expectKept(t *testing.T, f *Folder, key, want string) {
	t.Helper()
	if got, _ := f.Load(context.Background(), key); string(got) != want {
		t.Errorf("%s is %q, want %q", key, got, want)
	}
}

func TestValuesOutliveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f, _ := newFolder(t, dir)
		expectKept(t, f, "a", "")
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
		f.Save(t.Context(), "b", []byte("\x00\xff"), time.Minute)
		f.Save(t.Context(), "a", []byte("2"), time.Hour)
		again, _ := newFolder(t, dir)
		expectKept(t, again, "a", "2")
		expectKept(t, again, "b", "\x00\xff")
		// Perhaps the clock is wrong. Whoever asks knows what is too old.
		time.Sleep(365 * 24 * time.Hour)
		expectKept(t, again, "a", "2")
		expectKept(t, again, "b", "\x00\xff")
	})
}

func TestDamagedFilesArePutAsideAndLogged(t *testing.T) {
	for _, content := range []string{"", "{", "null", "{}", `{"Value":""}`, `{"Value":"?"}`, `{"Value":"MQ=="`} {
		f, log := newFolder(t, t.TempDir())
		// A second one does not replace the first.
		for n := 1; n <= 2; n++ {
			if err := os.WriteFile(f.path("a"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			expectKept(t, f, "missing", "")
			if replaced, err := f.Replace(t.Context(), "a", nil, []byte("1")); replaced || err == nil {
				t.Errorf("%s: replaced %t, %v", content, replaced, err)
			}
			expectKept(t, f, "a", "")
			if got := log.String(); strings.Count(got, "\n") != n || !strings.Contains(got, "DATA_DIR is damaged") || content != "" && strings.Contains(got, content) {
				t.Errorf("%s: logged %q", content, got)
			}
			f.Save(t.Context(), "a", []byte("1"), time.Hour)
			expectKept(t, f, "a", "1")
			aside, _ := filepath.Glob(f.path("a") + ".*" + damagedSuffix)
			for _, path := range aside {
				if kept, err := os.ReadFile(path); err != nil || string(kept) != content {
					t.Errorf("%s: %q is put aside, %v", content, kept, err)
				}
			}
			if len(aside) != n {
				t.Errorf("%s: put aside %q, want %d files", content, aside, n)
			}
		}
	}
}

// unreadable makes the file of a key unreadable, also for root.
func unreadable(t *testing.T, f *Folder, key string) {
	t.Helper()
	if err := os.Mkdir(f.path(key), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestUnreadableFileIsNotDamaged(t *testing.T) {
	f, log := newFolder(t, t.TempDir())
	unreadable(t, f, "a")
	for range 3 {
		if value, err := f.Load(t.Context(), "a"); value != nil || err == nil || errors.Is(err, errDamaged) {
			t.Errorf("loaded %q, %v", value, err)
		}
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
		if replaced, err := f.Replace(t.Context(), "a", nil, []byte("1")); replaced || err == nil {
			t.Errorf("replaced %t, %v", replaced, err)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "cannot be read; its owner must be that of the folder, and its mode 0600") {
		t.Errorf("logged %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(f.dir, "*")); !slices.Equal(left, []string{f.path("a")}) {
		t.Errorf("left are %v", left)
	}
}

func TestFilesOfAKilledProcessAreDeleted(t *testing.T) {
	f, _ := newFolder(t, t.TempDir())
	f.Save(t.Context(), "a", []byte("1"), time.Hour)
	kept := []string{f.path("a"), f.path("a") + ".bak", filepath.Join(f.dir, "x.kept.json."+rand.Text()), f.temporary("a") + damagedSuffix}
	for _, path := range append(kept[1:4:4], f.temporary("a"), f.temporary("b")) {
		if err := os.WriteFile(path, []byte(`{"Value":`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, _ := newFolder(t, f.dir)
	left, _ := filepath.Glob(filepath.Join(f.dir, "*"))
	if len(left) != 6 {
		t.Errorf("left are %v before the lock, want all", left)
	}
	lock(t, again)
	left, _ = filepath.Glob(filepath.Join(f.dir, "*.kept.json*"))
	if slices.Sort(kept); !slices.Equal(left, kept) {
		t.Errorf("left are %v, want %v", left, kept)
	}
	expectKept(t, again, "a", "1")
}

// lock locks f until the test ends.
func lock(t *testing.T, f *Folder) {
	t.Helper()
	if err := f.Lock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
}

func TestAFolderHasOneLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	one, _ := newFolder(t, dir)
	two, _ := newFolder(t, dir)
	lock(t, one)
	if err := two.Lock(); !errors.As(err, new(config.Errors)) || strings.Contains(err.Error(), dir) {
		t.Errorf("the second lock fails with %v", err)
	}
	two.Save(t.Context(), "a", []byte("1"), time.Hour)
	expectKept(t, one, "a", "1")
	_ = errors.Join(one.Close(), two.Close())
	lock(t, two)
}

func TestFolderThatCannotBeLockedIsUsed(t *testing.T) {
	f, log := newFolder(t, t.TempDir())
	if err := os.Mkdir(filepath.Join(f.dir, "lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock(t, f)
	if log.Lines("cannot lock DATA_DIR") != 1 {
		t.Errorf("logged %s", log)
	}
	f.Save(t.Context(), "a", []byte("1"), time.Hour)
	expectKept(t, f, "a", "1")
}

func TestUnwritableFolderIsLoggedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s3cret")
	f, log := newFolder(t, dir)
	for range 3 {
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
		if replaced, err := f.Replace(t.Context(), "a", nil, []byte("1")); replaced || err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("replaced %t, %v", replaced, err)
		}
	}
	expectKept(t, f, "a", "")
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "DATA_DIR") || strings.Contains(got, "s3cret") {
		t.Errorf("logged %s", got)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f.Save(t.Context(), "a", []byte("1"), time.Hour)
	expectKept(t, f, "a", "1")
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

func TestFilesArePrivateAndDoNotNameKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	f, _ := newFolder(t, dir)
	lock(t, f)
	f.Save(t.Context(), "price https://host/key-in-a-path", []byte("1"), time.Hour)
	found, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(found) != 2 || found[1] != filepath.Join(dir, "lock") {
		t.Fatal(found)
	}
	content, err := os.ReadFile(found[0])
	if text := found[0] + string(content); err != nil || strings.Contains(text, "host") || strings.Contains(text, "key-in") {
		t.Error(text, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, found[0]: 0o600, found[1]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
}
