package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/platform"
	"herald/internal/secret/logtest"
)

// watchResult counts what a rightsWatch has done.
type watchResult struct {
	wrong     int // lines in the log about a right that is missing, or about advice
	unchecked int // lines in the log about a right that could not be checked
	checks    int // how many times it asked for the rights
}

// watchForADay runs a rightsWatch of two rights for a day. right returns the first right at the nth check, from 1. The
// second right is always granted.
func watchForADay(t *testing.T, right func(nth int) platform.Right) watchResult {
	t.Helper()
	granted := platform.Right{Setting: "STAKER_ROLES", Entry: "another", May: "it may"}
	var log logtest.Buffer
	var checks int
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour-time.Second) // before the 25th check
	defer cancel()
	newRightsWatch(log.Logger()).run(ctx, func(context.Context) []platform.Right {
		checks++
		return []platform.Right{right(checks), granted}
	})
	return watchResult{
		wrong:     log.Lines("does not work as it should"),
		unchecked: log.Lines("cannot be checked"),
		checks:    checks,
	}
}

func TestAMissingRightIsLoggedOnceUntilItIsGrantedAgain(t *testing.T) {
	granted := platform.Right{Setting: "JOIN_CHATS", Entry: "group -5", Name: "-5", May: "it may"}
	missing := platform.Right{Setting: "JOIN_CHATS", Entry: "group -5", Name: "-5", Problem: "it may not"}
	advised := platform.Right{Setting: "JOIN_CHATS", Entry: "group -5", May: "it may", Advice: []string{"but see"}}
	for name, test := range map[string]struct {
		right func(nth int) platform.Right
		lines int
	}{
		"granted": {
			right: func(int) platform.Right { return granted },
			lines: 0,
		},
		"missing": {
			right: func(int) platform.Right { return missing },
			lines: 1,
		},
		"granted, with advice": {
			right: func(int) platform.Right { return advised },
			lines: 1,
		},
		"lost and granted again, twice": {
			right: func(nth int) platform.Right {
				if nth%10 < 5 {
					return granted
				}
				return missing
			},
			lines: 2,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := watchForADay(t, test.right)
			want := watchResult{wrong: test.lines, unchecked: 0, checks: 24}
			if got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		})
	}
}

// Rights are checked each hour, and a minute after a check that failed. A failure is logged only if the next check
// fails, too.
func TestARightThatCannotBeCheckedIsCheckedAgainInAMinute(t *testing.T) {
	failed := platform.Right{Setting: "JOIN_CHATS", Problem: "502", Temporary: true}
	granted := platform.Right{Setting: "JOIN_CHATS", May: "it may"}
	for name, test := range map[string]struct {
		failures int // checks that fail first
		want     watchResult
	}{
		"once": {
			failures: 1,
			want:     watchResult{unchecked: 0, checks: 24 + 1},
		},
		"for an hour": {
			failures: 60,
			want:     watchResult{unchecked: 1, checks: 24 + 59},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := watchForADay(t, func(nth int) platform.Right {
				if nth <= test.failures {
					return failed
				}
				return granted
			})
			if got != test.want {
				t.Errorf("it fails %s: %+v, want %+v", name, got, test.want)
			}
		})
	}
}

func TestABotWithoutRightsToWatchChecksOnce(t *testing.T) {
	checks := 0
	newRightsWatch(nil).run(t.Context(), func(context.Context) []platform.Right {
		checks++
		return nil
	})
	if checks != 1 {
		t.Errorf("%d checks, want 1", checks)
	}
}

// The watch has no log, so logging would panic.
func TestAWatchThatEndsLogsNothing(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	newRightsWatch(nil).run(ended, func(context.Context) []platform.Right {
		return []platform.Right{{Problem: "context canceled"}}
	})
}
