package redact

import (
	"io"
	"log/slog"
	"testing"
)

// BenchmarkLogLine writes the one line of a command.
func BenchmarkLogLine(b *testing.B) {
	log := slog.New(slog.NewTextHandler(io.Discard, options("a-secret-of-some-length", "123456789:another-secret", "0123456789abcdef")))
	b.ReportAllocs()
	for b.Loop() {
		log.LogAttrs(b.Context(), slog.LevelInfo, "command",
			slog.String("id", "7KQ2M4ABCD"), slog.String("platform", "telegram"), slog.String("command", "price"),
			slog.String("user", "8f14e45fceea"), slog.String("outcome", "ok"), slog.Duration("took", 1234567))
	}
}
