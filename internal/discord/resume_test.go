package discord

import (
	"strings"
	"testing"
	"time"

	"herald/internal/discord/discordtest"
)

func TestWhatIsAskedWhileTheConnectionIsLostIsAnswered(t *testing.T) {
	for name, action := range map[string]discordtest.Action{
		"op 7": {Op: 7}, "a drop": {Drop: true}, "close 4000": {Close: 4000}, "op 9": {Op: 9, Resumable: true},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, h *harness) {
				pass(time.Minute)
				h.fake.Do(action)
				p := h.push(t, discordtest.Interaction{Command: "price"})
				pass(time.Second)
				if a := p.Answer(); a.Callbacks != 1 || a.Final > 200*time.Millisecond || !strings.Contains(a.Text(), "price") {
					t.Errorf("answered %q after %v", a.Text(), a.Final)
				}
				if h.counts.of("resumed") != 1 || len(h.fake.Identifies()) != 1 {
					t.Errorf("counted %v, identified %d times", h.counts.events, len(h.fake.Identifies()))
				}
			})
		})
	}
}

// One failed attempt to resume leaves time for another.
func TestWhatIsAskedIsAnsweredThoughTheFirstResumeFails(t *testing.T) {
	for name, fails := range map[string]discordtest.Action{"a drop": {Drop: true}, "op 7": {Op: 7}, "close 4000": {Close: 4000}} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, h *harness) {
				pass(time.Minute)
				h.fake.Behave(discordtest.Behaviour{InsteadOfHello: []discordtest.Action{fails}})
				h.fake.Do(discordtest.Action{Drop: true})
				p := h.push(t, discordtest.Interaction{Command: "price"})
				pass(500 * time.Millisecond)
				h.fake.Behave(discordtest.Behaviour{})
				pass(2500 * time.Millisecond)
				if a := p.Answer(); a.Callbacks != 1 || !strings.Contains(a.Text(), "price") || len(h.fake.Identifies()) != 1 {
					t.Errorf("answered with %+v, identified %d times; counted %v", a, len(h.fake.Identifies()), h.counts.events)
				}
			})
		})
	}
}

// Discord refuses an answer after 3 s; one that is younger still has what is
// left of them.
func TestReplayedInteractionsAreAnsweredOnlyInTime(t *testing.T) {
	for name, tt := range map[string]struct {
		age      time.Duration
		slow     bool
		answered bool
	}{
		"young":            {1500 * time.Millisecond, false, true},
		"young and slow":   {2500 * time.Millisecond, true, true},
		"too old":          {3100 * time.Millisecond, false, false},
		"from another day": {26 * time.Hour, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, h *harness) {
				release := make(chan struct{})
				h.until(release, "at last")
				if !tt.slow {
					close(release)
				}
				p, replay := h.fake.Keep(discordtest.Interaction{Command: "price"})
				pass(tt.age)
				h.fake.Do(discordtest.Action{Drop: true})
				replay()
				pass(400 * time.Millisecond)
				if a := p.Answer(); (a.Callbacks == 1) != tt.answered || a.Deferred != tt.slow {
					t.Errorf("%+v", a)
				}
				if tt.slow {
					close(release)
					pass(100 * time.Millisecond)
					if a := p.Answer(); a.Edits != 1 || !strings.Contains(a.Text(), "at last") {
						t.Errorf("%+v", a)
					}
				}
				if late := h.counts.of("too_late"); (late == 1) == tt.answered || !tt.answered && len(h.handler.Requests()) > 0 {
					t.Errorf("counted %v", h.counts.events)
				}
			})
		})
	}
}

// The age of an interaction that comes as it should is not judged: this
// machine's clock may be wrong.
func TestAClockThatIsOffSilencesNobody(t *testing.T) {
	h := connected(t, nil)
	h.answer(t, discordtest.Interaction{Command: "price", ID: "1234567"})
	h.fake.Do(discordtest.Action{Op: 7})
	h.wait(t, "a new connection", func() bool { return h.counts.of("resumed") == 1 && h.Ready() })
	h.answer(t, discordtest.Interaction{Command: "price", ID: "1234568"})
}
