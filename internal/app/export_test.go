package app

import (
	"context"
	"sync"
)

// Probed is what one probe of Check came to, before anything is redacted.
type Probed struct {
	Title  string
	Err    error
	Detail string
	Advice string // in the table's words; empty without Err
}

// Probe asks what Check asks.
func Probe(ctx context.Context, bot *Bot) ([]Probed, error) {
	probes, err := bot.allProbes()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bot.cfg.Limits.CommandTimeout)
	defer cancel()
	all := make([]Probed, len(probes))
	var asking sync.WaitGroup
	for i, p := range probes {
		asking.Go(func() {
			detail, err := p.ask(ctx)
			all[i] = Probed{Title: p.title, Err: err, Detail: detail}
			if err != nil {
				all[i].Advice = p.advice(detail, err)
			}
		})
	}
	asking.Wait()
	return all, nil
}
