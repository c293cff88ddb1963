package query

import (
	"testing"
	"time"

	"herald/internal/core"
)

// ignore is an Observer that counts nothing, so that a benchmark measures only the lookup.
type ignore struct{}

func (ignore) Call(*core.Service, CallResult, time.Duration) {}

func (ignore) Lookup(string, LookupResult, time.Duration) {}

func BenchmarkCachedPrice(b *testing.B) {
	f := newFixture(b, setup{price: priced(7), ttl: time.Hour, observer: ignore{}})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = f.askPrice(b.Context())
	}
}

func BenchmarkCachedStake(b *testing.B) {
	f := newFixture(b, setup{observer: ignore{}})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = f.stakes.Get(b.Context(), wallet(1))
	}
}
