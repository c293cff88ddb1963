package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/redact"
	"herald/internal/staking"
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
		{what: "staking pools", where: host(cfg.Chain.RPCURL), settings: "STAKING_POOLS and EVM_RPC_URL",
			ask: func(ctx context.Context) (string, error) { return checkPools(ctx, cfg, from.staking) }},
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

// anyWallet is whose stake is asked for; the answer does not matter. It is not
// the zero address, which some contracts refuse.
var anyWallet = common.Address{common.AddressLength - 1: 1}

// checkPools also tells which pools are no contracts, or not of the kind that
// the methods are of.
func checkPools(ctx context.Context, cfg *config.Config, chain *staking.Client) (string, error) {
	report, err := chain.Check(ctx)
	if err != nil {
		return "", err
	}
	if len(report.Codeless) > 0 {
		return "", fmt.Errorf("no contract at %s", addresses(report.Codeless))
	}
	stake, err := chain.Stake(ctx, anyWallet)
	switch {
	case err != nil:
		return "", err
	case len(stake.Failed) > 0:
		return "", fmt.Errorf("STAKING_METHOD is not answered by %s", addresses(stake.Failed))
	case len(stake.UnbondingFailed) > 0:
		return "", fmt.Errorf("STAKING_PENDING_METHOD is not answered by %s", addresses(stake.UnbondingFailed))
	}
	detail := fmt.Sprintf("%d pools", len(cfg.Chain.Pools))
	if report.NoMulticall {
		detail += "; no contract at MULTICALL_ADDRESS, they are read by batch"
	}
	return detail, nil
}

func addresses(pools []core.Pool) string {
	var list []string
	for _, p := range pools {
		list = append(list, p.Address.Hex())
	}
	return strings.Join(list, ", ")
}

// skewDetail tells of a clock that is off by more than its measure is.
func skewDetail(skew time.Duration, known bool) string {
	skew = skew.Round(time.Second)
	switch {
	case !known || skew.Abs() <= 2*time.Second:
		return ""
	case skew > 0:
		return fmt.Sprintf("this machine's clock is %s behind the service's, which is allowed for", skew)
	}
	return fmt.Sprintf("this machine's clock is %s ahead of the service's, which is allowed for", -skew)
}

// host is all of a URL that may be shown.
func host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
