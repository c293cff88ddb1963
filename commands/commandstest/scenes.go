package commandstest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"herald/commands"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/service/market"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
)

// Lines of several scenes.
const (
	price     = "/price"
	week      = "/price 7d"
	amount    = "/price 1500"
	supplies  = "/supply"
	staked    = "/staked " + Wallet
	logins    = "/mylogins"
	exists    = "/exists"
	existsBob = "/exists " + Bob
	verify    = "/verify " + AnnsWallet
	verifyBob = "/verify " + Bob + " " + BobsWallet
	status    = "/status"
)

// scenes returns all scenes. The golden file of a language has them in this order. Scenes that share a name share a
// golden file of a platform.
func scenes() []scene {
	return slices.Concat(
		scenesOfSenders(),
		scenesOfNames(),
		scenesOfAmounts(),
		scenesOfOldAnswers(),
		scenesOfDoubt(),
		scenesOfCharts(),
		scenesOfMissingParts(),
		scenesOfFailedAccounts(),
		scenesOfRefusedLines(),
		scenesOfJoining(),
		scenesOfSaving(),
		scenesOfReasons(),
	)
}

// scenesOfSenders returns scenes in which all services are healthy. They differ in who asks where.
func scenesOfSenders() []scene {
	return []scene{
		{name: "healthy", lines: append(examples(isAny), "/price $100", verify, "/start", "/hello")},
		{
			name:  "healthy",
			from:  &sender{id: Ann, community: Community, title: communityTitle, ephemeral: true},
			lines: []string{"/help"},
		},
		{
			name:  "healthy",
			from:  &sender{id: Ann},
			lines: []string{price, staked, logins, exists, verify, "/help", "/start"},
		},
		{name: "healthy", from: &sender{id: Operator}, lines: []string{"/help"}},
		{
			name: "moderator",
			lines: []string{
				existsBob,
				"/help verify",
				"/help mylogins",
				"/exists 999",
				"/exists discord 5",
				"/exists EMAIL a@b.c",
				"/exists EMAIL ann@example.org",
				"/exists email 4711",
				"/exists linkedin 123456789012345678901",
				"/exists evm " + Wallet,
				verifyBob,
				"/verify " + Bob + " " + AnnsWallet,
				"/verify " + Bob + " " + Wallet,
				"/verify 999 " + BobsWallet,
			},
		},
		{
			name:  "forbidden",
			from:  &sender{id: Ann, role: chat.Member, community: Community, title: communityTitle},
			lines: []string{existsBob, "/exists discord 5", verifyBob},
		},
		{
			name:  "unlisted",
			from:  &sender{id: Ann, role: chat.Moderator, community: "-1009876543210", title: communityTitle},
			lines: []string{existsBob, exists},
		},
		{name: "strangers", from: stranger(), lines: []string{logins, exists, verify}},
		{
			name:  "anonymous",
			from:  &sender{id: "", role: chat.Moderator, community: Community, title: communityTitle},
			lines: []string{logins, exists, verify},
		},
		{name: "others", lines: []string{"/verify " + BobsWallet, "/verify " + Wallet}},
	}
}

// stranger returns somebody in Community who is not registered.
func stranger() *sender {
	return &sender{id: Stranger, role: chat.Member, community: Community, title: communityTitle}
}

// scenesOfNames returns scenes with unusual texts of the operator or of services: hostile ones, too many, and none.
func scenesOfNames() []scene {
	return []scene{
		{
			name: "named service",
			change: func(w *Answers) {
				w.Options = commands.Options{Symbol: w.Options.Symbol, ServiceName: "CARV *ID*"}
				unstaking(w, 5*time.Hour, "500")
			},
			lines: []string{staked, exists, verify, existsBob},
		},
		{
			name: "named service",
			from: stranger(),
			change: func(w *Answers) {
				w.Options = commands.Options{Symbol: w.Options.Symbol}
				w.Stake.Staked = nil
			},
			lines: []string{exists, staked},
		},
		{name: "quiet", change: func(w *Answers) { w.Logins = nil }, lines: []string{logins}},
		{
			name:   "hostile",
			from:   &sender{id: Ann, role: chat.Moderator, community: Community, title: strings.Join(Hostile, " ")},
			change: hostile,
			lines:  []string{staked, logins, existsBob},
		},
		{
			name:   "many",
			change: many,
			lines: []string{
				logins,
				"/mylogins 2",
				"/mylogins 50",
				"/mylogins 51",
				"/mylogins 0",
				"/mylogins abc",
				staked,
			},
		},
	}
}

// scenesOfAmounts returns scenes with unusually large, small or many figures, or without some of them.
func scenesOfAmounts() []scene {
	return []scene{
		{
			name: "sparse",
			change: func(w *Answers) {
				w.Price.Value = &core.Quote{Price: number("64123.456")}
				w.Stake = core.Stake{Block: 1_000_000, Checked: 21}
				unstaking(w, time.Minute, "12")
			},
			lines: []string{price, amount, staked, verify},
		},
		{name: "three pools", change: threePools, lines: []string{staked, verify, verifyBob, supplies}},
		{
			name: "tiny",
			change: func(w *Answers) {
				w.Price.Value = &core.Quote{Price: number("0.00000001234567")}
				w.Supply.Value.Circulating = number("1")
				w.Stake.Staked = []core.PoolAmount{{
					Pool:   core.Pool{Name: "Dust"},
					Amount: number("0.000000000000000001"),
				}}
			},
			lines: []string{price, amount, supplies, staked},
		},
	}
}

