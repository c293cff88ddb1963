package membership

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"herald/internal/app"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
)

// options are what a tape begins with.
type options struct {
	redis    bool          // the bot saves in Redis, not in files
	people   int           // how many there are; at least 2
	every    time.Duration // RECHECK_EVERY; at least 10 minutes
	oneBadge bool          // each community has one badge, for any stake; otherwise two communities have two
}

// settings are what an operator has configured.
type settings struct {
	badges map[string][]badge // by community
	pools  int                // how many pools are read
	every  time.Duration      // RECHECK_EVERY
}

// badge is a role or a tag that a community gives for a stake.
type badge struct {
	id             string    // the role's ID, or the tag's text
	amount         int64     // the minimum stake, in thousandths of a token
	previousAmount int64     // the amount before changedAt
	changedAt      time.Time // when amount was last changed; zero if it never was
}

// Amounts of badges and stakes, in thousandths of a token.
const (
	anyStake = 1         // the smallest stake that a badge can demand
	thousand = 1_000_000 // a thousand tokens
	plenty   = 5_000_000
)

// clone returns a copy to change.
func (s settings) clone() settings {
	s.badges = maps.Clone(s.badges)
	for c := range s.badges {
		s.badges[c] = slices.Clone(s.badges[c])
	}
	return s
}

// find returns a badge of a community, or nil.
func (s settings) find(community, id string) *badge {
	i := slices.IndexFunc(s.badges[community], func(b badge) bool { return b.id == id })
	if i < 0 {
		return nil
	}
	return &s.badges[community][i]
}

// reached returns the badges that a community gives for a stake: each role that the stake reaches, or only
// the tag with the highest amount, because a member of a group has one tag.
func (s settings) reached(community string, amount int64) (ids []string) {
	highest := badge{}
	for _, b := range s.badges[community] {
		if amount < b.amount {
			continue
		}
		ids = append(ids, b.id)
		if b.amount > highest.amount {
			highest = b
		}
	}
	if isGroup(community) && highest.id != "" {
		return []string{highest.id}
	}
	slices.Sort(ids)
	return ids
}

// firstSettings returns the settings with which a tape begins.
func (w *world) firstSettings(o options) settings {
	s := settings{
		badges: map[string][]badge{},
		pools:  3,
		every:  max(o.every, 10*time.Minute),
	}
	for _, c := range communities {
		ids := roles
		if isGroup(c) {
			ids = tags
		}
		s.badges[c] = []badge{{id: ids[0], amount: anyStake}}
		if !o.oneBadge && (c == serverA || c == groupA) {
			s.badges[c] = append(s.badges[c], badge{id: ids[1], amount: thousand})
		}
	}
	return s
}

// roleEntries returns the value of STAKER_ROLES.
func (s settings) roleEntries() string {
	return s.entries("discord", func(community string) bool { return !isGroup(community) })
}

// tagEntries returns the value of STAKER_TAGS.
func (s settings) tagEntries() string { return s.entries("telegram", isGroup) }

// entries returns the badges of the platform's communities, for which isOnPlatform returns true, in the form
// of a setting.
func (s settings) entries(platform string, isOnPlatform func(community string) bool) string {
	var list []string
	for _, c := range slices.Sorted(maps.Keys(s.badges)) {
		if !isOnPlatform(c) {
			continue
		}
		for _, b := range s.badges[c] {
			entry := fmt.Sprintf("%s:%s:%s", platform, c, b.id)
			if b.amount > anyStake {
				entry += ":" + strconv.FormatFloat(float64(b.amount)/1000, 'f', -1, 64)
			}
			list = append(list, entry)
		}
	}
	return strings.Join(list, ",")
}

// environ returns the environment of a process.
func (w *world) environ(p *process) []string {
	at := func(service string) string { return fmt.Sprintf("http://%s.%s.%s", service, p.label, w.name) }
	var pools []string
	for _, pool := range w.fakes.World.Pools[:w.settings.pools] {
		pools = append(pools, pool.Address.Hex())
	}
	env := slices.Concat(app.DemoSettings(w.fakes), app.TTLs(time.Second), []string{
		"PARTNER_BASE_URL=" + at("partner"),
		"EVM_RPC_URL=" + at("chain"),
		"PRICE_API_URL=" + at("price"),
		"SUPPLY_URL=" + at("supply"),

		"STAKING_POOLS=" + strings.Join(pools, ","),
		"STAKING_PENDING_METHOD=",
		"STAKING_CLAIM_BLOCKS=",
		"STAKING_TOTAL_METHOD=",

		"DISCORD_BOT_TOKEN=" + w.discord.Token,
		"DISCORD_API_URL=" + at("discord"),
		fmt.Sprintf("DISCORD_PUBLIC_KEY=%x", w.discord.PublicKey),

		"TELEGRAM_BOT_TOKEN=" + faketelegram.Token,
		"TELEGRAM_API_URL=" + at("telegram"),
		"TELEGRAM_PACING=off",
		"TELEGRAM_WEBHOOK_URL=https://bot.example" + e2etest.WebhookPath,
		"TELEGRAM_WEBHOOK_SECRET=" + e2etest.WebhookSecret,

		"HTTP_ADDR=127.0.0.1:0",
		"RECHECK_EVERY=" + w.settings.every.String(),
		"LOG_LEVEL=debug",
	})
	if roles := w.settings.roleEntries(); roles != "" {
		env = append(env, "STAKER_ROLES="+roles)
	}
	if tags := w.settings.tagEntries(); tags != "" {
		env = append(env, "STAKER_TAGS="+tags)
	}
	if p.gate != nil {
		return append(env, "REDIS_URL=redis://"+p.gate.Addr().String()+"?read_timeout=1s&pool_size=2")
	}
	return append(env, "DATA_DIR="+p.dataDir())
}
