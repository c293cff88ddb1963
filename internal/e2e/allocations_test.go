package e2e

import (
	"testing"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// maxAllocations limits how many heap allocations the bot makes to answer one /price from its cache, by way.
// Unlike times, allocations hardly vary, except that on a busy machine polls get more updates again. docs/proof.md
// lists these limits.
var maxAllocations = map[e2etest.Way]int{
	e2etest.TelegramPolling: 340,
	e2etest.TelegramWebhook: 365,
	e2etest.DiscordGateway:  165,
	e2etest.DiscordHTTP:     100,
}

// The bot runs in its own process, which counts its allocations.
func TestACachedPriceKeepsToItsAllocations(t *testing.T) {
	t.Parallel()
	const warmUp, commands = 500, 1000
	for _, way := range e2etest.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			platform := way.Open(t)
			bot := platform.Start(binary(t), fault.Start(t), "PRICE_TTL=24h", "RATE_LIMIT_CHAT=0")
			const firstUser = 1000
			askPrices(platform, firstUser, warmUp)
			before := allocations(t, bot)
			askPrices(platform, firstUser+warmUp, commands)
			each := (allocations(t, bot) - before) / commands
			t.Logf("%d allocations for a command", each)
			if each <= 0 || each > maxAllocations[way] {
				t.Errorf("%d allocations for a command, want 1 to %d", each, maxAllocations[way])
			}
		})
	}
}

// askPrices sends n commands /price, fifty at a time, each from another user, and waits for the answers.
// n must be a multiple of fifty.
func askPrices(platform *e2etest.Platform, firstUser, n int) {
	const inFlight = 50
	for user := firstUser; user < firstUser+n; user += inFlight {
		var asked []*e2etest.Asked
		for i := range inFlight {
			asked = append(asked, platform.Ask(e2etest.Command{User: int64(user + i), Name: "price"}))
		}
		for _, a := range asked {
			a.Wait()
		}
	}
}

// allocations returns how many times the bot has allocated memory so far.
func allocations(t *testing.T, bot *e2etest.Process) int {
	t.Helper()
	return e2etest.Number(e2etest.Metrics(t, bot.URL()), "\ngo_memstats_mallocs_total")
}
