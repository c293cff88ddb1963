package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"herald/internal/config/configtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got != configtest.Read(t, path) {
		t.Errorf("differs from %s (go test ./cmd/bot -update writes it anew):\n%s", path, got)
	}
}

// transcribe runs the program with this environment alone and returns what a person
// sees: standard output, standard error with a mark before each line, and the exit code.
// The context has ended, so that nothing is contacted if the program would serve.
func transcribe(t *testing.T, args []string, environ ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	code := start(ctx, args, process{environ: environ, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr})
	if strings.Contains(stdout.String()+stderr.String(), secret) {
		t.Errorf("bot %q repeats what may be a secret:\n%s%s", args, &stdout, &stderr)
	}
	seen := fmt.Sprintf("$ bot %s\n%s", strings.Join(args, " "), &stdout)
	for line := range strings.Lines(stderr.String()) {
		seen += "! " + line
	}
	return fmt.Sprintf("%sexit %d\n\n", seen, code)
}

// A wrong command line prints to standard error only.
func TestCommandLines(t *testing.T) {
	version, commit = "1.2.3", "0123abc"
	t.Cleanup(func() { version, commit = "dev", "" })
	var all strings.Builder
	for _, line := range []string{
		"help", "--help", "-h demo", "help run", "run --help --env-file=herald.env", "check -h", "help version",
		"version", "--version", "-v",
		"chek", "help chek", "RUN", secret, "help " + secret, "-", "--", "--verbose", "--" + secret + "=1", "--=" + secret,
		"run now", "check herald.env", "help check now", "run " + secret,
		"--env-file", "check --env-file=", "--web=" + secret, "check --env-file a.env --env-file " + secret,
		"demo --env-file " + secret, "--env-file=herald.env version", "--web", "check --web",
	} {
		all.WriteString(transcribe(t, strings.Fields(line)))
	}
	all.WriteString(transcribe(t, []string{""}))
	golden(t, "testdata/commandline.golden", regexp.MustCompile(`go1\.[^\n]+`).ReplaceAllString(all.String(), "go1.N"))
}
