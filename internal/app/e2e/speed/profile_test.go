//go:build speed

package speed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"herald/internal/app"
)

// profileFile is set where this test binary is the bot itself, with a profile.
const profileFile = "HERALD_SPEED_PROFILE"

func TestMain(m *testing.M) {
	if file := os.Getenv(profileFile); file != "" {
		if err := runProfiled(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runProfiled is `bot run` with a CPU profile of its whole life.
func runProfiled(name string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := app.LoadToServe(os.Environ(), "")
	if err != nil {
		return err
	}
	bot, err := app.New(cfg, app.NewLogger(cfg, os.Stderr))
	if err != nil {
		return err
	}
	defer bot.Close()
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return bot.Run(ctx)
}

// profile is the file for a bot's profile.
func (w way) profile(bot string) string {
	return filepath.Join(*profiles, strings.ReplaceAll(w.name, " ", "-")+"-"+bot+".pprof")
}

// parts are what a bot's CPU goes to, each with the functions in which, or
// below which, it does. One may hold another.
var parts = []struct{ name, functions string }{
	{"system calls", `[Ss]yscall6`},
	{"the HTTP client", `net/http\.\(\*(Client|Transport|persistConn)\)`},
	{"multipart forms", `mime/multipart`},
	{"JSON", `encoding/json`},
	{"signatures", `crypto/ed25519`},
	{"the log line", `log/slog`},
	{"of that, redaction", `herald/internal/redact`},
	{"making the message of a Reply", `\.render$|herald/internal/chat\.Reply\.`},
	{"the command and the cache", `herald/commands|herald/internal/core`},
	{"allocation and garbage collection", `runtime\.(mallocgc|gcBgMarkWorker|bgsweep)$`},
	{"switching and growing goroutines", `runtime\.(schedule|newstack)$`},
}

// shares is the share of each part in the CPU of Herald, by way, in Markdown.
func shares(t *testing.T, results []result) string {
	var b strings.Builder
	b.WriteString("\n| what |")
	for _, r := range results {
		fmt.Fprintf(&b, " %s |", r.name)
	}
	fmt.Fprintf(&b, "\n| --- |%s\n", strings.Repeat(" --- |", len(results)))
	for _, part := range parts {
		fmt.Fprintf(&b, "| %s |", part.name)
		for _, r := range results {
			fmt.Fprintf(&b, " %s |", share(t, r.profile("herald"), part.functions))
		}
		b.WriteString("\n")
	}
	return b.String()
}

var shown = regexp.MustCompile(`Showing nodes accounting for \S+, ([\d.]+)%`)

// share is what part of a profile these functions and what they call take.
func share(t *testing.T, profile, functions string) string {
	out, err := exec.Command("go", "tool", "pprof", "-top", "-nodecount=1000000", "-nodefraction=0", "-focus", functions, profile).CombinedOutput()
	found := shown.FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("read the profile %s: %v\n%s", filepath.Base(profile), err, out)
	}
	percent, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%.0f %%", percent)
}
