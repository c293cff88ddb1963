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

// RareWarnings passes records on to h. Among warnings and errors with the same
// message and cause, one a minute keeps its level, and tells as "more" how many did
// not since the last one. Those are at level info if they have an "id", so that a
// reference can be looked up, and otherwise at level debug. The cause is the service
// that failed and its reason, or else the first line of the error.
func RareWarnings(h slog.Handler) slog.Handler {
	return rareWarnings{Handler: h, mu: &sync.Mutex{}, known: map[string]cause{}}
}

type rareWarnings struct {
	slog.Handler
	mu    *sync.Mutex // guards known
	known map[string]cause
}

// cause is a reason for warnings.
type cause struct {
	at   time.Time // of the last record that kept its level
	more int       // records since then
}

// Handle implements slog.Handler.
func (w rareWarnings) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		key, others := causeOf(r)
		more, due := w.note(key)
		if !due {
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

// note counts a record of a cause, and reports whether it keeps its level; more is
// how many did not before it.
func (w rareWarnings) note(key string) (more int, due bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.known) >= maxCauses {
		clear(w.known)
	}
	c := w.known[key]
	if due = key != "" && time.Since(c.at) >= warnEvery; due {
		more, c = c.more, cause{at: time.Now()}
	} else {
		c.more++
	}
	w.known[key] = c
	return more, due
}

// address may differ in each line of one cause.
var address = regexp.MustCompile(`\S*:\d+`)

// causeOf names the cause of a record, and returns the level of the records that do
// not keep theirs. The name is empty if a service was not called: why it had failed
// before is the cause, and was logged then.
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
