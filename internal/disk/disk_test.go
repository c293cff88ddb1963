package disk

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func newStore(t *testing.T, dir string) (*Store, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	return New(dir, slog.New(slog.NewTextHandler(&log, nil))), &log
}

func expectKept(t *testing.T, f *Store, key, want string) {
	t.Helper()
	if got, found := f.Load(context.Background(), key); string(got) != want || found != (want != "") {
		t.Errorf("%s is %q, found %t; want %q", key, got, found, want)
	}
}

func TestValuesOutliveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f, _ := newStore(t, dir)
		expectKept(t, f, "a", "")
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
		f.Save(t.Context(), "b", []byte("\x00\xff"), time.Minute)
		f.Save(t.Context(), "a", []byte("2"), time.Hour)
		again, _ := newStore(t, dir)
		expectKept(t, again, "a", "2")
		expectKept(t, again, "b", "\x00\xff")
		time.Sleep(time.Minute)
		expectKept(t, again, "a", "2")
		expectKept(t, again, "b", "")
	})
}

func TestFilesNameNothingOfTheirKeys(t *testing.T) {
	dir := t.TempDir()
	f, _ := newStore(t, dir)
	f.Save(t.Context(), "price https://host/key-in-a-path", []byte("1"), time.Hour)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	content, err := os.ReadFile(filepath.Join(dir, entries[0].Name()))
	if text := entries[0].Name() + string(content); err != nil || strings.Contains(text, "host") || strings.Contains(text, "key-in") {
		t.Errorf("%s, %v", text, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}

func TestADamagedFileIsNotThere(t *testing.T) {
	for _, content := range []string{"", "{", "null", "7", `{"Until":"soon"}`, `{"Value":"MQ=="}`, `{"Until":"9999-01-01T00:00:00Z","Value":"?"}`, "\x00"} {
		f, _ := newStore(t, t.TempDir())
		if err := os.WriteFile(f.path("a"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		expectKept(t, f, "a", "")
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
		expectKept(t, f, "a", "1")
	}
}

func TestAFolderThatCannotBeWrittenIsLoggedOnceWithoutItsPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s3cret")
	f, log := newStore(t, dir)
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
	// A folder stands where the file should.
	if err := os.MkdirAll(filepath.Join(f.path("b"), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.Save(t.Context(), "b", []byte("1"), time.Hour)
	expectKept(t, f, "b", "")
	if got := log.String(); strings.Count(got, "\n") != 2 || strings.Contains(got, "s3cret") {
		t.Errorf("logged %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, unfinished)); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestASweepDeletesWhatIsOutdatedAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	f, _ := newStore(t, dir)
	f.Save(t.Context(), "good", []byte("1"), time.Hour)
	f.Save(t.Context(), "outdated", []byte("1"), -time.Second)
	kept := map[string]bool{filepath.Base(f.path("good")): true}
	write := func(name string, age time.Duration, stays bool) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("?"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		if stays {
			kept[name] = true
		}
	}
	write("kept-1.tmp", 0, true)
	write("kept-2.tmp", 2*time.Hour, false)
	write("quotes.db", 1000*time.Hour, true)
	write("another.json", 1000*time.Hour, true)
	write("damaged"+keptSuffix, 0, false)
	f.Sweep()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, e := range entries {
		left[e.Name()] = true
	}
	if fmt.Sprint(left) != fmt.Sprint(kept) {
		t.Errorf("left %v, want %v", left, kept)
	}
	New(filepath.Join(dir, "nowhere"), slog.New(slog.DiscardHandler)).Sweep()
}
