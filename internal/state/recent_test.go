package state

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecentForgetsAfterOneOrTwoPeriods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecent[int](time.Minute, 100)
		for _, wait := range []time.Duration{0, 30 * time.Second, time.Minute} {
			r.set("a", 7)
			time.Sleep(wait)
			if value, known := r.get("a"); !known || value != 7 {
				t.Errorf("after %v it is %d, known %v", wait, value, known)
			}
		}
		r.set("a", 8)
		time.Sleep(2 * time.Minute)
		if _, known := r.get("a"); known || len(r.old) != 0 {
			t.Errorf("it is known after two periods")
		}
	})
}

func TestRecentForgetsTheOldestOfTooMany(t *testing.T) {
	r := newRecent[int](time.Hour, 10)
	for i := range 100 {
		r.set(fmt.Sprint(i), i)
		if n := len(r.young) + len(r.old); n > 10 {
			t.Fatalf("%d are kept of 10", n)
		}
		for newer := max(0, i-4); newer <= i; newer++ {
			if _, known := r.get(fmt.Sprint(newer)); !known {
				t.Fatalf("after %d, %d is forgotten", i, newer)
			}
		}
	}
}
