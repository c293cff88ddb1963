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

// save has a person save their first wallet, which must succeed.
func (p *person) save() {
	p.w.Helper()
	p.verify("", 0)
	if !p.press(0) {
		p.w.fail("%s could not save an address", p.name)
	}
}

// mustHave fails unless a person has this badge in a community, or none with "".
func (p *person) mustHave(community, id string) {
	p.w.Helper()
	if has := strings.Join(p.badgesIn(community), " "); has != id {
		p.w.fail("%s has %q in %s, not %q", p.name, has, community, id)
	}
}

// Twelve people of server A and one of server B lose their stake. The fuse holds those of
// server A until they are released.
func TestFuseHoldsOneServerUntilReleased(t *testing.T) {
	play(t, 1, options{people: 40, plain: true}, func(w *world) {
		w.serveAll(1)
		var lose []*person
		for i := 0; i < 24; i += 2 {
			w.people[i].leave(serverB)
			lose = append(lose, w.people[i])
		}
		other := w.people[26]
		for _, p := range w.people {
			w.setStake(p.wallets[0], plenty)
			p.save()
			w.wait(2 * time.Second) // not a rush, which has a bound of its own
		}
		other.leave(serverA)
		for _, p := range append(lose, other) {
			w.setStake(p.wallets[0], 0)
		}
		w.wait(3*w.settings.every + time.Hour)
		for _, p := range lose {
			p.mustHave(serverA, roles[0])
		}
		other.mustHave(serverB, "")
		w.release()
		w.wait(2*w.settings.every + time.Hour)
		for _, p := range lose {
			p.mustHave(serverA, "")
		}
	})
}
