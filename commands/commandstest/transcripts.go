package commandstest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"herald/internal/chat"
	"herald/internal/config/configtest"
)

// Transcripts compares the replies to all Cases in English with golden files, one for each name of a scene. show
// returns the text of a reply. If update is set, Transcripts writes the files instead.
func Transcripts(t *testing.T, update bool, show func(Case) string) {
	t.Helper()
	transcripts := map[string]string{}
	Cases(t, chat.English, func(c Case) { transcripts[c.Scene] += c.transcript(show) })
	compare(t, filepath.Join("testdata", "scenes"), transcripts, update)
}

// Previews compares two things about each reply in English with a golden file: its first 60 characters, which are what
// a push notification shows, and how many lines it has. show returns the text of a reply. If update is set, Previews
// writes the file instead.
func Previews(t *testing.T, update bool, show func(Case) string) {
	t.Helper()
	var all strings.Builder
	Cases(t, chat.English, func(c Case) {
		shown := show(c)
		preview := []rune(strings.ReplaceAll(shown, "\n", " / "))
		fmt.Fprintf(&all, "%-24.24s %2d lines  %s\n",
			c.Line, strings.Count(shown, "\n")+1, string(preview[:min(len(preview), 60)]))
	})
	compare(t, filepath.Join("testdata", "previews"), map[string]string{"previews": all.String()}, update)
}

// Languages compares the replies to all Cases with golden files, one for each language. show returns the text of a
// reply. If update is set, Languages writes the files instead.
func Languages(t *testing.T, update bool, show func(Case) string) {
	t.Helper()
	transcripts := map[string]string{}
	for _, l := range chat.Languages() {
		scene := ""
		Cases(t, l, func(c Case) {
			if c.Scene != scene {
				scene = c.Scene
				transcripts[string(l)] += "# " + scene + "\n\n"
			}
			transcripts[string(l)] += c.transcript(show)
		})
	}
	compare(t, filepath.Join("testdata", "languages"), transcripts, update)
}

// transcript returns the line and the reply as golden files have them.
func (c Case) transcript(show func(Case) string) string {
	line := strings.ToValidUTF8(c.Line[:min(len(c.Line), 80)], "")
	return fmt.Sprintf("> %s\n%s\n\n", line, show(c))
}

// compare compares transcripts with the golden files in dir, which has a file for each name of a transcript and no
// other file. If update is set, it writes the files instead.
func compare(t *testing.T, dir string, transcripts map[string]string, update bool) {
	t.Helper()
	if update {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for name, transcript := range transcripts {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".golden")
		configtest.Golden(t, file, transcript, update)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.golden"))
	if err != nil || len(files) != len(transcripts) {
		t.Errorf("%s: %d golden files for %d transcripts, %v", dir, len(files), len(transcripts), err)
	}
}
