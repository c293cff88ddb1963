package belief

import (
	"context"
	"log/slog"
	"testing"

	"herald/internal/core"
	"herald/internal/pricechart"
	"herald/internal/query"
)

// cachedSource is a query.Source with one answer.
type cachedSource struct{ answer query.Snapshot[*core.Quote] }

func (s *cachedSource) Get(context.Context, struct{}) (query.Snapshot[*core.Quote], error) {
	return s.answer, nil
}

func BenchmarkCachedPrice(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	prices := NewPrices(Config{
		Source: &cachedSource{answerOf(1, changes{"0", "0", "0"})},
		Token:  token,
		Series: pricechart.NewQuotes(token, nil, log),
		Log:    log,
	})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = prices.Get(b.Context(), struct{}{})
	}
}
