package discord

import (
	"slices"
	"testing"
)

func TestHowAnAnswerIsDelivered(t *testing.T) {
	beside, inPlace := target{}, target{replaces: true}
	for _, tt := range []struct {
		name            string
		to              target
		alone, deferred bool
		want            []delivery
	}{
		{"a new message", beside, false, false, []delivery{asResponse}},
		{"a new message for one person", beside, true, false, []delivery{asResponse}},
		{"a new message, deferred", beside, false, true, []delivery{asEdit, asFollowUp}},
		{"a new message for one person, deferred", beside, true, true, []delivery{asEdit, asFollowUp}},
		{"in place", inPlace, false, false, []delivery{asUpdate, asResponse}},
		{"in place, but for one person", inPlace, true, false, []delivery{asResponse}},
		{"in place, deferred", inPlace, false, true, []delivery{asEdit, asFollowUp}},
		{"in place, but for one person, deferred", inPlace, true, true, []delivery{asFollowUp}},
	} {
		if got := tt.to.deliveries(tt.alone, tt.deferred); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
