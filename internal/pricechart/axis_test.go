package pricechart

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"herald/internal/chat"
)

func TestAPriceByItselfIsShort(t *testing.T) {
	for _, test := range []struct {
		language chat.Language
		price    string
		want     string
	}{
		{chat.English, "0.04173", "$0.04173"},
		{chat.English, "0.0001234", "$0.0001234"},
		{chat.English, "0.00001234567", "$0.0₄1235"},
		{chat.English, "0.0000048", "$0.0₅48"},
		{chat.English, "1e-18", "$0.0₁₇1"},
		{chat.English, "0.000099999", "$0.0001000"},
		{chat.English, "64123.456", "$64,123.46"},
		{chat.English, "999999.4", "$999,999.40"},
		{chat.English, "1234567", "$1.23M"},
		{chat.English, "1e12", "$1T"},
		{chat.Chinese, "1e12", "$1万亿"},
		{chat.Chinese, "1234567", "$123.46万"},
		{chat.Russian, "0.0000048", "0,0₅48\u00a0$"},
		{chat.Vietnamese, "2e9", "2\u00a0tỷ\u00a0$"},
	} {
		if got := formatPrice(test.language, number(test.price)); got != test.want {
			t.Errorf("%s: %s is %q, want %q", test.language, test.price, got, test.want)
		}
	}
}

// anyAxis returns an axis for prices from lowest to highest. The last price is one of these.
func anyAxis(t *rapid.T) (a axis, lowest, highest float64) {
	lowest = math.Pow(10, rapid.Float64Range(-18, 15).Draw(t, "power"))
	highest = lowest * (1 + rapid.SampledFrom([]float64{0, 1e-9, 1e-3, 0.02, 1, 1e9}).Draw(t, "spread"))
	language := rapid.SampledFrom(chat.Languages()).Draw(t, "language")
	last := rapid.SampledFrom([]float64{lowest, highest}).Draw(t, "last")
	number := decimal.NewFromFloat
	return newAxis(language, number(lowest), number(highest), number(last)), lowest, highest
}

func TestAnyAxisEnclosesItsPricesWithThreeOrFourDifferentLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, lowest, highest := anyAxis(t)
		if n := len(a.labels); n < 3 || n > 4 {
			t.Errorf("%g to %g: got %d labels, want 3 or 4", lowest, highest, n)
		}
		if a.low >= lowest || a.high <= highest {
			t.Errorf("got an axis from %g to %g, want it to enclose %g to %g", a.low, a.high, lowest, highest)
		}
		labels := map[string]bool{}
		for i, price := range a.prices {
			labels[a.labels[i]] = true
			// A hairline is never below zero, though the padding may be.
			if price < max(a.low, 0) || price > a.high {
				t.Errorf("%g is outside %g to %g", price, a.low, a.high)
			}
		}
		if len(labels) != len(a.labels) {
			t.Errorf("%q has %d labels that differ, want %d", a.labels, len(labels), len(a.labels))
		}
	})
}

func TestTheLastPriceIsNeverShownAsZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if a, _, _ := anyAxis(t); !strings.ContainsAny(a.last, "123456789") {
			t.Errorf("the last price is %s, want a digit above 0", a.last)
		}
	})
}

func TestLabelsOfAnAxisHaveTheSameDecimalsExceptZero(t *testing.T) {
	for name, test := range map[string]struct {
		lowest  string
		highest string
		last    string
		label   string   // of the last price
		labels  []string // of the axis
	}{
		"three significant digits": {
			lowest:  "0.0416",
			highest: "0.0491",
			last:    "0.04173",
			label:   "$0.0417",
			labels:  []string{"$0.0420", "$0.0440", "$0.0460", "$0.0480"},
		},
		"whole dollars": {
			lowest:  "61234",
			highest: "64123",
			last:    "64123",
			label:   "$64,123",
			labels:  []string{"$62,000", "$63,000", "$64,000"},
		},
		"zeros are counted": {
			lowest:  "4.1e-6",
			highest: "4.8e-6",
			last:    "4.8e-6",
			label:   "$0.0₅480",
			labels:  []string{"$0.0₅420", "$0.0₅440", "$0.0₅460", "$0.0₅480"},
		},
		"cents": {
			lowest:  "12.3",
			highest: "15.7",
			last:    "15.7",
			label:   "$15.70",
			labels:  []string{"$13.00", "$14.00", "$15.00"},
		},
		"the hairline at zero has no decimals": {
			lowest:  "0.04",
			highest: "40",
			last:    "0.04",
			label:   "$0.04",
			labels:  []string{"$0", "$20.00", "$40.00"},
		},
		"billions, and a last price in dollars": {
			lowest:  "1",
			highest: "1e9",
			last:    "1",
			label:   "$1.000",
			labels:  []string{"$0B", "$0.500B", "$1.000B"},
		},
	} {
		a := newAxis(chat.English, number(test.lowest), number(test.highest), number(test.last))
		if a.last != test.label || !slices.Equal(a.labels, test.labels) {
			t.Errorf("%s: %q on an axis with %q, want %q with %q",
				name, a.last, a.labels, test.label, test.labels)
		}
	}
}
