package operation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	dashboardFile = "deploy/grafana-dashboard.json"
	rulesFile     = "deploy/prometheus-rules.yaml"
	rulesTestFile = "deploy/prometheus-rules.test.yaml"
)

// dashboard is what matters here of Grafana's format.
type dashboard struct {
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Datasource               struct{ UID string }
	Targets                  []struct {
		Expr       string
		Datasource struct{ UID string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// alert is one rule.
type alert struct{ name, expr, rest string }

var alertForm = regexp.MustCompile(`(?s)^(\w+)\n +expr: (?:>-\n)?(.*?)\n +(for: .*)$`)

func readAlerts(t *testing.T) (alerts []alert) {
	t.Helper()
	for _, text := range strings.Split(read(t, rulesFile), "- alert: ")[1:] {
		found := alertForm.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("an alert without expr and for:\n%s", text)
		}
		alerts = append(alerts, alert{found[1], found[2], found[3]})
	}
	return alerts
}

// queries are those of the dashboard and the alerts, by where they stand.
func queries(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, p := range readDashboard(t).Panels {
		for i, target := range p.Targets {
			all[fmt.Sprintf("panel %q, %d", p.Title, i+1)] = target.Expr
		}
	}
	for _, a := range readAlerts(t) {
		all["alert "+a.name] = a.expr
	}
	return all
}

var (
	seriesName = regexp.MustCompile(`\b(?:herald|process|go)_\w+`)
	selector   = regexp.MustCompile(`\b((?:herald|process|go)_\w+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`(\w+)(?:=~|!=|!~|=)"([^"]*)"`)
	grouping   = regexp.MustCompile(`\b(?:by|on|ignoring|without) \(([^)]*)\)`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
)

// scrapeLabels are those that Prometheus itself adds to what it scrapes.
var scrapeLabels = []string{"job", "instance", "le"}

func TestEveryQueryNamesWhatTheBotExports(t *testing.T) {
	known := map[string][]string{}
	for _, m := range metrics(t) {
		for _, name := range m.series() {
			known[name] = append(slices.Clone(scrapeLabels), m.labels...)
		}
	}
	literals := strings.Join(sources(t, packages(t)...), "\n")
	for where, query := range queries(t) {
		labels := slices.Clone(scrapeLabels)
		for _, name := range seriesName.FindAllString(quoted.ReplaceAllString(query, `""`), -1) {
			if known[name] == nil {
				t.Errorf("%s: the bot exports no %s", where, name)
			}
			labels = append(labels, known[name]...)
		}
		for _, found := range selector.FindAllStringSubmatch(query, -1) {
			for _, m := range matcher.FindAllStringSubmatch(found[2], -1) {
				if !slices.Contains(known[found[1]], m[1]) {
					t.Errorf("%s: %s has no label %s", where, found[1], m[1])
				}
				for value := range strings.SplitSeq(m[2], "|") {
					if value != "$instance" && !strings.Contains(literals, `"`+value+`"`) {
						t.Errorf("%s: nothing in the code calls a %s %q", where, m[1], value)
					}
				}
			}
		}
		for _, found := range grouping.FindAllStringSubmatch(query, -1) {
			for name := range strings.SplitSeq(found[1], ",") {
				if name = strings.TrimSpace(name); !slices.Contains(labels, name) {
					t.Errorf("%s: nothing in %s has the label %s", where, query, name)
				}
			}
		}
	}
}

func TestEveryMetricIsOnTheDashboard(t *testing.T) {
	text := read(t, dashboardFile)
	for _, m := range metrics(t) {
		if m.own() && !slices.ContainsFunc(m.series(), func(name string) bool { return regexp.MustCompile(name + `\b`).MatchString(text) }) {
			t.Errorf("no panel shows %s", m.name)
		}
	}
}

func TestTheDashboardAsksWhateverPrometheusItsReaderChooses(t *testing.T) {
	d := readDashboard(t)
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the ID %d", p.ID)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q is wider than the dashboard", p.Title)
		}
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("panel %q says too little: %+v", p.Title, p)
		}
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" {
				t.Errorf("panel %q asks a data source of its own", p.Title)
			}
		}
	}
	if v := d.Templating.List; len(v) != 2 || v[0].Name != "datasource" || v[0].Type != "datasource" || v[1].Name != "instance" {
		t.Errorf("the variables are %+v", v)
	}
}

func TestEveryAlertSaysWhatToDoAndIsTested(t *testing.T) {
	tested := read(t, rulesTestFile)
	alerts := readAlerts(t)
	if len(alerts) < 15 {
		t.Errorf("only %d alerts", len(alerts))
	}
	for _, a := range alerts {
		for _, part := range []string{`^for: \d+[mh]\n`, `\n +labels: \{severity: (critical|warning|info)\}\n`, `\n +summary: \S.*\n`, `\n +description: \S`} {
			if !regexp.MustCompile(part).MatchString(a.rest) {
				t.Errorf("%s lacks %s", a.name, part)
			}
		}
		if !strings.Contains(tested, `{alertname="`+a.name+`"}`) {
			t.Errorf("%s has no %s that sees it fire", rulesTestFile, a.name)
		}
	}
}

// promtool runs Prometheus' own tool.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed; it is in Debian's package prometheus")
	}
	command := exec.CommandContext(t.Context(), "promtool", args...)
	command.Dir = filepath.Join(root, "deploy")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestTheAlertsFireWhenTheyShouldAndNotOtherwise(t *testing.T) {
	promtool(t, "check", "rules", filepath.Base(rulesFile))
	promtool(t, "test", "rules", filepath.Base(rulesTestFile))
}

// TestPrometheusUnderstandsTheDashboard has each query checked as a rule.
func TestPrometheusUnderstandsTheDashboard(t *testing.T) {
	variables := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*")
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			rules = append(rules, rule{fmt.Sprintf("query_%d", len(rules)), variables.Replace(target.Expr)})
		}
	}
	// JSON is YAML too.
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}
