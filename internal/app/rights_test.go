package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/platform"
	"herald/internal/secret/logtest"
)

// watched returns how often each line was logged while rights was asked for a day.
func watched(t *testing.T, rights func(asked int) platform.Right) (wrong, unread, asked int) {
	t.Helper()
	var log logtest.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour-time.Second)
	defer cancel()
	newRightsWatch(log.Logger()).run(ctx, func(context.Context) []platform.Right {
		asked++
		return []platform.Right{rights(asked), {Setting: "STAKER_ROLES", Entry: "another", May: "it may"}}
	})
	return log.Lines("does not work as it should"), log.Lines("cannot be checked"), asked
}

func TestARightThatBeginsToLackIsLoggedOnce(t *testing.T) {
	may := platform.Right{Setting: "JOIN_CHATS", Entry: "group -5", Name: "-5", May: "it may"}
	mayNot := platform.Right{Setting: "JOIN_CHATS", Entry: "group -5", Name: "-5", Problem: "it may not"}
	advised := platform.Right{Setting: "JOIN_CHATS", Entry: "group -5", May: "it may", Advice: []string{"but see"}}
	for name, test := range map[string]struct {
		rights func(asked int) platform.Right
		want   int
	}{
		"all is well":  {func(int) platform.Right { return may }, 0},
		"it may not":   {func(int) platform.Right { return mayNot }, 1},
		"advice alone": {func(int) platform.Right { return advised }, 1},
		"lost and given back twice": {func(asked int) platform.Right {
			if asked%10 < 5 {
				return may
			}
			return mayNot
		}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			wrong, unread, asked := watched(t, test.rights)
			if wrong != test.want || unread != 0 || asked != 24 {
				t.Errorf("%s: %d lines, and %d that it cannot be read; asked %d times", name, wrong, unread, asked)
			}
		})
	}
}

func TestAPlatformThatCannotBeAskedIsAskedAgainInAMinute(t *testing.T) {
	passing := platform.Right{Setting: "JOIN_CHATS", Problem: "502", Temporary: true}
	for name, test := range map[string]struct {
		outage int // calls that fail
		unread int // lines
		asked  int
	}{
		"once":    {1, 0, 25},
		"an hour": {60, 1, 24 + 59},
	} {
		synctest.Test(t, func(t *testing.T) {
			wrong, unread, asked := watched(t, func(asked int) platform.Right {
				if asked <= test.outage {
					return passing
				}
				return platform.Right{Setting: "JOIN_CHATS", May: "it may"}
			})
			if wrong != 0 || unread != test.unread || asked != test.asked {
				t.Errorf("%s: %d and %d lines, asked %d times", name, wrong, unread, asked)
			}
		})
	}
}

func TestNothingConfiguredIsAskedOnce(t *testing.T) {
	asked := 0
	newRightsWatch(nil).run(t.Context(), func(context.Context) []platform.Right {
		asked++
		return nil
	})
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// The log is nil, so that a line in it would panic.
func TestRightsAreNotLoggedAtTheEnd(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	newRightsWatch(nil).run(ended, func(context.Context) []platform.Right {
		return []platform.Right{{Problem: "context canceled"}}
	})
}
