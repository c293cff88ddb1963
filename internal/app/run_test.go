package app_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
	"herald/internal/service/rest/resttest"
)

// failsAtStart is the message of a line in the log about a service that fails when a bot starts.
const failsAtStart = "msg=\"a service fails at the start; bot check says more\""

// startOnTelegram runs a bot until the test ends, and returns its log.
func startOnTelegram(t *testing.T, fakes *fault.Fakes, settings ...string) *logtest.Buffer {
	t.Helper()
	log := &logtest.Buffer{}
	telegram := e2etest.TelegramPolling.Open(t)
	all := slices.Concat(telegram.Settings(), settings, []string{"LOG_LEVEL=info"})
	e2etest.Serve(t, e2etest.Settings(fakes, all...), log)
	return log
}

// startFault is how a service fails when a bot starts.
type startFault struct {
	target fault.Target
	fault  fault.Fault
	want   []string // parts of the line in the log
}

func startFaults(t *testing.T) map[string]startFault {
	t.Helper()
	const denied = `{"status":{"error_code":1001,"error_message":"This API Key is invalid."},"data":{}}`
	deny := fault.Answer(http.StatusUnauthorized, "application/json", denied)
	return map[string]startFault{
		"a dead node": {
			target: fault.Chain,
			fault:  fault.Drop(),
			want:   []string{"service=chain", "cannot be reached or is down", "look at EVM_RPC_URL"},
		},
		"a node of another chain": {
			target: fault.Chain,
			fault:  fault.Named(t, fault.Chain, "another chain"),
			want:   []string{"service=chain", "EVM_CHAIN_ID"},
		},
		"a silent node": {
			target: fault.Chain,
			fault:  fault.Hang(),
			want: []string{
				"service=chain",
				"did not answer within UPSTREAM_TIMEOUT",
				"look at EVM_RPC_URL",
			},
		},
		"a supply host": {
			target: fault.Supply,
			fault:  fault.Named(t, fault.Supply, "503 with Retry-After 5"),
			want:   []string{"service=supply", "503", "look at SUPPLY_URL"},
		},
		"a partner": {
			target: fault.Partner,
			fault:  fault.Named(t, fault.Partner, "401"),
			want:   []string{"service=partner", "refuses the credentials", "PARTNER_SECRET_KEY"},
		},
		"a price provider": {
			target: fault.Price,
			fault:  fault.Drop(),
			want:   []string{"service=price", "cannot be reached or is down", "look at PRICE_API_URL"},
		},
		"a price key": {
			target: fault.Price,
			fault:  deny,
			want:   []string{"service=price", "refuses the credentials", "look at PRICE_API_KEY"},
		},
	}
}

func TestAStartWarnsOfAServiceThatFails(t *testing.T) {
	for name, test := range startFaults(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fakes := fault.Start(t)
			fakes.At(test.target).SetFault(test.fault)
			log := startOnTelegram(t, fakes, "UPSTREAM_TIMEOUT=300ms")
			e2etest.Eventually(t, "the log names "+name, func() bool {
				return strings.Contains(log.String(), failsAtStart)
			})
			for _, part := range test.want {
				if !strings.Contains(log.String(), part) {
					t.Errorf("the log lacks %s:\n%s", part, log)
				}
			}
			if n := strings.Count(log.String(), failsAtStart); n != 1 {
				t.Errorf("%d lines, want 1:\n%s", n, log)
			}
		})
	}
}

// A quote costs a credit. So at the start, the bot only asks what is left of the plan. A provider that does not know is
// not a failure.
func TestAStartSpendsNoCredits(t *testing.T) {
	t.Parallel()
	fakes := fault.Start(t)
	var plan, others atomic.Int64 // requests for the plan, and for anything else
	provider := resttest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/key/info" {
			plan.Add(1)
		} else {
			others.Add(1)
		}
		http.NotFound(w, r)
	})
	log := startOnTelegram(t, fakes, "PRICE_API_URL="+provider)
	e2etest.Eventually(t, "the provider is asked about the plan", func() bool { return plan.Load() == 1 })
	e2etest.Eventually(t, "the other services are asked", func() bool {
		return fakes.Supply.Requests() > 1 && fakes.Partner.Requests() > 0 && fakes.Chain.Requests() > 0
	})
	<-time.After(100 * time.Millisecond) // for requests that should not be made
	if others.Load() != 0 {
		t.Errorf("the provider had %d other requests", others.Load())
	}
	if strings.Contains(log.String(), failsAtStart) {
		t.Errorf("an unknown plan counts as a failure:\n%s", log)
	}
}

func TestSlowServicesDoNotDelayAStart(t *testing.T) {
	t.Parallel()
	fakes := fault.Start(t)
	for _, target := range fault.Targets {
		fakes.At(target).SetFault(fault.Hang())
	}
	log := &logtest.Buffer{}
	telegram := e2etest.TelegramPolling.Open(t)
	settings := append(telegram.Settings(), "UPSTREAM_TIMEOUT=1m", "COMMAND_TIMEOUT=5m")
	bot := e2etest.Serve(t, e2etest.Settings(fakes, settings...), log)
	began := time.Now()
	bot.AwaitReady(t)
	bot.Stop()
	if err := bot.AwaitEnd(); err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("the bot ended after %v with %v", time.Since(began), err)
	}
	if strings.Contains(log.String(), failsAtStart) {
		t.Errorf("a stop counts as a failure:\n%s", log)
	}
}
