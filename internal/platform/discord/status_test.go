package discord

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func TestTheStatusIsBroughtUpToDateEveryMinute(t *testing.T) {
	asked := 0
	simulate(t, overGateway, func(t *testing.T, h *harness) {
		for minute := range 10 {
			if got, want := h.fake.Status(), fmt.Sprint("TKN $", (minute+1)/5); got != want {
				t.Errorf("in minute %d the status is %q, want %q", minute, got, want)
			}
			pass(time.Minute)
		}
		if n := len(h.fake.Presences()); n != 3 {
			t.Errorf("it was sent %d times for 3 texts", n)
		}
		h.stop() // while the status hangs
		if err := <-h.ended; err != nil {
			t.Error(err)
		}
	}, func(_ *harness, c *Config) {
		c.Status = func(ctx context.Context) string {
			if asked++; asked > 10 {
				<-ctx.Done()
			}
			return fmt.Sprint("TKN $", asked/5)
		}
	})
}
