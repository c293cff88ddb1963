package redact

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"unicode/utf8"
)

// longest bounds a message or an attribute's text, in bytes.
const longest = 8 << 10

// Handler passes records on to next with secrets replaced in the message and
// in every attribute, and each of those at most 8 KiB long. A value that is no
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
	clean := slog.NewRecord(record.Time, record.Level, h.text(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{next: h.next.WithAttrs(h.attrs(attrs)), redactor: h.redactor}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{next: h.next.WithGroup(name), redactor: h.redactor}
}

func (h *handler) attrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return clean
}

func (h *handler) attr(a slog.Attr) slog.Attr {
	if a.Equal(slog.Attr{}) {
		return a
	}
	a.Key = h.text(a.Key)
	switch value := a.Value.Resolve(); value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.text(value.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(h.attrs(value.Group())...)
	case slog.KindAny:
		a.Value = slog.StringValue(h.text(plain(value.Any())))
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
func (h *handler) text(s string) string {
	s = h.redactor.String(s)
	if len(s) <= longest {
		return s
	}
	const cut = "…"
	end := longest - len(cut)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + cut
}
