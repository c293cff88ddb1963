package platform_test

import (
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/platform"
)

// asOfBlock returns the Version of an answer as of a block, fetched a while after now. Of two Versions with a block,
// the one with the higher block is newer, whenever they were fetched.
func asOfBlock(number uint64, later time.Duration) chat.Version {
	return chat.Version{Time: time.Now().Add(later), Block: chat.Block{Chain: 1, Number: number}}
}

// judge checks the verdict on an answer to a press. The button carries block 100.
func judge(t *testing.T, s *platform.Shown, message, subject string, answer chat.Version, want platform.Verdict) {
	t.Helper()
	if got := s.Judge(message, subject, asOfBlock(100, 0), answer); got != want {
		t.Errorf("%s in %s as of block %d: got %d, want %d", subject, message, answer.Block.Number, got, want)
	}
}

// If a button is pressed twice at the same moment, both presses carry the same version.
func TestOfTwoPressesTheNewerAnswerWins(t *testing.T) {
	for second, want := range map[uint64]platform.Verdict{
		99:  platform.Keep, // older than the button
		101: platform.Keep, // older than the first answer
		105: platform.Replace,
		106: platform.Replace,
	} {
		var s platform.Shown
		judge(t, &s, "m", "staked 0x1", asOfBlock(105, 0), platform.Replace)
		judge(t, &s, "m", "staked 0x1", asOfBlock(second, time.Minute), want)
	}
}

func TestAnAnswerToAnotherQuestionReplacesTheMessage(t *testing.T) {
	var s platform.Shown
	judge(t, &s, "m", "staked 0x1", asOfBlock(105, 0), platform.Replace)
	judge(t, &s, "m", "staked 0x2", asOfBlock(101, time.Minute), platform.Replace)
}

func TestAnAnswerInAnotherMessageDoesNotCount(t *testing.T) {
	var s platform.Shown
	judge(t, &s, "m", "staked 0x1", asOfBlock(105, 0), platform.Replace)
	judge(t, &s, "another", "staked 0x1", asOfBlock(101, 0), platform.Replace)
}

func TestAnAnswerThatIsNotShownIsNotRemembered(t *testing.T) {
	var s platform.Shown
	judge(t, &s, "m", "x", asOfBlock(105, 0), platform.Replace)
	judge(t, &s, "m", "x", asOfBlock(102, 0), platform.Keep)
	judge(t, &s, "m", "x", asOfBlock(103, 0), platform.Keep)
	judge(t, &s, "m", "x", asOfBlock(104, 0), platform.Keep)
}

func TestForgetForgetsTheAnswerOfItsMessage(t *testing.T) {
	for message, want := range map[string]platform.Verdict{
		"m":       platform.Replace,
		"another": platform.Keep,
	} {
		var s platform.Shown
		failed := asOfBlock(105, 0)
		judge(t, &s, "m", "staked 0x1", failed, platform.Replace)
		s.Forget(message, "staked 0x1", failed)
		judge(t, &s, "m", "staked 0x1", asOfBlock(101, 0), want)
	}
}

// After Forget, the message shows block 102 again. Block 101 is older, so it must not replace the message.
func TestForgetRemembersTheAnswerBefore(t *testing.T) {
	var s platform.Shown
	failed := asOfBlock(103, 0)
	judge(t, &s, "m", "x", asOfBlock(102, 0), platform.Replace)
	judge(t, &s, "m", "x", failed, platform.Replace)
	s.Forget("m", "x", failed)
	judge(t, &s, "m", "x", asOfBlock(101, 0), platform.Keep)
	judge(t, &s, "m", "x", asOfBlock(103, 0), platform.Replace)
}
