package e2e

import (
	"testing"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// maxAllocations bounds the heap allocations for one cached /price, by way in. They hardly
// vary where times do: docs/proof.md lists them. On a busy machine a poll returns more
// updates that are known.
var maxAllocations = map[string]int{
	"telegram polling": 340, "telegram webhook": 365, "discord gateway": 165, "discord over http": 100,
}

// The bot runs in a process of its own, which counts its allocations. Fifty commands come at
// once, each from another person.
func TestACachedPriceKeepsToItsAllocations(t *testing.T) {
	t.Parallel()
	const warmUp, commands, inFlight = 500, 1000, 50
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			platform := way.Open(t)
			bot := platform.Start(binary(t), fault.Start(t), "PRICE_TTL=24h", "RATE_LIMIT_CHAT=0")
			ask := func(from, n int) {
				for first := from; first < from+n; first += inFlight {
					var asked []*e2etest.Asked
					for i := range inFlight {
						asked = append(asked, platform.Ask(e2etest.Command{User: int64(first + i), Name: "price"}))
					}
					for _, a := range asked {
						a.Wait()
					}
				}
			}
			ask(1000, warmUp)
			before := allocations(t, bot)
			ask(1000+warmUp, commands)
			each := (allocations(t, bot) - before) / commands
			t.Logf("%d allocations for a command", each)
			if each <= 0 || each > maxAllocations[way.Name] {
				t.Errorf("%d allocations for a command, want 1 to %d", each, maxAllocations[way.Name])
			}
		})
	}
}

// allocations returns how many times the bot has allocated memory so far.
func allocations(t *testing.T, bot *e2etest.Process) int {
	t.Helper()
	return e2etest.Number(e2etest.Metrics(t, bot.URL()), "\ngo_memstats_mallocs_total")
}
