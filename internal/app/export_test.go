package app

import (
	"context"
	"sync"
)

// Probed is what one question of Check came to, before anything is struck out.
type Probed struct {
	What   string
	Err    error
	Detail string
	Wrong  string // in the table's words
}

// Probe asks what Check asks.
func Probe(ctx context.Context, bot *Bot) ([]Probed, error) {
	questions, err := questionsFor(bot.cfg, bot)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bot.cfg.Limits.CommandTimeout)
	defer cancel()
	var asking sync.WaitGroup
	for _, q := range questions {
		asking.Go(func() { q.detail, q.err = q.ask(ctx) })
	}
	asking.Wait()
	var all []Probed
	for _, q := range questions {
		p := Probed{What: q.what, Err: q.err, Detail: q.detail}
		if q.err != nil {
			p.Wrong = q.wrong()
		}
		all = append(all, p)
	}
	return all, nil
}
