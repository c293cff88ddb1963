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

func TestDamagedFileIsLoggedOnce(t *testing.T) {
	for _, content := range []string{"", "{", "null", "{}", `{"Value":""}`, `{"Value":"?"}`, `{"Value":"MQ=="`} {
		f, log := newFolder(t, t.TempDir())
		if err := os.WriteFile(f.path("a"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		expectKept(t, f, "missing", "")
		for range 3 {
			expectKept(t, f, "a", "")
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "DATA_DIR") || content != "" && strings.Contains(got, content) {
			t.Errorf("%s: logged %q", content, got)
		}
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
		expectKept(t, f, "a", "1")
		if aside, err := os.ReadFile(f.path("a") + damagedSuffix); err != nil || string(aside) != content {
			t.Errorf("%s: %q is kept aside, %v", content, aside, err)
		}
	}
}

func TestFilesOfAKilledProcessAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newFolder(t, t.TempDir())
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
		live, later := f.temporary("b"), f.temporary("c")
		kept := []string{f.path("a"), f.path("b"), f.path("a") + ".bak", filepath.Join(f.dir, "x.kept.json."+rand.Text()), later}
		for _, path := range append(kept[2:4:4], f.temporary("a"), live) {
			if err := os.WriteFile(path, []byte(`{"Value":`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		// Another process writes meanwhile.
		time.AfterFunc(maxWrite/2, func() { _ = errors.Join(os.Rename(live, f.path("b")), os.WriteFile(later, nil, 0o600)) })
		again, _ := newFolder(t, f.dir)
		left, _ := filepath.Glob(filepath.Join(f.dir, "*"))
		if slices.Sort(kept); !slices.Equal(left, kept) {
			t.Errorf("left are %v, want %v", left, kept)
		}
		expectKept(t, again, "a", "1")
	})
}

func TestUnwritableFolderIsLoggedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s3cret")
	f, log := newFolder(t, dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
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
	f.Save(t.Context(), "price https://host/key-in-a-path", []byte("1"), time.Hour)
	found, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(found) != 1 {
		t.Fatal(found)
	}
	content, err := os.ReadFile(found[0])
	if text := found[0] + string(content); err != nil || strings.Contains(text, "host") || strings.Contains(text, "key-in") {
		t.Error(text, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, found[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
}
