package e2e

import (
	"testing"

	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// The built binary is killed while one command hangs. Telegram repeats that command and
// what was answered after it, because a poll acknowledges only what is answered together
// with all before it.
func TestSIGKILLLosesNothingWhilePolling(t *testing.T) {
	t.Parallel()
	// One getUpdates returns 100 updates at most. behind is smaller, because the bot
	// acknowledges what hangs at the head of a full batch.
	const batch, before, behind = 100, 250, 90
	fakes, platform := fault.Start(t), e2etest.Ways[0].Open(t)
	fakes.Chain.SetFault(fault.Hang())
	var asked []*e2etest.Asked
	for i := range before + 1 + behind {
		c := e2etest.Command{User: int64(1000 + i), Name: "price"}
		if i == before {
			c.Name, c.Argument = "staked", wallet(i)
		}
		asked = append(asked, platform.Ask(c))
	}
	first := platform.Start(binary(t), fakes)
	if n := len(platform.Telegram.WaitSent(before+behind, e2etest.Patience)); n != before+behind {
		t.Fatalf("%d messages are sent before the kill, want %d", n, before+behind)
	}
	first.Kill()
	fakes.Chain.SetFault(fault.Fault{})
	platform.Start(binary(t), fakes)
	if !platform.Telegram.WaitAcknowledged(e2etest.Patience) {
		t.Errorf("%d updates are not acknowledged", len(platform.Telegram.Pending()))
	}
	repeated := 0
	for _, a := range asked {
		answers := len(a.Answers())
		if answers < 1 || answers > 2 {
			t.Errorf("user %d has %d answers, want 1 or 2", a.User, answers)
		}
		repeated += max(answers-1, 0)
	}
	if repeated < behind {
		t.Errorf("%d commands are answered twice, want at least %d: the kill came too late", repeated, behind)
	}
	if repeated > batch {
		t.Errorf("%d commands are answered twice, want at most %d", repeated, batch)
	}
}
