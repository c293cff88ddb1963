package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/redact"
)

// errCheckFailed is said by the table already.
var errCheckFailed = errors.New("not every service is as it should be")

// question is one harmless thing to ask of a service.
type question struct {
	what, where string
	// ask answers what is worth knowing although all is well.
	ask func(context.Context) (detail string, err error)

	detail string
	err    error
	took   time.Duration
}

// check asks every configured service one question, all at once, and prints a
// table.
func check(ctx context.Context, envFile string, p process) error {
	cfg, err := config.Load(p.environ, envFile)
	if err != nil {
		return err
	}
	questions, err := questionsFor(cfg)
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

	hidden := redact.New(cfg.Secrets())
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT\tWHERE\tRESULT\tTOOK")
	var failed error
	for _, q := range questions {
		result := "ok"
		if q.detail != "" {
			result += ": " + q.detail
		}
		if q.err != nil {
			failed = errCheckFailed
			result = "WRONG: " + wrong(q.err)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", q.what, q.where, hidden.String(result), q.took.Round(time.Millisecond))
	}
	return errors.Join(table.Flush(), failed)
}

// questionsFor lists what there is to ask. Nothing is asked yet.
func questionsFor(cfg *config.Config) ([]*question, error) {
	bot, err := assemble(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	from := bot.sources
	questions := []*question{
		{what: "partner API", where: host(cfg.Partner.URL), ask: func(ctx context.Context) (string, error) {
			_, err := from.partner.Account(ctx, core.Identity{Platform: "Telegram", UID: "1"})
			return skewDetail(from.partner.Skew()), err
		}},
		{what: "price provider", where: host(cfg.Price.URL), ask: func(ctx context.Context) (string, error) {
			_, err := from.market.Quote(ctx)
			return "", err
		}},
		{what: "supply host", where: host(cfg.SupplyURL), ask: func(ctx context.Context) (string, error) {
			_, err := from.supply.Supply(ctx)
			return "", err
		}},
		{what: "staking pools", where: host(cfg.Chain.RPCURL), ask: func(ctx context.Context) (string, error) {
			return checkPools(ctx, cfg, from)
		}},
	}
	if cfg.Telegram.Token.IsSet() {
		a, err := newTelegram(cfg, bot)
		if err != nil {
			return nil, err
		}
		questions = append(questions, &question{what: "Telegram", where: host(cfg.Telegram.APIURL), ask: a.Check})
	}
	if cfg.Discord.Token.IsSet() {
		a, err := newDiscord(cfg, bot)
		if err != nil {
			return nil, err
		}
		questions = append(questions, &question{what: "Discord", where: host(cfg.Discord.APIURL), ask: a.Check})
	}
	if bot.ping != nil {
		questions = append(questions, &question{what: "Redis", where: host(cfg.RedisURL.Reveal()), ask: bot.ping})
	}
	return questions, nil
}

// checkPools also tells which pools are no contracts.
func checkPools(ctx context.Context, cfg *config.Config, from sources) (string, error) {
	report, err := from.staking.Check(ctx)
	if err != nil {
		return "", err
	}
	if len(report.Codeless) > 0 {
		var addresses []string
		for _, p := range report.Codeless {
			addresses = append(addresses, p.Address.Hex())
		}
		return "", fmt.Errorf("STAKING_POOLS: no contract at %s", strings.Join(addresses, ", "))
	}
	detail := fmt.Sprintf("%d pools", len(cfg.Chain.Pools))
	if report.NoMulticall {
		detail += "; no contract at MULTICALL_ADDRESS, they are read by batch"
	}
	return detail, nil
}

func skewDetail(skew time.Duration, known bool) string {
	if !known {
		return ""
	}
	return fmt.Sprintf("its clock is %+d s from ours", int(skew.Round(time.Second).Seconds()))
}

// settingOf is what an operator looks at when a service says no.
var settingOf = map[core.Service]string{
	core.Partner:     "PARTNER_APP_ID and PARTNER_SECRET_KEY",
	core.Price:       "PRICE_API_KEY",
	core.TokenSupply: "SUPPLY_URL",
	core.Chain:       "EVM_RPC_URL",
}

// wrong words an error for an operator, with the setting to look at.
func wrong(err error) string {
	var failed *core.Error
	if !errors.As(err, &failed) {
		return err.Error()
	}
	if failed.Reason == core.Denied {
		return fmt.Sprintf("%v; look at %s", failed, settingOf[failed.Service])
	}
	return failed.Error()
}

// host is all of a URL that may be shown.
func host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
