package membership

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"herald/internal/app"
)

// release runs bot members --release beside the running bot.
func (w *world) release() {
	w.Helper()
	p := &process{w: w, label: fmt.Sprintf("cli%d", len(w.events))}
	p.linkFiles(true)
	cfg, err := app.Load(w.environ(p), "", true)
	if err == nil {
		var said strings.Builder
		err = app.ReleaseBadges(w.Context(), cfg, slog.New(slog.NewTextHandler(io.Discard, nil)), &said)
		w.note("release: %s", said.String())
	}
	if err != nil {
		w.fail("bot members --release: %v", err)
	}
}

// incident has 12 people of server A and one of server B lose their stake. The fuse holds
// those of server A until they are released.
func (w *world) incident() {
	w.Helper()
	for i := 0; i < 24; i += 2 {
		w.people[i].leave(serverB)
	}
	w.allSave()
	for i := 0; i < 24; i += 2 {
		w.setStake(w.people[i].wallets[0], 0)
	}
	w.people[26].leave(serverA)
	w.setStake(w.people[26].wallets[0], 0)
	w.wait(3*w.settings.every + time.Hour)
	for i := 0; i < 24; i += 2 {
		w.people[i].mustHave(serverA, roles[0])
	}
	w.people[26].mustHave(serverB, "")
	w.release()
	w.wait(2*w.settings.every + time.Hour)
	for i := 0; i < 24; i += 2 {
		w.people[i].mustHave(serverA, "")
	}
}

func TestFuseHoldsOneServerUntilReleased(t *testing.T) {
	play(t, 1, options{people: 40, plain: true}, func(w *world) {
		w.serveAll(1)
		w.incident()
	})
}

func TestOldBlocksTakeNothingAfterRelease(t *testing.T) {
	play(t, 1, options{people: 40, plain: true, more: []string{"MAX_BLOCK_AGE=off"}}, func(w *world) {
		w.serveAll(1)
		w.incident()
		w.set("chain", frozen)
		w.wait(4*w.settings.every + 2*time.Hour)
		for i := 28; i < 40; i += 2 {
			w.people[i].mustHave(serverA, roles[0])
		}
	})
}

func TestRaisedAmountTakesTwoChecksAnHourApart(t *testing.T) {
	play(t, 1, options{people: 2}, func(w *world) {
		w.serveAll(1)
		for _, p := range w.people {
			w.setStake(p.wallets[0], 500)
			p.save(0)
		}
		w.wait(2 * w.settings.every)
		w.restart(func(s *settings) {
			for _, c := range []string{serverB, groupB} {
				s.badges[c][0].was, s.badges[c][0].amount, s.badges[c][0].since = anyStake, thousand, time.Now()
			}
		})
		w.settle()
		for _, p := range w.people {
			p.mustHave(p.home(1), "")
		}
	})
}

func TestFallInTwoStepsTakesNoLonger(t *testing.T) {
	play(t, 1, options{people: 2}, func(w *world) {
		w.serveAll(1)
		w.allSave()
		for _, amount := range []int64{500, 0} {
			for _, p := range w.people {
				w.setStake(p.wallets[0], amount)
			}
			w.wait(2 * w.settings.every)
		}
		w.wait(time.Hour + 10*time.Second)
		for _, p := range w.people {
			p.mustHave(p.home(0), "")
			p.mustHave(p.home(1), "")
		}
	})
}
