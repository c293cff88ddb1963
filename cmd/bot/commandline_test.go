package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// transcribe runs the program with nothing but this environment, and returns
// what a person sees: standard output as it is, standard error with a mark
// before each line, and the exit code. Nothing is contacted, should the program
// mean to serve.
func transcribe(t *testing.T, args []string, environ ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	code := start(ctx, args, process{environ: environ, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr})
	seen := fmt.Sprintf("$ bot %s\n%s", strings.Join(args, " "), &stdout)
	for line := range strings.Lines(stderr.String()) {
		seen += "! " + line
	}
	return fmt.Sprintf("%sexit %d\n\n", seen, code)
}

// Each command line, with what it prints. What is a mistake is in
// standard error alone.
func TestCommandLines(t *testing.T) {
	version, commit = "1.2.3", "0123abc"
	t.Cleanup(func() { version, commit = "dev", "" })
	var all strings.Builder
	for _, args := range []string{
		"help", "--help", "-h", "help --help", "--help --version",
		"help run", "run --help --env-file=herald.env", "--help run", "-h demo --env-file herald.env",
		"help demo", "demo -h", "help check", "help version", "help help",
		"version", "--version", "-v", "-version",
		"chek", "Check", "rnu", "chekc", "serve", "herald.env", "0123456789:secret-token", "a-very-long-secret-in-lower-case",
		"help chek", "help serve", "help 0123456789",
		"run now", "check herald.env", "version now", "help check now", "run 0123456789:secret", "check -v",
		"--env-fil herald.env", "run -env-fiel=herald.env", "--verbose", "--token-0123456789=1", "-x", "-", "--", "--=0123456789",
		"--env-file", "check --env-file", "check --env-file=", "--env-file --help", "--help=yes", "-v=1",
		"check --env-file a.env --env-file b.env", "--env-file a.env check --env-file=a.env",
		"demo --env-file herald.env", "--env-file=herald.env demo", "version --env-file 0123456789", "--version --env-file herald.env",
		"help --env-file herald.env", "--web", "check --web", "demo --web=yes", "RUN", "--VERSION",
	} {
		all.WriteString(transcribe(t, strings.Fields(args)))
	}
	all.WriteString(transcribe(t, []string{""}))
	text := regexp.MustCompile(`go1\.[^\n]+`).ReplaceAllString(all.String(), "go1.N")
	golden(t, "testdata/commandline.golden", text)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "! ") && regexp.MustCompile(`0123|secret`).MatchString(line) {
			t.Errorf("a word that may be a secret is repeated: %s", line)
		}
	}
}

func TestEveryCommandAndFlagHasHelp(t *testing.T) {
	general := usage()
	for _, c := range commands() {
		if !strings.Contains(general, "\n  bot "+c.name+" ") {
			t.Errorf("`bot help` does not list %s", c.name)
		}
		for _, f := range c.flags {
			if !strings.Contains(c.usage(), "  "+f.title()+"   ") || !strings.Contains(general, "  "+f.title()+"   ") {
				t.Errorf("the help of %s lacks --%s", c.name, f.name)
			}
		}
		for line := range strings.Lines(general + c.usage()) {
			if len(line) > 81 {
				t.Errorf("wider than a terminal: %s", line)
			}
		}
	}
}
