package commands_test

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/service/market"
)

// Each row changes the answer of the price after the rows before it. A reply may be rendered once
// for all only while it is that of the answer before, and tells no age.
func TestOnlyTheCurrentPriceIsRenderedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := commandstest.Healthy()
		w.Price.At = time.Now()
		w.Price.Value.CurrentUntil = w.Price.At.Add(time.Hour)
		price := func() chat.Run { return commands.All(w.Sources(), w.Options)[0].Forms[0].Run }
		run := price()
		var before *chat.Rendered
		for _, tt := range []struct {
			name      string
			change    func()
			once, new bool
		}{
			{"the first", func() {}, true, true},
			{"the same", func() {}, true, false},
			{"a minute later", func() { time.Sleep(time.Minute) }, true, false},
			{"another price", func() {
				quote := *w.Price.Value // Nobody changes an answer that is shared.
				quote.Price = known("2").Decimal
				w.Price.Value = &quote
			}, true, true},
			{"the same price fetched anew", func() { w.Price.FreshUntil = w.Price.FreshUntil.Add(time.Second) }, true, true},
			{"no newer one is to be had", func() { w.Price.Why = market.Service.Fail(core.Limited, nil) }, false, true},
			{"again", func() { w.Price.Why = nil }, true, false},
			{"stale", func() { w.Price.Stale = true }, false, true},
			{"fresh", func() { w.Price.Stale = false }, true, false},
			{"old by now", func() { time.Sleep(time.Hour) }, false, true},
		} {
			tt.change()
			got, err := run(t.Context(), &chat.Request{})
			fresh, _ := price()(t.Context(), &chat.Request{})
			rendered := got.Rendered
			if err != nil || (rendered != nil) != tt.once || tt.once && (rendered != before) != tt.new {
				t.Errorf("%s: rendered %p after %p, %v", tt.name, rendered, before, err)
			}
			if tt.once {
				before = rendered
			}
			got.Rendered, fresh.Rendered = nil, nil
			if !reflect.DeepEqual(got, fresh) {
				t.Errorf("%s: the reply is\n%+v\nwant\n%+v", tt.name, got, fresh)
			}
		}
	})
}
