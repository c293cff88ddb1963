package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"text/tabwriter"
	"time"

	"herald/internal/config"
	"herald/internal/market"
	"herald/internal/partner"
	"herald/internal/redact"
	"herald/internal/staking"
	"herald/internal/supply"
)

// ErrCheckFailed is said by the table already.
var ErrCheckFailed = errors.New("not every service is as it should be")

// question is one harmless thing to ask of a service.
type question struct {
	what, where string
	// settings are those to look at when nothing more exact is known.
	settings string
	// ask answers what is worth knowing, also when it fails.
	ask func(context.Context) (detail string, err error)

	detail string
	err    error
	took   time.Duration
}

// Check asks every configured service one question, all at once, and prints a
// table to w. It fails with ErrCheckFailed if a service is not as it should be.
func (bot *Bot) Check(ctx context.Context, w io.Writer) error {
	cfg := bot.cfg
	questions, err := questionsFor(cfg, bot)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Limits.CommandTimeout)
	defer cancel()
	var asking sync.WaitGroup
	for _, q := range questions {
		asking.Go(func() {
			start := time.Now()
			q.detail, q.err = q.ask(ctx)
			q.took = time.Since(start)
		})
	}
	asking.Wait()
	return printTable(w, questions, redact.New(cfg.Secrets()))
}

// printTable fails with ErrCheckFailed if a question did.
func printTable(w io.Writer, questions []*question, hidden *redact.Redactor) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT\tWHERE\tRESULT\tTOOK\tDETAIL")
	var failed error
	for _, q := range questions {
		result, detail := "ok", q.detail
		if q.err != nil {
			failed = ErrCheckFailed
			result, detail = "WRONG", q.wrong()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n",
			q.what, q.where, result, q.took.Round(time.Millisecond), hidden.String(detail))
	}
	return errors.Join(table.Flush(), failed)
}

// questionsFor lists what there is to ask. Nothing is asked yet.
func questionsFor(cfg *config.Config, bot *Bot) ([]*question, error) {
	from := bot.sources
	questions := []*question{
		{what: partner.Service.Title, where: host(cfg.Partner.URL), ask: from.partner.Probe},
		{what: market.Service.Title, where: host(cfg.Price.URL), ask: from.market.Probe},
		{what: supply.Service.Title, where: host(cfg.SupplyURL), ask: from.supply.Probe},
		{what: staking.Service.Title, where: host(cfg.Chain.RPCURL), settings: staking.Service.SettingsFor(""), ask: from.staking.Probe},
	}
	if cfg.Telegram.Token.IsSet() {
		a, err := newTelegram(cfg, bot)
		if err != nil {
			return nil, err
		}
		questions = append(questions, &question{what: "Telegram", where: host(cfg.Telegram.APIURL),
			settings: "TELEGRAM_BOT_TOKEN and TELEGRAM_API_URL", ask: a.Check})
	}
	if cfg.Discord.Token.IsSet() {
		a, err := newDiscord(cfg, bot)
		if err != nil {
			return nil, err
		}
		questions = append(questions, &question{what: "Discord", where: host(cfg.Discord.APIURL),
			settings: "DISCORD_BOT_TOKEN and DISCORD_API_URL", ask: a.Check})
	}
	if bot.ping != nil {
		questions = append(questions, &question{what: "Redis", where: host(cfg.RedisURL.Reveal()),
			settings: "REDIS_URL", ask: bot.ping})
	}
	return questions, nil
}

// host is all of a URL that may be shown.
func host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
