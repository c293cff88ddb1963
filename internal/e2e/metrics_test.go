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

// The metrics of a bot are those that documents, dashboard and alerts name. All subtests read one page.
func TestMetricsAreWhatOperatorsAreTold(t *testing.T) {
	t.Parallel()
	page := scrape(t)
	for name, test := range map[string]func(*testing.T, string){
		"named metrics are exported":  testMetricsAreExported,
		"metrics are explained":       testMetricsAreExplained,
		"events are explained":        testEventsAreExplained,
		"alerted events are exported": testAlertedEventsAreExportedFromTheStart,
		"commands are counted":        testCommandsAreCounted,
		"Prometheus has no advice":    testPrometheusHasNoAdvice,
	} {
		t.Run(name, func(t *testing.T) { test(t, page) })
	}
}

// rubbish is a command that does not exist.
const rubbish = "zqrubbish"

// scrape returns the page /metrics of a bot with every setting that adds a metric. Before that, it sends one
// command of each kind on each platform, while one pool cannot be read.
func scrape(t *testing.T) string {
	t.Helper()
	fakes, telegram, discord := fault.Start(t), e2etest.TelegramPolling.Open(t), e2etest.DiscordGateway.Open(t)
	fakes.Chain.SetFault(fault.Named(t, fault.Chain, "an empty pool reverts"))
	bot := e2etest.ServeReady(t, fakes, slices.Concat(
		telegram.Settings(),
		discord.Settings(),
		e2etest.OnRedis(miniredis.RunT(t)),
		[]string{"PRICE_MONTHLY_CREDITS=10000"},
	)...)
	for _, c := range []e2etest.Command{
		{Name: "price"},
		{Name: "supply"},
		{Name: "mylogins"},
		{Name: "status"},
		{Name: "staked", Argument: fakes.World.Staker.Hex()},
		{Name: rubbish},
	} {
		c.User = 1
		telegram.Ask(c).Wait()
		discord.Ask(c).Wait()
	}
	return e2etest.Metrics(t, bot.URL)
}

// Files that name metrics.
const (
	metricsDocument = "docs/metrics.md"
	dashboard       = "deploy/grafana-dashboard.json"
	alerts          = "deploy/prometheus-rules.yaml"
)

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	return configtest.Read(t, "../../"+path)
}

// Patterns of what a page of metrics, a document or a query names.
var (
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (herald_\w+) (\w+)$`)
	metricName = regexp.MustCompile(`\bherald_\w+`)
	eventNames = regexp.MustCompile(`\bevent=~?\\?"([\w|]+)`)
)

// exported returns the names of the metrics on a page, and the names of their series. A histogram has three
// more: name_bucket, name_count and name_sum.
func exported(page string) (metrics, series []string) {
	for _, match := range typeLine.FindAllStringSubmatch(page, -1) {
		name, kind := match[1], match[2]
		metrics = append(metrics, name)
		series = append(series, name)
		if kind == "histogram" {
			series = append(series, name+"_bucket", name+"_count", name+"_sum")
		}
	}
	return metrics, series
}

func testMetricsAreExported(t *testing.T, page string) {
	_, series := exported(page)
	for _, file := range []string{metricsDocument, dashboard, alerts} {
		for _, name := range metricName.FindAllString(read(t, file), -1) {
			if !slices.Contains(series, name) {
				t.Errorf("%s: the bot does not export %s", file, name)
			}
		}
	}
}

func testMetricsAreExplained(t *testing.T, page string) {
	metrics, _ := exported(page)
	explained := metricName.FindAllString(read(t, metricsDocument), -1)
	for _, name := range metrics {
		if !slices.Contains(explained, name) {
			t.Errorf("%s does not explain %s", metricsDocument, name)
		}
	}
}

// events returns the events that a text selects, as in event=~"a|b".
func events(text string) (all []string) {
	for _, match := range eventNames.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.Split(match[1], "|")...)
	}
	return all
}

func testEventsAreExplained(t *testing.T, page string) {
	document := read(t, metricsDocument)
	for _, text := range []string{page, document, read(t, dashboard), read(t, alerts)} {
		for _, event := range events(text) {
			if !strings.Contains(document, "`"+event+"`") {
				t.Errorf("%s does not explain the event %s", metricsDocument, event)
			}
		}
	}
}

// An alert compares a counter with its earlier value. So each event that an alert selects must be exported before
// it first happens, on each platform for which the document lists the event.
func testAlertedEventsAreExportedFromTheStart(t *testing.T, page string) {
	// The document has four lists of events, under "On both platforms:" and the like: of both platforms, of
	// Telegram, of Discord, and of saved addresses.
	lists := regexp.MustCompile(`(?m)^O[nf] .*:$`).Split(read(t, metricsDocument), -1)[1:]
	listed := map[string]string{
		"telegram": lists[0] + lists[1],
		"discord":  lists[0] + lists[2],
		"members":  lists[3],
	}
	for platform := range app.TokenSettings() {
		if listed[string(platform)] == "" {
			t.Errorf("this test does not know where %s lists the events of %s", metricsDocument, platform)
		}
	}
	for platform, list := range listed {
		for _, event := range events(read(t, alerts)) {
			if !strings.Contains(list, "`"+event+"`") {
				continue
			}
			if !strings.Contains(page, `{event="`+event+`",platform="`+platform+`"}`) {
				t.Errorf("ops.alerted[%q] lacks %s, which an alert selects", platform, event)
			}
		}
	}
}

func testCommandsAreCounted(t *testing.T, page string) {
	for platform := range app.TokenSettings() {
		for _, labels := range []string{
			`command="unknown",outcome="unknown"`,
			`command="staked",outcome="partial"`,
		} {
			if !strings.Contains(page, `herald_command_seconds_count{`+labels+`,platform="`+string(platform)+`"} 1`) {
				t.Errorf("%s on %s is not counted", labels, platform)
			}
		}
	}
	if strings.Contains(page, rubbish) {
		t.Error("a metric shows what somebody typed")
	}
}

func testPrometheusHasNoAdvice(t *testing.T, page string) {
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("Prometheus advises %v, %v", problems, err)
	}
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed; it is in Debian's package prometheus")
	}
	for _, arguments := range [][]string{
		{"check", "rules", "prometheus-rules.yaml"},
		{"test", "rules", "prometheus-rules.test.yaml"},
	} {
		command := exec.CommandContext(t.Context(), "promtool", arguments...)
		command.Dir = "../../deploy"
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", arguments, err, out)
		}
	}
}
