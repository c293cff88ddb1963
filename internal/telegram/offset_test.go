package telegram

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// at fails the test if the offset is another or something else than said is
// pending.
func (o *offsetTracker) at(t *testing.T, when string, want string) {
	t.Helper()
	offset, busy := o.offset()
	if got := fmt.Sprint(offset, " ", busy); got != want {
		t.Errorf("%s: %s, want %s", when, got, want)
	}
}

func TestTheOffsetPassesOnlyWhatIsAnswered(t *testing.T) {
	o := &offsetTracker{}
	o.at(t, "at first", "0 false")
	for _, id := range []int64{5, 7, 6, 8} {
		if !o.begin(id) || o.begin(id) {
			t.Errorf("%d is not taken once", id)
		}
	}
	o.at(t, "with all in hand", "5 true")
	for _, step := range []struct {
		done int64
		want string
	}{{6, "5 true"}, {8, "5 true"}, {5, "7 true"}, {7, "9 false"}} {
		o.done(step.done)
		o.at(t, fmt.Sprint("after ", step.done), step.want)
	}
	if o.begin(8) {
		t.Error("an answered update is taken again")
	}
	o.forget()
	o.at(t, "forgotten", "0 false")
	if !o.begin(3) {
		t.Error("an update with a lower number is refused")
	}
	o.at(t, "after a new beginning", "3 true")
}

func TestWhatIsStuckIsPassedAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &offsetTracker{}
		for id := int64(1); id <= 3; id++ {
			o.begin(id)
		}
		time.Sleep(stuckAfter)
		for id := int64(4); id <= 6; id++ {
			o.begin(id)
		}
		o.done(2)
		o.done(4)
		o.done(6)
		o.acknowledgeStuck()
		o.at(t, "with nothing in hand for that long", "1 true")
		time.Sleep(time.Millisecond)
		o.acknowledgeStuck()
		o.at(t, "past 1 and 3", "5 true")
		o.done(1)
		o.at(t, "when the stuck one is answered", "5 true")
		if o.begin(1) || o.begin(3) {
			t.Error("an acknowledged update is taken again")
		}
		o.done(5)
		o.at(t, "at the end", "7 false")
	})
}

func TestWhatHoldsUpAnsweredOnesIsPassedSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &offsetTracker{}
		for id := int64(1); id <= 4; id++ {
			o.begin(id)
		}
		o.done(2)
		o.done(3)
		time.Sleep(stalledAfter)
		o.acknowledgeStuck()
		o.at(t, "with half of them unanswered", "1 true")
		o.done(4)
		time.Sleep(stalledAfter - time.Millisecond)
		o.acknowledgeStuck()
		o.at(t, "while answers come", "1 true")
		time.Sleep(time.Millisecond)
		o.acknowledgeStuck()
		o.at(t, "past 1", "5 false")
	})
}

func TestFewPendingIsSignalled(t *testing.T) {
	o := &offsetTracker{}
	for id := int64(1); id <= 4; id++ {
		o.begin(id)
	}
	few := o.whenPending(2)
	for _, step := range []struct {
		done int64
		want bool
	}{{2, false}, {3, false}, {1, true}} {
		o.done(step.done)
		select {
		case <-few:
			if !step.want {
				t.Errorf("signalled once %d is answered", step.done)
			}
		default:
			if step.want {
				t.Error("not signalled")
			}
		}
	}
	select {
	case <-o.whenPending(1):
	default:
		t.Error("not signalled when it is so from the beginning")
	}
}
