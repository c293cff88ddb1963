// Package ops shows operators a running bot: metrics, whether it lives and whether it
// is ready, on an HTTP server that also takes the platforms' webhooks and bounds its
// connections. Nothing in it names a user, a chat, a wallet or an argument.
package ops

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"herald/internal/chat"
	"herald/internal/core"
)

// Metrics holds the bot's metrics. It implements core.Observer.
type Metrics struct {
	registry *prometheus.Registry
	commands *prometheus.HistogramVec
	calls    *prometheus.HistogramVec
	lookups  *prometheus.CounterVec
	ages     *prometheus.GaugeVec
	events   *prometheus.CounterVec
	unread   *prometheus.CounterVec
}

// NewMetrics makes an empty set, with the Go runtime's own figures.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		buckets := []float64{.001, .005, .02, .1, .3, 1, 3, 10, 20} // seconds
		return promauto.With(registry).NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return promauto.With(registry).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		registry: registry,
		commands: histogram("herald_command_seconds", "Commands by outcome, from request to reply.", "platform", "command", "outcome"),
		calls:    histogram("herald_service_call_seconds", "Calls to services, each try by itself.", "service", "outcome"),
		lookups:  counter("herald_lookups_total", "Questions of commands and where their answers came from.", "question", "result"),
		events: counter("herald_adapter_events_total", "What happened on a chat platform. docs/metrics.md lists the events.",
			"platform", "event"),
		unread: counter("herald_pools_unread_total", "Readings of a stake in which a pool could not be read, or not wholly.", "pool"),
		ages: promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{
			Name: "herald_answer_age_seconds", Help: "How old the answer to a question was when it was last used.",
		}, []string{"question"}),
	}
}

// Command counts a command that ended.
func (m *Metrics) Command(platform chat.Platform, command string, outcome chat.Outcome, took time.Duration) {
	m.commands.WithLabelValues(string(platform), command, string(outcome)).Observe(took.Seconds())
}

// Call implements core.Observer.
func (m *Metrics) Call(service *core.Service, outcome string, took time.Duration) {
	m.calls.WithLabelValues(service.Name, outcome).Observe(took.Seconds())
}

// Lookup implements core.Observer.
func (m *Metrics) Lookup(question, result string, age time.Duration) {
	m.lookups.WithLabelValues(question, result).Inc()
	if result != "failed" {
		m.ages.WithLabelValues(question).Set(age.Seconds())
	}
}

// Events returns a function that counts an event on a platform.
func (m *Metrics) Events(platform string) func(event string) {
	return func(event string) { m.events.WithLabelValues(platform, event).Inc() }
}

// PoolUnread counts a pool that could not be read.
func (m *Metrics) PoolUnread(pool core.Pool) { m.unread.WithLabelValues(pool.Address.Hex()).Inc() }

// gauge registers a gauge and calls value at each scrape.
func (m *Metrics) gauge(name, help string, labels prometheus.Labels, value func() float64) {
	promauto.With(m.registry).NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value)
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Build exports the version that is running. It panics if it is called twice.
func (m *Metrics) Build(version, commit string) {
	m.gauge("herald_build_info", "1, with the version that is running in its labels.",
		prometheus.Labels{"version": version, "commit": commit, "go_version": runtime.Version()}, func() float64 { return 1 })
}

// Service exports a service's health. It calls health now and at each scrape.
func (m *Metrics) Service(health func() core.Health) {
	name := health().Service.Name
	gauge := func(metric, help string, value func(core.Health) float64) {
		m.gauge(metric, help, prometheus.Labels{"service": name}, func() float64 { return value(health()) })
	}
	gauge("herald_service_up", "Whether the last call to a service brought an answer; 1 before the first.",
		func(h core.Health) float64 { return number(h.FailingSince.IsZero()) })
	gauge("herald_service_failing_seconds", "For how long no call to a service has brought an answer; 0 while it is up.",
		func(h core.Health) float64 {
			if h.FailingSince.IsZero() {
				return 0
			}
			return time.Since(h.FailingSince).Seconds()
		})
	gauge("herald_service_paused_seconds", "How much longer a service is not called, because it asked for that or failed.",
		func(h core.Health) float64 { return h.PausedFor.Seconds() })
}

// Cache exports the number of cached answers and its bound.
func (m *Metrics) Cache(items func() int, maxItems int) {
	m.gauge("herald_cache_items", "Answers in the cache.", nil, func() float64 { return float64(items()) })
	m.gauge("herald_cache_max_items", "The most answers that the cache keeps: CACHE_MAX_ITEMS.", nil,
		func() float64 { return float64(maxItems) })
}

// Credits exports how many of the price provider's credits may be taken now; NaN if unknown.
func (m *Metrics) Credits(left func() float64) {
	m.gauge("herald_price_credits_available",
		"Credits that may be spent at once, of those that PRICE_MONTHLY_CREDITS spreads over the month; NaN where replicas share them.",
		nil, left)
}

// Platform exports whether p is connected, and its updates in flight.
func (m *Metrics) Platform(p chat.Adapter, inFlight func() int) {
	labels := prometheus.Labels{"platform": string(p.Platform())}
	m.gauge("herald_platform_connected", "Whether a chat platform is connected, as /readyz reports.", labels,
		func() float64 { return number(p.Ready()) })
	m.gauge("herald_updates_in_flight", "Updates of a chat platform that are being answered.", labels,
		func() float64 { return float64(inFlight()) })
}

// GatewayHeartbeat exports the round trip of the last heartbeat.
func (m *Metrics) GatewayHeartbeat(took func() time.Duration) {
	m.gauge("herald_gateway_heartbeat_seconds",
		"How long Discord's gateway took to acknowledge the last heartbeat; 0 before the first.", nil,
		func() float64 { return took().Seconds() })
}

// ClockSkew exports how far the partner's clock is ahead of this machine's.
func (m *Metrics) ClockSkew(skew func() time.Duration) {
	m.gauge("herald_partner_clock_skew_seconds",
		"How far the partner API's clock is ahead of this machine's, by its Date header; 0 until measured.", nil,
		func() float64 { return skew().Seconds() })
}

// Redis exports whether Redis answers, and the number of decisions made without it.
func (m *Metrics) Redis(up func() bool, fallbacks func() uint64) {
	m.gauge("herald_redis_up", "Whether Redis answered the last call; 1 before the first.", nil,
		func() float64 { return number(up()) })
	promauto.With(m.registry).NewCounterFunc(prometheus.CounterOpts{
		Name: "herald_redis_fallbacks_total", Help: "Decisions that this process made alone because Redis did not answer.",
	}, func() float64 { return float64(fallbacks()) })
}
