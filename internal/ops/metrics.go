// Package ops shows operators a running bot: metrics, whether it lives and whether it
// is ready, on an HTTP server that also takes the platforms' webhooks and bounds its
// connections. Nothing in it names a user, a chat, a wallet or an argument.
package ops

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"herald/internal/chat"
	"herald/internal/core"
)

// Metrics counts what the bot does. It implements core.Observer.
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

// Events counts what an adapter or a store names.
func (m *Metrics) Events(part string) func(event string) {
	return func(event string) { m.events.WithLabelValues(part, event).Inc() }
}

// PoolUnread counts a pool that could not be read.
func (m *Metrics) PoolUnread(pool core.Pool) { m.unread.WithLabelValues(pool.Address.Hex()).Inc() }
