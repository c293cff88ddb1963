package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// rubbish is a command that there is not.
const rubbish = "zqrubbish"

// scraped is what /metrics shows of a bot with everything that can be configured,
// once each kind of thing has happened.
func scraped(t *testing.T) string {
	t.Helper()
	world, telegram, discord := e2etest.Sandbox(t), e2etest.Ways[0].Open(t), e2etest.Ways[2].Open(t)
	world.Chain.SetFault(findFault(t, fault.Chain, "an empty pool reverts"))
	bot := e2etest.ServeReady(t, world, slices.Concat(telegram.Settings(), discord.Settings(), e2etest.OnRedis(miniredis.RunT(t)),
		[]string{"PRICE_MONTHLY_CREDITS=10000"})...)
	for _, c := range []e2etest.Command{
		{Name: "price"}, {Name: "supply"}, {Name: "mylogins"}, {Name: "status"}, {Name: "staked", Argument: world.World.Staker.Hex()}, {Name: rubbish},
	} {
		c.User = 1
		telegram.Ask(c).Wait()
		discord.Ask(c).Wait()
	}
	return e2etest.Metrics(t, bot.URL)
}

var (
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (herald_\w+) (\w+)$`)
	labels     = regexp.MustCompile(`(\w+)="([^"]*)"`)
	metricName = regexp.MustCompile(`\bherald_\w+`)
)

// TestMetricsAreWhatOperatorsAreTold compares what a running bot exports with
// what the page on metrics, the dashboard and the alerts name.
func TestMetricsAreWhatOperatorsAreTold(t *testing.T) {
	t.Parallel()
	page := scraped(t)
	var exported, series []string
	for _, found := range typeLine.FindAllStringSubmatch(page, -1) {
		exported = append(exported, found[1])
		series = append(series, found[1])
		if found[2] == "histogram" {
			series = append(series, found[1]+"_bucket", found[1]+"_count", found[1]+"_sum")
		}
	}
	for _, file := range []string{"docs/metrics.md", "deploy/grafana-dashboard.json", "deploy/prometheus-rules.yaml"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range metricName.FindAllString(string(text), -1) {
			if !slices.Contains(series, name) {
				t.Errorf("%s: the bot exports no %s", file, name)
			}
		}
		for _, name := range exported {
			if file == "docs/metrics.md" && !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%s does not explain %s", file, name)
			}
		}
	}
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("Prometheus advises %v, %v", problems, err)
	}

	if strings.Contains(page, rubbish) {
		t.Error("a metric shows what somebody typed")
	}
	for _, platform := range []string{"telegram", "discord"} {
		if !strings.Contains(page, `herald_command_seconds_count{command="unknown",outcome="unknown",platform="`+platform+`"} 1`) {
			t.Errorf("the unknown command of %s is not counted", platform)
		}
	}
	values := map[string]map[string]bool{}
	for _, found := range labels.FindAllStringSubmatch(page, -1) {
		if values[found[1]] == nil {
			values[found[1]] = map[string]bool{}
		}
		values[found[1]][found[2]] = true
	}
	for name, all := range values {
		if len(all) > 30 && name != "le" {
			t.Errorf("the label %s has %d values", name, len(all))
		}
	}
}

// TestTheAlertsFireWhenTheyShouldAndNotOtherwise runs Prometheus' own tool.
func TestTheAlertsFireWhenTheyShouldAndNotOtherwise(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed; it is in Debian's package prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "prometheus-rules.yaml"}, {"test", "rules", "prometheus-rules.test.yaml"}} {
		command := exec.CommandContext(t.Context(), "promtool", args...)
		command.Dir = "../../deploy"
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}
