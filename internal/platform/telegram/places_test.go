package telegram

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A chat gets a quarter of the places. An update that comes while all are held waits for one.
func TestAChatHoldsAQuarterOfThePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(8)
		var all []*place
		for i, chat := range []int64{1, 1, 1, 2, 3, 3, 3, 2, 4, 4} { // each third one is full
			all = append(all, p.hold(t.Context(), chat))
			check(t, "full", all[i].Full(), i == 2 || i == 6)
		}
		all[2].Free() // It holds none.
		check(t, "held", len(p.held), 8)
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := p.hold(soon, 5); got != nil {
			t.Errorf("held %+v beside all others", got)
		}
		time.AfterFunc(time.Second, func() {
			all[0].Free()
			all[0].Free() // It is free already.
		})
		all = append(all, p.hold(t.Context(), 1))
		check(t, "full", all[10].Full(), false)
		check(t, "held", len(p.held), 8)
		for _, each := range all {
			each.Free()
		}
		check(t, "held in the end", len(p.held), 0)
		check(t, "chats in the end", len(p.perChat), 0)
	})
	check(t, "the only place is full", newPlaces(1).hold(t.Context(), 1).Full(), false)
}
