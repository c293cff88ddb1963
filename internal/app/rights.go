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
	// rightsEvery is how often each platform is asked what the bot may do.
	rightsEvery = time.Hour
	// rightsRetry is when a platform that could not be asked is asked again.
	rightsRetry = time.Minute
	// failuresBeforeLog is how many times in a row a platform cannot be asked before that is logged. A single failure
	// is not worth a warning.
	failuresBeforeLog = 2
)

// watchRights asks each platform at the start, and then every rightsEvery, whether the bot may do what the settings
// require and whether it is in the communities of CHAT_LANGUAGE. It logs what is wrong. It blocks until ctx is done.
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

// rightsWatch logs each Right of one platform when it begins to have a Problem or Advice. A platform.Right reports
// whether the bot may do what an entry of a setting requires. The keys of the maps are a setting and an entry.
type rightsWatch struct {
	log *slog.Logger
	// isWrong has whether a Right had a Problem or Advice when it was last known.
	isWrong map[string]bool
	// names has the last known Name of a Right. The log thus names even a role that was deleted.
	names map[string]chat.Untrusted
	// failures counts how many times in a row the platform could not be asked.
	failures int
}

func newRightsWatch(log *slog.Logger) *rightsWatch {
	return &rightsWatch{log: log, isWrong: map[string]bool{}, names: map[string]chat.Untrusted{}}
}

// run calls rights every rightsEvery, or sooner after a failure, and logs what is new. It blocks until ctx is done. It
// returns early if rights returns nothing: then the settings require no rights on the platform.
func (w *rightsWatch) run(ctx context.Context, rights func(context.Context) []platform.Right) {
	for {
		found := rights(ctx)
		if len(found) == 0 || ctx.Err() != nil {
			return
		}
		select {
		case <-time.After(w.note(found)):
		case <-ctx.Done():
			return
		}
	}
}

// note logs what is new in found. It returns the time until the platform is asked again.
func (w *rightsWatch) note(found []platform.Right) (untilNext time.Duration) {
	var unknown *platform.Right // the last of found that is unknown, because the platform could not be asked
	for i, r := range found {
		isUnknown := r.Temporary
		if isUnknown {
			unknown = &found[i]
		} else {
			w.noteKnown(r)
		}
	}
	if unknown == nil {
		w.failures = 0
		return rightsEvery
	}
	w.failures++
	if w.failures == failuresBeforeLog {
		w.log.Warn("a setting cannot be checked, trying again", "setting", unknown.Setting, "why", unknown.Problem)
	}
	return rightsRetry
}

// noteKnown logs r if it has begun to have a Problem or Advice.
func (w *rightsWatch) noteKnown(r platform.Right) {
	entry := r.Setting + r.Entry
	name := cmp.Or(r.Name, w.names[entry])
	why := cmp.Or(r.Problem, strings.Join(r.Advice, "; "))
	isWrong := why != ""
	if isWrong && !w.isWrong[entry] {
		w.log.Warn("a setting does not work as it should", "setting", r.Setting, "name", name, "why", why)
	}
	w.names[entry] = name
	w.isWrong[entry] = isWrong
}
