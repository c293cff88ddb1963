package ops

import (
	"mime"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/router"
)

var _ query.Observer = (*Metrics)(nil)

// scrape returns /metrics.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := get(m, nil, "/metrics")
	if w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	return w.Body.String()
}

// requireLines fails the test for each line that /metrics lacks.
func requireLines(t *testing.T, m *Metrics, want ...string) {
	t.Helper()
	lines := strings.Split(scrape(t, m), "\n")
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}

// exportServices exports the service price, which fails and is paused, and the service chain, which works.
func exportServices(m *Metrics) {
	m.ExportService(func() query.Health {
		return query.Health{
			Service:      &core.Service{Name: "price"},
			FailingSince: time.Now().Add(-time.Hour),
			PausedFor:    30 * time.Second,
		}
	})
	m.ExportService(func() query.Health {
		return query.Health{Service: &core.Service{Name: "chain"}}
	})
}

func TestTheFormatIsPrometheusText(t *testing.T) {
	w := get(NewMetrics(), nil, "/metrics")
	format, parameters, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if err != nil || format != "text/plain" || parameters["version"] != "0.0.4" {
		t.Errorf("Content-Type is %s, %v", w.Header().Get("Content-Type"), err)
	}
}

func TestCommandsAreCounted(t *testing.T) {
	m := NewMetrics()
	m.Command("telegram", "staked", router.OK, 40*time.Millisecond)
	m.Command("telegram", "staked", router.OK, 2*time.Second)
	requireLines(t, m,
		`herald_command_seconds_count{command="staked",outcome="ok",platform="telegram"} 2`,
		`herald_command_seconds_bucket{command="staked",outcome="ok",platform="telegram",le="0.1"} 1`,
	)
}

func TestAPanicIsAnEventOfThePlatform(t *testing.T) {
	m := NewMetrics()
	m.Command("telegram", "price", router.Panicked, time.Second)
	requireLines(t, m, `herald_adapter_events_total{event="panic",platform="telegram"} 1`)
}

func TestCallsOfServicesAreCounted(t *testing.T) {
	m := NewMetrics()
	exportServices(m)
	m.Call(&core.Service{Name: "price"}, query.CallResult(core.Limited), 200*time.Millisecond)
	requireLines(t, m,
		`herald_service_call_seconds_count{outcome="limited",service="price"} 1`,
		`herald_service_call_seconds_count{outcome="denied",service="chain"} 0`,
		`herald_service_call_seconds_count{outcome="used_up",service="price"} 0`,
	)
}

func TestServicesAreExported(t *testing.T) {
	m := NewMetrics()
	exportServices(m)
	requireLines(t, m,
		`herald_service_up{service="price"} 0`,
		`herald_service_up{service="chain"} 1`,
		`herald_service_failing_seconds{service="chain"} 0`,
		`herald_service_paused_seconds{service="price"} 30`,
	)
}

func TestLookupsAreCounted(t *testing.T) {
	m := NewMetrics()
	m.Lookup("stake", query.Stale, 90*time.Second)
	m.Lookup("stake", query.Failed, 0)
	requireLines(t, m,
		`herald_lookups_total{question="stake",result="stale"} 1`,
		`herald_lookups_total{question="stake",result="failed"} 1`,
		`herald_answer_age_seconds{question="stake"} 90`,
	)
}

func TestPlatformsAreExported(t *testing.T) {
	m := NewMetrics()
	m.Events("discord")("rate_limited")
	m.ExportPlatform(&fakePlatform{name: "telegram"}, func() int { return 3 })
	m.ExportPlatform(&fakePlatform{name: "discord", ready: true}, func() int { return 0 })
	m.ExportHeartbeat(func() time.Duration { return 45 * time.Millisecond })
	requireLines(t, m,
		`herald_platform_connected{platform="telegram"} 0`,
		`herald_platform_connected{platform="discord"} 1`,
		`herald_updates_in_flight{platform="telegram"} 3`,
		`herald_gateway_heartbeat_seconds 0.045`,
		`herald_adapter_events_total{event="rate_limited",platform="discord"} 1`,
	)
}

func TestOtherFiguresAreExported(t *testing.T) {
	m := NewMetrics()
	m.PoolUnread(core.Pool{Address: common.Address{19: 0xab}, Name: "Pool 05"})
	m.ExportClockSkew(func() time.Duration { return -90 * time.Second })
	m.ExportRedis(func() bool { return false }, func() uint64 { return 7 })
	m.ExportBuild("1.2.3", "abc")
	m.ExportCredits(func() float64 { return 3 }, func() float64 { return 9000 })
	m.ExportCache(func() int { return 5 })
	requireLines(t, m,
		`herald_price_credits_available 3`,
		`herald_price_credits_left 9000`,
		`herald_cache_items 5`,
		`herald_redis_up 0`,
		`herald_build_info{commit="abc",go_version="`+runtime.Version()+`",version="1.2.3"} 1`,
		`herald_pools_unread_total{pool="0x00000000000000000000000000000000000000AB"} 1`,
		`herald_partner_clock_skew_seconds -90`,
		`herald_redis_fallbacks_total 7`,
		`# TYPE go_goroutines gauge`,
	)
}

// labels are the labels that our metrics may have. Each has few values. No value is a user, a chat, a wallet or an
// argument of a command.
var labels = []string{
	"platform",
	"command",
	"outcome",
	"service",
	"question",
	"result",
	"event",
	"pool",
	"le",
	"state",
	"version",
	"commit",
	"go_version",
}

// series matches a line of one of our own metrics that has labels.
var series = regexp.MustCompile(`(?m)^herald_\w+\{(.*)\} `)

// label matches a label of a series.
var label = regexp.MustCompile(`(\w+)="`)

func TestLabelsHaveFewValues(t *testing.T) {
	m := NewMetrics()
	exportServices(m)
	m.Command("telegram", "price", router.Panicked, time.Second)
	m.Call(&core.Service{Name: "price"}, query.CallResult(core.Limited), 200*time.Millisecond)
	m.Lookup("stake", query.Stale, 90*time.Second)
	m.Events("discord")("rate_limited")
	m.PoolUnread(core.Pool{Address: common.Address{19: 0xab}, Name: "Pool 05"})
	m.ExportBuild("1.2.3", "abc")
	m.ExportPlatform(&fakePlatform{name: "telegram"}, func() int { return 3 })
	all := series.FindAllStringSubmatch(scrape(t, m), -1)
	if len(all) < 20 {
		t.Errorf("only %d series have labels", len(all))
	}
	for _, line := range all {
		for _, name := range label.FindAllStringSubmatch(line[1], -1) {
			if !slices.Contains(labels, name[1]) {
				t.Errorf("%s has the label %s", line[0], name[1])
			}
		}
	}
}
