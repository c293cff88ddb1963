package redact

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"unicode/utf8"
)

const (
	// longest bounds the texts of one record together, in bytes as slog's
	// handlers escape them.
	longest = 8 << 10
	// longestWith bounds those of the attributes given to one Logger.With.
	longestWith = 1 << 10
)

// Handler passes records on to next with secrets replaced in the message and
// in every attribute, and all of them together at most 8 KiB long as they are
// written; what comes first has its place first. A value that is no
// number, bool, time or duration is passed on as the text that fmt makes of it.
func (r *Redactor) Handler(next slog.Handler) slog.Handler {
	return &handler{next: next, redactor: r}
}

type handler struct {
	next     slog.Handler
	redactor *Redactor
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	c := &cleaner{redactor: h.redactor, left: longest}
	clean := slog.NewRecord(record.Time, record.Level, c.text(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(c.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := &cleaner{redactor: h.redactor, left: longestWith}
	return &handler{next: h.next.WithAttrs(c.attrs(attrs)), redactor: h.redactor}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{next: h.next.WithGroup(name), redactor: h.redactor}
}

// cleaner redacts the texts of one record and has room left for so many bytes.
type cleaner struct {
	redactor *Redactor
	left     int
}

func (c *cleaner) attrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = c.attr(a)
	}
	return clean
}

func (c *cleaner) attr(a slog.Attr) slog.Attr {
	if a.Equal(slog.Attr{}) {
		return a
	}
	a.Key = c.text(a.Key)
	switch value := a.Value.Resolve(); value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(c.text(value.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(c.attrs(value.Group())...)
	case slog.KindAny:
		a.Value = slog.StringValue(c.text(plain(value.Any())))
	default:
		a.Value = value
	}
	return a
}

// plain is v as text. Bytes must not turn into a list of numbers, in which no
// secret is found.
func plain(v any) string {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case json.RawMessage:
		return string(v)
	}
	return fmt.Sprint(v)
}

// text redacts before it cuts: half a secret would not be found.
func (c *cleaner) text(s string) string {
	s = c.redactor.String(s)
	for at := 0; at < len(s); {
		r, size := utf8.DecodeRuneInString(s[at:])
		if c.left -= written(r, size); c.left < 0 {
			c.left = 0
			return s[:at] + "…"
		}
		at += size
	}
	return s
}

// written is how many bytes a character of a size takes at most once it is
// escaped, as \u2028 or \U000e0001.
func written(r rune, size int) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\t', r == '\r':
		return 2
	case r > 0xffff && !strconv.IsPrint(r):
		return 10
	case r == utf8.RuneError, !strconv.IsPrint(r):
		return 6
	}
	return size
}
