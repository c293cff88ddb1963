package commands_test

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/service/market"
)

// Adapters render a reply once if replies to the same answer share a chat.Rendered. Replies that show an age must not
// share one. Each step changes the answer to the price a little more.
func TestOnlyTheCurrentPriceIsRenderedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			unshared = iota // the reply has no Rendered
			same            // the reply has the Rendered of the previous reply that had one
			another         // the reply has a new Rendered
		)
		w := commandstest.Healthy()
		w.Price.At = time.Now()
		w.Price.Value.CurrentUntil = w.Price.At.Add(time.Hour)
		price := func() chat.Run { return allCommands(w)[0].Forms[0].Run }
		runPrice := price()
		var before *chat.Rendered
		for _, step := range []struct {
			name   string
			change func()
			want   int
		}{
			{"the first", func() {}, another},
			{"the same", func() {}, same},
			{"a minute later", func() { time.Sleep(time.Minute) }, same},
			{"another price", func() { w.Price.Value = withPrice(w.Price.Value, "2") }, another},
			{
				name:   "the same price fetched again",
				change: func() { w.Price.FreshUntil = w.Price.FreshUntil.Add(time.Second) },
				want:   another,
			},
			{
				name:   "no newer price can be asked for",
				change: func() { w.Price.Why = market.Service.Fail(core.Limited, errors.New("failed")) },
				want:   unshared,
			},
			{"a newer price can be asked for", func() { w.Price.Why = nil }, same},
			{"stale", func() { w.Price.Stale = true }, unshared},
			{"fresh", func() { w.Price.Stale = false }, same},
			{"old by now", func() { time.Sleep(time.Hour) }, unshared},
		} {
			step.change()
			reply, err := runPrice(t.Context(), &chat.Request{})
			unsharedReply, _ := price()(t.Context(), &chat.Request{})
			got := unshared
			switch {
			case reply.Rendered == nil:
			case reply.Rendered == before:
				got = same
			default:
				got = another
				before = reply.Rendered
			}
			if err != nil || got != step.want {
				t.Errorf("%s: Rendered is of kind %d, want %d, %v", step.name, got, step.want, err)
			}
			reply.Rendered = nil
			unsharedReply.Rendered = nil
			if !reflect.DeepEqual(reply, unsharedReply) {
				t.Errorf("%s: the reply is\n%+v\nwant\n%+v", step.name, reply, unsharedReply)
			}
		}
	})
}

// withPrice returns a copy of a quote with another price. Nobody changes an answer that is shared.
func withPrice(q *core.Quote, price string) *core.Quote {
	changed := *q
	changed.Price = number(price)
	return &changed
}
