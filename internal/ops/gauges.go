package ops

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/internal/chat"
	"herald/internal/core"
)

// export registers a gauge whose values are looked up at each scrape, and once
// here. look calls set once for each combination of labels.
func (m *Metrics) export(name, help string, labels []string, look func(set func(value float64, labels ...string))) {
	desc := prometheus.NewDesc(name, help, labels, nil)
	m.registry.MustRegister(prometheus.CollectorFunc(func(out chan<- prometheus.Metric) {
		look(func(value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
		})
	}))
}

// exportOne registers a gauge without labels.
func (m *Metrics) exportOne(name, help string, value func() float64) {
	m.export(name, help, nil, func(set func(float64, ...string)) { set(value()) })
}

// exportCounter registers a counter without labels.
func (m *Metrics) exportCounter(name, help string, count func() uint64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
		func() float64 { return float64(count()) }))
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Build exports what is running.
func (m *Metrics) Build(version, commit string) {
	m.export("herald_build_info", "1, with the version that is running in its labels.", []string{"version", "commit", "go_version"},
		func(set func(float64, ...string)) { set(1, version, commit, runtime.Version()) })
}

// circuits are the values of Health.Circuit.
var circuits = []string{"closed", "open", "half-open"}

// Services exports how each service fares.
func (m *Metrics) Services(health func() []core.Health) {
	each := func(name, help string, value func(core.Health) float64) {
		m.export(name, help, []string{"service"}, func(set func(float64, ...string)) {
			for _, h := range health() {
				set(value(h), h.Service.Name)
			}
		})
	}
	each("herald_service_up", "Whether the last call to a service brought an answer; 1 before the first.",
		func(h core.Health) float64 { return number(h.FailingSince.IsZero()) })
	each("herald_service_failing_seconds", "For how long no call to a service has brought an answer; 0 while it is up.",
		func(h core.Health) float64 {
			if h.FailingSince.IsZero() {
				return 0
			}
			return time.Since(h.FailingSince).Seconds()
		})
	each("herald_service_paused_seconds", "How much longer a service is not called, because it asked for that or failed.",
		func(h core.Health) float64 { return h.PausedFor.Seconds() })
	m.export("herald_service_circuit_state", "1 for the state that the circuit breaker of a service is in. While it is open the service is not called.",
		[]string{"service", "state"}, func(set func(float64, ...string)) {
			for _, h := range health() {
				for _, state := range circuits {
					set(number(h.Circuit == state), h.Service.Name, state)
				}
			}
		})
}

// Cache exports how full the cache is.
func (m *Metrics) Cache(items func() int, most int) {
	m.exportOne("herald_cache_items", "Answers in the cache.", func() float64 { return float64(items()) })
	m.exportOne("herald_cache_max_items", "The most answers that the cache keeps: CACHE_MAX_ITEMS.", func() float64 { return float64(most) })
}

// Credits exports the calls that the price provider's plan allows: how many this
// process has taken, and how many may be taken now; NaN if that is not known.
func (m *Metrics) Credits(taken func() uint64, left func() float64) {
	m.exportCounter("herald_price_credits_spent_total",
		"Credits of the price provider's plan that this process has spent: one a call.", taken)
	m.exportOne("herald_price_credits_available",
		"Credits that may be spent at once, of those that PRICE_MONTHLY_CREDITS spreads over the month; NaN where replicas share them.", left)
}

// Platform is what is exported of a chat platform.
type Platform interface {
	Platform() chat.Platform
	Ready() bool
	// InFlight counts the updates that are being answered.
	InFlight() int
}

// Platforms exports whether they are connected and how much they have in hand.
func (m *Metrics) Platforms(all []Platform) {
	each := func(name, help string, value func(Platform) float64) {
		m.export(name, help, []string{"platform"}, func(set func(float64, ...string)) {
			for _, p := range all {
				set(value(p), string(p.Platform()))
			}
		})
	}
	each("herald_platform_connected", "Whether a chat platform is connected, as /readyz reports.",
		func(p Platform) float64 { return number(p.Ready()) })
	each("herald_updates_in_hand", "Updates of a chat platform that are being answered.",
		func(p Platform) float64 { return float64(p.InFlight()) })
}

// GatewayHeartbeat exports how long Discord takes to acknowledge a heartbeat.
func (m *Metrics) GatewayHeartbeat(took func() time.Duration) {
	m.exportOne("herald_gateway_heartbeat_seconds",
		"How long Discord's gateway took to acknowledge the last heartbeat; 0 before the first.",
		func() float64 { return took().Seconds() })
}

// ClockSkew exports how far the partner's dates are ahead of this machine's clock.
func (m *Metrics) ClockSkew(skew func() time.Duration) {
	m.exportOne("herald_partner_clock_skew_seconds",
		"How far the partner API's clock is ahead of this machine's, by its Date header; 0 until measured.",
		func() float64 { return skew().Seconds() })
}

// Redis exports whether it answers, and how many decisions were made without it.
func (m *Metrics) Redis(up func() bool, fallbacks func() uint64) {
	m.exportOne("herald_redis_up", "Whether Redis answered the last call; 1 before the first.", func() float64 { return number(up()) })
	m.exportCounter("herald_redis_fallbacks_total", "Decisions that this process made alone because Redis did not answer.", fallbacks)
}
