package commandstest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Transcripts compares every Case, as show writes its answer, with a golden
// file for each scene in testdata. With update it writes the files instead.
func Transcripts(t *testing.T, update bool, show func(Case) string) {
	t.Helper()
	transcripts := map[string]*bytes.Buffer{}
	for _, c := range Cases(t) {
		if transcripts[c.Scene] == nil {
			transcripts[c.Scene] = &bytes.Buffer{}
		}
		line := strings.ToValidUTF8(c.Line[:min(len(c.Line), 80)], "")
		fmt.Fprintf(transcripts[c.Scene], "> %s\n%s\n\n", line, show(c))
	}
	for scene, transcript := range transcripts {
		file := filepath.Join("testdata", strings.ReplaceAll(scene, " ", "_")+".golden")
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
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) != len(transcripts) {
		t.Errorf("%d golden files for %d scenes, %v", len(files), len(transcripts), err)
	}
}
