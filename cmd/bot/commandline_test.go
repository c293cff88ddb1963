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
// output, standard error with a mark before each line, and the exit code. The context has ended, so
// that nothing is contacted if the program would serve.
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

// commandLines lists command lines: valid ones, mistyped ones, and ones that repeat a secret. An
// invalid one prints only to standard error.
var commandLines = []string{
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

	"run now",
	"check herald.env",
	"help check now",
	"run " + secret,

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

	"check --wallet " + secret,
	"check --wallet=",
	"check --wallet",
	"run --wallet " + poolA,
	"check --wallet " + strings.Replace(poolA, "E", "e", 1),
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
