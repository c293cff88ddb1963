package main

import (
	"context"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"herald/internal/config/configtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// transcribe runs the program with only this environment, and returns what a person sees: standard
// output, standard error with "! " before each line, and the exit code. The context is done, so a bot
// that would serve ends before it contacts anything.
func transcribe(t *testing.T, args []string, environ ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := runBot(ctx, t, args, environ...)
	seen := fmt.Sprintf("$ bot %s\n%s", strings.Join(args, " "), stdout)
	for line := range strings.Lines(stderr) {
		seen += "! " + line
	}
	return fmt.Sprintf("%sexit %d\n\n", seen, code)
}

// commandLines has groups of command lines. Some hold a secret, which the program must not repeat.
var commandLines = []string{
	// Help and version.
	"help",
	"--help",
	"-h demo",
	"help run",
	"run --help --env-file=herald.env",
	"check -h",
	"help health",
	"help members",
	"help version",
	"version",
	"--version",
	"-v",

	// Unknown commands and flags.
	"chek",
	"help chek",
	"RUN",
	"dmeo",
	secret,
	"help " + secret,
	"-",
	"--",
	"--envfile x",
	"--env_file=x",
	"check --Web",
	"--verbose",
	"--" + secret,
	"--" + secret + "=1",
	"--=" + secret,

	// A word too many.
	"run now",
	"check herald.env",
	"help check now",
	"run " + secret,

	// Flags without a value, with an invalid one, or of another command.
	"--env-file",
	"check --env-file=",
	"--web=" + secret,
	"check --env-file a.env --env-file " + secret,
	"health --env-file " + secret,
	"health --env-file ../../examples/matchain.env",
	"demo --env-file " + secret,
	"--env-file=herald.env version",
	"--web",
	"check --web",

	// Wallets.
	"check --wallet " + secret,
	"check --wallet=",
	"check --wallet",
	"run --wallet " + poolA,
	"check --wallet " + strings.Replace(poolA, "E", "e", 1), // a wrong checksum
}

func TestCommandLines(t *testing.T) {
	version, commit = "1.2.3", "0123abc"
	t.Cleanup(func() { version, commit = "dev", "" })
	var all strings.Builder
	for _, line := range commandLines {
		all.WriteString(transcribe(t, strings.Fields(line)))
	}
	all.WriteString(transcribe(t, []string{""}))
	for line := range strings.Lines(all.String()) {
		if !strings.HasPrefix(line, "! ") && len(line) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
	golden := regexp.MustCompile(`go1\.[^\n]+`).ReplaceAllString(all.String(), "go1.N")
	configtest.Golden(t, "testdata/commandline.golden", golden, *update)
}
