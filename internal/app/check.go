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

// ErrCheckFailed means that a check in the table failed.
var ErrCheckFailed = errors.New("a check failed")

// probe asks something that the bot depends on, and changes nothing there.
type probe struct {
	title string
	url   string // only its host is shown; empty: nobody is asked
	// settings are those to look at if an error names none.
	settings string
	// local says that an answer does not prove that there is a network.
	local bool
	// ask returns the details for the table, also with an error.
	ask func(context.Context) (details []string, err error)
}

// result is what a probe returned, and how long that took.
type result struct {
	probe
	details []string
	err     error
	took    time.Duration
}

// problems say to an operator how a service failed.
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

// Check asks everything that is configured one question, and writes a table of the results
// to w. It blocks until all have answered, at most for COMMAND_TIMEOUT. It fails with
// ErrCheckFailed if a check failed or no platform is on. If wallet is not empty, the table has one
// of its withdrawals, but not the wallet itself.
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
	_ = columns.Flush() // a Builder takes everything
	text := secret.NewRedactor(b.cfg.Secrets()).String(table.String() + "\n" + b.summary(failed, results) + "\n")
	if _, err := io.WriteString(w, text); err != nil || len(failed) == 0 {
		return err
	}
	return ErrCheckFailed
}

// summary returns what an operator is to do next. failed are the titles of the results that failed.
func (b *Bot) summary(failed []string, results []result) string {
	option := ""
	if file := b.cfg.EnvFile; strings.Contains(file, " ") {
		option = ` --env-file "` + file + `"`
	} else if file != "" {
		option = " --env-file " + file
	}
	switch {
	case !networkWorks(results):
		return "Nothing can be reached. Does this machine have a network?"
	case len(failed) > 0:
		return fmt.Sprintf("%d of %d checks failed: %s. Correct what their rows name, then run `bot check%s` again.",
			len(failed), len(results), strings.Join(failed, ", "), option)
	}
	return "Everything answers. If a row advises a change, make it. " +
		"Next: `bot run" + option + "`, then `/status` and `/price` in a chat."
}

// IsWallet reports whether text is a wallet for Check.
func IsWallet(text string) bool {
	_, err := core.ParseWallet(text)
	return err == nil
}

// askAll asks the services, the platforms and Redis at once. It blocks until all have
// answered, at most for COMMAND_TIMEOUT. wallet is as in Check.
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

// networkWorks reports whether a probe may have reached anything beyond this machine.
func networkWorks(results []result) bool {
	return slices.ContainsFunc(results, func(r result) bool { return !r.local && !transport.NeverSent(r.err) })
}

// row returns the result's line of the table, with tabs between the columns.
func (r result) row() string {
	verdict, where, took := "ok", "-", "-"
	if r.url != "" {
		where, took = config.Host(r.url), fmt.Sprintf("%d ms", r.took.Milliseconds())
	}
	lines := slices.Clone(r.details)
	if r.err != nil {
		verdict, lines = "FAIL", append(lines, r.advice(r.err)...)
	}
	for i, line := range lines {
		lines[i] = chat.OneLine(line)
	}
	return strings.Join([]string{r.title, where, verdict, took, strings.Join(lines, "\n\t\t\t\t")}, "\t")
}

// probes returns one probe for each service, each platform and Redis. If there is no platform, it
// returns one that fails instead.
func (b *Bot) probes(wallet string) (all []probe) {
	for _, s := range b.services.list {
		all = append(all, probe{title: s.Title, url: s.url, settings: s.SettingsFor(""),
			ask: func(ctx context.Context) ([]string, error) { return s.ask(ctx, wallet) }})
	}
	for _, c := range b.connections {
		all = append(all, b.probe(c))
	}
	if len(b.connections) == 0 {
		all = append(all, probe{title: "platform", local: true, ask: func(context.Context) ([]string, error) {
			tokens := ofEachPlatform(func(p servable) string { return p.tokenSetting + " (from " + p.tokenSource + ")" })
			return nil, &config.WrongError{Problem: "no platform is on: set " + strings.Join(tokens, " or ")}
		}})
	}
	if idle := b.cfg.idleModerators(); idle != "" {
		ask := func(context.Context) ([]string, error) { return []string{idle}, nil }
		all = append(all, probe{title: "moderators", local: true, ask: ask})
	}
	if b.members.Enabled() && b.state.redis == nil {
		all = append(all, probe{title: "saved addresses", settings: "DATA_DIR", local: true, ask: b.askRows})
	}
	if redis := b.state.redis; redis != nil {
		url := b.cfg.Store.RedisURL.Reveal()
		all = append(all, probe{title: "Redis", url: url, settings: "REDIS_URL", local: true,
			ask: func(ctx context.Context) ([]string, error) {
				if err := redis.Probe(ctx); err != nil {
					return nil, err
				}
				details, err := b.askRows(ctx)
				return append(details, redis.Durability(ctx)...), err
			}})
	}
	return all
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
	text, settings := diagnosis(err, p.settings)
	lines := []string{text}
	if failed, ok := errors.AsType[*core.Error](err); ok && failed.Asked != "" {
		lines = append(lines, "asked: "+failed.Asked)
	}
	if settings == "" { // The text names them.
		return lines
	}
	return append(lines, "look at "+settings)
}

