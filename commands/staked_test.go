package commands_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/service/market"
	"herald/internal/service/staking"
)

// priceSource answers after a while, unless ctx is done before.
type priceSource struct {
	core.Source[struct{}, core.Quote]
	after time.Duration
	asked int
}

func (s *priceSource) Get(ctx context.Context, key struct{}) (core.Snapshot[core.Quote], error) {
	s.asked++
	select {
	case <-time.After(s.after):
		return s.Source.Get(ctx, key)
	case <-ctx.Done():
		return core.Snapshot[core.Quote]{}, market.Service.Fail(core.SlowAnswer, ctx.Err())
	}
}

// A price of another time tells nothing of today's worth, a service that hangs costs a
// second at most, and nobody pays for a price that is not shown.
func TestAStakesWorthIsToldAtTodaysPriceAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*commandstest.World)
		after  time.Duration
		took   time.Duration
		asked  int
		worth  bool
	}{
		"today's":              {change: func(*commandstest.World) {}, asked: 1, worth: true},
		"slow":                 {change: func(*commandstest.World) {}, after: 900 * time.Millisecond, took: 900 * time.Millisecond, asked: 1, worth: true},
		"hangs":                {change: func(*commandstest.World) {}, after: time.Hour, took: time.Second, asked: 1},
		"stale":                {change: func(w *commandstest.World) { w.Price.Stale = true }, asked: 1},
		"old at the provider":  {change: func(w *commandstest.World) { w.Price.Value.OldFrom = time.Now() }, asked: 1},
		"fails":                {change: func(w *commandstest.World) { w.PriceErr = market.Service.Fail(core.Limited, errInner) }, asked: 1},
		"of part of the pools": {change: func(w *commandstest.World) { w.Stake.Failed = unreadPool() }, asked: 1, worth: true},
		"of no stake":          {change: func(w *commandstest.World) { w.Stake.Staked = nil }, after: time.Hour},
		"of an unknown stake":  {change: func(w *commandstest.World) { w.StakeErr = staking.Service.Fail(core.Limited, errInner) }, after: time.Hour},
	} {
		for _, command := range []string{"staked", "verify"} {
			synctest.Test(t, func(t *testing.T) {
				w := commandstest.Healthy()
				test.change(w)
				from := w.Sources()
				price := &priceSource{Source: from.Price, after: test.after}
				from.Price = price
				c, _ := commands.All(from, w.Look).Find(command)
				began := time.Now()
				reply, _ := c.Forms[len(c.Forms)-1].Run(t.Context(), chat.Request{
					Args: chat.Named(aboutWallet), From: chat.User{Platform: "telegram", ID: commandstest.Ann}})
				if took := time.Since(began); took != test.took || price.asked != test.asked || strings.Contains(texts(reply), "≈\u00a0$15,242") != test.worth {
					t.Errorf("/%s, %s: asked for the price %d times, after %v:\n%s", command, name, price.asked, took, texts(reply))
				}
			})
		}
	}
}
