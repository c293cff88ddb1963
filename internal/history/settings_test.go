package history

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"herald/internal/config"
	"herald/internal/config/configtest"
)

func TestFolderIsASetting(t *testing.T) {
	exists := t.TempDir()
	for _, dir := range []string{"", exists, filepath.Join(exists, "made"), filepath.Join(exists, "made") + "/", ".", "made"} {
		var s Settings
		configtest.Fill(t, s.Table(), "DATA_DIR="+dir)
		if s.Dir != dir {
			t.Errorf("%q: folder %q", dir, s.Dir)
		}
	}
}

func TestFolderThatCannotBeIsAMistake(t *testing.T) {
	file := filepath.Join(t.TempDir(), configtest.Canary)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var s Settings
	configtest.Refuses(t, s.Table(), "DATA_DIR", "must be a folder",
		file, filepath.Join(file, "below"), filepath.Join(file+"missing", "below"))
}

func TestFolderIsMadeForItsOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for range 2 {
		h, _ := open(t, dir, source)
		h.Close()
	}
	for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, fileName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestFolderThatCannotBeMadeIsAMistake(t *testing.T) {
	file := filepath.Join(t.TempDir(), configtest.Canary)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), filepath.Join(file+"missing", "below"), configtest.Canary + "\x00"} {
		_, err := Open(dir, source, slog.New(slog.DiscardHandler))
		mistakes, _ := errors.AsType[config.Mistakes](err)
		var s Settings
		configtest.OneMistake(t, s.Table(), mistakes, "DATA_DIR", "folder")
	}
}
