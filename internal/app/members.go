package app

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/members"
	"herald/internal/ops"
)

// memberParts are the parts of a Bot that its Members use.
type memberParts struct {
	state *state
	// services and badges are nil if the Members only read and write the store, and do not run.
	services *upstreams
	badges   map[chat.Platform]chat.BadgeGiver
	metrics  *ops.Metrics
	log      *slog.Logger
}

// newMembers makes the Members of a bot, which save members' addresses, and give and remove the badges that come with a
// stake. They are Enabled if the state can save addresses.
func newMembers(cfg *Config, with memberParts) *members.Members {
	bots := cfg.botIDs()
	platforms := map[chat.Platform]members.Platform{}
	for _, p := range cfg.platforms() {
		platforms[p.name] = members.Platform{Bot: bots[p.name], Configured: p.badges, Adapter: with.badges[p.name]}
	}
	c := members.Config{
		Settings:  cfg.Members,
		Platforms: platforms,
		Claims:    with.state.claims,
		Limiter:   with.state.limiter,
		Symbol:    cfg.Market.Symbol,
		Chain:     strconv.FormatUint(cfg.Staking.ChainID, 10),
		Pools:     cfg.Staking.Pools,
		Language:  cfg.Language,
		Count:     with.metrics.Events("members"),
		Log:       with.log,
	}
	s := with.services
	canCheckStakes := s != nil && s.stakesOf != nil && s.sources.Accounts != nil
	if canCheckStakes {
		c.Stakes = s.stakesOf
		c.Accounts = s.sources.Accounts
	}
	rows := with.state.rows
	if rows.canSave() {
		c.Bucket = func(name string) members.Store { return rows.bucket(name) }
	}
	if rows.former != nil {
		c.Former = rows.former
		c.FormerIsShared = rows.formerIsShared
	}
	m := members.New(c)
	if m.Enabled() {
		with.metrics.ExportMembers(m.Census)
	}
	return m
}

// ListMembers writes every saved row to w as CSV. A row is a user's saved address, with the badges that were given for
// it. The lines name people. If ListMembers cannot read all rows, it writes the others and returns an error. It works
// beside a running bot.
func ListMembers(ctx context.Context, cfg *Config, log *slog.Logger, w io.Writer) error {
	return openMembers(cfg, log, func(m *members.Members) error {
		rows, unreadable, readErr := m.All(ctx)
		if unreadable > 0 {
			log.Warn("some saved values cannot be read; they stay as they are", "count", unreadable)
		}
		if len(rows)+unreadable == 0 && readErr == nil {
			log.Warn("nothing is saved there: does the running bot have the same settings?")
		}
		var head []string
		for _, column := range MemberColumns {
			head = append(head, column.Name)
		}
		lines := [][]string{head}
		for _, r := range rows {
			var line []string
			for _, column := range MemberColumns {
				line = append(line, column.value(r))
			}
			lines = append(lines, line)
		}
		return errors.Join(csv.NewWriter(w).WriteAll(lines), readErr)
	})
}

// MemberColumn is a column that ListMembers writes.
type MemberColumn struct {
	Name string
	// Holds describes the column in the help of bot members.
	Holds string
	// value returns what a row has in the column.
	value func(members.Row) string
}

// MemberColumns are the columns that ListMembers writes.
var MemberColumns = []MemberColumn{
	{
		Name:  "platform",
		Holds: strings.Join(platformNames(), " or "),
		value: func(r members.Row) string { return string(r.User.Platform) },
	},
	{
		Name:  "user",
		Holds: "the member's ID there",
		value: func(r members.Row) string { return r.User.ID },
	},
	{
		Name:  "wallet",
		Holds: "the saved address",
		value: csvWallet,
	},
	{
		Name:  "saved",
		Holds: "when the address was saved",
		value: func(r members.Row) string { return csvTime(r.SavedAt.Time) },
	},
	{
		Name:  "proven",
		Holds: "when it was last found to be the member's",
		value: func(r members.Row) string { return csvTime(r.ProvenAt.Time) },
	},
	{
		Name:  "checked",
		Holds: "when its stake was last known",
		value: func(r members.Row) string { return csvTime(r.CheckedAt.Time) },
	},
	{
		Name:  "first_below",
		Holds: "when a check first found too little stake for what is given",
		value: func(r members.Row) string { return csvTime(r.FirstLow()) },
	},
	{
		Name:  "lost",
		Holds: "when a second check confirmed that, so that something went",
		value: func(r members.Row) string { return csvTime(r.LastLost()) },
	},
	{
		Name:  "given",
		Holds: "each server or group, role or tag, and since when",
		value: csvBadges,
	},
	{
		Name:  "waits_for_removal",
		Holds: "true: the address is deleted, what is given is still to go",
		value: func(r members.Row) string { return strconv.FormatBool(r.Forgotten()) },
	},
}

