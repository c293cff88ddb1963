package disk

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/config"
	"herald/internal/config/configtest"
)

func newStore(t *testing.T, dir string) (*Store, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	s, err := New(dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s, &log
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
	for _, content := range []string{"", "{", "null", `{"Until":"soon"}`, `{"Value":"MQ=="}`, `{"Until":"9999-01-01T00:00:00Z","Value":"?"}`} {
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
	if left, _ := filepath.Glob(filepath.Join(dir, unfinished)); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestASweepDeletesWhatIsOutdatedAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	f, _ := newStore(t, dir)
	f.Save(t.Context(), "good", []byte("1"), time.Hour)
	f.Save(t.Context(), "outdated", []byte("1"), -time.Second)
	want := []string{filepath.Base(f.path("good"))}
	for name, test := range map[string]struct {
		age   time.Duration
		stays bool
	}{
		"kept-1.tmp": {0, true}, "kept-2.tmp": {2 * time.Hour, false}, "damaged" + keptSuffix: {0, false},
		"quotes.db": {1000 * time.Hour, true}, "another.json": {1000 * time.Hour, true},
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte("?"), 0o600), os.Chtimes(path, time.Time{}, time.Now().Add(-test.age))); err != nil {
			t.Fatal(err)
		}
		if test.stays {
			want = append(want, name)
		}
	}
	newStore(t, dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if slices.Sort(want); !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}

func TestFolderIsMadeForItsOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for range 2 {
		newStore(t, dir)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode() != 0o700|os.ModeDir {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestFolderThatCannotBeIsAMistake(t *testing.T) {
	file := filepath.Join(t.TempDir(), configtest.Canary)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dirs := []string{file, filepath.Join(file, "below"), filepath.Join(file+"missing", "below")}
	configtest.Refuses(t, new(Settings).Table(), "DATA_DIR", "must be a folder", dirs...)
	for _, dir := range append(dirs, configtest.Canary+"\x00") {
		_, err := New(dir, slog.New(slog.DiscardHandler))
		mistakes, _ := errors.AsType[config.Mistakes](err)
		configtest.OneMistake(t, new(Settings).Table(), mistakes, "DATA_DIR", "folder")
	}
}
