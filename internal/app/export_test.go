package app

import (
	"context"
	"strings"
	"sync"
)

// Update is the flag that has tests write what they compare with.
var Update = update

// Probed is what one probe of Check came to, before anything is redacted.
type Probed struct {
	Title   string
	Err     error
	Learned []string
	Advice  string // in the table's words; empty without Err
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
			learned, err := p.ask(ctx)
			all[i] = Probed{Title: p.title, Err: err, Learned: learned}
			if err != nil {
				all[i].Advice = strings.Join(p.advice(err), "\n")
			}
		})
	}
	asking.Wait()
	return all, nil
}
