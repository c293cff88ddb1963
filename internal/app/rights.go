package app

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"herald/internal/chat"
	"herald/internal/platform"
)

const (
	// rightsEvery is how often the platforms are asked what the bot may do.
	rightsEvery = time.Hour
	// rightsAgain is when a platform is asked again that could not be asked.
	rightsAgain = time.Minute
)

// watchRights asks each platform at the start and then every hour whether the bot may do what the settings ask for, and
// is in the chats of CHAT_LANGUAGE, and logs what is wrong. It blocks until ctx is done.
func (b *Bot) watchRights(ctx context.Context) {
	var watching sync.WaitGroup
	for _, c := range b.connections {
		w := newRightsWatch(b.log)
		entries := b.cfg.languageEntries(c.adapter.Platform())
		watching.Go(func() {
			w.run(ctx, func(ctx context.Context) []platform.Right { return c.adapter.Rights(ctx, entries...) })
		})
	}
	watching.Wait()
}

// rightsWatch logs each Right of a platform that begins to have a Problem or Advice.
type rightsWatch struct {
	log    *slog.Logger
	warned map[string]bool           // by entry, whether the last line about it stands
	names  map[string]chat.Untrusted // by entry, also of a role that was deleted
	// unread counts how often in a row the platform could not be asked.
	unread int
}

func newRightsWatch(log *slog.Logger) *rightsWatch {
	return &rightsWatch{log: log, warned: map[string]bool{}, names: map[string]chat.Untrusted{}}
}

// run asks until ctx is done, or until nothing is configured on the platform.
func (w *rightsWatch) run(ctx context.Context, rights func(context.Context) []platform.Right) {
	for {
		found := rights(ctx)
		if len(found) == 0 || ctx.Err() != nil {
			return
		}
		select {
		case <-time.After(w.look(found)):
		case <-ctx.Done():
			return
		}
	}
}

// look logs what is new in found, and returns when to ask again.
func (w *rightsWatch) look(found []platform.Right) (next time.Duration) {
	var unread *platform.Right
	for i, r := range found {
		if r.Temporary {
			unread = &found[i]
			continue
		}
		w.compare(r)
	}
	if unread == nil {
		w.unread = 0
		return rightsEvery
	}
	w.unread++
	if w.unread == 2 { // Once may be a moment's fault.
		w.log.Warn("a setting cannot be checked, trying again", "setting", unread.Setting, "why", unread.Problem)
	}
	return rightsAgain
}

// compare logs r if it has begun to have a Problem or Advice.
func (w *rightsWatch) compare(r platform.Right) {
	entry := r.Setting + r.Entry
	w.names[entry] = cmp.Or(r.Name, w.names[entry])
	why := cmp.Or(r.Problem, strings.Join(r.Advice, "; "))
	if why != "" && !w.warned[entry] {
		w.log.Warn("a setting does not work as it should", "setting", r.Setting, "name", w.names[entry], "why", why)
	}
	w.warned[entry] = why != ""
}
