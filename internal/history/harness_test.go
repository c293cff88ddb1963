package history

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

const source = "https://prices.example.org id 1027"

// logs are the lines of a log.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.FieldsFunc(l.text.String(), func(r rune) bool { return r == '\n' })
}

// count is the number of lines that contain the text.
func (l *logs) count(text string) int {
	n := 0
	for _, line := range l.lines() {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func open(t testing.TB, dir, source string) (*History, *logs) {
	t.Helper()
	l := new(logs)
	h, err := Open(dir, source, slog.New(slog.NewTextHandler(l, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return h, l
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

func all(h *History) []Point { return h.Since(time.Time{}) }

// stored makes a folder whose file holds many points, and returns them.
func stored(t testing.TB) (dir string, points []Point) {
	t.Helper()
	dir = t.TempDir()
	h, _ := open(t, dir, source)
	now := time.Now()
	for m := 3 * 24 * 60; m > 0; m -= 5 {
		h.Add(quote(now.Add(-time.Duration(m)*time.Minute), "0.041731234"))
	}
	h.Close()
	return dir, all(h)
}

// manyPoints are those of three days, the newest at a time.
func manyPoints(newest time.Time) (points []Point) {
	for m := 3 * 24 * 60; m >= 0; m -= 10 {
		points = append(points, point(newest.Add(-time.Duration(m)*time.Minute), "0.041731234"))
	}
	return points
}

// saved makes a file of points by so many transactions, each of which writes
// them all.
func saved(t testing.TB, dir, source string, points []Point, transactions int) {
	t.Helper()
	f := newFile(dir, slog.New(slog.DiscardHandler))
	if _, err := f.openOnce(source); err != nil {
		t.Fatal(err)
	}
	for range transactions {
		if err := f.save(source, points); err != nil {
			t.Fatal(err)
		}
	}
	f.close()
}

// setAside are the names of the files that were set aside.
func setAside(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "quotes.db.damaged-*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func content(t testing.TB, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func replace(t testing.TB, dir string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, fileName), content, 0o600); err != nil {
		t.Fatal(err)
	}
}
