package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
	"herald/internal/secret"
)

// ErrCheckFailed means that a check in the table failed.
var ErrCheckFailed = errors.New("a check failed")

// probe is one harmless question to something that the bot depends on.
type probe struct {
	title string
	url   string // only its host is shown; empty: nobody is asked
	// settings are the ones to look at if an error names neither a service nor
	// settings.
	settings string
	// ask returns what is worth knowing, a short sentence each, also when it fails.
	ask func(context.Context) (details []string, err error)
}

// problems are the reasons in an operator's words.
var problems = map[core.Reason]string{
	core.Unreachable: "cannot be reached or is down",
	core.SlowAnswer:  "does not answer within UPSTREAM_TIMEOUT",
	core.Limited:     "is rate-limiting us",
	core.UsedUp:      "answers no more: the plan's limit is used up",
	core.Denied:      "refuses the credentials",
	core.Rejected:    "refuses the question",
	core.Malformed:   "answers something other than what was asked",
	core.Behind:      "is behind or frozen",
}

// noPlatform is the probe if no platform is on.
var noPlatform = probe{title: "platform", ask: func(context.Context) ([]string, error) {
	return nil, &config.WrongError{Problem: "no platform is on: set " +
		telegram.TokenSetting + " (from @BotFather, https://t.me/BotFather) or " +
		discord.TokenSetting + " (from https://discord.com/developers/applications)"}
}}

// Check asks everything that is configured one question, all at once, and writes
// a table to w. It fails with ErrCheckFailed if a check failed or no platform is
// on.
func (b *Bot) Check(ctx context.Context, w io.Writer) error {
	probes, err := b.probes()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Limits.CommandTimeout)
	defer cancel()
	rows := make([]checkRow, len(probes))
	var asking sync.WaitGroup
	for i, p := range probes {
		asking.Go(func() {
			start := time.Now()
			details, err := p.ask(ctx)
			rows[i] = checkRow{what: p.title, where: config.Host(p.url), took: time.Since(start), lines: details, failed: err != nil}
			if err != nil {
				rows[i].lines = append(details, p.advice(err)...)
			}
		})
	}
	asking.Wait()
	table := secret.NewRedactor(b.cfg.Secrets()).String(checkTable(rows))
	if _, err := io.WriteString(w, table); err != nil {
		return err
	}
	if slices.ContainsFunc(rows, func(r checkRow) bool { return r.failed }) {
		return ErrCheckFailed
	}
	return nil
}

// probes ask the services, the platforms and Redis.
func (b *Bot) probes() (all []probe, err error) {
	platforms, err := b.platforms()
	if err != nil {
		return nil, err
	}
	for _, s := range b.services {
		all = append(all, probe{title: s.Title, url: s.url, settings: s.SettingsFor(""), ask: s.probe})
	}
	for _, p := range platforms {
		all = append(all, probe{title: p.title, url: p.apiURL, settings: p.settings, ask: p.adapter.Check})
	}
	if len(platforms) == 0 {
		all = append(all, noPlatform)
	}
	if b.redis != nil {
		url := b.cfg.Store.RedisURL.Reveal()
		all = append(all, probe{title: "Redis", url: url, settings: "REDIS_URL",
			ask: func(ctx context.Context) ([]string, error) { return nil, b.redis.Probe(ctx) }})
	}
	return all, nil
}

// advice says how the probe failed, and which settings to look at.
func (p probe) advice(err error) []string {
	text, settings := err.Error(), p.settings
	if failed, ok := errors.AsType[*core.Error](err); ok {
		text = fmt.Sprintf("%s: %v", problems[failed.Reason], failed.Err)
		settings = failed.Service.SettingsFor(failed.Reason)
	}
	if wrong, ok := errors.AsType[*config.WrongError](err); ok {
		text, settings = cmp.Or(wrong.Problem, text), wrong.Settings
	}
	if settings == "" {
		return []string{text}
	}
	return []string{text, "look at " + settings}
}

// checkRow is the result of one probe.
type checkRow struct {
	what, where string
	took        time.Duration
	failed      bool
	lines       []string // what was found out, what is wrong, and what to look at
}

// checkTable is the rows as a table, and a line that sums it up.
func checkTable(rows []checkRow) string {
	var table strings.Builder
	columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "WHAT\tWHERE\tRESULT\tTOOK\tANSWER")
	failed := 0
	for _, r := range rows {
		result, took := "ok", "-"
		if r.failed {
			result = "FAIL"
			failed++
		}
		if r.where != "" {
			took = fmt.Sprintf("%d ms", r.took.Milliseconds())
		}
		var lines []string
		for _, line := range r.lines {
			lines = append(lines, chat.OneLine(line))
		}
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\n", r.what, cmp.Or(r.where, "-"), result, took, strings.Join(lines, "\n\t\t\t\t"))
	}
	_ = columns.Flush() // a Builder takes everything
	if failed == 0 {
		return table.String() + "\nEverything answers. Start it with `bot run`.\n"
	}
	return table.String() + fmt.Sprintf("\n%d of %d checks failed.\n", failed, len(rows))
}
