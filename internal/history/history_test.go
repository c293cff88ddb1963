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
	"testing/synctest"
	"time"

	"herald/internal/core"
	"herald/internal/redact/logtest"
)

func TestQuotesComeBackByTime(t *testing.T) {
	h, _ := open(source)
	now := time.Now()
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	h.Add(quote(ago(20), "2"))
	h.Add(quote(ago(10), "3"))
	h.Add(quote(ago(30), "1")) // late
	h.Add(quote(ago(20), "9")) // again
	want := []Point{point(ago(30), "1"), point(ago(20), "2"), point(ago(10), "3")}
	if got := h.Since(want[1].At); !samePoints(got, want[1:]) {
		t.Errorf("since the second: %v", got)
	}
	got := h.Since(time.Time{})
	if !samePoints(got, want) {
		t.Errorf("got %v", got)
	}
	got[0].Estimated = true
	if h.Since(time.Time{})[0].Estimated {
		t.Error("a caller's change reached the history")
	}
	h.Close()
}

func TestQuotesThatCannotBeAreRefused(t *testing.T) {
	h, _ := open(source)
	now := time.Now()
	h.Add(quote(time.Time{}, "1"))
	h.Add(quote(now, "0"))
	h.Add(quote(now, "-1"))
	h.Add(quote(now.Add(2*time.Minute), "1"))
	h.Add(quote(now.Add(-Kept-time.Minute), "1"))
	h.Add(quote(time.Unix(1<<60, 0), "1"))
	wantPrices(t, "what cannot be", h, "")
	h.Add(quote(now.Add(30*time.Second), "1"))
	wantPrices(t, "a clock that is half a minute ahead", h, "1")
}

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
		saves := store.saves
		again.Close()
		two.Add(quote(time.Now().Add(-10*time.Minute), "9")) // which is known
		two.Close()
		if store.saves != saves {
			t.Error("what is stored already is saved again")
		}
	})
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
		for _, store := range []*shared{one, two} {
			h, _ := open(source, store)
			wantPrices(t, "of each", h, "1 2")
		}
	})
}

// TestAStoreThatIsAwayCostsTheCopyAlone has it lose what it had as well.
func TestAStoreThatIsAwayCostsTheCopyAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(shared)
		h, _ := open(source, store)
		h.Add(quote(time.Now(), "1"))
		store.values = nil
		h.Close()
		again, _ := open(source, store)
		wantPrices(t, "after Close", again, "1")
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

func TestWhatIsStoredIsCheckedAndDamageToldOnce(t *testing.T) {
	for _, damaged := range []string{"{", `{"t":1}`, `[{"t":1,"p":"0"}]`, `[{"t":1,"p":"-1"}]`, `[{"t":1}]`, `[{"t":"x"}]`, "\x00"} {
		h, log := open(source, &shared{values: map[string]string{"quotes " + source: damaged}})
		h.Add(quote(time.Now(), "1"))
		h.Close()
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
		"empty":            {nil, "TKN", 0},
		"something else":   {bytes.Repeat([]byte("TKN"), 10_000), "TKN", 0},
	} {
		if err := os.WriteFile(path, test.content, 0o600); err != nil {
			t.Fatal(err)
		}
		points, err := readOld(path, test.source)
		if len(points) != test.points || (err == nil) != (test.points > 0) {
			t.Errorf("%s: %d points, %v", name, len(points), err)
		}
		if err != nil && strings.Contains(err.Error(), path) {
			t.Errorf("%s: the path is told: %v", name, err)
		}
	}
	if points, err := readOld(filepath.Join(t.TempDir(), "none"), "TKN"); err != nil || points != nil {
		t.Errorf("no file: %v, %v", points, err)
	}
	if _, err := readOld(t.TempDir(), "TKN"); err == nil {
		t.Error("a folder is read")
	}
}

func TestTheFileOfAnEarlierVersionIsTakenOverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)))
		store, log := new(shared), new(logtest.Buffer)
		config := Config{Source: "TKN", Stores: []core.Store{store}, Log: slog.New(slog.NewTextHandler(log, nil))}
		config.OldFile = filepath.Join("testdata", "quotes.db")
		if n := len(New(config).Since(time.Time{})); n != 60 || store.saves != 1 {
			t.Errorf("%d points, saved %d times", n, store.saves)
		}
		config.OldFile = t.TempDir() // No file: to read it would be logged.
		if n := len(New(config).Since(time.Time{})); n != 60 || log.String() != "" {
			t.Errorf("%d points, logged %s", n, log)
		}
		config.Source = "damaged"
		h := New(config)
		h.Add(quote(time.Now(), "1"))
		h.Close()
		if got := log.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, config.OldFile) {
			t.Errorf("logged %s", got)
		}
	})
}

func TestHistoryIsUsedByManyAtOnce(t *testing.T) {
	store := new(shared)
	h, log := open(source, store)
	now := time.Now()
	var users sync.WaitGroup
	for u := range 4 {
		users.Go(func() {
			for m := range 50 {
				h.Add(quote(now.Add(-time.Duration(50*u+m)*5*time.Minute), "1"))
				h.Since(now.Add(-time.Hour))
			}
		})
	}
	users.Wait()
	h.Close()
	again, _ := open(source, store)
	if n := len(again.Since(time.Time{})); n != 200 || log.String() != "" {
		t.Errorf("%d points of 200, logged %s", n, log)
	}
}
