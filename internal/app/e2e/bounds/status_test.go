package bounds

import (
	"io"
	"sync"
	"testing"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/sandbox/fault"
)

// TestNobodyHasServicesAskedOftenByStatus is with the TTLs that an operator has
// by default. Neither the price nor the supply is asked for again while it fails.
func TestNobodyHasServicesAskedOftenByStatus(t *testing.T) {
	const askers = 300
	for name, test := range map[string]struct {
		fault fault.Fault
		most  map[fault.Target]int64
	}{
		"well": {fault.Fault{}, map[fault.Target]int64{fault.Price: 1, fault.Supply: 2, fault.Chain: 1, fault.Partner: 1}},
		// A failing one is paused after 5 calls, of which one in ten is made once
		// more, and then asked again every 5 s.
		"failing": {fault.Answer(500, "text/plain", "down"), map[fault.Target]int64{fault.Price: 2, fault.Supply: 4, fault.Chain: 12, fault.Partner: 12}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := e2etest.Sandbox(t)
			b := e2etest.New(t, e2etest.Settings(world), e2etest.BareLog(false, io.Discard))
			for _, target := range fault.Targets {
				world.At(target).SetFault(test.fault)
			}
			b.Router.Handle(t.Context(), e2etest.Request("status"))
			var asking sync.WaitGroup
			for range askers {
				asking.Go(func() { b.Router.Handle(t.Context(), e2etest.Request("status")) })
			}
			asking.Wait()
			for target, most := range test.most {
				if n := world.At(target).Requests(); n < 1 || n > most {
					t.Errorf("%d askers of /status had the %s service asked %d times, want at most %d", askers, target, n, most)
				}
			}
		})
	}
}
