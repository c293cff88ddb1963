package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
	"herald/internal/secret/logtest"
)

// starting matches what a start logs about a service that fails.
const starting = "msg=\"a service fails at the start; bot check says more\""

// start runs a bot on Telegram, and returns its log.
func start(t *testing.T, fakes *fault.Fakes, settings ...string) *logtest.Buffer {
	t.Helper()
	log := &logtest.Buffer{}
	telegram := e2etest.Ways[0].Open(t)
	e2etest.Serve(t, e2etest.Settings(fakes, append(telegram.Settings(), append(settings, "LOG_LEVEL=info")...)...), log)
	return log
}

func TestAStartWarnsOfAServiceThatFails(t *testing.T) {
	const denied = `{"status":{"error_code":1001,"error_message":"This API Key is invalid."},"data":{}}`
	deny := fault.Answer(http.StatusUnauthorized, "application/json", denied)
	for name, test := range map[string]struct {
		at    fault.Target
		fault fault.Fault
		want  []string
	}{
		"a dead node": {fault.Chain, fault.Drop(),
			[]string{"service=chain", "cannot be reached or is down", "look at EVM_RPC_URL"}},
		"a node of another chain": {fault.Chain, fault.Named(t, fault.Chain, "another chain"),
			[]string{"service=chain", "EVM_CHAIN_ID"}},
		"a silent node": {fault.Chain, fault.Hang(),
			[]string{"service=chain", "did not answer within UPSTREAM_TIMEOUT", "look at EVM_RPC_URL"}},
		"a supply host": {fault.Supply, fault.Named(t, fault.Supply, "503 with Retry-After 5"),
			[]string{"service=supply", "503", "look at SUPPLY_URL"}},
		"a partner": {fault.Partner, fault.Named(t, fault.Partner, "401"),
			[]string{"service=partner", "refuses the credentials", "PARTNER_SECRET_KEY"}},
		"a price provider": {fault.Price, fault.Drop(),
			[]string{"service=price", "cannot be reached or is down", "look at PRICE_API_URL"}},
		"a price key": {fault.Price, deny,
			[]string{"service=price", "refuses the credentials", "look at PRICE_API_KEY"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fakes := fault.Start(t)
			fakes.At(test.at).SetFault(test.fault)
			log := start(t, fakes, "UPSTREAM_TIMEOUT=300ms")
			e2etest.Eventually(t, "the log names "+name, func() bool { return strings.Contains(log.String(), starting) })
			for _, part := range test.want {
				if !strings.Contains(log.String(), part) {
					t.Errorf("the log lacks %s:\n%s", part, log)
				}
			}
			if n := strings.Count(log.String(), starting); n != 1 {
				t.Errorf("%d lines, want 1:\n%s", n, log)
			}
		})
	}
}

// A provider may not know what is left of a plan, and a quote costs a credit.
func TestAStartAsksThePriceProviderForNothingThatCosts(t *testing.T) {
	t.Parallel()
	fakes := fault.Start(t)
	var mu sync.Mutex
	asked := map[string]int{}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path]++
		http.NotFound(w, r)
	}))
	t.Cleanup(provider.Close)
	paths := func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return map[string]int{"/v1/key/info": asked["/v1/key/info"], "all": len(asked)}
	}
	log := start(t, fakes, "PRICE_API_URL="+provider.URL)
	e2etest.Eventually(t, "the provider is asked", func() bool { return paths()["/v1/key/info"] == 1 })
	e2etest.Eventually(t, "the other services are asked", func() bool {
		return fakes.Supply.Requests() > 1 && fakes.Partner.Requests() > 0 && fakes.Chain.Requests() > 0
	})
	<-time.After(100 * time.Millisecond)
	if strings.Contains(log.String(), starting) || paths()["all"] != 1 {
		t.Errorf("asked %v, and logged\n%s", paths(), log)
	}
}

func TestASlowServiceDelaysNoStart(t *testing.T) {
	t.Parallel()
	fakes := fault.Start(t)
	for _, target := range fault.Targets {
		fakes.At(target).SetFault(fault.Hang())
	}
	log := &logtest.Buffer{}
	telegram := e2etest.Ways[0].Open(t)
	settings := append(telegram.Settings(), "UPSTREAM_TIMEOUT=1m", "COMMAND_TIMEOUT=5m")
	bot := e2etest.Serve(t, e2etest.Settings(fakes, settings...), log)
	began := time.Now()
	bot.AwaitReady(t)
	bot.Stop()
	if err := bot.Leave(); err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("the bot left after %v with %v", time.Since(began), err)
	}
	if strings.Contains(log.String(), starting) {
		t.Errorf("a stop counts as a failure:\n%s", log)
	}
}
