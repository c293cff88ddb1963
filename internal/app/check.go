package app

import (
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
	"herald/internal/secret"
	"herald/internal/transport"
)

// `bot check` prints a table with one row for each probe. A probe asks a service, a platform or a store whether it
// works, and changes nothing there. It returns details: sentences about the answer, which the row shows.

// ErrCheckFailed means that a row of the table failed.
var ErrCheckFailed = errors.New("a check failed")

// Check asks each service, platform and store that is configured, and writes a table of the results to w. It blocks
// until all have answered, for at most COMMAND_TIMEOUT. It fails with ErrCheckFailed if a row failed. The table has a
// row that fails if no platform is on. If wallet is not empty, the table shows one of the wallet's withdrawals, but not
// the wallet itself.
func (b *Bot) Check(ctx context.Context, w io.Writer, wallet string) error {
	results := b.askAll(ctx, wallet)
	var table strings.Builder
	columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "WHAT\tWHERE\tRESULT\tTOOK\tANSWER")
	var failed []string
	for _, r := range results {
		fmt.Fprintln(columns, r.row())
		if r.err != nil {
			failed = append(failed, r.title)
		}
	}
	_ = columns.Flush() // Writing to a Builder does not fail.
	text := table.String() + "\n" + b.nextStep(results, failed) + "\n"
	if _, err := io.WriteString(w, secret.NewRedactor(b.cfg.Secrets()).String(text)); err != nil {
		return err
	}
	if len(failed) > 0 {
		return ErrCheckFailed
	}
	return nil
}

// probe makes one row of the table.
type probe struct {
	title string
	// url is what the probe asks. The table shows its host only. It is "" if the probe asks nothing over a network.
	url string
	// settings names the settings that an operator should look at if ask fails with an error that names none.
	settings string
	// isLocal is true if the probe can succeed without a network.
	isLocal bool
	// ask returns the details. It may return details even if it fails.
	ask func(context.Context) (details []string, err error)
}

// result is what a probe's ask returned, and how long that took.
type result struct {
	probe
	details []string
	err     error
	took    time.Duration
}

// askAll asks all probes at once, and returns their results in the same order. It blocks until all have answered, for
// at most COMMAND_TIMEOUT.
func (b *Bot) askAll(ctx context.Context, wallet string) []result {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Limits.CommandTimeout)
	defer cancel()
	probes := b.probes(wallet)
	results := make([]result, len(probes))
	var asking sync.WaitGroup
	for i, p := range probes {
		asking.Go(func() {
			start := time.Now()
			details, err := p.ask(ctx)
			results[i] = result{probe: p, details: details, err: err, took: time.Since(start)}
		})
	}
	asking.Wait()
	return results
}

// probes returns the probes of everything that is configured, in the order of the table. If wallet is not empty, the
// probe of the staking service asks for its withdrawals.
func (b *Bot) probes(wallet string) (all []probe) {
	for _, s := range b.services.list {
		all = append(all, probe{
			title:    s.Title,
			url:      s.url,
			settings: s.SettingsFor(""),
			ask:      func(ctx context.Context) ([]string, error) { return s.ask(ctx, wallet) },
		})
	}
	for _, c := range b.connections {
		all = append(all, b.probe(c))
	}
	if len(b.connections) == 0 {
		all = append(all, probe{title: "platform", isLocal: true, ask: askNoPlatform})
	}
	if warning := b.cfg.moderatorsWarning(); warning != "" {
		ask := func(context.Context) ([]string, error) { return []string{warning}, nil }
		all = append(all, probe{title: "moderators", isLocal: true, ask: ask})
	}
	switch {
	case b.state.redis != nil:
		all = append(all, probe{
			title:    "Redis",
			url:      b.cfg.Store.RedisURL.Reveal(),
			settings: "REDIS_URL",
			isLocal:  true,
			ask:      b.askRedis,
		})
	case b.members.Enabled() && b.cfg.Partner.IsOn():
		all = append(all, probe{title: "saved addresses", settings: "DATA_DIR", isLocal: true, ask: b.askRows})
	}
	return all
}

// askNoPlatform is the ask of a probe that fails because no platform is on.
func askNoPlatform(context.Context) ([]string, error) {
	tokens := ofEachPlatform(func(p servable) string { return p.tokenSetting + " (from " + p.tokenSource + ")" })
	return nil, &config.WrongError{Problem: "no platform is on: set " + strings.Join(tokens, " or ")}
}

// askRedis asks whether Redis works, whether it may lose saved addresses, and how many there are.
func (b *Bot) askRedis(ctx context.Context) (details []string, err error) {
	if err := b.state.redis.Probe(ctx); err != nil {
		return nil, err
	}
	details, err = b.askRows(ctx)
	return append(details, b.state.redis.Durability(ctx)...), err
}

