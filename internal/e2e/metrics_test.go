package e2e

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"herald/internal/app"
	"herald/internal/config/configtest"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// rubbish is a command that does not exist.
const rubbish = "zqrubbish"

// scrape returns /metrics of a bot with every setting that adds a metric, after one command
// of each kind. One pool cannot be read.
func scrape(t *testing.T) string {
	t.Helper()
	fakes, telegram, discord := fault.Start(t), e2etest.Ways[0].Open(t), e2etest.Ways[2].Open(t)
	fakes.Chain.SetFault(fault.Named(t, fault.Chain, "an empty pool reverts"))
	bot := e2etest.ServeReady(t, fakes, slices.Concat(telegram.Settings(), discord.Settings(), e2etest.OnRedis(miniredis.RunT(t)),
		[]string{"PRICE_MONTHLY_CREDITS=10000"})...)
	for _, c := range []e2etest.Command{
		{Name: "price"}, {Name: "supply"}, {Name: "mylogins"}, {Name: "status"}, {Name: "staked", Argument: fakes.World.Staker.Hex()}, {Name: rubbish},
	} {
		c.User = 1
		telegram.Ask(c).Wait()
		discord.Ask(c).Wait()
	}
	return e2etest.Metrics(t, bot.URL)
}

var (
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (herald_\w+) (\w+)$`)
	metricName = regexp.MustCompile(`\bherald_\w+`)
	eventNames = regexp.MustCompile(`\bevent=~?\\?"([\w|]+)`)
)

// docs/metrics.md, the dashboard and the alerts name what a running bot exports. The page
// alone lists the events. Those that alerts name are exported before they happen, on each
// platform that the page lists them for.
func TestMetricsAreWhatOperatorsAreTold(t *testing.T) {
	t.Parallel()
	page := scrape(t)
	var exported, series []string
	for _, found := range typeLine.FindAllStringSubmatch(page, -1) {
		exported = append(exported, found[1])
		series = append(series, found[1])
		if found[2] == "histogram" {
			series = append(series, found[1]+"_bucket", found[1]+"_count", found[1]+"_sum")
		}
	}
	explained := configtest.Read(t, "../../docs/metrics.md")
	lists := regexp.MustCompile(`(?m)^O[nf] .*:$`).Split(explained, -1)[1:]
	listed := map[string]string{"telegram": lists[0] + lists[1], "discord": lists[0] + lists[2], "members": lists[3]}
	for _, file := range []string{"docs/metrics.md", "deploy/grafana-dashboard.json", "deploy/prometheus-rules.yaml"} {
		text := configtest.Read(t, "../../"+file)
		for _, names := range eventNames.FindAllStringSubmatch(page+text, -1) {
			for event := range strings.SplitSeq(names[1], "|") {
				if !strings.Contains(explained, "`"+event+"`") {
					t.Errorf("docs/metrics.md does not explain the event %s of a bot or %s", event, file)
				}
				for platform, list := range listed {
					alerts := file == "deploy/prometheus-rules.yaml" && strings.Contains(text, names[0])
					if alerts && strings.Contains(list, "`"+event+"`") && !strings.Contains(page, `{event="`+event+`",platform="`+platform+`"}`) {
						t.Errorf("ops.alerted[%q] lacks %s, which an alert names", platform, event)
					}
				}
			}
		}
		named := metricName.FindAllString(text, -1)
		for _, name := range named {
			if !slices.Contains(series, name) {
				t.Errorf("%s: the bot exports no %s", file, name)
			}
		}
		for _, name := range exported {
			if file == "docs/metrics.md" && !slices.Contains(named, name) {
				t.Errorf("%s does not explain %s", file, name)
			}
		}
	}
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("Prometheus advises %v, %v", problems, err)
	}
	for platform := range app.TokenSettings() {
		if listed[string(platform)] == "" {
			t.Errorf("this test does not know where docs/metrics.md lists the events of %s", platform)
		}
		for _, counted := range []string{`command="unknown",outcome="unknown"`, `command="staked",outcome="partial"`} {
			if !strings.Contains(page, `herald_command_seconds_count{`+counted+`,platform="`+string(platform)+`"} 1`) {
				t.Errorf("%s of %s is not counted", counted, platform)
			}
		}
	}
	if strings.Contains(page, rubbish) {
		t.Error("a metric shows what somebody typed")
	}
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed; it is in Debian's package prometheus")
	}
	command := exec.CommandContext(t.Context(), "sh", "-ec", "promtool check rules prometheus-rules.yaml; promtool test rules prometheus-rules.test.yaml")
	command.Dir = "../../deploy"
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
