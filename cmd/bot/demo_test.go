package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What differs from run to run: how long ago something was, and the block that
// the chain has come to.
var (
	moment    = regexp.MustCompile(`\d+ (s|min|h|day|days) ago|just now`)
	blockNote = regexp.MustCompile(`Block [\d,]*\d`)
)

// TestDemoTranscript is what a newcomer sees who types these lines.
func TestDemoTranscript(t *testing.T) {
	wallets := regexp.MustCompile(`0x[0-9A-Fa-f]{40}`).FindAllString(greeting(t), -1)
	if len(wallets) != 2 {
		t.Fatalf("the greeting names the wallets %q, want one that stakes and one that does not", wallets)
	}
	lines := []string{
		"/help", "/start", "/price", "/price 7d", "/price 1y", "/supply",
		"/staked " + wallets[0], "/staked " + wallets[1], "/staked", "/staked 0x12", "/staked 0x52908400098527886e0F7030069857D2E4169EE7",
		"/mylogins", "/exists", "/exists 7000000003", "/verify " + wallets[0], "/verify " + wallets[1],
		"/as unregistered", "/mylogins", "/exists", "/verify " + wallets[0],
		"/as moderator", "/mylogins", "/exists 7000000003", "/exists 7000000001", "/exists GitHub 70001", "/exists Myspace 70001",
		"/verify 7000000001 " + wallets[0], "/verify 7000000003 " + wallets[0],
		"/as nobody", "/prices", "price",
	}
	code, stdout, stderr := runDemo(t, strings.Join(lines, "\n"))
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	answers := strings.SplitAfter(stdout, "\n\n")
	if len(answers) != len(lines)+1 || answers[len(lines)] != "" {
		t.Fatalf("%d lines were answered with %d answers:\n%s", len(lines), len(answers)-1, stdout)
	}
	var transcript strings.Builder
	transcript.WriteString(stderr)
	for i, line := range lines {
		fmt.Fprintf(&transcript, "> %s\n%s", line, answers[i])
		if !strings.Contains(answers[i], " (simulated)\n") {
			t.Errorf("the answer to %s is not marked as simulated", line)
		}
	}
	steady := moment.ReplaceAllString(transcript.String(), "N s ago")
	golden(t, "testdata/demo.golden", blockNote.ReplaceAllString(steady, "Block N"))
}

func greeting(t *testing.T) string {
	t.Helper()
	_, _, stderr := runDemo(t, "")
	return stderr
}

// runDemo types input into `bot demo`, with nothing set.
func runDemo(t *testing.T, input string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = start(t.Context(), []string{"demo"}, process{stdin: strings.NewReader(input), stdout: &out, stderr: &errs})
	return code, out.String(), errs.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (go test ./cmd/bot -update writes it anew):\n%s", path, got)
	}
}
