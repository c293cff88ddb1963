package telegram

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// check fails the test if the offset is another or something else than said is
// pending.
func (o *offsetTracker) check(t *testing.T, when string, want string) {
	t.Helper()
	offset, busy := o.offset(false)
	if got := fmt.Sprint(offset, " ", busy); got != want {
		t.Errorf("%s: %s, want %s", when, got, want)
	}
}

func tracking(ids ...int64) *offsetTracker {
	o := newOffsetTracker()
	for _, id := range ids {
		o.begin(id)
	}
	return o
}

func TestTheOffsetPassesOnlyWhatIsAnswered(t *testing.T) {
	tracking().check(t, "at first", "0 false")
	o := tracking(5, 7, 6, 8)
	o.check(t, "with all in flight", "5 true")
	for _, step := range []struct {
		done int64
		want string
	}{{6, "5 true"}, {8, "5 true"}, {5, "7 true"}, {7, "9 false"}} {
		if o.begin(step.done) {
			t.Errorf("%d is taken twice", step.done)
		}
		o.done(step.done)
		o.check(t, fmt.Sprint("after ", step.done), step.want)
	}
	if o.begin(8) {
		t.Error("an answered update is taken again")
	}
	o.forget()
	if !o.begin(3) {
		t.Error("an update with a lower number is refused after a new beginning")
	}
}

func TestWhatIsStuckIsPassedAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := tracking(1, 2, 3)
		time.Sleep(stuckAfter)
		for id := int64(4); id <= 6; id++ {
			o.begin(id)
		}
		o.done(2)
		o.done(4)
		o.done(6)
		o.offset(true)
		o.check(t, "with nothing in flight for that long", "1 true")
		time.Sleep(time.Millisecond)
		o.offset(true)
		o.check(t, "past 1 and 3", "5 true")
		o.done(1)
		if o.begin(1) || o.begin(3) {
			t.Error("an acknowledged update is taken again")
		}
		o.done(5)
		o.check(t, "at the end", "7 false")
	})
}
