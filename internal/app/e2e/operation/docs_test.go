package operation

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

const metricsPage = "docs/metrics.md"

func TestMetricsAreNamedAsPrometheusAdvises(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(live(t))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

var tableRow = regexp.MustCompile("(?m)^\\| `herald_.*\n")

// TestTheTableOfMetricsIsThatOfARunningBot compares in both directions.
func TestTheTableOfMetricsIsThatOfARunningBot(t *testing.T) {
	var rows strings.Builder
	for _, m := range metrics(t) {
		if !m.own() {
			continue
		}
		labels := ""
		for _, name := range m.labels {
			labels += ", `" + name + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.TrimPrefix(labels, ", "), m.help)
	}
	text := read(t, metricsPage)
	got := strings.Join(tableRow.FindAllString(text, -1), "")
	if got == rows.String() {
		return
	}
	if !*update {
		t.Fatalf("%s has other rows (-update writes them anew); they must be\n%s", metricsPage, &rows)
	}
	const head = "| --- | --- | --- | --- |\n"
	text = strings.Replace(tableRow.ReplaceAllString(text, ""), head, head+rows.String(), 1)
	if err := os.WriteFile(filepath.Join(root, metricsPage), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var (
	counted   = regexp.MustCompile(`[Cc]ount\("(\w+)"\)`)
	connected = regexp.MustCompile(`connected\("(\w+)"\)`) // of the gateway
	eventRow  = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (Telegram|Discord|both) \\|")
)

// TestThePageListsEveryEvent compares the events that the adapters count with
// those that the page explains, in both directions.
func TestThePageListsEveryEvent(t *testing.T) {
	explained := map[string]string{}
	for _, row := range eventRow.FindAllStringSubmatch(read(t, metricsPage), -1) {
		explained[row[1]] = row[2]
	}
	counts := map[string]string{}
	for platform, dirs := range map[string][]string{
		"Telegram": {"internal/telegram", "internal/chat"}, "Discord": {"internal/discord", "internal/discord/gateway", "internal/chat"},
	} {
		for _, source := range sources(t, dirs...) {
			for _, found := range append(counted.FindAllStringSubmatch(source, -1), connected.FindAllStringSubmatch(source, -1)...) {
				if other, known := counts[found[1]]; known && other != platform {
					platform := "both"
					counts[found[1]] = platform
					continue
				}
				counts[found[1]] = platform
			}
		}
	}
	if len(counts) < 30 {
		t.Errorf("only %d events were found in the code", len(counts))
	}
	for event, platform := range counts {
		if explained[event] != platform {
			t.Errorf("%s is counted on %s, and explained for %q", event, platform, explained[event])
		}
	}
	for event := range explained {
		if counts[event] == "" {
			t.Errorf("%s is explained, but nothing counts it", event)
		}
	}
}

// sources are the files of Go packages but those of tests.
func sources(t *testing.T, dirs ...string) (texts []string) {
	t.Helper()
	for _, dir := range dirs {
		paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(b))
		}
	}
	return texts
}

// packages are the directories below internal and commands.
func packages(t *testing.T) (dirs []string) {
	t.Helper()
	for _, top := range []string{"internal", "commands"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dir, _ := filepath.Rel(root, path)
				dirs = append(dirs, dir)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(dirs)
	return dirs
}
