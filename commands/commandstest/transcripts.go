package commandstest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"herald/internal/chat"
)

// Transcripts compares every Case in every language, as show writes its answer,
// with a golden file for each language and scene in testdata. With update it
// writes the files instead.
func Transcripts(t *testing.T, update bool, show func(Case) string) {
	t.Helper()
	for _, l := range chat.Languages() {
		transcripts := map[string]*bytes.Buffer{}
		Cases(t, l, func(c Case) {
			if transcripts[c.Scene] == nil {
				transcripts[c.Scene] = &bytes.Buffer{}
			}
			line := strings.ToValidUTF8(c.Line[:min(len(c.Line), 80)], "")
			fmt.Fprintf(transcripts[c.Scene], "> %s\n%s\n\n", line, show(c))
		})
		compare(t, filepath.Join("testdata", string(l)), transcripts, update)
	}
}

// compare compares transcripts with the files of their names in dir.
func compare(t *testing.T, dir string, transcripts map[string]*bytes.Buffer, update bool) {
	t.Helper()
	if update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for scene, transcript := range transcripts {
		file := filepath.Join(dir, strings.ReplaceAll(scene, " ", "_")+".golden")
		if update {
			if err := os.WriteFile(file, transcript.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(transcript.Bytes(), want) {
			t.Errorf("%s differs; run with -update and read the diff. Got:\n%s", file, transcript)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.golden"))
	if err != nil || len(files) != len(transcripts) {
		t.Errorf("%s: %d golden files for %d scenes, %v", dir, len(files), len(transcripts), err)
	}
}
