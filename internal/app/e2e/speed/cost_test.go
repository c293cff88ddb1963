//go:build speed

package speed

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/internal/app"
)

// million is how many commands a day the cost is told for.
const million = 1_000_000

// machineCost is what that takes of the machine, as measured, in Markdown.
func machineCost(results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nA million commands a day\n\n| way in | CPU, seconds a day | of one core | peak memory, MiB |\n| --- | --- | --- | --- |\n")
	for _, r := range results {
		day := time.Duration(r.herald.median(pacedCPU)) * (million / 1000)
		fmt.Fprintf(&b, "| %s | %.0f | %.2f %% | %.0f |\n", r.name, day.Seconds(), 100*day.Hours()/24, mebibytes(r.herald.memory))
	}
	return b.String()
}

// callCost is how many calls of services it takes at most, by the default TTLs,
// in Markdown.
func callCost(t *testing.T) string {
	t.Helper()
	cfg, err := app.Load([]string{
		"PARTNER_BASE_URL=http://127.0.0.1", "PARTNER_APP_ID=id", "PARTNER_SECRET_KEY=key", "TOKEN_SYMBOL=T", "SUPPLY_URL=http://127.0.0.1",
		"EVM_RPC_URL=http://127.0.0.1", "EVM_CHAIN_ID=1", "STAKING_POOLS=0x52908400098527886E0F7030069857D2E4169EE7",
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	price, supply := callsADay(cfg.Market.TTL), 2*callsADay(cfg.Supply.TTL)
	return fmt.Sprintf("\n| if all are | calls at most |\n| --- | --- |\n"+
		"| `/price` | %d: one in %v |\n"+
		"| `/supply` | %d: two in %v, and the price |\n"+
		"| `/staked` | %d: one for all pools of a wallet that was not asked about for %v |\n"+
		"| `/exists` | %d: one for a user who was not asked about for %v |\n"+
		"| `/mylogins` | %d: two for a user who did not ask for %v |\n"+
		"| `/help` | 0 |\n",
		price, cfg.Market.TTL, supply+price, cfg.Supply.TTL, million, cfg.Staking.TTL,
		million, cfg.Partner.ExistsTTL, 2*million, min(cfg.Partner.ExistsTTL, cfg.Partner.LoginsTTL))
}

// callsADay is how often a day an answer is asked for that is always wanted.
func callsADay(ttl time.Duration) int { return int(24 * time.Hour / ttl) }
