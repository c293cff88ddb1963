package platform_test

import (
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/platform"
)

// block is the Version of an answer from a block. Its Time is when it was fetched, and does not count.
func block(number uint64, fetched time.Duration) chat.Version {
	return chat.Version{Time: time.Now().Add(fetched), Block: chat.Block{Chain: 1, Number: number}}
}

// A button that is pressed twice at the same moment says twice what was shown before.
func TestOfTwoPressesTheNewerAnswerWins(t *testing.T) {
	button := block(100, 0)
	for name, tt := range map[string]struct {
		subject string // of the second
		forget  string // the message where the first could not be shown
		second  chat.Version
		want    platform.Verdict
	}{
		"an older block":              {"staked 0x1", "", block(101, time.Minute), platform.Keep},
		"the same block":              {"staked 0x1", "", block(105, time.Minute), platform.Replace},
		"a newer block":               {"staked 0x1", "", block(106, time.Minute), platform.Replace},
		"an older one of another":     {"staked 0x2", "", block(101, time.Minute), platform.Replace},
		"after a failure":             {"staked 0x1", "m", block(101, 0), platform.Replace},
		"after the failure of others": {"staked 0x1", "n", block(101, 0), platform.Keep},
		"older than the button says":  {"staked 0x1", "", block(99, 0), platform.Keep},
	} {
		var s platform.Shown
		first := block(105, 0)
		if got := s.Judge("m", "staked 0x1", button, first); got != platform.Replace {
			t.Errorf("%s: the first is %d", name, got)
		}
		s.Forget(tt.forget, "staked 0x1", first)
		if got := s.Judge("m", tt.subject, button, tt.second); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
		if got := s.Judge("another", tt.subject, button, block(101, 0)); got != platform.Replace {
			t.Errorf("%s: in another message, got %d", name, got)
		}
	}
}

// An answer that is not shown does not count.
func TestRefusedAnswersAreNotRemembered(t *testing.T) {
	var s platform.Shown
	for _, n := range []uint64{105, 102, 103, 104} {
		want := platform.Keep
		if n == 105 {
			want = platform.Replace
		}
		if got := s.Judge("m", "x", block(100, 0), block(n, 0)); got != want {
			t.Errorf("block %d: got %d, want %d", n, got, want)
		}
	}
}

// A slow press of an old button must not bring back an answer from before the last one that is shown.
func TestAnAnswerThatCouldNotBeShownLeavesTheOneBefore(t *testing.T) {
	var s platform.Shown
	button := block(100, 0)
	failed := block(103, 0)
	s.Judge("m", "x", button, block(102, 0))
	s.Judge("m", "x", button, failed)
	s.Forget("m", "x", failed)
	if got := s.Judge("m", "x", button, block(101, 0)); got != platform.Keep {
		t.Errorf("an older answer: got %d", got)
	}
	if got := s.Judge("m", "x", button, block(103, 0)); got != platform.Replace {
		t.Errorf("the failed one again: got %d", got)
	}
}
