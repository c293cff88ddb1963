//go:build speed

package speed

import (
	"fmt"
	"strings"
	"time"

	"herald/internal/app"
)

// million is how many commands a day cost is told for.
const million = 1_000_000

// cost is what a million commands a day cost at most, in Markdown: of this
// machine as measured, and in calls to services by the settings' TTLs.
func cost(results []result, cfg *app.Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nA million commands a day\n\n| way in | CPU, seconds a day | of one core | peak memory, MiB |\n| --- | --- | --- | --- |\n")
	for _, r := range results {
		day := time.Duration(r.herald.median(pacedCPU)) * (million / 1000)
		fmt.Fprintf(&b, "| %s | %.0f | %.2f %% | %.0f |\n", r.name, day.Seconds(), 100*day.Hours()/24, mebibytes(r.herald.memory))
	}
	price, supply := callsADay(cfg.Market.TTL), 2*callsADay(cfg.Supply.TTL)
	fmt.Fprintf(&b, "\n| if all are | calls at most |\n| --- | --- |\n")
	for _, row := range []struct {
		command string
		calls   string
	}{
		{"/price", fmt.Sprintf("%d: one in %v", price, cfg.Market.TTL)},
		{"/supply", fmt.Sprintf("%d: two in %v, and the price", supply+price, cfg.Supply.TTL)},
		{"/staked", fmt.Sprintf("%d: one for all pools of a wallet that was not asked about for %v", million, cfg.Staking.TTL)},
		{"/exists", fmt.Sprintf("%d: one for a user who was not asked about for %v", million, cfg.Partner.ExistsTTL)},
		{"/mylogins", fmt.Sprintf("%d: two for a user who did not ask for %v", 2*million, min(cfg.Partner.ExistsTTL, cfg.Partner.LoginsTTL))},
		{"/help", "0"},
	} {
		fmt.Fprintf(&b, "| `%s` | %s |\n", row.command, row.calls)
	}
	return b.String()
}

// callsADay is how often a day an answer is asked for that is always wanted.
func callsADay(ttl time.Duration) int { return int(24 * time.Hour / ttl) }
