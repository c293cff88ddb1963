package chat_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
)

const day = 24 * time.Hour

func TestAgedIsASecondLaterForEachAgePrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for age, want := range map[time.Duration]time.Duration{
			-time.Hour: 1, 0: 1, time.Minute - 1: 1, time.Minute: 2, time.Hour - 1: 60, time.Hour: 61, 2*time.Hour - 1: 61,
			2 * time.Hour: 62, day - 1: 83, day: 84, 2*day - 1: 84, 2 * day: 85, 30 * day: 113,
		} {
			at := time.Now().Add(-age)
			if got := chat.Aged(at).Sub(at); got != want*time.Second {
				t.Errorf("aged %v: %v later, want %d seconds", age, got, want)
			}
		}
	})
}

// The ages of the contents lie often on two sides of a change of the unit.
func TestAgedIsEarlierThanThatOfNewerContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		units := []time.Duration{time.Minute, time.Hour, day, 2 * day, 9 * day}
		for range 100_000 {
			age := units[random.IntN(len(units))] + time.Duration(random.Int64N(int64(2*time.Hour))) - time.Minute
			newer := 2*time.Second + time.Duration(random.Int64N(int64(time.Hour)))
			at := time.Now().Add(-age)
			if old, young := chat.Aged(at), chat.Aged(at.Add(newer)); old.Unix() >= young.Unix() {
				t.Fatalf("aged %v: as of %v, which is %v after that of content newer by %v", age, old, old.Sub(young), newer)
			}
		}
	})
}
