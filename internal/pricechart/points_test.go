package pricechart

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

func TestChangesInPerCentImplyEarlierPrices(t *testing.T) {
	for _, test := range []struct {
		name   string
		quote  core.Quote
		period time.Duration
		want   []point
	}{
		{
			name:   "a week, in which an hour ago is too close to now",
			quote:  quoteWithChanges("110", now, "10", "-50", "-75"),
			period: 7 * day,
			want:   []point{estimatedAt(7*day, "440"), estimatedAt(day, "220"), recordedAt(0, "110")},
		},
		{
			name:   "a day",
			quote:  quoteWithChanges("110", now, "10", "-50", "-75"),
			period: day,
			want:   []point{estimatedAt(day, "220"), estimatedAt(time.Hour, "100"), recordedAt(0, "110")},
		},
		{
			name:   "a tiny price",
			quote:  quoteWithChanges("0.000000000001", now, "900", "100", "0"),
			period: day,
			want: []point{
				estimatedAt(day, "0.0000000000005"),
				estimatedAt(time.Hour, "0.0000000000001"),
				recordedAt(0, "0.000000000001"),
			},
		},
		{
			name:   "grown ten million times",
			quote:  quoteWithChanges("0.1", now, "900000000", "", ""),
			period: day,
			want:   []point{estimatedAt(time.Hour, "0.0000000111111098765"), recordedAt(0, "0.1")},
		},
	} {
		got := pointsBetween(nil, test.quote, now.Add(-test.period), now)
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestUnusableChangesImplyNoPrice(t *testing.T) {
	onlyNow := []point{recordedAt(0, "110")}
	for _, test := range []struct {
		name   string
		quote  core.Quote
		period time.Duration
		want   []point
	}{
		{
			name:   "unknown",
			quote:  quoteOf("110", now),
			period: day,
			want:   onlyNow,
		},
		{
			name:   "impossible",
			quote:  quoteWithChanges("110", now, "-100", "-100.01", "-1000"),
			period: 7 * day,
			want:   onlyNow,
		},
		{
			name:   "of another period",
			quote:  quoteWithChanges("110", now, "", "", "-75"),
			period: day,
			want:   onlyNow,
		},
		{
			name:   "of a quote without a time",
			quote:  quoteWithChanges("1", time.Time{}, "1", "", ""),
			period: day,
		},
		{
			name:   "of a quote without a price",
			quote:  quoteWithChanges("0", now, "1", "1", "1"),
			period: day,
		},
	} {
		got := pointsBetween(nil, test.quote, now.Add(-test.period), now)
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// An estimate of a day ago is left out if a point was recorded within the hour after it. A point recorded before the
// period hides nothing.
func TestAnEstimateGivesWayToARecordedPoint(t *testing.T) {
	for after, isEstimated := range map[time.Duration]bool{
		-time.Hour:       true,
		-time.Minute:     true,
		0:                false,
		59 * time.Minute: false,
		time.Hour:        true,
		5 * time.Hour:    true,
	} {
		recorded := []point{recordedAt(day-after, "100")}
		got := pointsBetween(recorded, quoteWithChanges("110", now, "", "10", ""), now.Add(-day), now)
		if got[0].Estimated != isEstimated {
			t.Errorf("recorded %v after: the first point is an estimate: %t", after, got[0].Estimated)
		}
		if !slices.IsSortedFunc(got, byTime) {
			t.Errorf("recorded %v after: got %v, want points sorted by time", after, got)
		}
	}
}

// A replica may have recorded a point later than the quote that is shown.
func TestAPointAfterTheQuoteIsNotShown(t *testing.T) {
	recorded := []point{recordedAt(time.Hour, "100"), recordedAt(-time.Minute, "9")}
	got := pointsBetween(recorded, quoteOf("110", now), now.Add(-day), now)
	if last := got[len(got)-1].Price; !last.Equal(number("110")) {
		t.Errorf("the last price is %s, want 110", last)
	}
}

// linesOf returns a byte for each point, which shows how the chart joins it with the previous point: "-" is a solid
// line, "~" is the dashed line of an estimate, and a space is a gap.
func linesOf(p picture) string {
	var lines []byte
	for i := range p.points {
		switch {
		case !p.isJoined(i):
			lines = append(lines, ' ')
		case p.touchesEstimate(i):
			lines = append(lines, '~')
		default:
			lines = append(lines, '-')
		}
	}
	return string(lines)
}

func TestOnlyPointsCloseTogetherAreJoined(t *testing.T) {
	for _, test := range []struct {
		name   string
		points []point
		lines  string
	}{
		{
			name:   "two hours apart",
			points: []point{recordedAt(3*time.Hour, "1"), recordedAt(time.Hour, "1")},
			lines:  " -",
		},
		{
			name:   "two hours and a minute apart",
			points: []point{recordedAt(3*time.Hour+time.Minute, "1"), recordedAt(time.Hour, "1")},
			lines:  "  ",
		},
		{
			name:   "points between gaps",
			points: []point{recordedAt(20*time.Hour, "1"), recordedAt(10*time.Hour, "2"), recordedAt(0, "1")},
			lines:  "   ",
		},
		{
			name:   "an estimate far away",
			points: []point{estimatedAt(day, "1"), recordedAt(time.Hour, "2"), recordedAt(0, "1")},
			lines:  " ~-",
		},
	} {
		if got := linesOf(pictureOf(day, test.points...)); got != test.lines {
			t.Errorf("%s: %q, want %q", test.name, got, test.lines)
		}
	}
}

func TestOnlyJoinedPointsCountAsSeen(t *testing.T) {
	wholeDay := walk(day, 5*time.Minute, 1, 1)
	for _, test := range []struct {
		name   string
		points []point
		want   float64
	}{
		{"a whole day", wholeDay, 1},
		{"half a day", without(wholeDay, 2*day, 12*time.Hour), 0.5},
		{"two hours apart", []point{recordedAt(3*time.Hour, "1"), recordedAt(time.Hour, "1")}, 2. / 24},
		{"too far apart", []point{recordedAt(20*time.Hour, "1"), recordedAt(10*time.Hour, "2"), recordedAt(0, "1")}, 0},
		{"two hours and a minute apart", []point{recordedAt(3*time.Hour+time.Minute, "1"), recordedAt(time.Hour, "1")}, 0},
		{"an estimate", []point{estimatedAt(day, "1"), recordedAt(time.Hour, "2"), recordedAt(0, "1")}, 1. / 24},
	} {
		if got := pictureOf(day, test.points...).seenPart(); math.Abs(got-test.want) > 0.005 {
			t.Errorf("%s: %v of the day, want %v", test.name, got, test.want)
		}
	}
}

func TestChangeIsTheProvidersOrRecorded(t *testing.T) {
	whole := walk(7*day, step, 4, 5)
	half := without(whole, 8*day, 3*day)
	unknown := decimal.NullDecimal{}
	for _, test := range []struct {
		name     string
		points   []point
		provided decimal.NullDecimal
		want     decimal.NullDecimal
	}{
		{
			name:     "the provider's",
			points:   whole,
			provided: known("-12.5"),
			want:     known("-12.5"),
		},
		{
			name:     "the provider's, without a line",
			provided: known("-12.5"),
			want:     known("-12.5"),
		},
		{
			name:     "of the recorded points",
			points:   whole,
			provided: unknown,
			want:     known("24.74"),
		},
		{
			name:     "of recorded points with gaps",
			points:   without(whole, 5*day, 3*day),
			provided: unknown,
			want:     known("24.74"),
		},
		{
			name:     "of half the period",
			points:   half,
			provided: unknown,
			want:     unknown,
		},
		{
			name:     "since an estimate",
			points:   append([]point{estimatedAt(7*day, "9")}, half...),
			provided: unknown,
			want:     unknown,
		},
	} {
		p := picture{
			from:   now.Add(-7 * day),
			to:     now,
			points: test.points,
			quote:  core.Quote{Change7d: test.provided},
		}
		if got := p.change(); got.Valid != test.want.Valid || !got.Decimal.Equal(test.want.Decimal) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestHighAndLowNeedTheWholePeriod(t *testing.T) {
	week := walk(7*day, step, 4, 5)
	for _, test := range []struct {
		name   string
		points []point
		want   bool
	}{
		{"whole", week, true},
		{"hourly", walk(7*day, time.Hour, 4, 5), true},
		{"an hour is missing", without(week, 5*time.Hour, 4*time.Hour), true},
		{"nights are missing, over which a line is drawn", withoutNights(week), true},
		{"a day is missing", without(week, 5*day, 4*day), false},
		{"the first 6 hours are missing", without(week, 8*day, 7*day-6*time.Hour), true},
		{"the first 10 hours are missing", without(week, 8*day, 7*day-10*time.Hour), false},
		{
			name:   "a day at the beginning is estimated",
			points: append([]point{estimatedAt(7*day, "1")}, without(week, 8*day, 6*day)...),
			want:   false,
		},
		{
			name:   "an hour at the beginning is estimated",
			points: append([]point{estimatedAt(7*day-time.Minute, "1")}, without(week, 8*day, 7*day-time.Hour)...),
			want:   true,
		},
	} {
		lowest, highest := pictureOf(7*day, test.points...).extremes()
		if got := lowest.GreaterThan(number("3")); got != test.want {
			t.Errorf("%s: the lowest is %v, want one: %t", test.name, lowest, test.want)
		}
		if got := highest.GreaterThan(lowest); got != test.want {
			t.Errorf("%s: the highest is %v, want one: %t", test.name, highest, test.want)
		}
	}
}
