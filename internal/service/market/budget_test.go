package market

import (
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

// spendAll spends all credits that can be spent now, and returns how many.
func spendAll(b *Budget) (n int) {
	for {
		if _, reason := b.spend(); reason != "" {
			return n
		}
		n++
	}
}

func TestAStartMaySpendSomeCredits(t *testing.T) {
	for _, test := range []struct {
		name     string
		perMonth int
		reading  *Reading
		want     int // credits that can be spent at once
	}{
		{
			name: "nothing is known",
			want: 21,
		},
		{
			name:     "an operator's limit",
			perMonth: 10_000,
			want:     21,
		},
		{
			name:     "an operator's small limit",
			perMonth: 100,
			want:     1,
		},
		{
			name:    "a whole month",
			reading: &Reading{Left: 15_000, MonthEndsIn: month},
			want:    21,
		},
		{
			name:    "half of a large plan",
			reading: &Reading{Left: 100_000, MonthEndsIn: month / 2},
			want:    21,
		},
		{
			name:    "some left",
			reading: &Reading{Left: 3000, MonthEndsIn: 3 * day},
			want:    7,
		},
		{
			name:    "one left",
			reading: &Reading{Left: 1, MonthEndsIn: 3 * day},
			want:    1,
		},
		{
			name:    "none left",
			reading: &Reading{Left: 0, MonthEndsIn: 3 * day},
			want:    0,
		},
	} {
		b := newBudget(test.perMonth, nil, nil)
		if test.reading != nil {
			b.learn(*test.reading)
		}
		if got := int(b.Available()); got != test.want {
			t.Errorf("%s: %d available, want %d", test.name, got, test.want)
		}
		if got := spendAll(b); got != test.want {
			t.Errorf("%s: %d credits at the start, want %d", test.name, got, test.want)
		}
	}
}

func TestCreditsAreSavedUpInQuietTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, nil, nil)
		b.learn(Reading{Left: 14_400, MonthEndsIn: 30 * day})
		spendAll(b)
		if wait, reason := b.spend(); wait != 3*time.Minute || reason != core.NoCredit {
			t.Errorf("the next credit is in %v: %s; want 3m", wait, reason)
		}
		time.Sleep(30 * time.Minute)
		if got := spendAll(b); got != 10 {
			t.Errorf("%d credits after half an hour, want 10", got)
		}
		time.Sleep(3 * day)
		if got := spendAll(b); got != 36 {
			t.Errorf("%d credits after three days, want 36", got)
		}
	})
}

func TestACallThatIsGivenBackIsFree(t *testing.T) {
	unknown := newBudget(0, nil, nil)
	oneLeft := newBudget(0, nil, nil)
	oneLeft.learn(Reading{Left: 1, MonthEndsIn: day})
	for name, b := range map[string]*Budget{"unknown": unknown, "one left": oneLeft} {
		for i := range 100 {
			if wait, reason := b.spend(); reason != "" {
				t.Fatalf("%s: call %d has to wait for %v: %s", name, i, wait, reason)
			}
			b.giveBack()
		}
	}
}

// wantUsedUp fails the test unless the plan is used up for a time.
func wantUsedUp(t *testing.T, b *Budget, lasts time.Duration) {
	t.Helper()
	if wait, reason := b.spend(); wait != lasts || reason != core.UsedUp {
		t.Errorf("wait %v: %s; want %v: %s", wait, reason, lasts, core.UsedUp)
	}
	if b.Available() != 0 {
		t.Errorf("%v credits are available, want 0", b.Available())
	}
}

// wantCredit fails the test unless a credit can be spent. It spends the credit.
func wantCredit(t *testing.T, b *Budget) {
	t.Helper()
	if wait, reason := b.spend(); reason != "" {
		t.Errorf("no credit for %v: %s", wait, reason)
	}
}

func TestWithNoneLeftThePlanIsUsedUpUntilItResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, nil, nil)
		b.learn(Reading{Left: 0, MonthEndsIn: 2 * day})
		wantUsedUp(t, b, 2*day)
		if b.Every() <= 0 {
			t.Errorf("a credit every %v", b.Every())
		}
		time.Sleep(2 * day)
		wantCredit(t, b)
	})
}

func TestARefusalEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, nil, nil)
		b.pauseFor(time.Hour)
		wantUsedUp(t, b, time.Hour)
		time.Sleep(time.Hour)
		wantCredit(t, b)
	})
}

func TestAReadingEndsARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, nil, nil)
		b.pauseFor(20 * day)
		wantUsedUp(t, b, 20*day)
		b.learn(Reading{Left: 500, MonthEndsIn: 2 * day})
		wantCredit(t, b)
	})
}

func TestCallsOfOtherReplicasCostAtMostOneCreditInAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, nil, nil)
		for range 1000 {
			b.NoteReplicaCall()
		}
		time.Sleep(2 * b.Every())
		if got := spendAll(b); got != 1 { // Of the two credits since, one was spent in advance.
			t.Errorf("%d credits after two intervals, want 1", got)
		}
	})
}