// diagnosis returns what err says to an operator, and the settings to look at: usual, if err is
// not about others, or "" if the text names them.
func diagnosis(err error, usual string) (text, settings string) {
	if wrong, ok := errors.AsType[*config.WrongError](err); ok { // maybe within a core.Error
		return wrong.Problem, wrong.Settings
	}
	if failed, ok := errors.AsType[*core.Error](err); ok {
		return fmt.Sprintf("%s: %v", problems[failed.Reason], failed.Err), failed.Service.SettingsFor(failed.Reason)
	}
	return err.Error(), usual
}

// say returns v in English, as people read it in a chat but with breaking spaces.
func say(v chat.Value) string { return strings.ReplaceAll(words.Say(chat.English, v), "\u00a0", " ") }

// unencrypted is the warning about a PARTNER_BASE_URL for which config.PublicHTTP holds.
const unencrypted = "PARTNER_BASE_URL is not https://, " +
	"so anybody on the way can read the requests and forge the answers"

// aboutPartner says that the partner API accepts the signature (err is nil), that its URL is not
// safe, and how far its clock is off, if by more than 2 seconds.
func aboutPartner(url string, ahead time.Duration, err error) (details []string) {
	if err == nil {
		details = append(details, "the signature is accepted")
	}
	if config.PublicHTTP(url) {
		details = append(details, unencrypted)
	}
	ahead = ahead.Round(time.Second)
	switch {
	case ahead > 2*time.Second: // the resolution of a Date, and the network
		details = append(details, fmt.Sprintf("its clock is %v ahead of this machine's", ahead))
	case ahead < -2*time.Second:
		details = append(details, fmt.Sprintf("its clock is %v behind this machine's", -ahead))
	}
	return details
}

// aboutQuote says which token was found, with its price and the price's age. It fails with err.
func aboutQuote(found market.Listing, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	const maxName = 40 // characters
	symbol := chat.NewUntrusted(found.Symbol, maxName)
	name := chat.NewUntrusted(found.Name, maxName)
	id := chat.NewUntrusted(found.ID, maxName)
	price := say(chat.Price{Decimal: found.Quote.Price})
	text := fmt.Sprintf("%s (%s), id %s, %s", symbol, name, id, price)
	if at := found.Quote.LastUpdated; !at.IsZero() {
		text += ", " + say(chat.Moment{Time: at})
	}
	details := []string{text}
	if found.Quote.Old() {
		details = append(details, "that price is old: is this the right token?")
	}
	if found.IsV1Gone() {
		details = append(details,
			"it has ended version 1 of its quotes (/v1/cryptocurrency/quotes/latest); version 3 is asked")
	}
	return details, nil
}

// aboutRefusal returns the provider's sentence about its refusal, if there is one.
func aboutRefusal(said string) []string {
	shown := chat.NewUntrusted(said, maxSaid)
	if shown == "" {
		return nil
	}
	return []string{"it says: " + string(shown)}
}

// maxSaid limits a service's sentence in the table, in characters.
const maxSaid = 120

// aboutDoubt says that a price which was just fetched is doubtful.
func aboutDoubt(prices *belief.Prices, quote core.Quote) []string {
	_, err := prices.Peek(query.Snapshot[*core.Quote]{Value: &quote, At: time.Now()})
	doubt, is := errors.AsType[*belief.DoubtError](err)
	if !is {
		return nil
	}
	return []string{"that price is doubtful: " + say(commands.WhyDoubtful(doubt))}
}

// aboutCredits says what is left of the price provider's plan, or who counts its credits.
func aboutCredits(left market.Reading, err error, counted bool) string {
	switch {
	case err != nil && !counted:
		return "credits are not counted: PRICE_MONTHLY_CREDITS is 0"
	case err != nil:
		return "it does not say what is left of the plan: credits are counted here, by PRICE_MONTHLY_CREDITS or 10000 a month"
	}
	days := left.MonthEndsIn.Hours() / 24
	return fmt.Sprintf("credits left: %s, a new month in %.1f days", say(chat.Count(left.Left)), days)
}

// aboutSupply says what is known of the two supplies.
func aboutSupply(found core.Supply, symbol string) (details []string) {
	if found.Total.IsPositive() {
		details = append(details, say(chat.Amount{Decimal: found.Total, Symbol: symbol})+" in total")
	}
	if found.Circulating.IsPositive() {
		details = append(details, say(chat.Amount{Decimal: found.Circulating, Symbol: symbol})+" circulating")
	}
	return details
}

// aboutNames says which pools have no name. It says nothing if all have one.
func aboutNames(pools []core.Pool) []string {
	const maxListed = 3
	var unnamed []string
	for _, pool := range pools {
		if pool.Name == "" {
			unnamed = append(unnamed, pool.Address.Hex())
		}
	}
	named := len(pools) - len(unnamed)
	switch more := len(unnamed) - maxListed; {
	case len(unnamed) == 0:
		return nil
	case named == 0:
		return []string{"no pool has a name, so addresses are shown; STAKING_POOLS=@FILE can name them"}
	case more > 0:
		unnamed = append(unnamed[:maxListed], fmt.Sprintf("and %d more", more))
	}
	others := strings.Join(unnamed, ", ")
	return []string{fmt.Sprintf("pools with a name: %d of %d; shown by address: %s", named, len(pools), others)}
}

// aboutPools says what is known of the chain, of its newest block, of the pools, and of the
// wallet's withdrawals.
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

// aboutPending says what the wallet withdraws, with the two blocks that an operator compares to find
// the right STAKING_CLAIM_BLOCKS.
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
