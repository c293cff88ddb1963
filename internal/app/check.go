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

	"herald/commands"
	"herald/internal/belief"
	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/query"
	"herald/internal/secret"
	"herald/internal/service/market"
	"herald/internal/service/staking"
	"herald/internal/transport"
	"herald/internal/words"
)

// `bot check` prints a table with one row for each probe. A probe asks a service, a platform or a store whether it
// works, and changes nothing there. Its details are the sentences of its row.

// ErrCheckFailed means that a check in the table failed.
var ErrCheckFailed = errors.New("a check failed")

// probe makes one row of the table.
type probe struct {
	title string
	// url is what the probe asks. The table shows its host only. It is "" if the probe asks nothing over a network.
	url string
	// settings names the settings to look at if an error names none.
	settings string
	// isLocal is true if the probe can succeed without a network.
	isLocal bool
	// ask returns the details of the row. If it fails, it may return details too.
	ask func(context.Context) (details []string, err error)
}

// result is what the ask of a probe returned, and how long that took.
type result struct {
	probe
	details []string
	err     error
	took    time.Duration
}

// problems says how a service failed, as the end of a sentence about that service.
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

// Check asks each service, platform and store that is configured, and writes a table of the results to w. It blocks
// until all have answered, for at most COMMAND_TIMEOUT. It fails with ErrCheckFailed if a check failed or no platform
// is on. If wallet is not empty, the table shows one of the wallet's withdrawals, but not the wallet itself.
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

// nextStep tells an operator what to do next. failed holds the titles of the results that failed.
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

