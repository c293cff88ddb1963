package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/config"
	"herald/internal/core"
	"herald/internal/platform/discord"
	"herald/internal/platform/telegram"
	"herald/internal/secret"
)

// ErrCheckFailed means that the table names something that is not as it should
// be.
var ErrCheckFailed = errors.New("not everything is as it should be")

// probe is one harmless question to something that the bot depends on.
type probe struct {
	title string
	// url is where; only its host is shown. Empty is nowhere.
	url string
	// settings are those to look at when ask fails with an error that does not
	// name a service or settings.
	settings string
	// ask returns what is worth knowing, a short sentence each, also when it
	// fails.
	ask func(context.Context) (learned []string, err error)
}

func serviceProbe(s *core.Service, url string, ask func(context.Context) ([]string, error)) probe {
	return probe{title: s.Title, url: url, settings: s.SettingsFor(""), ask: ask}
}

// problems are the reasons in an operator's words.
var problems = map[core.Reason]string{
	core.Unreachable: "cannot be reached or is down",
	core.SlowAnswer:  "does not answer in time",
	core.Limited:     "wants to be asked less",
	core.UsedUp:      "answers no more: the plan's limit is used up",
	core.Denied:      "refuses the credentials",
	core.Rejected:    "refuses the question",
	core.Malformed:   "answers something other than what was asked",
	core.Behind:      "is behind or frozen",
}

// noPlatform stands for the platforms where none is on.
var noPlatform = probe{title: "platform", ask: func(context.Context) ([]string, error) {
	return nil, &config.WrongError{Problem: "no platform is on: set " +
		telegram.TokenSetting + " (from @BotFather, https://t.me/BotFather) or " +
		discord.TokenSetting + " (from https://discord.com/developers/applications)"}
}}

// Check asks everything that is configured one question, all at once, and
// writes a table to w. It fails with ErrCheckFailed if an answer is wrong or no
// platform is on.
func (b *Bot) Check(ctx context.Context, w io.Writer) error {
	probes, err := b.allProbes()
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
			learned, err := p.ask(ctx)
			rows[i] = checkRow{what: p.title, where: config.Host(p.url), took: time.Since(start), learned: oneLineEach(learned)}
			if err != nil {
				rows[i].wrong = oneLineEach(p.advice(err))
			}
		})
	}
	asking.Wait()
	table := secret.NewRedactor(b.cfg.Secrets()).String(checkTable(rows))
	if _, err := io.WriteString(w, table); err != nil {
		return err
	}
	if slices.ContainsFunc(rows, checkRow.failed) {
		return ErrCheckFailed
	}
	return nil
}

func oneLineEach(sentences []string) []string {
	for i, s := range sentences {
		sentences[i] = chat.OneLine(s)
	}
	return sentences
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
	if len(platforms) == 0 {
		probes = append(probes, noPlatform)
	}
	if b.redis != nil {
		probes = append(probes, probe{"Redis", b.cfg.Store.RedisURL.Reveal(), "REDIS_URL", func(ctx context.Context) ([]string, error) {
			fastest, err := b.redis.Probe(ctx)
			if err != nil {
				return nil, err
			}
			return []string{fmt.Sprintf("fastest call: %.1f ms", float64(fastest.Microseconds())/1000)}, nil
		}})
	}
	return probes, nil
}

// advice says how the probe failed, and which settings to look at.
func (p probe) advice(err error) []string {
	text, settings := err.Error(), p.settings
	var failed *core.Error
	var wrong *config.WrongError
	if errors.As(err, &failed) {
		text = fmt.Sprintf("%s: %v", problems[failed.Reason], failed.Err)
		settings = failed.Service.SettingsFor(failed.Reason)
		if failed.Reason == core.SlowAnswer {
			settings += " and UPSTREAM_TIMEOUT"
		}
	}
	if errors.As(err, &wrong) {
		settings = wrong.Settings
	}
	if settings == "" {
		return []string{text}
	}
	return []string{text, "look at " + settings}
}
