package app

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"herald/internal/members"
	"herald/internal/ops"
)

// errNothingKept is the error of ListMembers and ReleaseBadges without a store.
var errNothingKept = errors.New("no wallets can be kept: set DATA_DIR or REDIS_URL to what the running bot has")

// openMembers calls use with what keeps the wallets, and nothing that runs.
func openMembers(cfg *Config, log *slog.Logger, use func(*members.Members) error) error {
	b := &Bot{cfg: cfg, log: log, metrics: ops.NewMetrics()}
	if err := b.openState(); err != nil {
		return err
	}
	defer b.closeState()
	if len(b.stores) == 0 {
		return errNothingKept
	}
	return use(members.New(members.Config{Settings: cfg.Members, Store: b.stores[0], Log: log}))
}

// ListMembers writes every kept wallet to w as CSV, beside a running bot. The lines name
// people. It writes what it can read, and fails if that is not all.
func ListMembers(ctx context.Context, cfg *Config, log *slog.Logger, w io.Writer) error {
	return openMembers(cfg, log, func(m *members.Members) error {
		rows, failed := m.All(ctx)
		table := csv.NewWriter(w)
		lines := [][]string{{"platform", "user", "wallet", "kept", "proven", "looked", "first_no", "lapsed"}}
		for _, r := range rows {
			lines = append(lines, []string{
				string(r.User.Platform), r.User.ID, r.Wallet.Hex(), timeIn(r.KeptAt), timeIn(r.ProvenAt), timeIn(r.LookedAt), timeIn(r.FirstNo), timeIn(r.LapsedAt),
			})
		}
		return errors.Join(table.WriteAll(lines), failed)
	})
}

// timeIn returns a time for a CSV file, or "" for the zero time.
func timeIn(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// ReleaseBadges lets the running bot take the badges that it holds back, and writes to w how
// many that are.
func ReleaseBadges(ctx context.Context, cfg *Config, log *slog.Logger, w io.Writer) error {
	return openMembers(cfg, log, func(m *members.Members) error {
		n, err := m.Release(ctx)
		if err == nil {
			_, err = fmt.Fprintf(w, "Released: %d. Whoever of them still stakes nothing at the next look loses the badge.\n", n)
		}
		return err
	})
}
