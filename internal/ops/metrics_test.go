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

func TestMetricsAndTheirLabels(t *testing.T) {
	m := NewMetrics()
	m.Command("telegram", "staked", router.OK, 40*time.Millisecond)
	m.Command("telegram", "staked", router.OK, 2*time.Second)
	m.Command("telegram", "price", router.Panicked, time.Second)
	m.Call(&core.Service{Name: "price"}, query.Outcome(core.Limited), 200*time.Millisecond)
	m.Lookup("stake", query.Stale, 90*time.Second)
	m.Lookup("stake", query.Failed, 0)
	m.Events("discord")("rate_limited")
	m.PoolUnread(core.Pool{Address: common.Address{19: 0xab}, Name: "Pool 05"})
	m.ExportClockSkew(func() time.Duration { return -90 * time.Second })
	m.ExportRedis(func() bool { return false }, func() uint64 { return 7 })
	m.ExportBuild("1.2.3", "abc")
	m.ExportCredits(func() float64 { return 3 }, func() float64 { return 9000 })
	m.ExportCache(func() int { return 5 })
	m.ExportHeartbeat(func() time.Duration { return 45 * time.Millisecond })
	m.ExportPlatform(&fakePlatform{name: "telegram"}, func() int { return 3 })
	m.ExportPlatform(&fakePlatform{name: "discord", ready: true}, func() int { return 0 })
	for _, h := range []query.Health{
		{
			Service:      &core.Service{Name: "price"},
			FailingSince: time.Now().Add(-time.Hour),
			PausedFor:    30 * time.Second,
		},
		{Service: &core.Service{Name: "chain"}},
	} {
		m.ExportService(func() query.Health { return h })
	}
	w := call(m, nil, "/metrics")
	format, parameters, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if w.Code != http.StatusOK || err != nil || format != "text/plain" || parameters["version"] != "0.0.4" {
		t.Fatalf("%d, %s", w.Code, w.Header())
	}
	lines := strings.Split(w.Body.String(), "\n")
	for _, want := range []string{
		`herald_command_seconds_count{command="staked",outcome="ok",platform="telegram"} 2`,
		`herald_command_seconds_bucket{command="staked",outcome="ok",platform="telegram",le="0.1"} 1`,
		`herald_service_call_seconds_count{outcome="limited",service="price"} 1`,
		`herald_service_call_seconds_count{outcome="denied",service="chain"} 0`,
		`herald_service_call_seconds_count{outcome="used_up",service="price"} 0`,
		`herald_lookups_total{question="stake",result="stale"} 1`,
		`herald_lookups_total{question="stake",result="failed"} 1`,
		`herald_answer_age_seconds{question="stake"} 90`,
		`herald_service_up{service="price"} 0`,
		`herald_service_up{service="chain"} 1`,
		`herald_service_failing_seconds{service="chain"} 0`,
		`herald_service_paused_seconds{service="price"} 30`,
		`herald_price_credits_available 3`,
		`herald_price_credits_left 9000`,
		`herald_cache_items 5`,
		`herald_platform_connected{platform="telegram"} 0`,
		`herald_platform_connected{platform="discord"} 1`,
		`herald_updates_in_flight{platform="telegram"} 3`,
		`herald_gateway_heartbeat_seconds 0.045`,
		`herald_redis_up 0`,
		`herald_build_info{commit="abc",go_version="` + runtime.Version() + `",version="1.2.3"} 1`,
		`herald_adapter_events_total{event="rate_limited",platform="discord"} 1`,
		`herald_adapter_events_total{event="panic",platform="telegram"} 1`,
		`herald_pools_unread_total{pool="0x00000000000000000000000000000000000000AB"} 1`,
		`herald_partner_clock_skew_seconds -90`,
		`herald_redis_fallbacks_total 7`,
		`# TYPE go_goroutines gauge`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	for _, line := range series.FindAllStringSubmatch(w.Body.String(), -1) {
		for _, name := range label.FindAllStringSubmatch(line[1], -1) {
			if !slices.Contains(labels, name[1]) {
				t.Errorf("%s has the label %s", line[0], name[1])
			}
		}
	}
}

// labels have few values each, and none is a person's, a chat's, a wallet's or an
// argument.
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

var label = regexp.MustCompile(`(\w+)="`)
