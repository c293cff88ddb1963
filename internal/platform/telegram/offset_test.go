package telegram

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Updates are passed in order once they are answered, or if they are stuck at the
// head; and an empty queue may begin again with lower numbers.
func TestTheOffsetPassesWhatIsAnsweredOrStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffsetTracker()
		begin := func(ids ...int64) {
			for _, id := range ids {
				if !o.begin(id) || o.begin(id) {
					t.Errorf("%d is not taken once", id)
				}
			}
		}
		check := func(passStuck bool, want string) {
			t.Helper()
			offset, busy := o.offset(passStuck)
			if got := fmt.Sprint(offset, " ", busy); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		check(false, "0 false")
		begin(5, 7, 6)
		check(true, "5 true")
		o.done(6)
		check(false, "5 true")
		time.Sleep(stuckAfter + time.Millisecond)
		begin(8)
		check(false, "5 true")
		check(true, "8 true")
		o.done(5)
		o.done(8)
		check(false, "9 false")
		if o.begin(7) {
			t.Error("an acknowledged update is taken again")
		}
		o.forget()
		begin(3)
		check(false, "3 true")
	})
}
