package market

import (
	"testing"
	"time"
)

func TestAReadingSetsTheLimit(t *testing.T) {
	for _, test := range []struct {
		name     string
		perMonth int // the operator's limit; 0: none
		reading  Reading
		every    time.Duration
		burst    int
	}{
		{
			name:    "some left",
			reading: Reading{Left: 11_988, Plan: 15_000, MonthEndsIn: 10 * day},
			every:   72 * time.Second,
			burst:   29,
		},
		{
			name:     "an operator's limit",
			perMonth: 5000,
			reading:  Reading{Left: 11_988, Plan: 15_000, MonthEndsIn: 10 * day},
			every:    630 * time.Second,
			burst:    3,
		},
		{
			name:     "less left than the operator allows",
			perMonth: 10_000,
			reading:  Reading{Left: 24, MonthEndsIn: day},
			every:    time.Hour,
			burst:    1,
		},
		{
			name:    "others spend",
			reading: Reading{Left: 2400, Plan: 15_000, MonthEndsIn: 10 * day},
			every:   3 * 360 * time.Second,
			burst:   2,
		},
		{
			name:    "one left",
			reading: Reading{Left: 1, MonthEndsIn: 3 * day},
			every:   3 * day,
			burst:   1,
		},
		{
			name:    "none left",
			reading: Reading{Left: 0, MonthEndsIn: 3 * day},
			every:   3 * day,
			burst:   1,
		},
		{
			name:    "more than can be spent",
			reading: Reading{Left: 1_000_000_000, MonthEndsIn: time.Nanosecond},
			every:   time.Millisecond,
			burst:   1,
		},
	} {
		got := newBudget(test.perMonth, nil, nil).limitBy(test.reading)
		if got.Every.Round(time.Second) != test.every.Round(time.Second) || got.Burst != test.burst {
			t.Errorf("%s: %d at once and one every %v, want %d and %v",
				test.name, got.Burst, got.Every, test.burst, test.every)
		}
	}
}

func TestOthersSpendIfLessIsLeftThanEvenSpendingLeaves(t *testing.T) {
	for _, test := range []struct {
		reading Reading
		want    bool
	}{
		{Reading{Left: 15_000, Plan: 15_000, MonthEndsIn: month}, false},
		{Reading{Left: 14_860, Plan: 15_000, MonthEndsIn: month}, false}, // within the tolerance
		{Reading{Left: 14_800, Plan: 15_000, MonthEndsIn: month}, true},
		{Reading{Left: 4789, Plan: 15_000, MonthEndsIn: 10 * day}, false},
		{Reading{Left: 4788, Plan: 15_000, MonthEndsIn: 10 * day}, true},
		{Reading{Left: 8, Plan: 10, MonthEndsIn: month}, false},
		{Reading{Left: 15_000, Plan: 15_000, MonthEndsIn: 45 * day}, false},
		{Reading{Left: 100, Plan: 0, MonthEndsIn: month}, false}, // The provider does not name the plan.
	} {
		if got := test.reading.othersSpend(); got != test.want {
			t.Errorf("%+v: others spend is %t, want %t", test.reading, got, test.want)
		}
	}
}
