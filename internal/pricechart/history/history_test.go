package history

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
	"herald/internal/secret/logtest"
)

func TestReplicasAndRestartsShareTheQuotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(shared)
		one, _ := open(source, store)
		two, _ := open(source, store)
		other, _ := open("another", store)
		for i, h := range []*History{one, two, one, other, two} {
			h.Add(quote(time.Now(), string('1'+rune(i))))
			time.Sleep(10 * time.Minute)
		}
		wantPrices(t, "the one that added last", two, "1 2 3 5")
		wantPrices(t, "another source", other, "4")
		again, log := open(source, store)
		wantPrices(t, "a new process", again, "1 2 3 5")
		if store.ttl != Kept || log.String() != "" {
			t.Errorf("kept for %v; logged %s", store.ttl, log)
		}
		again.Close()
		if store.saves != 5 {
			t.Errorf("five quotes are saved %d times", store.saves)
		}
	})
}

func TestNobodyWaitsForASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shared{delay: time.Minute}
		h, _ := open(source, store)
		start := time.Now()
		h.Add(quote(start, "1"))
		wantPrices(t, "meanwhile", h, "1")
		if took := time.Since(start); took != maxWait {
			t.Errorf("it took %v", took)
		}
		h.Close()
		if len(store.values) != 1 {
			t.Error("Close did not wait until it is saved")
		}
	})
}

// TestAWrongClockDeletesNothing starts, adds and stops a year before and after.
func TestAWrongClockDeletesNothing(t *testing.T) {
	for _, off := range []time.Duration{-365 * day, 365 * day} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(2 * 365 * day)
			right := time.Now().Add(max(0, -off)) // The bubble's clock goes forward only.
			store := &shared{values: map[string]string{"quotes " + source: string(encode([]Point{
				point(right.Add(-day), "1"), point(right.Add(-time.Hour), "2"),
			}))}}
			if off > 0 {
				time.Sleep(off)
			}
			wrong, _ := open(source, store)
			wrong.Add(quote(right, "3")) // the provider's time
			if off < 0 {
				wrong.Add(quote(time.Now(), "4"))
				wantPrices(t, "with the wrong clock", wrong, "")
				time.Sleep(-off)
			}
			wrong.Close()
			h, _ := open(source, store)
			wantPrices(t, "with the clock set right", h, "1 2")
		})
	}
}

func TestQuotesComeBackByTimeUnlessTheyCannotBe(t *testing.T) {
	h, _ := open(source)
	now := time.Now()
	for _, q := range []struct {
		ago   time.Duration
		price string
	}{
		{20 * time.Minute, "2"}, {10 * time.Minute, "3"}, {-30 * time.Second, "4"},
		{30 * time.Minute, "1"},                 // late
		{20 * time.Minute, "9"},                 // again
		{time.Minute, "0"}, {time.Minute, "-1"}, // no price
		{-2 * time.Minute, "8"}, {-365 * day, "8"}, // ahead
		{Kept + time.Minute, "7"}, // too old
	} {
		h.Add(quote(now.Add(-q.ago), q.price))
	}
	h.Add(quote(time.Time{}, "6"))
	wantPrices(t, "all", h, "1 2 3 4")
	got := h.Since(now.Add(-15 * time.Minute))
	if len(got) != 2 || !samePoints(got[:1], []Point{point(now.Add(-10*time.Minute), "3")}) {
		t.Errorf("of a quarter of an hour: %v", got)
	}
	got[0].Price = got[1].Price
	wantPrices(t, "after a caller's change", h, "1 2 3 4")
}

func TestEachStoreGetsWhatTheOthersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := new(shared), new(shared)
		for i, store := range []*shared{one, two} {
			h, _ := open(source, store)
			h.Add(quote(time.Now(), string('1'+rune(i))))
			time.Sleep(10 * time.Minute)
		}
		both, _ := open(source, one, two)
		wantPrices(t, "of both", both, "1 2")
		two.values = nil // as when it was away
		both.Close()
		for _, store := range []*shared{one, two} {
			h, _ := open(source, store)
			wantPrices(t, "of each", h, "1 2")
		}
	})
}

func TestWhatIsStoredIsCheckedAndDamageToldOnce(t *testing.T) {
	for _, damaged := range []string{"{", `{"t":1}`, `[{"t":1,"p":"0"}]`, `[{"t":1}]`, `[{"t":"x"}]`} {
		h, log := open(source, &shared{values: map[string]string{"quotes " + source: damaged}})
		h.Add(quote(time.Now(), "1"))
		wantPrices(t, damaged, h, "1")
		if got := log.String(); strings.Count(got, "\n") != 1 {
			t.Errorf("%q: logged %s", damaged, got)
		}
	}
}

// TestTheFileOfAnEarlierVersionIsRead reads testdata/quotes.db, which an earlier
// version wrote: 60 points of TKN and a page of before with 50, and 30 of OTHER.
func TestTheFileOfAnEarlierVersionIsRead(t *testing.T) {
	written, err := os.ReadFile(filepath.Join("testdata", "quotes.db"))
	if err != nil {
		t.Fatal(err)
	}
	pages := slices.Collect(slices.Chunk(written, 4096))
	slices.Reverse(pages)
	path := filepath.Join(t.TempDir(), "quotes.db")
	for name, test := range map[string]struct {
		content []byte
		source  string
		points  int
	}{
		"as it is":         {written, "TKN", 60},
		"pages turned":     {bytes.Join(pages, nil), "TKN", 60},
		"another token":    {written, "OTHER", 30},
		"an unknown token": {written, "TK", 0},
		"a price changed":  {bytes.ReplaceAll(written, []byte(`"1.59"`), []byte(`"9.59"`)), "TKN", 50},
		"cut":              {written[:9100], "TKN", 0},
		"something else":   {bytes.Repeat([]byte("TKN"), 10_000), "TKN", 0},
	} {
		if err := os.WriteFile(path, test.content, 0o600); err != nil {
			t.Fatal(err)
		}
		points, err := readOld(path, test.source)
		if len(points) != test.points || (err == nil) != (test.points > 0) {
			t.Errorf("%s: %d points, %v", name, len(points), err)
		}
	}
	if points, err := readOld(filepath.Join(t.TempDir(), "none"), "TKN"); err != nil || points != nil {
		t.Errorf("no file: %v, %v", points, err)
	}
}

func TestTheFileOfAnEarlierVersionIsTakenOverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)))
		store, log := new(shared), new(logtest.Buffer)
		config := Config{Source: "TKN", Stores: []core.Store{store}, Log: log.Logger()}
		for _, config.OldFile = range []string{filepath.Join("testdata", "quotes.db"), t.TempDir()} {
			if n := len(New(config).Since(time.Time{})); n != 60 || store.saves != 1 || log.String() != "" {
				t.Errorf("%d points, saved %d times, logged %s", n, store.saves, log)
			}
		}
		config.Source = "in a folder"
		h := New(config)
		h.Close()
		if got := log.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, config.OldFile) {
			t.Errorf("logged %s", got)
		}
	})
}
