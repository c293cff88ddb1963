package main

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// A server that platforms call refuses for a second before it closes, so that a proxy
// turns to another one. Each platform asks another service, which shows when both
// commands are in flight.
func TestAStoppedProcessAnswersWhatIsInFlight(t *testing.T) {
	for i, way := range e2etest.Ways[:2] {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			world, telegram, discord := e2etest.Sandbox(t), way.Open(t), e2etest.Ways[i+2].Open(t)
			world.Supply.SetFault(fault.Late(500 * time.Millisecond))
			world.Chain.SetFault(fault.Late(500 * time.Millisecond))
			settings := slices.Concat(telegram.Settings(), discord.Settings(), []string{"HTTP_ADDR=127.0.0.1:0", "LOG_LEVEL=debug"})
			p := e2etest.StartProcess(t, program([]string{"run"}, e2etest.Settings(world, settings...)...))
			p.AwaitReady()
			telegram.Through(p.URL())
			discord.Through(p.URL())
			supply := telegram.Ask(e2etest.Command{User: 1, Name: "supply"})
			staked := discord.Ask(e2etest.Command{User: 1, Name: "staked", Argument: world.World.Staker.Hex()})
			e2etest.Eventually(t, "the commands are in flight", func() bool { return world.Supply.Requests() > 0 && world.Chain.Requests() > 0 })
			told := time.Now()
			p.Tell(syscall.SIGTERM)
			e2etest.Eventually(t, "the process refuses", func() bool { return p.Readyz() == http.StatusServiceUnavailable })
			p.Leaves()
			if took := time.Since(told); way.ByHTTP && took < time.Second {
				t.Errorf("it refused for %v only", took)
			}
			for want, asked := range map[string]*e2etest.Asked{"612,345,679": supply, "1,012,345.6789": staked} {
				if got := asked.Wait(); !strings.Contains(e2etest.Plain(got.Text), want) || len(asked.Answers()) != 1 {
					t.Errorf("answered with %+v, want %s", got, want)
				}
			}
			if n := len(telegram.Telegram.Pending()); n > 0 {
				t.Errorf("Telegram has %d updates left", n)
			}
		})
	}
}