// csvWallet returns the wallet of a row, or "" if the address is deleted.
func csvWallet(r members.Row) string {
	if r.Forgotten() {
		return ""
	}
	return r.Wallet.Hex()
}

// csvBadges returns the badges of a row, separated by semicolons. Each is the ID of a community, the
// badge's ID there, and when the badge was given, such as "9001 7001 2026-11-23T12:00:00Z". The time is missing if it
// is not certain that the badge was given.
func csvBadges(r members.Row) string {
	var all []string
	for _, held := range r.Badges {
		all = append(all, strings.TrimSpace(held.Community+" "+held.Badge+" "+csvTime(held.Since.Time)))
	}
	return strings.Join(all, "; ")
}

// csvTime returns a time in UTC, such as "2026-11-23T12:00:00Z", or "" for the zero time.
func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// ReleaseBadges tells the running bot to remove the badges that a fuse holds. A fuse holds back removals if too many
// people would lose badges at once. ReleaseBadges writes to w who has these badges, as CSV, or that nobody is held.
func ReleaseBadges(ctx context.Context, cfg *Config, log *slog.Logger, w io.Writer) error {
	return openMembers(cfg, log, func(m *members.Members) error {
		released, err := m.Release(ctx)
		if err != nil {
			return err
		}
		if len(released) == 0 {
			_, err = fmt.Fprintln(w, "Nobody is held: no fuse has blown.")
			return err
		}
		lines := [][]string{{"platform", "user", "community", "badge"}}
		for _, held := range released {
			lines = append(lines, []string{string(held.User.Platform), held.User.ID, held.Community, held.Badge})
		}
		if err := csv.NewWriter(w).WriteAll(lines); err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "Released: %d. The running bot notes that within five minutes; "+
			"whoever of them is still below at the next check loses the badge.\n", len(released))
		return err
	})
}

// openMembers opens the store, calls use with Members that only read and write the store, and closes the store. It
// works beside a running bot. It fails with errNothingSaved, errNoBot or errNoPartner if the settings do not say where
// the running bot saves addresses.
func openMembers(cfg *Config, log *slog.Logger, use func(*members.Members) error) error {
	metrics := ops.NewMetrics()
	state, err := openState(cfg, metrics, log)
	if err != nil {
		return err
	}
	defer state.close()
	switch {
	case len(state.stores) == 0:
		return errNothingSaved
	case len(cfg.botIDs()) == 0:
		return errNoBot
	case !state.rows.canSave():
		return errNoPartner
	}
	return use(newMembers(cfg, memberParts{state: state, metrics: metrics, log: log}))
}

// errNothingSaved means that there is no store.
var errNothingSaved = errors.New("no addresses can be saved: set DATA_DIR or REDIS_URL to what the running bot has")

// errNoBot means that the token of no platform is set.
var errNoBot = errors.New("saved addresses belong to a bot: set " +
	strings.Join(ofEachPlatform(func(p servable) string { return p.tokenSetting }), " and ") +
	" to what the running bot has")

// errNoPartner means that the store is Redis and the partner API is off.
var errNoPartner = errors.New("in Redis, saved addresses are found by the partner's key: " +
	"set PARTNER_BASE_URL, PARTNER_APP_ID and PARTNER_SECRET_KEY to what the running bot has, or had")
