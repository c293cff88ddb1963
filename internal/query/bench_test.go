package query

import (
	"testing"
	"time"
)

func BenchmarkCachedPrice(b *testing.B) {
	f := newFixture(b, setup{price: priced(7), ttl: time.Hour, observer: silent{}})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = f.askPrice(b.Context())
	}
}

func BenchmarkCachedStake(b *testing.B) {
	f := newFixture(b, setup{observer: silent{}})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = f.stakes.Get(b.Context(), wallet(1))
	}
}
