package pricechart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
	fails  int // this many more calls of Load
}

func (s *shared) Load(_ context.Context, key string) ([]byte, error) {
	time.Sleep(s.delay) // simulated time
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails--; s.fails >= 0 {
		return nil, errors.New("away")
	}
	return []byte(s.values[key]), nil
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

func open(source string, stores ...core.Store) (*Quotes, *logtest.Buffer) {
	var log logtest.Buffer
	return NewQuotes(source, stores, log.Logger()), &log
}

// wantPrices checks the prices of all points shown.
func wantPrices(t *testing.T, what string, q *Quotes, want string) {
	t.Helper()
	var all []string
	for _, p := range q.all() {
		all = append(all, p.Price.String())
	}
	if got := strings.Join(all, " "); got != want {
		t.Errorf("%s: the prices are %q, want %q", what, got, want)
	}
}

func TestReplicasAndRestartsShareTheQuotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(shared)
		one, _ := open(source, store)
		two, _ := open(source, store)
		other, _ := open("another", store)
		for i, q := range []*Quotes{one, two, one, other, two} {
			q.Add(quoted(string('1'+rune(i)), time.Now()))
			time.Sleep(step)
		}
		wantPrices(t, "the one that added last", two, "1 2 3 5")
		wantPrices(t, "another source", other, "4")
		again, log := open(source, store)
		wantPrices(t, "a new process", again, "1 2 3 5")
		if store.ttl != maxAge || log.String() != "" {
			t.Errorf("kept for %v; logged %s", store.ttl, log)
		}
		again.Close()
		empty, _ := open("a third", store)
		empty.Close()
		if store.saves != 5 {
			t.Errorf("five quotes are saved %d times", store.saves)
		}
	})
}

func TestEachStoreGetsWhatTheOthersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := new(shared), new(shared)
		for i, store := range []*shared{one, two} {
			q, _ := open(source, store)
			q.Add(quoted(string('1'+rune(i)), time.Now()))
			time.Sleep(step)
		}
		both, _ := open(source, one, two)
		wantPrices(t, "of both", both, "1 2")
		two.values = nil // as when it was away
		both.Close()
		for _, store := range []*shared{one, two} {
			q, _ := open(source, store)
			wantPrices(t, "of each", q, "1 2")
		}
	})
}

func TestAStoreOutOfReachForAMomentLosesNothing(t *testing.T) {
	for fails := range 4 {
		synctest.Test(t, func(t *testing.T) {
			store := new(shared)
			before, _ := open(source, store)
			before.Add(quoted("1", time.Now()))
			time.Sleep(step)
			store.fails = fails
			after, _ := open(source, store)
			after.Add(quoted("2", time.Now()))
			after.Close()
			again, _ := open(source, store)
			wantPrices(t, fmt.Sprint("after ", fails, " failures"), again, "1 2")
		})
	}
}

func TestNobodyWaitsForASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shared{delay: time.Minute}
		q, _ := open(source, store)
		start := time.Now()
		q.Add(quoted("1", start))
		if took := time.Since(start); took != maxWait {
			t.Errorf("it took %v", took)
		}
		wantPrices(t, "meanwhile", q, "1")
		q.Close()
		if len(store.values) != 1 {
			t.Error("Close did not wait until it is saved")
		}
	})
}

// A start with a clock that is a year off deletes nothing, whether the provider's
// clock is right or off with it.
func TestAWrongClockDeletesNothing(t *testing.T) {
	const year = 365 * day
	for name, test := range map[string]struct {
		off          time.Duration
		providersToo bool
		meanwhile    string
	}{
		"slow":               {-year, false, ""},
		"slow, and so is it": {-year, true, "3"},
		"fast":               {year, false, "1 2 3"},
		"fast, and so is it": {year, true, "1 2 3"},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(2 * year)
			right := time.Now().Add(max(0, -test.off)) // The bubble's clock only goes forward.
			store := &shared{values: map[string]string{"quotes " + source: string(encode([]point{
				{At: right.Add(-day), Price: number("1")}, {At: right.Add(-time.Hour), Price: number("2")},
			}))}}
			time.Sleep(max(0, test.off))
			wrong, _ := open(source, store)
			provider := right
			if test.providersToo {
				provider = time.Now()
			}
			wrong.Add(quoted("3", provider))
			wantPrices(t, name+", meanwhile", wrong, test.meanwhile)
			wrong.Close()
			if test.off < 0 {
				time.Sleep(-test.off)
			}
			again, _ := open(source, store)
			for _, price := range []string{"1", "2"} {
				kept := again.all()
				if !slices.ContainsFunc(kept, func(p point) bool { return p.Price.String() == price }) {
					t.Errorf("%s, later: %s is not among %v", name, price, kept)
				}
			}
		})
	}
}

func TestQuotesComeBackByTimeUnlessTheyCannotBe(t *testing.T) {
	q, _ := open(source)
	now := time.Now()
	for _, quote := range []struct {
		ago   time.Duration
		price string
	}{
		{2 * step, "2"}, {step, "3"}, {-30 * time.Second, "4"},
		{3 * step, "1"},                         // late
		{2 * step, "9"},                         // again
		{time.Minute, "0"}, {time.Minute, "-1"}, // no price
		{-2 * time.Minute, "8"}, {-365 * day, "8"}, // ahead
	} {
		q.Add(quoted(quote.price, now.Add(-quote.ago)))
	}
	q.Add(quoted("6", time.Time{}))
	wantPrices(t, "all", q, "1 2 3 4")
	got := q.all()
	got[0].Price = got[1].Price
	wantPrices(t, "after a caller's change", q, "1 2 3 4")
}

func TestStoredQuotesAreCheckedAndDamageIsLoggedOnce(t *testing.T) {
	for _, damaged := range []string{
		"{", `{"t":1}`, `[{"t":1,"p":"0"}]`, `[{"t":1}]`, `[{"t":"x"}]`, `[{"p":"1"}]`, `[{"t":-5,"p":"1"}]`, `[{"t":1,"p":"-1"}]`,
		`[{"t":1,"p":"1e31"}]`, `[{"t":1,"p":"1e-31"}]`, `[{"t":1,"p":"1e999999999"}]`, `[{"t":1,"p":"1e-999999999"}]`,
	} {
		q, log := open(source, &shared{values: map[string]string{"quotes " + source: damaged}})
		q.Add(quoted("1", time.Now()))
		wantPrices(t, damaged, q, "1")
		if got := log.String(); strings.Count(got, "\n") != 1 {
			t.Errorf("%q: logged %s", damaged, got)
		}
	}
}

func TestPointsAreBoundedInNumber(t *testing.T) {
	var all []point
	for ago := 100 * day; ago >= 0; ago -= 5 * time.Minute {
		all = append(all, seen(ago, "12345.678901234567"))
	}
	all = thinned(all)
	if oldest, stored := now.Sub(all[0].At), len(encode(all)); len(all) != maxPoints || oldest < 30*day || oldest > maxAge || stored > 128<<10 {
		t.Errorf("%d points, the oldest is %v old, %d bytes are stored", len(all), oldest, stored)
	}
	for i, p := range all[1:] {
		if p.At.Sub(all[i].At) < 10*time.Minute {
			t.Fatalf("points at %v and %v", all[i].At, p.At)
		}
	}
}