// IsWallet reports whether text is a wallet for Check.
func IsWallet(text string) bool {
	_, err := core.ParseWallet(text)
	return err == nil
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

// networkWorks reports whether any request of a probe may have left this machine.
func networkWorks(results []result) bool {
	return slices.ContainsFunc(results, func(r result) bool { return !r.isLocal && !transport.NeverSent(r.err) })
}

// row returns the result's row of the table, with tabs between the columns. Each detail has a line.
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

// probes returns the probes of everything that is configured, in the order of the table. wallet is as in Check.
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

// askNoPlatform is the ask of the probe of a bot on no platform. It fails.
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

// askRows counts the saved addresses of the platforms that are on.
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

// advice returns how the probe failed, what it asked, and the settings to look at, a line each.
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

// diagnose returns the diagnosis of err. Its settings are the usual ones unless err is about others.
func diagnose(err error, usual string) diagnosis {
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
	return diagnosis{problem: err.Error(), settings: usual}
}

// The functions about… return details. Those with an error describe an answer that may have failed.

// say returns v in English, as a chat shows it, but with plain spaces for no-break spaces.
func say(v chat.Value) string { return strings.ReplaceAll(words.Say(chat.English, v), "\u00a0", " ") }

// unencrypted is the warning about a PARTNER_BASE_URL for which config.PublicHTTP holds.
const unencrypted = "PARTNER_BASE_URL is not https://, " +
	"so anybody on the way can read the requests and forge the answers"

// maxClockSkew is the largest difference between two clocks that is not reported. A Date header has a resolution of one
// second, and the network takes time.
const maxClockSkew = 2 * time.Second

// aboutPartner describes the partner API: whether it accepts the signature, which it does if err is nil; whether its
// url is unencrypted; and how far its clock is ahead of this machine's, if that is more than maxClockSkew either way.
func aboutPartner(url string, ahead time.Duration, err error) (details []string) {
	if err == nil {
		details = append(details, "the signature is accepted")
	}
	if config.PublicHTTP(url) {
		details = append(details, unencrypted)
	}
	ahead = ahead.Round(time.Second)
	switch {
	case ahead > maxClockSkew:
		details = append(details, fmt.Sprintf("its clock is %v ahead of this machine's", ahead))
	case ahead < -maxClockSkew:
		details = append(details, fmt.Sprintf("its clock is %v behind this machine's", -ahead))
	}
	return details
}

// aboutQuote describes the token that was found, with its price and the price's age.
func aboutQuote(found market.Listing) (details []string) {
	const maxName = 40 // characters
	symbol := chat.NewUntrusted(found.Symbol, maxName)
	name := chat.NewUntrusted(found.Name, maxName)
	id := chat.NewUntrusted(found.ID, maxName)
	price := say(chat.Price{Decimal: found.Quote.Price})
	text := fmt.Sprintf("%s (%s), id %s, %s", symbol, name, id, price)
	if at := found.Quote.LastUpdated; !at.IsZero() {
		text += ", " + say(chat.Moment{Time: at})
	}
	details = []string{text}
	if found.Quote.Old() {
		details = append(details, "that price is old: is this the right token?")
	}
	if found.IsV1Gone() {
		details = append(details,
			"it has ended version 1 of its quotes (/v1/cryptocurrency/quotes/latest); version 3 is asked")
	}
	return details
}

// aboutRefusal quotes what the price provider said about its refusal, if it said anything.
func aboutRefusal(said string) []string {
	shown := chat.NewUntrusted(said, maxSaid)
	if shown == "" {
		return nil
	}
	return []string{"it says: " + string(shown)}
}

// maxSaid limits a service's sentence in the table, in characters.
const maxSaid = 120

// aboutDoubt explains why a quote that was just fetched is doubtful. It returns nothing if the quote is not.
func aboutDoubt(prices *belief.Prices, quote core.Quote) []string {
	_, err := prices.Peek(query.Snapshot[*core.Quote]{Value: &quote, At: time.Now()})
	doubt, isDoubt := errors.AsType[*belief.DoubtError](err)
	if !isDoubt {
		return nil
	}
	return []string{"that price is doubtful: " + say(commands.WhyDoubtful(doubt))}
}

// aboutCredits says how many credits of the price provider are left. If the provider did not say, err is not nil, and
// aboutCredits says whether the bot has a budget of its own instead.
func aboutCredits(reading market.Reading, err error, hasBudget bool) string {
	switch {
	case err == nil:
		days := reading.MonthEndsIn.Hours() / 24
		return fmt.Sprintf("credits left: %s, a new month in %.1f days", say(chat.Count(reading.Left)), days)
	case hasBudget:
		return "it does not say what is left of the plan: credits are counted here, by PRICE_MONTHLY_CREDITS or 10000 a month"
	default:
		return "credits are not counted: PRICE_MONTHLY_CREDITS is 0"
	}
}

// aboutSupply gives the total and the circulating supply, each if it is known.
func aboutSupply(found core.Supply, symbol string) (details []string) {
	if found.Total.IsPositive() {
		details = append(details, say(chat.Amount{Decimal: found.Total, Symbol: symbol})+" in total")
	}
	if found.Circulating.IsPositive() {
		details = append(details, say(chat.Amount{Decimal: found.Circulating, Symbol: symbol})+" circulating")
	}
	return details
}

// aboutNames says which pools have no name. It lists at most three. It returns nothing if all pools have a name.
func aboutNames(pools []core.Pool) []string {
	const maxListed = 3
	var unnamed []string // addresses
	for _, pool := range pools {
		if pool.Name == "" {
			unnamed = append(unnamed, pool.Address.Hex())
		}
	}
	named := len(pools) - len(unnamed)
	if len(unnamed) == 0 {
		return nil
	}
	if named == 0 {
		return []string{"no pool has a name, so addresses are shown; STAKING_POOLS=@FILE can name them"}
	}
	listed := unnamed
	if len(unnamed) > maxListed {
		listed = append(unnamed[:maxListed], fmt.Sprintf("and %d more", len(unnamed)-maxListed))
	}
	return []string{fmt.Sprintf("pools with a name: %d of %d; shown by address: %s",
		named, len(pools), strings.Join(listed, ", "))}
}

// aboutPools describes the chain, its newest block, the pools, and a withdrawal of the wallet, each as far as it is
// known.
func aboutPools(found staking.Found, symbol string) (details []string) {
	if found.ChainID != nil {
		details = append(details, fmt.Sprintf("chain %d", found.ChainID))
	}
	if found.Block > 0 {
		newest := "newest block " + say(chat.Count(found.Block))
		if !found.BlockTime.IsZero() {
			newest += ", " + say(chat.Moment{Time: found.BlockTime})
		}
		details = append(details, newest)
	}
	if found.Deployed+found.Missing > 0 {
		details = append(details, fmt.Sprintf("pools with code: %d, without: %d", found.Deployed, found.Missing))
	}
	if found.Way != "" {
		details = append(details, found.Way)
	}
	if found.Height > 0 && found.Height != found.Block {
		height := say(chat.Count(found.Height))
		details = append(details, "contracts read the number "+height+" in that block, and withdrawals are counted by it")
	}
	if found.Pending != nil {
		details = append(details, aboutPending(*found.Pending, found.ReadAt, symbol))
	}
	return details
}

// aboutPending describes a withdrawal of the wallet. It gives the withdrawal's block and the newest one, which an
// operator compares to find the right STAKING_CLAIM_BLOCKS. readAt is as in staking.Found.
func aboutPending(w staking.Withdrawal, readAt uint64, symbol string) string {
	if w.Amount.IsZero() {
		return "pending of the wallet: nothing"
	}
	text := fmt.Sprintf("pending of the wallet: %s, block %s",
		say(chat.Amount{Decimal: w.Amount, Symbol: symbol}), words.Number(chat.English, w.Block.String(), "#"))
	if readAt == 0 {
		return text + "; the node does not say how contracts count blocks, so members are not told when"
	}
	return text + "; newest block " + say(chat.Count(readAt))
}
