package belief

import (
	"testing"
	"time"
)

func TestOfDoubtsAboutTwoPricesTheLaterCounts(t *testing.T) {
	earlier := belief{At: dawn, Doubted: dawn.Add(time.Hour), Doubtful: number("50")}
	later := belief{At: dawn, Doubted: dawn.Add(2 * time.Hour), Doubtful: number("5000")}
	for _, got := range []belief{earlier.mergedWith(later), later.mergedWith(earlier)} {
		if !got.Doubtful.Equal(later.Doubtful) || !got.Doubted.Equal(later.Doubted) {
			t.Errorf("got %+v", got)
		}
	}
}

// at returns a time for a letter, in alphabetical order, and the zero time for "".
func at(letter string) time.Time {
	if letter == "" {
		return time.Time{}
	}
	return dawn.Add(time.Duration(letter[0]) * time.Minute)
}

// Each letter is a time: when a quote was believed, and when doubts began.
func TestTheNewerBeliefWinsWithItsFirstDoubt(t *testing.T) {
	for _, test := range []struct {
		at, doubted           string
		otherAt, otherDoubted string
		wantAt, wantDoubted   string
	}{
		{at: "b", otherAt: "a", wantAt: "b"},
		{at: "b", wantAt: "b"},
		{at: "a", doubted: "c", otherAt: "a", otherDoubted: "d", wantAt: "a", wantDoubted: "c"},
		{at: "a", doubted: "c", otherAt: "b", otherDoubted: "d", wantAt: "b", wantDoubted: "c"},
		{at: "a", doubted: "b", otherAt: "c", wantAt: "c"},
		{at: "a", doubted: "b", otherAt: "c", otherDoubted: "d", wantAt: "c", wantDoubted: "d"},
		{at: "a", doubted: "d", otherAt: "a", wantAt: "a", wantDoubted: "d"},
		{doubted: "c", otherDoubted: "d", wantDoubted: "c"},
	} {
		one := belief{At: at(test.at), Doubted: at(test.doubted), Doubtful: number("50")}
		two := belief{At: at(test.otherAt), Doubted: at(test.otherDoubted), Doubtful: number("60")}
		for _, got := range []belief{one.mergedWith(two), two.mergedWith(one)} {
			gotDoubted := time.Time{}
			if got.isDoubted() {
				gotDoubted = got.Doubted
			}
			if !got.At.Equal(at(test.wantAt)) || !gotDoubted.Equal(at(test.wantDoubted)) {
				t.Errorf("%+v: got %+v", test, got)
			}
		}
	}
}

func TestNothingIsSavedBeforeTheFirstDoubt(t *testing.T) {
	k := new(kept)
	k.believe(verdict{at: dawn, quote: new(quoteOf("1", dawn, changes{}))})
	if text := k.Encode(); text != nil {
		t.Errorf("saved %s", text)
	}
	k.doubt(verdict{at: dawn.Add(time.Minute), quote: new(quoteOf("5000", dawn, changes{}))})
	if k.Encode() == nil {
		t.Error("a doubt is not saved")
	}
}
