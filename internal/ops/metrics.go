// Package ops serves the bot's metrics, liveness and readiness over HTTP. Its server also receives the
// platforms' webhooks, and limits the number of connections. Metrics and responses do not name users,
// chats, wallets or arguments.
package ops

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/platform"
	"herald/internal/query"
	"herald/internal/router"
)

// Metrics holds the bot's metrics. It implements query.Observer. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	// NewMetrics describes these metrics and names their labels.
	commands *prometheus.HistogramVec
	calls    *prometheus.HistogramVec
	lookups  *prometheus.CounterVec
	ages     *prometheus.GaugeVec
	events   *prometheus.CounterVec
	unread   *prometheus.CounterVec
}

// NewMetrics returns Metrics without the gauges that the Export methods add. /metrics shows a series of a counter or a
// histogram from its first event on.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		buckets := []float64{.001, .005, .02, .1, .3, 1, 3, 10, 20} // seconds
		options := prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
		return promauto.With(registry).NewHistogramVec(options, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return promauto.With(registry).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		registry: registry,
		commands: histogram("herald_command_seconds", "Commands by outcome, from request to reply.",
			"platform", "command", "outcome"),
		calls: histogram("herald_service_call_seconds", "Calls to services, each try by itself.",
			"service", "outcome"),
		lookups: counter("herald_lookups_total", "Questions of commands and where their answers came from.",
			"question", "result"),
		events: counter("herald_adapter_events_total",
			"What happened on a chat platform. docs/metrics.md lists the events.",
			"platform", "event"),
		unread: counter("herald_pools_unread_total",
			"Readings of a stake in which a pool could not be read, or not wholly.",
			"pool"),
		ages: promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{
			Name: "herald_answer_age_seconds",
			Help: "How old the answer to a question was when it was last used.",
		}, []string{"question"}),
	}
}

// Command records a command's outcome and how long it took. If it panicked, Command also counts an event.
func (m *Metrics) Command(platform chat.Platform, command string, outcome router.Outcome, took time.Duration) {
	m.commands.WithLabelValues(string(platform), command, string(outcome)).Observe(took.Seconds())
	if outcome == router.Panicked {
		m.events.WithLabelValues(string(platform), "panic").Inc()
	}
}

// Call implements query.Observer.
func (m *Metrics) Call(service *core.Service, outcome query.CallResult, took time.Duration) {
	m.calls.WithLabelValues(service.Name, string(outcome)).Observe(took.Seconds())
}

// Lookup implements query.Observer.
func (m *Metrics) Lookup(question string, result query.LookupResult, age time.Duration) {
	m.lookups.WithLabelValues(question, string(result)).Inc()
	if result != query.Failed {
		m.ages.WithLabelValues(question).Set(age.Seconds())
	}
}

// alertedEvents lists the events that deploy/prometheus-rules.yaml alerts on, by the label platform. The label is
// "members" for events of package members.
var alertedEvents = map[string][]string{
	"telegram": {"answer_failed", "join_approved", "join_left_open", "join_unknown", "panic", "send_shed", "webhook_full"},
	"discord": {
		"answer_expired", "answer_failed", "answer_outcome_unknown", "disconnected", "dropped",
		"identify_throttled", "panic",
	},
	"members": {"badge_refused", "check_below", "check_reached", "check_unknown", "panic", "rows_missing"},
}

// Events returns a function that counts one event of the platform, or of package members. It exports the alertedEvents
// immediately, as 0, because Prometheus's increase does not count the event that creates a series.
func (m *Metrics) Events(platform string) func(event string) {
	for _, event := range alertedEvents[platform] {
		m.events.WithLabelValues(platform, event)
	}
	return func(event string) { m.events.WithLabelValues(platform, event).Inc() }
}

// PoolUnread counts one reading of a stake in which the pool could not be read, or only in part.
func (m *Metrics) PoolUnread(pool core.Pool) { m.unread.WithLabelValues(pool.Address.Hex()).Inc() }

// gauge registers a gauge that calls value at each scrape. Like every Export method, it panics if there is
// already a gauge with this name and these labels.
func (m *Metrics) gauge(name, help string, labels prometheus.Labels, value func() float64) {
	promauto.With(m.registry).NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value)
}

// oneIf returns 1 if the condition holds, and otherwise 0.
func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}

// ExportBuild exports the running version and its commit, as labels.
func (m *Metrics) ExportBuild(version, commit string) {
	m.gauge("herald_build_info", "1, with the version that is running in its labels.",
		prometheus.Labels{"version": version, "commit": commit, "go_version": runtime.Version()},
		func() float64 { return 1 })
}

