package platform_test

import (
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/platform"
)

// block returns the Version of an answer as of a block, fetched a while after now. That time does not count.
func block(number uint64, fetched time.Duration) chat.Version {
	return chat.Version{Time: time.Now().Add(fetched), Block: chat.Block{Chain: 1, Number: number}}
}

// judge checks the verdict about an answer to a press in a message that showed block 100.
func judge(t *testing.T, s *platform.Shown, message, subject string, answer chat.Version, want platform.Verdict) {
	t.Helper()
	if got := s.Judge(message, subject, block(100, 0), answer); got != want {
		t.Errorf("%s in %s as of block %d: got %d, want %d", subject, message, answer.Block.Number, got, want)
	}
}

// A button that is pressed twice at the same moment carries the same version twice.
func TestOfTwoPressesTheNewerAnswerWins(t *testing.T) {
	for second, want := range map[uint64]platform.Verdict{
		99:  platform.Keep,
		101: platform.Keep,
		105: platform.Replace,
		106: platform.Replace,
	} {
		var s platform.Shown
		judge(t, &s, "m", "staked 0x1", block(105, 0), platform.Replace)
		judge(t, &s, "m", "staked 0x1", block(second, time.Minute), want)
	}
}

func TestAnAnswerToAnotherQuestionReplacesTheMessage(t *testing.T) {
	var s platform.Shown
	judge(t, &s, "m", "staked 0x1", block(105, 0), platform.Replace)
	judge(t, &s, "m", "staked 0x2", block(101, time.Minute), platform.Replace)
}

func TestAnAnswerInAnotherMessageDoesNotCount(t *testing.T) {
	var s platform.Shown
	judge(t, &s, "m", "staked 0x1", block(105, 0), platform.Replace)
	judge(t, &s, "another", "staked 0x1", block(101, 0), platform.Replace)
}

func TestAnAnswerThatCouldNotBeShownIsForgotten(t *testing.T) {
	for message, want := range map[string]platform.Verdict{
		"m":       platform.Replace,
		"another": platform.Keep,
	} {
		var s platform.Shown
		failed := block(105, 0)
		judge(t, &s, "m", "staked 0x1", failed, platform.Replace)
		s.Forget(message, "staked 0x1", failed)
		judge(t, &s, "m", "staked 0x1", block(101, 0), want)
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
