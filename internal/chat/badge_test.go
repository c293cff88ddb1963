package chat_test

import (
	"errors"
	"testing"

	"herald/internal/chat"
)

func TestABadgeErrorNeedsNoCause(t *testing.T) {
	for _, tt := range []struct {
		err  chat.BadgeError
		want string
	}{
		{chat.BadgeError{Problem: chat.BadgeGone}, "gone"},
		{chat.BadgeError{Problem: chat.BadgeGone, Err: errors.New("deleted")}, "gone: deleted"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