// threePools adds a third pool, amounts that are being unstaked, and what all wallets have staked.
func threePools(w *Answers) {
	w.Stake.Staked = append(w.Stake.Staked, core.PoolAmount{
		Pool:   core.Pool{Name: "Flexible"},
		Amount: number("12.25"),
	})
	unstaking(w, 75*time.Hour, "500", "1087.17")
	w.Stake.Withdrawable = []core.PoolAmount{{Amount: number("1000")}}
	w.Supply.At = Noon.Add(80 * time.Second)
	w.Supply.FreshUntil = Noon.Add(85 * time.Second)
	w.Total = query.Snapshot[core.Stake]{
		At:         Noon,
		FreshUntil: Noon.Add(time.Hour),
		Value: core.Stake{
			BlockTime: Noon,
			Checked:   21,
			Staked:    []core.PoolAmount{{Amount: number("24123456.7")}},
		},
	}
}

// scenesOfOldAnswers returns scenes in which a service gives no newer answer, so that an earlier one is shown.
func scenesOfOldAnswers() []scene {
	return []scene{
		{
			name: "silent",
			change: func(w *Answers) {
				w.Stale = true
				w.Price.Value.MarketCap = known("2000000")
			},
			lines: examples(mayShowOld),
		},
		{
			name: "old",
			change: func(w *Answers) {
				w.Stale = true
				w.StaleFor = 8 * time.Minute
				w.Price.Value.LastUpdated = Noon.Add(-8 * time.Minute) // ten minutes ago
			},
			lines: examples(mayShowOld),
		},
		{name: "silent", change: func(w *Answers) { w.Price.Stale = true }, lines: []string{supplies}},
		{name: "silent", change: func(w *Answers) { w.Supply.Stale = true }, lines: []string{supplies}},
		{
			name: "old",
			change: func(w *Answers) {
				w.Price.Stale = true
				w.Price.Value.LastUpdated = Noon.Add(-20 * time.Minute)
			},
			lines: []string{supplies},
		},
		{
			name: "old",
			change: func(w *Answers) {
				w.Supply.Stale = true
				w.Supply.At = Noon.Add(-20 * time.Minute)
			},
			lines: []string{supplies},
		},
		{
			name: "old",
			change: func(w *Answers) {
				w.Supply.Stale = true
				w.Supply.At = Noon.Add(-time.Hour)
				w.PriceErr = failed(market.Service, core.Unreachable)
			},
			lines: []string{supplies},
		},
		{
			name: "without a credit",
			change: func(w *Answers) {
				w.Price.Why = &core.Error{Service: market.Service, Reason: core.NoCredit, RetryAfter: 40 * time.Minute}
				w.Price.Value.LastUpdated = Noon.Add(-30 * time.Minute)
			},
			lines: []string{price, supplies},
		},
	}
}

// scenesOfDoubt returns scenes with figures that must not be taken for facts: too old, or too far from other figures.
func scenesOfDoubt() []scene {
	return []scene{
		{
			name: "old quote",
			change: func(w *Answers) {
				w.Price.Value.LastUpdated = Noon.Add(-72 * time.Hour)
				w.Price.Value.CurrentUntil = Noon.Add(-71 * time.Hour)
			},
			lines: []string{price, supplies, status},
		},
		{
			name:   "old quote",
			change: func(w *Answers) { w.Doubt("891.01", Noon.Add(-2*time.Minute)) },
			lines:  []string{price, week, amount, "/price $100", supplies, staked, status},
		},
		{
			name:   "old quote",
			change: func(w *Answers) { w.Doubt("0.0000123", time.Time{}) },
			lines:  []string{price},
		},
		{
			name: "old quote",
			change: func(w *Answers) {
				tokens := w.Supply.Value
				w.Supply.Value = core.Supply{Total: tokens.Total.Shift(18), Circulating: tokens.Circulating.Shift(18)}
			},
			lines: []string{supplies},
		},
	}
}

// scenesOfCharts returns scenes with a chart: complete, with gaps, without a line, and failed.
func scenesOfCharts() []scene {
	return []scene{
		{name: "charts", lines: []string{"/price 24h", "/price 7D", "/price 30d"}},
		{name: "sparse charts", change: func(w *Answers) { w.Chart.Seen = 0.5 }, lines: []string{week}},
		{
			name: "no charts",
			change: func(w *Answers) {
				w.Chart.HasLine = false
				w.Chart.Seen = 0.2
				w.Chart.LineFrom = Noon.Truncate(24*time.Hour).AddDate(0, 0, 2)
			},
			lines: []string{week},
		},
		{name: "failing charts", change: func(w *Answers) { w.ChartErr = errors.New("inner") }, lines: []string{week}},
	}
}

