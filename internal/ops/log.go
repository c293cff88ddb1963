package ops

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"herald/internal/core"
)

const (
	// warnEvery is how often the same cause is logged as a warning or an error.
	warnEvery = time.Minute
	// maxCauses bounds the causes that are remembered.
	maxCauses = 1000
)

// RareWarnings passes records on to h. Of the warnings and errors with the same
// message and cause, one a minute keeps its level, and the next such one says as
// "more" how many did not: these are at level info where they have an "id", by which
// somebody may look for them, and else at level debug. The cause is the service that
// failed and why or, where none is to blame, the first line of the error.
func RareWarnings(h slog.Handler) slog.Handler {
	return rareWarnings{Handler: h, mu: &sync.Mutex{}, known: map[string]cause{}}
}

type rareWarnings struct {
	slog.Handler
	mu    *sync.Mutex // guards known
	known map[string]cause
}

// cause is when it was last a warning, and how often it was none since.
type cause struct {
	at   time.Time
	more int
}

// Handle implements slog.Handler.
func (w rareWarnings) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		key, others := causeOf(r)
		more, rare := w.note(key)
		if !rare {
			r.Level = others
		} else if more > 0 {
			r.AddAttrs(slog.Int("more", more))
		}
	}
	if !w.Enabled(ctx, r.Level) {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (w rareWarnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	w.Handler = w.Handler.WithAttrs(attrs)
	return w
}

// WithGroup implements slog.Handler.
func (w rareWarnings) WithGroup(name string) slog.Handler {
	w.Handler = w.Handler.WithGroup(name)
	return w
}

// note reports whether a record is the first of its cause for warnEvery, and how
// many were not since the last one that was.
func (w rareWarnings) note(key string) (more int, rare bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.known) >= maxCauses {
		clear(w.known)
	}
	c := w.known[key]
	if rare = key != "" && time.Since(c.at) >= warnEvery; rare {
		more, c = c.more, cause{at: time.Now()}
	} else {
		c.more++
	}
	w.known[key] = c
	return more, rare
}

// address may differ in each line of one cause.
var address = regexp.MustCompile(`\S*:\d+`)

// causeOf returns what a record has in common with others of its cause. It is empty
// where a service was left alone: what it had failed with before is the cause.
// others is the level of those that are no warning.
func causeOf(r slog.Record) (key string, others slog.Level) {
	key, others = r.Message, slog.LevelDebug
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "id" {
			others = slog.LevelInfo
		}
		err, is := a.Value.Any().(error)
		failed, ofService := errors.AsType[*core.Error](err)
		switch {
		case !is:
			return true
		case !ofService:
			first, _, _ := strings.Cut(err.Error(), "\n")
			key += " " + first
		case failed.Reason == core.Paused:
			key = ""
		default:
			key += " " + failed.Service.Name + " " + string(failed.Reason)
		}
		return false
	})
	return address.ReplaceAllString(key, ""), others
}
