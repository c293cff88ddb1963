package history

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
	"herald/internal/secret/logtest"
)

const source = "https://prices.example.org id 1027"

// shared is a core.Store in memory, which takes its time.
type shared struct {
	delay time.Duration

	mu     sync.Mutex
	values map[string]string
	ttl    time.Duration
	saves  int
}

func (s *shared) Load(_ context.Context, key string) ([]byte, bool) {
	time.Sleep(s.delay) // simulated time
	s.mu.Lock()
	defer s.mu.Unlock()
	value, found := s.values[key]
	return []byte(value), found
}

func (s *shared) Save(_ context.Context, key string, value []byte, ttl time.Duration) {
	time.Sleep(s.delay) // simulated time
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]string{}
	}
	s.values[key], s.ttl = string(value), ttl
	s.saves++
}

func open(source string, stores ...core.Store) (*History, *logtest.Buffer) {
	var log logtest.Buffer
	return New(Config{Source: source, Stores: stores, Log: log.Logger()}), &log
}

func quote(at time.Time, price string) core.Quote {
	return core.Quote{Price: decimal.RequireFromString(price), LastUpdated: at}
}

// point is the Point of such a quote.
func point(at time.Time, price string) Point {
	return Point{At: at.UTC().Truncate(time.Second), Price: decimal.RequireFromString(price)}
}

func samePoints(a, b []Point) bool {
	return slices.EqualFunc(a, b, func(a, b Point) bool {
		return a.At.Equal(b.At) && a.Price.Equal(b.Price) && a.Estimated == b.Estimated
	})
}

// wantPrices checks the prices of all points shown.
func wantPrices(t *testing.T, what string, h *History, want string) {
	t.Helper()
	var all []string
	for _, p := range h.Since(time.Time{}) {
		all = append(all, p.Price.String())
	}
	if got := strings.Join(all, " "); got != want {
		t.Errorf("%s: the prices are %q, want %q", what, got, want)
	}
}
