package discordtest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A dial that a client began and forgot must not outlive the network: in
// simulated time nothing would ever wake it.
func TestADialEndsWithTheNetworkAndWithItsCall(t *testing.T) {
	for name, after := range map[string]time.Duration{"on the way": dialTime / 2, "where nobody accepts": 2 * dialTime} {
		t.Run(name, func(t *testing.T) {
			for ended, end := range map[string]func(*Wire, context.CancelFunc){
				"the network": func(w *Wire, _ context.CancelFunc) { w.Close() },
				"the call":    func(_ *Wire, cancel context.CancelFunc) { cancel() },
			} {
				t.Run(ended, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := NewWire()
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						began, failed := time.Now(), make(chan error, 1)
						go func() {
							_, err := w.Dial(ctx, "tcp", "discord.test:443")
							failed <- err
						}()
						time.Sleep(after)
						end(w, cancel)
						if err := <-failed; err == nil || time.Since(began) != after {
							t.Errorf("%v after %v, want an error after %v", err, time.Since(began), after)
						}
					})
				})
			}
		})
	}
}
