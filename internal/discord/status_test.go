package discord

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheStatusIsBroughtUpToDateEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		h := prepareSimulated(t, func(_ *harness, c *Config) {
			c.Status = func(context.Context) string { return fmt.Sprint("TKN $", asked.Add(1)/5) }
		})
		h.run(t)
		if err := h.fake.WaitConnected(h.ctx); err != nil {
			t.Fatal(err)
		}
		for minute := range int64(20) {
			time.Sleep(time.Second)
			synctest.Wait()
			if got, want := h.fake.Status(), fmt.Sprint("TKN $", (minute+1)/5); got != want {
				t.Errorf("in minute %d the status is %q, want %q", minute, got, want)
			}
			time.Sleep(59 * time.Second)
		}
		if n := len(h.fake.Presences()); n != 5 || len(h.fake.Problems()) > 0 {
			t.Errorf("it was sent %d times for 5 texts; %v", n, h.fake.Problems())
		}
	})
}

func TestAHangingStatusHoldsUpNothing(t *testing.T) {
	simulated := func(ctx context.Context) string { <-ctx.Done(); return "" }
	synctest.Test(t, func(t *testing.T) {
		h := prepareSimulated(t, func(_ *harness, c *Config) { c.Status = simulated })
		h.run(t)
		if err := h.fake.WaitConnected(h.ctx); err != nil {
			t.Fatal(err)
		}
		h.stop()
		if err := <-h.ended; err != nil {
			t.Error(err)
		}
	})
}
