package pricechart

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/mirror/mirrortest"
	"herald/internal/query"
	"herald/internal/secret/logtest"
)

const source = "https://prices.example.org id 1027"

func open(source string, stores ...query.Store) (*Quotes, *logtest.Buffer) {
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
		store := new(mirrortest.Store)
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
		again.Close()
		empty, _ := open("a third", store)
		empty.Close()
		if n, ttl := store.Saves(); n != 5 || ttl != maxAge || log.String() != "" {
			t.Errorf("five quotes are saved %d times, for %v; logged %s", n, ttl, log)
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
			store := mirrortest.With("quotes "+source, string(encode([]point{
				{At: right.Add(-day), Price: number("1")},
				{At: right.Add(-time.Hour), Price: number("2")},
			})))
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
		q, log := open(source, mirrortest.With("quotes "+source, damaged))
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
