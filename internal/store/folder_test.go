package store

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
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

// newFolder returns a Folder and its log.
func newFolder(t *testing.T, dir string) (*Folder, *logtest.Buffer) {
	t.Helper()
	var log logtest.Buffer
	return NewFolder(dir, log.Logger()), &log
}

// wantAnswer fails the test unless the Folder has this value as the answer for key. If want is "", it must not have
// one.
func wantAnswer(t *testing.T, f *Folder, key, want string) {
	t.Helper()
	if got, _ := f.Load(context.Background(), key); string(got) != want {
		t.Errorf("%s is %q, want %q", key, got, want)
	}
}

func TestValuesOutliveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f, _ := newFolder(t, dir)
		wantAnswer(t, f, "a", "")
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
		f.Save(t.Context(), "b", []byte("\x00\xff"), time.Minute)
		f.Save(t.Context(), "a", []byte("2"), time.Hour)
		again, _ := newFolder(t, dir)
		wantAnswer(t, again, "a", "2")
		wantAnswer(t, again, "b", "\x00\xff")
		// The clock may be wrong. So the caller decides what is too old.
		time.Sleep(365 * 24 * time.Hour)
		wantAnswer(t, again, "a", "2")
		wantAnswer(t, again, "b", "\x00\xff")
	})
}

// makeUnreadable makes a file unreadable, even for root.
func makeUnreadable(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedAnswerIsLoggedOnceAndOverwritten(t *testing.T) {
	for _, content := range []string{
		"",
		"{",
		"null",
		"{}",
		`{"Value":""}`,
		`{"Value":"?"}`,
		`{"Value":"MQ=="`,
	} {
		f, log := newFolder(t, t.TempDir())
		writeFile(t, f.answerPath("a"), content)
		for range 2 {
			wantAnswer(t, f, "a", "")
		}
		got := log.String()
		if strings.Count(got, "\n") != 1 || content != "" && strings.Contains(got, content) {
			t.Errorf("%s: logged %q", content, got)
		}
		wantContent(t, f.answerPath("a"), content)
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
		wantAnswer(t, f, "a", "1")
	}
}

func TestAnUnreadableAnswerFailsAndIsLoggedOnce(t *testing.T) {
	f, log := newFolder(t, t.TempDir())
	makeUnreadable(t, f.answerPath("a"))
	for range 3 {
		value, err := f.Load(t.Context(), "a")
		if value != nil || err == nil || strings.Contains(err.Error(), f.dir) {
			t.Errorf("loaded %q, %v", value, err)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "cannot be read") {
		t.Errorf("logged %q", got)
	}
}

// writeFile writes a file, and makes its folder.
func writeFile(t *testing.T, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wantContent fails the test unless a file has this content.
func wantContent(t *testing.T, path, want string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if string(content) != want || err != nil {
		t.Errorf("%s has %q, %v, want %q", path, content, err, want)
	}
}

func TestAnUnreadableValueStaysAndAffectsNoOther(t *testing.T) {
	for what, content := range map[string]string{"empty": "", "1 MB": strings.Repeat("x", 1<<20)} {
		f, _ := newFolder(t, t.TempDir())
		b := f.Bucket(members)
		put(t, b, "8", "another")
		path := b.(folderBucket).path("7")
		writeFile(t, path, content)
		wantUnreadable(t, what, b, "7", "another")
		wantContent(t, path, content)
	}
}

func TestAnUnreadableFileStaysAndAffectsNoOther(t *testing.T) {
	f, _ := newFolder(t, t.TempDir())
	b := f.Bucket(members)
	put(t, b, "8", "another")
	makeUnreadable(t, b.(folderBucket).path("7"))
	wantUnreadable(t, "a folder", b, "7", "another")
}

func TestFilesOfAKilledProcessAreDeleted(t *testing.T) {
	f, _ := newFolder(t, t.TempDir())
	name := hashName("a")
	kept := []string{
		name + ".kept.json",
		name + ".kept.json.bak",
		"x.kept.json." + rand.Text(),
		"members/" + name + ".json",
	}
	for _, path := range kept {
		writeFile(t, filepath.Join(f.dir, path), `{"Value":"MQ=="}`)
	}
	for _, path := range []string{
		name + ".kept.json." + rand.Text(),
		"." + name + ".kept.json123",
		"members/telegram-1/." + name + ".json456",
	} {
		writeFile(t, filepath.Join(f.dir, path), `{"Value":`)
	}
	lock(t, f)
	var left []string
	_ = fs.WalkDir(os.DirFS(f.dir), ".", func(path string, entry fs.DirEntry, _ error) error {
		if !entry.IsDir() && path != "lock" {
			left = append(left, path)
		}
		return nil
	})
	slices.Sort(kept)
	slices.Sort(left)
	if !slices.Equal(left, kept) {
		t.Errorf("left are %v, want %v", left, kept)
	}
}

func TestAFolderOfAKilledProcessIsDeleted(t *testing.T) {
	f, _ := newFolder(t, t.TempDir())
	left := filepath.Join(f.dir, "members", ".folder123")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	lock(t, f)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want the folder to be deleted", err)
	}
}

func TestFilesOfAKilledProcessAreDeletedBehindALink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	left := filepath.Join(dir, "."+hashName("a")+".json123")
	writeFile(t, left, "{")
	f, _ := newFolder(t, link)
	lock(t, f)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want the file to be deleted", err)
	}
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
	wantAnswer(t, one, "a", "1")
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
	wantAnswer(t, f, "a", "1")
}

func TestUnwritableFolderIsLoggedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s3cret")
	f, log := newFolder(t, dir)
	for range 3 {
		f.Save(t.Context(), "a", []byte("1"), time.Hour)
		replaced, err := f.Bucket(members).Replace(t.Context(), "a", nil, []byte("1"))
		if replaced || err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("replaced %t, %v", replaced, err)
		}
	}
	wantAnswer(t, f, "a", "")
	got := log.String()
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, "DATA_DIR") || strings.Contains(got, "s3cret") {
		t.Errorf("logged %s", got)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f.Save(t.Context(), "a", []byte("1"), time.Hour)
	wantAnswer(t, f, "a", "1")
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

func TestFilesArePrivateAndDoNotNameKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	f, _ := newFolder(t, dir)
	lock(t, f)
	f.Save(t.Context(), "price https://host/key-in-a-path", []byte("1"), time.Hour)
	put(t, f.Bucket(members), "7000000002", "a")
	files := 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		info, err := entry.Info()
		want := os.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700 | os.ModeDir
		} else {
			files++
		}
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		for _, part := range []string{"host", "key-in", "7000000002"} {
			if strings.Contains(path, part) {
				t.Errorf("%s names its key: %s", path, part)
			}
		}
		return nil
	})
	if files != 3 {
		t.Errorf("there are %d files, want 3", files)
	}
}

func TestAFileOfABucketIsTheValue(t *testing.T) {
	f, _ := newFolder(t, t.TempDir())
	put(t, f.Bucket(members), "7", `{"a":1}`)
	wantContent(t, filepath.Join(f.dir, "members", "telegram-7000000001", hashName("7")+".json"), `{"a":1}`)
}
