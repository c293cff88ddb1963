package platform_test

import (
	"errors"
	"testing"

	"herald/internal/chat"
	"herald/internal/platform"
)

func TestNoBadgesFailsWithCannotHave(t *testing.T) {
	var adapter struct{ platform.NoBadges }
	var badges chat.BadgeGiver = adapter
	_, errWorn := badges.Worn(t.Context(), "7", "5")
	for call, err := range map[string]error{
		"Give":   badges.Give(t.Context(), "7", "70", "5", "reason"),
		"Remove": badges.Remove(t.Context(), "7", "70", "5", "reason"),
		"Worn":   errWorn,
	} {
		failed, ok := errors.AsType[*chat.BadgeError](err)
		if !ok || failed.Problem != chat.CannotHave || failed.OutcomeUnknown {
			t.Errorf("%s: %v, want the problem %s", call, err, chat.CannotHave)
		}
	}
}
