package belief

import (
	"testing"
	"time"
)

// atHour returns the time some hours after dawn. 0 stands for never, the zero time.
func atHour(n int) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return dawn.Add(time.Duration(n) * time.Hour)
}

// hours are the times of a belief, as atHour takes them: when the last quote was believed, and when a doubt began that
// is not over.
type hours struct{ believed, doubted int }

// belief returns a belief of these hours, which doubts a price.
func (h hours) belief(doubted string) belief {
	return belief{BelievedAt: atHour(h.believed), DoubtedSince: atHour(h.doubted), DoubtedPrice: number(doubted)}
}

func TestAMergedBeliefHasTheLastQuoteAndTheFirstOpenDoubt(t *testing.T) {
	for name, test := range map[string]struct{ one, other, want hours }{
		"both believed": {
			one:   hours{believed: 2},
			other: hours{believed: 1},
			want:  hours{believed: 2},
		},
		"only one knows a quote": {
			one:  hours{believed: 2},
			want: hours{believed: 2},
		},
		"only one doubts": {
			one:   hours{believed: 1, doubted: 4},
			other: hours{believed: 1},
			want:  hours{believed: 1, doubted: 4},
		},
		"both doubt after the same quote": {
			one:   hours{believed: 1, doubted: 3},
			other: hours{believed: 1, doubted: 4},
			want:  hours{believed: 1, doubted: 3},
		},
		"both doubt after different quotes": {
			one:   hours{believed: 1, doubted: 3},
			other: hours{believed: 2, doubted: 4},
			want:  hours{believed: 2, doubted: 3},
		},
		"both doubt before any quote": {
			one:   hours{doubted: 3},
			other: hours{doubted: 4},
			want:  hours{doubted: 3},
		},
		"a later quote ends the doubt": {
			one:   hours{believed: 1, doubted: 2},
			other: hours{believed: 3},
			want:  hours{believed: 3},
		},
		"a later quote ends one of two doubts": {
			one:   hours{believed: 1, doubted: 2},
			other: hours{believed: 3, doubted: 4},
			want:  hours{believed: 3, doubted: 4},
		},
	} {
		one := test.one.belief("50")
		other := test.other.belief("60") // does not contradict 50
		for _, got := range []belief{one.mergedWith(other), other.mergedWith(one)} {
			wantDoubt := test.want.doubted != 0
			if !got.BelievedAt.Equal(atHour(test.want.believed)) || got.isInDoubt() != wantDoubt {
				t.Errorf("%s: got %+v, want %+v", name, got, test.want)
			}
			if wantDoubt && !got.DoubtedSince.Equal(atHour(test.want.doubted)) {
				t.Errorf("%s: the doubt began at %v, want %v", name, got.DoubtedSince, atHour(test.want.doubted))
			}
		}
	}
}

func TestOfDoubtsAboutTwoPricesTheLaterIsKept(t *testing.T) {
	earlier := hours{believed: 1, doubted: 2}.belief("50")
	later := hours{believed: 1, doubted: 3}.belief("5000")
	for _, got := range []belief{earlier.mergedWith(later), later.mergedWith(earlier)} {
		if !got.DoubtedPrice.Equal(later.DoubtedPrice) || !got.DoubtedSince.Equal(later.DoubtedSince) {
			t.Errorf("got %+v", got)
		}
	}
}

func TestNothingIsSavedBeforeTheFirstDoubt(t *testing.T) {
	s := new(storedBelief)
	s.believe(verdict{at: dawn, quote: new(quoteOf("1", dawn, changes{}))})
	if text := s.Encode(); text != nil {
		t.Errorf("saved %s", text)
	}
	s.doubt(verdict{at: dawn.Add(time.Minute), quote: new(quoteOf("5000", dawn, changes{}))})
	if s.Encode() == nil {
		t.Error("a doubt is not saved")
	}
}
