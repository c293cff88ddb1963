//go:build speed

package speed

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

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
