package app

import (
	"encoding/base64"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"herald/internal/chat"
)

// oldFolder returns a DATA_DIR with two addresses and a forgotten row, written by version b7a8be84.
func oldFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/b7a8be84")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// base64Value matches values as b7a8be84 wrote them.
var base64Value = regexp.MustCompile(`[A-Za-z0-9+/=]{40,}`)

// contents returns the content of every file in a folder, each followed by its decoded values.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(os.DirFS(dir), path)
		all.Write(content)
		for _, text := range base64Value.FindAll(content, -1) {
			value, _ := base64.StdEncoding.DecodeString(string(text)) // It fails for a long word that is not a value.
			all.Write(value)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// folderSettings returns the settings of a bot that saves addresses in dir.
func folderSettings(t *testing.T, dir string) []string {
	return append(DemoSettings(startFakes(t)),
		"DATA_DIR="+dir,
		"TELEGRAM_BOT_TOKEN=77:a",
		"DISCORD_BOT_TOKEN=token")
}

func TestMembersOfTheOldVersionAreListedAndUnchanged(t *testing.T) {
	dir := oldFolder(t)
	before := contents(t, dir)
	var table strings.Builder
	cfg := mustLoad(t, folderSettings(t, dir), "")
	if err := ListMembers(t.Context(), cfg, slog.New(slog.DiscardHandler), &table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"discord,700000000000000001,0x00000000000000000000000000000000000a0001,2026-11-20t12:00:00z",
		"telegram,7000000001,0x00000000000000000000000000000000000a0002,",
		"telegram,7000000002,,",
	} {
		if !strings.Contains(strings.ToLower(table.String()), want) {
			t.Errorf("no line with %q in\n%s", want, &table)
		}
	}
	if contents(t, dir) != before {
		t.Error("the folder has changed")
	}
}

func TestAnAddressOfTheOldVersionIsKnownAndForgotten(t *testing.T) {
	dir := oldFolder(t)
	bot := newBot(t, folderSettings(t, dir))
	defer bot.Close()
	user := chat.User{Platform: "telegram", ID: "7000000001"}
	saved, err := bot.members.Saved(t.Context(), user)
	if err != nil || saved == nil || len(saved.Given) != 1 {
		t.Fatalf("saved is %+v, %v", saved, err)
	}
	if _, err := bot.members.Forget(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToLower(contents(t, dir)), "a0002") {
		t.Error("the wallet is still there")
	}
}
