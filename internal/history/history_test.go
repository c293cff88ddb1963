package history

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestQuotesComeBackByTime(t *testing.T) {
	h, _ := open(t, "", source)
	defer h.Close()
	now := time.Now()
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	h.Add(quote(ago(20), "2"))
	h.Add(quote(ago(10), "3"))
	h.Add(quote(ago(30), "1")) // late
	h.Add(quote(ago(20), "9")) // again
	want := []Point{point(ago(30), "1"), point(ago(20), "2"), point(ago(10), "3")}
	if got := all(h); !samePoints(got, want) {
		t.Errorf("got %v", got)
	}
	if got := h.Since(want[1].At); !samePoints(got, want[1:]) {
		t.Errorf("since the second: %v", got)
	}
	if got := h.Since(now); len(got) != 0 {
		t.Errorf("since now: %v", got)
	}
}

func TestQuotesThatCannotBeAreRefused(t *testing.T) {
	h, _ := open(t, "", source)
	defer h.Close()
	now := time.Now()
	h.Add(quote(time.Time{}, "1"))
	h.Add(quote(now, "0"))
	h.Add(quote(now, "-1"))
	h.Add(quote(now.Add(2*time.Minute), "1"))
	h.Add(quote(now.Add(-Kept-time.Minute), "1"))
	h.Add(quote(time.Unix(1<<60, 0), "1"))
	if got := all(h); len(got) != 0 {
		t.Errorf("kept %v", got)
	}
	h.Add(quote(now.Add(30*time.Second), "1"))
	if len(all(h)) != 1 {
		t.Error("a clock that is half a minute ahead costs the quote")
	}
}

func TestPointsAreTheCallersOwn(t *testing.T) {
	h, _ := open(t, "", source)
	defer h.Close()
	h.Add(quote(time.Now(), "1"))
	all(h)[0].Estimated = true
	if all(h)[0].Estimated {
		t.Error("a caller's change reached the history")
	}
}

func TestHistoryIsUsedByManyAtOnce(t *testing.T) {
	h, l := open(t, t.TempDir(), source)
	now := time.Now()
	var users sync.WaitGroup
	for u := range 4 {
		users.Go(func() {
			for m := range 200 {
				h.Add(quote(now.Add(-time.Duration(200*u+m)*5*time.Minute), "1"))
				h.Since(now.Add(-time.Hour))
			}
		})
	}
	users.Wait()
	h.Close()
	if n := len(l.lines()); n != 0 {
		t.Errorf("%d log lines: %v", n, l.lines())
	}
	if n := len(all(h)); n == 0 || n > mostPoints {
		t.Errorf("%d points", n)
	}
}

func BenchmarkAddAndSave(b *testing.B) {
	dir, _ := stored(b)
	h, _ := open(b, dir, source)
	defer h.Close()
	for b.Loop() {
		h.save()
	}
}

func BenchmarkSince(b *testing.B) {
	h, _ := open(b, "", source)
	now := time.Now()
	for m := 90 * 24 * 12; m > 0; m-- {
		h.Add(quote(now.Add(-time.Duration(m)*5*time.Minute), fmt.Sprintf("0.0417%d", m)))
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Since(now.Add(-7 * 24 * time.Hour))
	}
}
