package chat

import (
	"errors"
	"testing"
)

// Texts for people are found by these names.
func TestBadgeErrorsBeginWithTheirProblem(t *testing.T) {
	for problem, want := range map[BadgeProblem]string{
		NotAMember: "not_member: why", CannotHave: "cannot_have: why", MissingRight: "missing_right: why", RoleAbove: "role_above: why",
		NotAllowed: "not_allowed: why", BadgeGone: "gone: why", CommunityGone: "community_gone: why", BadgeFailed: "failed: why",
	} {
		why := errors.New("why")
		if err := error(&BadgeError{Problem: problem, Err: why}); err.Error() != want || !errors.Is(err, why) {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}
