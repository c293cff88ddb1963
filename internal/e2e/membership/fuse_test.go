package membership

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"herald/internal/app"
)

// Twelve people of server A and one of server B lose their stake. Twelve are so many that the fuse holds all
// removals in server A, until they are released. It does not hold the one in server B.
func TestFuseHoldsOneServerUntilReleased(t *testing.T) {
	play(t, 1, options{people: 40, oneBadge: true}, func(w *world) {
		w.serveAll(1)
		var losers []*person         // of server A
		for i := 0; i < 24; i += 2 { // People with an even number are on Discord.
			w.people[i].leave(serverB)
			losers = append(losers, w.people[i])
		}
		loserOfB := w.people[26]
		for _, p := range w.people {
			w.setStake(p.wallets[0], plenty)
			p.save()
			w.wait(2 * time.Second) // Many presses at once would exceed a limit.
		}
		loserOfB.leave(serverA)
		for _, p := range append(losers, loserOfB) {
			w.setStake(p.wallets[0], 0)
		}
		w.wait(3*w.settings.every + time.Hour)
		for _, p := range losers {
			p.checkBadge(serverA, roles[0])
		}
		loserOfB.checkBadge(serverB, "")
		w.release()
		w.wait(2*w.settings.every + time.Hour)
		for _, p := range losers {
			p.checkBadge(serverA, "")
		}
	})
}

// release runs the command bot members --release beside the running bot.
func (w *world) release() {
	w.Helper()
	p := &process{w: w, label: fmt.Sprintf("cli%d", len(w.events))}
	p.linkFiles()
	cfg, err := app.Load(w.environ(p), "", app.ToServe)
	if err != nil {
		w.Fatalf("load the settings: %v", err)
	}
	var printed strings.Builder
	err = app.ReleaseBadges(w.Context(), cfg, slog.New(slog.DiscardHandler), &printed)
	w.note("release: %s", printed.String())
	if err != nil {
		w.fail("bot members --release: %v", err)
	}
}

// save makes a person save their first wallet, and fails the test if the bot does not save it.
func (p *person) save() {
	p.w.Helper()
	p.verify("", 0)
	if !p.press(0) {
		p.w.fail("%s could not save an address", p.name)
	}
}

// checkBadge fails the test unless a person has exactly one badge in a community, with this ID. If id is "",
// the person must have none.
func (p *person) checkBadge(community, id string) {
	p.w.Helper()
	if badges := strings.Join(p.badgesIn(community), " "); badges != id {
		p.w.fail("%s has %q in %s, not %q", p.name, badges, community, id)
	}
}