// askRows counts the saved addresses of the platforms that are on. Each address is a row in the store.
func (b *Bot) askRows(ctx context.Context) (details []string, err error) {
	rows, unreadable, err := b.members.All(ctx)
	if err != nil {
		return nil, err
	}
	details = []string{fmt.Sprintf("saved addresses: %d", len(rows))}
	if unreadable > 0 {
		details = append(details, fmt.Sprintf("%d cannot be read: each concerns one user, and stays as it is; "+
			"a newer version may have written it, or a disk was full", unreadable))
	}
	return details, nil
}

// row returns the result's row of the table, with tabs between the columns. Each detail has a line of its own in the
// last column, and so has each line of advice if the probe failed.
func (r result) row() string {
	where := "-"
	took := "-"
	if r.url != "" {
		where = config.Host(r.url)
		took = fmt.Sprintf("%d ms", r.took.Milliseconds())
	}
	verdict := "ok"
	lines := slices.Clone(r.details)
	if r.err != nil {
		verdict = "FAIL"
		lines = append(lines, r.advice(r.err)...)
	}
	for i, line := range lines {
		lines[i] = chat.OneLine(line)
	}
	return strings.Join([]string{r.title, where, verdict, took, strings.Join(lines, "\n\t\t\t\t")}, "\t")
}

// advice returns a line about how the probe failed with err, a line about what it asked, and a line about the settings
// to look at. It leaves out the last two if they are unknown.
func (p probe) advice(err error) []string {
	d := diagnose(err, p.settings)
	lines := []string{d.problem}
	if failed, ok := errors.AsType[*core.Error](err); ok && failed.Asked != "" {
		lines = append(lines, "asked: "+failed.Asked)
	}
	if d.settings != "" {
		lines = append(lines, "look at "+d.settings)
	}
	return lines
}

// diagnosis is what an error tells an operator.
type diagnosis struct {
	problem string
	// settings names the settings to look at. It is "" if problem names them.
	settings string
}

// diagnose returns the diagnosis of err. If err does not say which settings to look at, they are usualSettings.
func diagnose(err error, usualSettings string) diagnosis {
	// A core.Error may wrap a WrongError, which says more.
	if wrong, ok := errors.AsType[*config.WrongError](err); ok {
		return diagnosis{problem: wrong.Problem, settings: wrong.Settings}
	}
	if failed, ok := errors.AsType[*core.Error](err); ok {
		return diagnosis{
			problem:  fmt.Sprintf("%s: %v", problems[failed.Reason], failed.Err),
			settings: failed.Service.SettingsFor(failed.Reason),
		}
	}
	return diagnosis{problem: err.Error(), settings: usualSettings}
}

// problems says how a service failed, as the end of a sentence that begins with the service.
var problems = map[core.Reason]string{
	core.Unreachable: "cannot be reached or is down",
	core.SlowAnswer:  "did not answer within UPSTREAM_TIMEOUT",
	core.Limited:     "is rate-limiting us",
	core.UsedUp:      "has reached the plan's limit",
	core.Denied:      "refuses the credentials",
	core.Rejected:    "rejects the request",
	core.NoData:      "has no price of the token",
	core.Malformed:   "gives an answer that cannot be used",
	core.Behind:      "is behind or frozen",
}

// nextStep returns a sentence about what the operator should do next. failed has the titles of the failed results.
func (b *Bot) nextStep(results []result, failed []string) string {
	option := envFileOption(b.cfg.EnvFile)
	switch {
	case !networkWorks(results):
		return "Nothing can be reached. Does this machine have a network?"
	case len(failed) > 0:
		return fmt.Sprintf("%d of %d checks failed: %s. Correct what their rows name, then run `bot check%s` again.",
			len(failed), len(results), strings.Join(failed, ", "), option)
	default:
		return "Everything answers. If a row advises a change, make it. " +
			"Next: `bot run" + option + "`, then `/status` and `/price` in a chat."
	}
}

// networkWorks reports whether at least one request to another machine may have been sent.
func networkWorks(results []result) bool {
	return slices.ContainsFunc(results, func(r result) bool { return !r.isLocal && !transport.NeverSent(r.err) })
}

// envFileOption returns the option that names file on a command line, after a space. It returns "" if file is "".
func envFileOption(file string) string {
	switch {
	case file == "":
		return ""
	case strings.Contains(file, " "):
		return ` --env-file "` + file + `"`
	default:
		return " --env-file " + file
	}
}

// IsWallet reports whether text is a valid wallet for Check.
func IsWallet(text string) bool {
	_, err := core.ParseWallet(text)
	return err == nil
}