// scenesOfMissingParts returns scenes in which a service fails in part, so that replies lack a part.
func scenesOfMissingParts() []scene {
	return []scene{
		{
			name: "partly",
			change: func(w *Answers) {
				w.PriceErr = failed(market.Service, core.Limited)
				w.Stake.Failed = unreadPools(2)
				w.Stake.Checked = 19
				unstaking(w, 75*time.Hour, "3", "2")
				w.Stake.Withdrawable = []core.PoolAmount{{Amount: number("1000")}}
				w.Stake.UnbondingFailed = unreadPools(3) // the two pools in Failed, and one more
			},
			lines: []string{supplies, staked, verify, status},
		},
		{
			name: "never answered",
			change: func(w *Answers) {
				w.NeverAsked = true
				w.PriceErr = failed(market.Service, core.Limited)
				w.Supply.Stale = true
			},
			lines: []string{status},
		},
		{
			name: "undetermined",
			change: func(w *Answers) {
				w.Stake.Staked = nil
				w.Stake.Checked = 20
				w.Stake.Failed = unreadPools(1)
			},
			lines: []string{staked, verify},
		},
	}
}

// scenesOfFailedAccounts returns scenes in which some questions about accounts, logins and stakes fail, and one with
// errors that no service returned.
func scenesOfFailedAccounts() []scene {
	return []scene{
		{
			name: "half failing",
			change: func(w *Answers) {
				w.LoginsErr = failed(partner.Service, core.Unreachable)
				w.StakeErr = failed(staking.Service, core.SlowAnswer)
			},
			lines: []string{logins, exists, verify},
		},
		{
			name: "wallets failing",
			change: func(w *Answers) {
				w.AccountErrs = map[string]error{"EVM": failed(partner.Service, core.Unreachable)}
			},
			lines: []string{verify, "/verify 999 " + BobsWallet},
		},
		{
			name: "accounts failing",
			change: func(w *Answers) {
				w.AccountErrs = map[string]error{"Telegram": failed(partner.Service, core.Unreachable)}
			},
			lines: []string{verifyBob, "/verify " + Wallet},
		},
		{
			name: "failing inside",
			change: func(w *Answers) {
				w.PriceErr = errors.New("inner")
				w.AccountsErr = errors.New("inner")
				w.SupplyErr = context.DeadlineExceeded
				w.StakeErr = context.DeadlineExceeded
			},
			lines: append(examples(asksForAll), status, existsBob, verifyBob),
		},
	}
}

// scenesOfRefusedLines returns scenes with lines that the bot refuses without asking a service.
func scenesOfRefusedLines() []scene {
	return []scene{
		{name: "limited", wait: fixedWait(7 * time.Second), lines: []string{price, logins}},
		{name: "unknown", lines: []string{"/moon", "/prise", "/hlep"}},
		{name: badlyTyped, lines: badlyTypedLines},
	}
}

// badlyTyped is the name of a scene. The test fails if one of its lines asks a service.
const badlyTyped = "badly typed"

// badlyTypedLines are the lines of the scene badlyTyped.
var badlyTypedLines = []string{
	"/staked",
	"/staked a b",
	"/staked vitalik.eth",
	"/staked 0x1234",
	"/staked 0x" + strings.Repeat("5", 64),
	"/staked 0x52908400098527886E0F7030069857D2E4169Ee7",
	"/staked 0x52908400098527886E0F7030069857D2E4169EG7",
	"/staked " + strings.Repeat("9", 4000),
	"/staked \u202e0x52908400098527886e0f7030069857d2e4169ee7",
	"/staked " + Wallet + "?a=" + AnnsWallet,
	"/staked So11111111111111111111111111111111111111112",
	"/verify my wallet",
	"/price 7d 30d",
	"/price 90d",
	"/price btc",
	"/price 1e999999999",
	"/price please",
	"/price 0",
	"/price " + strings.Repeat("9", 31),
	"/exists @somebody",
	"/exists ann",
	"/exists moon 1",
	"/exists Telegram ann",
	"/exists BTC 0x1",
	"/exists EVM 0x1",
	"/exists TRON 1",
	"/exists TON 1",
	"/exists SOL 1",
	"/exists Email \u00e4",
	"/exists a b c",
	"/verify",
	"/verify ann.eth",
	"/verify 12345 0x1",
	"/verify @somebody " + Wallet,
	"/verify a b c",
	"/staked " + Wallet + " " + BobsWallet,
	"/staked " + Wallet[:39] + "Ee7 " + Wallet,
	"/staked TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
	"/mylogins 1 2",
	"/help me",
}

// scenesOfReasons returns a scene for each reason why services fail. All services fail for that reason.
func scenesOfReasons() []scene {
	var all []scene
	for _, reason := range Reasons {
		var lines []string
		for _, s := range Services {
			lines = append(lines, Asking(s.Name))
		}
		if reason == core.Unreachable {
			lines = examples(asksForAll)
		}
		all = append(all, scene{
			name:   "failing " + string(reason),
			change: func(w *Answers) { w.Failing = reason },
			lines:  append(lines, status),
		})
	}
	return all
}
