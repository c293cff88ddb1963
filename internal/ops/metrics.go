// Package ops is what operators see of a running bot: metrics, and whether it
// lives and is ready; and the HTTP server for that and for webhooks, which
// bounds its connections. Nothing in it names a user, a chat, a wallet or an
// argument.
package ops

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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
	seconds := []float64{.001, .005, .02, .1, .3, 1, 3, 10, 20}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		commands: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "herald_command_seconds", Help: "Commands by outcome, from request to reply.", Buckets: seconds,
		}, []string{"platform", "command", "outcome"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "herald_service_call_seconds", Help: "Calls to services, each try by itself.", Buckets: seconds,
		}, []string{"service", "outcome"}),
		lookups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "herald_lookups_total", Help: "Questions of commands and where their answers came from.",
		}, []string{"question", "result"}),
		ages: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "herald_answer_age_seconds", Help: "How old the answer to a question was when it was last used.",
		}, []string{"question"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "herald_adapter_events_total", Help: "What happened on a chat platform. docs/metrics.md lists the events.",
		}, []string{"platform", "event"}),
		unread: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "herald_pools_unread_total", Help: "Readings of a stake in which a pool could not be read, or not wholly.",
		}, []string{"pool"}),
	}
	m.registry.MustRegister(m.commands, m.calls, m.lookups, m.ages, m.events, m.unread,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
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

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