// ExportService exports a service's Health. It calls health now, for the service's name, and at each scrape. It also
// exports the service's denied and used_up calls as 0, because alerts fire at the first such call.
func (m *Metrics) ExportService(health func() query.Health) {
	name := health().Service.Name
	m.calls.WithLabelValues(name, string(core.Denied))
	m.calls.WithLabelValues(name, string(core.UsedUp))
	gauge := func(metric, help string, value func(query.Health) float64) {
		m.gauge(metric, help, prometheus.Labels{"service": name}, func() float64 { return value(health()) })
	}
	gauge("herald_service_up", "Whether the last call to a service brought an answer; 1 before the first.",
		func(h query.Health) float64 { return oneIf(h.FailingSince.IsZero()) })
	gauge("herald_service_failing_seconds", "For how long no call to a service has brought an answer; 0 while it is up.",
		func(h query.Health) float64 {
			if h.FailingSince.IsZero() {
				return 0
			}
			return time.Since(h.FailingSince).Seconds()
		})
	gauge("herald_service_paused_seconds", "How much longer a service is not called, because it asked for that or failed.",
		func(h query.Health) float64 { return h.PausedFor.Seconds() })
}

// ExportCache exports the number of cached answers.
func (m *Metrics) ExportCache(items func() int) {
	m.gauge("herald_cache_items", "Answers in the cache.", nil, func() float64 { return float64(items()) })
}

// ExportCredits exports how many credits of the price provider may be spent now, and how many are left this month. left
// returns NaN if that is unknown.
func (m *Metrics) ExportCredits(available, left func() float64) {
	m.gauge("herald_price_credits_available",
		"Credits of the price provider that this process may spend at once.",
		nil, available)
	m.gauge("herald_price_credits_left",
		"Credits that the price provider says are left of the month, less those spent since; NaN if it does not say.",
		nil, left)
}

// ExportPlatform exports whether p is Ready, and how many of its updates are in flight.
func (m *Metrics) ExportPlatform(p platform.Adapter, inFlight func() int) {
	labels := prometheus.Labels{"platform": string(p.Platform())}
	m.gauge("herald_platform_connected", "Whether a chat platform is connected, as /readyz reports.", labels,
		func() float64 { return oneIf(p.Ready()) })
	m.gauge("herald_updates_in_flight", "Updates of a chat platform that are being answered.", labels,
		func() float64 { return float64(inFlight()) })
}

// ExportHeartbeat exports the round-trip time of the latest heartbeat to Discord's gateway.
func (m *Metrics) ExportHeartbeat(took func() time.Duration) {
	m.gauge("herald_gateway_heartbeat_seconds",
		"How long Discord's gateway took to acknowledge the last heartbeat; 0 before the first.", nil,
		func() float64 { return took().Seconds() })
}

// ExportClockSkew exports how far the partner's clock is ahead of this machine's.
func (m *Metrics) ExportClockSkew(skew func() time.Duration) {
	m.gauge("herald_partner_clock_skew_seconds",
		"How far the partner API's clock is ahead of this machine's, by its Date header; 0 until measured.", nil,
		func() float64 { return skew().Seconds() })
}

// ExportMembers exports the four numbers of census. Each is NaN while it is unknown:
//
//	rows        the saved addresses
//	checked     the saved addresses whose stake was known within the last cycle
//	held        the users whom a fuse keeps from losing a badge, without those who were released
//	unreadable  the saved values that cannot be read
func (m *Metrics) ExportMembers(census func() (rows, checked, held, unreadable float64)) {
	m.gauge("herald_members_rows",
		"Saved addresses, as this process last counted them, some 5 minutes ago; "+
			"NaN until it has read all, and while it can read none.",
		nil, func() float64 {
			rows, _, _, _ := census()
			return rows
		})
	m.gauge("herald_members_checked", "Saved addresses whose stake was known within RECHECK_EVERY.", nil, func() float64 {
		_, checked, _, _ := census()
		return checked
	})
	m.gauge("herald_members_held",
		"Users whom a fuse keeps from losing a badge, without those released, counted once in each server or group.",
		nil, func() float64 {
			_, _, held, _ := census()
			return held
		})
	m.gauge("herald_members_unreadable",
		"Saved values that cannot be read; each concerns its user alone.",
		nil, func() float64 {
			_, _, _, unreadable := census()
			return unreadable
		})
}

// ExportRedis exports whether Redis answers, and the number of decisions made without Redis.
func (m *Metrics) ExportRedis(up func() bool, fallbacks func() uint64) {
	m.gauge("herald_redis_up", "Whether Redis answered the last call; 1 before the first.", nil,
		func() float64 { return oneIf(up()) })
	promauto.With(m.registry).NewCounterFunc(prometheus.CounterOpts{
		Name: "herald_redis_fallbacks_total",
		Help: "Decisions that this process made alone because Redis did not answer, or refused.",
	}, func() float64 { return float64(fallbacks()) })
}
