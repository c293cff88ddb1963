package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"herald/internal/core"
	"herald/internal/redact"
)

// ErrCheckFailed means that the table names a service that is not as it should
// be.
var ErrCheckFailed = errors.New("not every service is as it should be")

// probe is one harmless question to something that the bot depends on.
type probe struct {
	title string
	// url is where; only its host is shown.
	url string
	// settings are those to look at when ask fails with an error that does not
	// name a service.
	settings string
	// ask returns what is worth knowing, also when it fails.
	ask func(context.Context) (detail string, err error)
}

func serviceProbe(s *core.Service, url string, ask func(context.Context) (string, error)) probe {
	return probe{title: s.Title, url: url, settings: s.SettingsFor(""), ask: ask}
}

// problems are the reasons in an operator's words.
var problems = map[core.Reason]string{
	core.Unreachable: "cannot be reached or is down",
	core.SlowAnswer:  "does not answer in time",
	core.Limited:     "wants to be asked less",
	core.Denied:      "refuses the credentials",
	core.Rejected:    "refuses the question",
	core.Malformed:   "answers something else than what was asked",
	core.Behind:      "is behind or frozen",
}

// Check asks everything that is configured one question, all at once, and
// writes a table to w. It fails with ErrCheckFailed if an answer is wrong.
func (b *Bot) Check(ctx context.Context, w io.Writer) error {
	probes, err := b.allProbes()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Limits.CommandTimeout)
	defer cancel()
	hidden := redact.New(b.cfg.Secrets())
	rows, failed := make([]string, len(probes)), make([]bool, len(probes))
	var asking sync.WaitGroup
	for i, p := range probes {
		asking.Go(func() {
			start := time.Now()
			detail, err := p.ask(ctx)
			took := time.Since(start).Round(time.Millisecond)
			result := "ok"
			if failed[i] = err != nil; failed[i] {
				result, detail = "WRONG", p.advice(detail, err)
			}
			rows[i] = fmt.Sprintf("%s\t%s\t%s\t%s\t%s", p.title, host(p.url), result, took, hidden.String(detail))
		})
	}
	asking.Wait()

	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT\tWHERE\tRESULT\tTOOK\tDETAIL")
	for _, row := range rows {
		fmt.Fprintln(table, row)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if slices.Contains(failed, true) {
		return ErrCheckFailed
	}
	return nil
}

// allProbes adds the platforms and Redis to the services.
func (b *Bot) allProbes() ([]probe, error) {
	platforms, err := b.platforms()
	if err != nil {
		return nil, err
	}
	probes := slices.Clone(b.probes)
	for _, p := range platforms {
		probes = append(probes, probe{p.title, p.apiURL, p.settings, p.adapter.Check})
	}
	if b.redis != nil {
		probes = append(probes, probe{"Redis", b.cfg.State.RedisURL.Reveal(), "REDIS_URL",
			func(ctx context.Context) (string, error) { return "", b.redis.Probe(ctx) }})
	}
	return probes, nil
}

// advice says how the probe failed, and which settings to look at.
func (p probe) advice(detail string, err error) string {
	text, settings := err.Error(), p.settings
	var failed *core.Error
	var wrong *core.SettingError
	switch {
	case errors.As(err, &wrong):
		settings = wrong.Settings
	case errors.As(err, &failed):
		text = fmt.Sprintf("%s: %v", problems[failed.Reason], failed.Err)
		settings = failed.Service.SettingsFor(failed.Reason)
		if failed.Reason == core.SlowAnswer {
			settings += " and UPSTREAM_TIMEOUT"
		}
	}
	text += "; look at " + settings
	if detail != "" {
		text += "; " + detail
	}
	return text
}

// host is all of a URL that may be shown.
func host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
