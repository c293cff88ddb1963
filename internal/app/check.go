package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
	"herald/internal/secret"
	"herald/internal/service/market"
	"herald/internal/service/staking"
	"herald/internal/transport"
	"herald/internal/words"
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
	// near is set if its answer says nothing of the network.
	near bool
	// ask returns what is worth knowing, a short sentence each, also when it fails.
	ask func(context.Context) (details []string, err error)
}

// problems are the reasons in an operator's words.
var problems = map[core.Reason]string{
	core.Unreachable: "cannot be reached or is down",
	core.SlowAnswer:  "did not answer within UPSTREAM_TIMEOUT",
	core.Limited:     "is rate-limiting us",
	core.UsedUp:      "has reached the plan's limit",
	core.Denied:      "refuses the credentials",
	core.Rejected:    "rejects the request",
	core.Malformed:   "gives an answer that makes no sense",
	core.Behind:      "is behind or frozen",
}

// Check asks everything that is configured one question, all at once, and writes
// a table to w. It fails with ErrCheckFailed if a check failed or no platform is
// on.
func (b *Bot) Check(ctx context.Context, w io.Writer) error {
	platforms, err := b.platforms()
	if err != nil {
		return err
	}
	probes := b.probes(platforms)
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Limits.CommandTimeout)
	defer cancel()
	rows := make([]string, len(probes))
	var failed atomic.Int32
	var reached atomic.Bool
	var asking sync.WaitGroup
	for i, p := range probes {
		asking.Go(func() {
			start := time.Now()
			lines, err := p.ask(ctx)
			result, where, took := "ok", "-", "-"
			if p.url != "" {
				where, took = config.Host(p.url), fmt.Sprintf("%d ms", time.Since(start).Milliseconds())
			}
			if !p.near && !transport.NeverSent(err) {
				reached.Store(true)
			}
			if err != nil {
				failed.Add(1)
				result, lines = "FAIL", append(lines, p.advice(err)...)
			}
			for i, line := range lines {
				lines[i] = chat.OneLine(line)
			}
			rows[i] = strings.Join([]string{p.title, where, result, took, strings.Join(lines, "\n\t\t\t\t")}, "\t")
		})
	}
	asking.Wait()

	var table strings.Builder
	columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(columns, "WHAT\tWHERE\tRESULT\tTOOK\tANSWER\n%s\n", strings.Join(rows, "\n"))
	_ = columns.Flush() // a Builder takes everything
	if failed.Load() == 0 {
		table.WriteString("\nEverything answers. Start it with `bot run`.\n")
	} else {
		err = ErrCheckFailed
		fmt.Fprintf(&table, "\n%d of %d checks failed.\n", failed.Load(), len(rows))
		if !reached.Load() {
			table.WriteString("Nothing can be reached. Does this machine have a network?\n")
		}
	}
	if _, err := io.WriteString(w, secret.NewRedactor(b.cfg.Secrets()).String(table.String())); err != nil {
		return err
	}
	return err
}

// probes ask the services, the platforms and Redis.
func (b *Bot) probes(platforms []platform) (all []probe) {
	for _, s := range b.services {
		all = append(all, probe{title: s.Title, url: s.url, settings: s.SettingsFor(""), ask: s.probe})
	}
	for _, p := range platforms {
		all = append(all, probe{title: p.title, url: p.apiURL, settings: p.settings, ask: p.adapter.Check})
	}
	if len(platforms) == 0 {
		all = append(all, probe{title: "platform", near: true, ask: func(context.Context) ([]string, error) {
			return nil, &config.WrongError{Problem: "no platform is on: set " +
				telegram.TokenSetting + " (from @BotFather, https://t.me/BotFather) or " +
				discord.TokenSetting + " (from https://discord.com/developers/applications)"}
		}})
	}
	if b.redis != nil {
		url := b.cfg.Store.RedisURL.Reveal()
		all = append(all, probe{title: "Redis", url: url, settings: "REDIS_URL", near: true,
			ask: func(ctx context.Context) ([]string, error) { return nil, b.redis.Probe(ctx) }})
	}
	return all
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

// The functions below say what a probe found out, a short sentence each, for the
// table of Check. What is not known is left out.

// say is a value as members read it in English, with spaces that may break.
func say(v chat.Value) string { return strings.ReplaceAll(words.Say(chat.English, v), "\u00a0", " ") }

// unencrypted is said of a partner API that is called by plain HTTP on the Internet.
const unencrypted = "PARTNER_BASE_URL is not https://, so anybody on the way can read the requests and forge the answers"

// aboutPartner says whether its URL is safe, and how far its clock is ahead of this
// machine's.
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

func aboutQuote(found market.Listing, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	const maxName = 40 // characters
	text := fmt.Sprintf("%s (%s), id %s, %s", chat.NewUntrusted(found.Symbol, maxName),
		chat.NewUntrusted(found.Name, maxName), chat.NewUntrusted(found.ID, maxName), say(chat.Price{Decimal: found.Quote.Price}))
	if at := found.Quote.LastUpdated; !at.IsZero() {
		text += ", " + say(chat.Moment{Time: at})
	}
	if found.Quote.Old() {
		return []string{text, "that price is old: is this the right token?"}, nil
	}
	return []string{text}, nil
}

func aboutSupply(found core.Supply, symbol string) (details []string) {
	if found.Total.IsPositive() {
		details = append(details, say(chat.Amount{Decimal: found.Total, Symbol: symbol})+" in total")
	}
	if found.Circulating.IsPositive() {
		details = append(details, say(chat.Amount{Decimal: found.Circulating, Symbol: symbol})+" circulating")
	}
	return details
}

func aboutPools(found staking.Found, err error) (details []string, _ error) {
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
	return details, err
}
