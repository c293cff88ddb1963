package core_test

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

// full makes a world whose cache holds that many answers.
func full(maxItems int) *world {
	w := newWorldOf(core.CacheConfig{MaxItems: maxItems}, "USD")
	w.stake = func(context.Context) (core.Stake, error) { return core.Stake{Checked: 21}, nil }
	w.price(priced(7))
	return w
}

func wallet(n int) (a common.Address) {
	binary.BigEndian.PutUint64(a[:], uint64(n))
	return a
}

// askStakes asks for the wallets from first up to but not last, and returns the
// calls that it took.
func (w *world) askStakes(t *testing.T, first, last int) int {
	t.Helper()
	before := w.calls.Load()
	for i := first; i < last; i++ {
		if _, err := w.stakes.Get(t.Context(), wallet(i)); err != nil {
			t.Fatal(err)
		}
	}
	return int(w.calls.Load() - before)
}

func TestExpiredAnswersLeaveTheCacheAndAreYoungWhenAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := full(3)
		w.askStakes(t, 0, 1)
		time.Sleep(45 * time.Second)
		w.askStakes(t, 1, 3)
		// The first has expired, and the next sweep is to come.
		time.Sleep(16 * time.Second)
		w.askStakes(t, 0, 1)
		w.askStakes(t, 3, 4)
		if n := w.askStakes(t, 0, 1) + w.askStakes(t, 2, 4); n != 0 {
			t.Errorf("%d of the newest three were forgotten", n)
		}
		time.Sleep(2 * time.Minute)
		w.askStakes(t, 100, 101)
		if n := w.cache.Items(); n != 1 {
			t.Errorf("%d answers are kept", n)
		}
	})
}

func TestAFullCacheForgetsTheOldestWalletsAndNotThePrice(t *testing.T) {
	for _, bound := range []int{1, 2, 100} {
		w := full(bound)
		if n := w.askStakes(t, 0, bound); n != bound {
			t.Errorf("%d calls for %d wallets", n, bound)
		}
		w.Quote(t.Context())
		w.askStakes(t, bound, 3*bound)
		before := w.calls.Load()
		if _, err := w.Quote(t.Context()); err != nil || w.calls.Load() != before {
			t.Errorf("with room for %d, the price was asked again: %v", bound, err)
		}
		if n := w.askStakes(t, 2*bound+1, 3*bound); n != 0 || w.cache.Items() != bound {
			t.Errorf("with room for %d, %d of the newest wallets were forgotten and %d answers are kept", bound, n, w.cache.Items())
		}
		if n := w.askStakes(t, 2*bound, 2*bound+1); n != 1 {
			t.Error("one more than the bound is kept")
		}
	}
}
