package pricechart

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
	"herald/internal/mirror/mirrortest"
	"herald/internal/query"
	"herald/internal/secret/logtest"
)

const source = "https://prices.example.org id 1027"

// open returns the Quotes of a source, and their log.
func open(source string, stores ...query.Store) (*Quotes, *logtest.Buffer) {
	var log logtest.Buffer
	return NewQuotes(source, stores, log.Logger()), &log
}

// wantPrices checks the prices of all points of q. want has them with spaces between them, such as "1 2 3". when is for
// the error: it says when the prices are compared.
func wantPrices(t *testing.T, when string, q *Quotes, want string) {
	t.Helper()
	var all []string
	for _, p := range q.all() {
		all = append(all, p.Price.String())
	}
	if got := strings.Join(all, " "); got != want {
		t.Errorf("%s: the prices are %q, want %q", when, got, want)
	}
}

func TestReplicasAndRestartsShareTheQuotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(mirrortest.Store)
		one, _ := open(source, store)
		two, _ := open(source, store)
		otherSource, _ := open("another", store)
		for i, q := range []*Quotes{one, two, one, otherSource, two} {
			q.Add(quoteOf(fmt.Sprint(i+1), time.Now()))
			time.Sleep(step)
		}
		wantPrices(t, "the one that added last", two, "1 2 3 5")
		wantPrices(t, "another source", otherSource, "4")
		restarted, log := open(source, store)
		wantPrices(t, "a new process", restarted, "1 2 3 5")
		if log.String() != "" {
			t.Errorf("logged %s", log)
		}
	})
}

func TestEachQuoteIsSavedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(mirrortest.Store)
		q, _ := open(source, store)
		for i := range 5 {
			q.Add(quoteOf(fmt.Sprint(i+1), time.Now()))
			time.Sleep(step)
		}
		unchanged, _ := open(source, store)
		unchanged.all()
		unchanged.Close()
		unused, _ := open("another", store)
		unused.Close()
		if n, ttl := store.Saves(); n != 5 || ttl != maxAge {
			t.Errorf("five quotes are saved %d times, for %v", n, ttl)
		}
	})
}

// A process whose clock is a year slow or fast does not delete points. The provider's clock may be wrong, too.
func TestAWrongClockDeletesNothing(t *testing.T) {
	const year = 365 * day
	for _, test := range []struct {
		name         string
		off          time.Duration
		providersToo bool
		meanwhile    string // the prices that the process knows
	}{
		{name: "slow", off: -year, meanwhile: ""},
		{name: "slow, and so is the provider's", off: -year, providersToo: true, meanwhile: "3"},
		{name: "fast", off: year, meanwhile: "1 2 3"},
		{name: "fast, and so is the provider's", off: year, providersToo: true, meanwhile: "1 2 3"},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(2 * year)
			rightNow := time.Now().Add(max(0, -test.off)) // Simulated time only goes forward.
			store := mirrortest.With("quotes "+source, string(encode([]point{
				{At: rightNow.Add(-day), Price: number("1")},
				{At: rightNow.Add(-time.Hour), Price: number("2")},
			})))

			time.Sleep(max(0, test.off))
			wrong, _ := open(source, store)
			providersNow := rightNow
			if test.providersToo {
				providersNow = time.Now()
			}
			wrong.Add(quoteOf("3", providersNow))
			wantPrices(t, test.name+", meanwhile", wrong, test.meanwhile)
			wrong.Close()

			time.Sleep(max(0, -test.off))
			restarted, _ := open(source, store)
			kept := restarted.all()
			for _, price := range []string{"1", "2"} {
				if !slices.ContainsFunc(kept, func(p point) bool { return p.Price.String() == price }) {
					t.Errorf("%s, later: %s is not among %v", test.name, price, kept)
				}
			}
		})
	}
}

func TestPointsAreSortedByTime(t *testing.T) {
	q, _ := open(source)
	now := time.Now()
	q.Add(quoteOf("2", now.Add(-2*step)))
	q.Add(quoteOf("3", now.Add(-step)))
	q.Add(quoteOf("1", now.Add(-3*step))) // late
	wantPrices(t, "all", q, "1 2 3")
}

func TestQuotesThatCannotBeAreNotAdded(t *testing.T) {
	q, _ := open(source)
	now := time.Now()
	q.Add(quoteOf("1", now.Add(-2*step)))
	for _, quote := range []core.Quote{
		quoteOf("9", now.Add(-2*step)), // of a time that has a price
		quoteOf("0", now.Add(-time.Minute)),
		quoteOf("-1", now.Add(-time.Minute)),
		quoteOf("8", now.Add(2*time.Minute)),
		quoteOf("8", now.Add(365*day)),
		quoteOf("6", time.Time{}),
	} {
		q.Add(quote)
	}
	q.Add(quoteOf("2", now.Add(30*time.Second))) // The provider's clock may be a little ahead.
	wantPrices(t, "all", q, "1 2")
}

func TestACallerMayChangeThePointsThatItGets(t *testing.T) {
	q, _ := open(source)
	q.Add(quoteOf("1", time.Now().Add(-step)))
	q.Add(quoteOf("2", time.Now()))
	got := q.all()
	got[0].Price = got[1].Price
	wantPrices(t, "after a caller's change", q, "1 2")
}

func TestStoredQuotesAreCheckedAndDamageIsLoggedOnce(t *testing.T) {
	for _, damaged := range []string{
		"{",
		`{"t":1}`,
		`[{"t":1}]`,
		`[{"t":"x"}]`,
		`[{"p":"1"}]`,
		`[{"t":-5,"p":"1"}]`,
		`[{"t":1,"p":"0"}]`,
		`[{"t":1,"p":"-1"}]`,
		`[{"t":1,"p":"1e31"}]`,
		`[{"t":1,"p":"1e-31"}]`,
		`[{"t":1,"p":"1e999999999"}]`,
		`[{"t":1,"p":"1e-999999999"}]`,
	} {
		q, log := open(source, mirrortest.With("quotes "+source, damaged))
		q.Add(quoteOf("1", time.Now()))
		wantPrices(t, damaged, q, "1")
		if got := log.String(); strings.Count(got, "\n") != 1 {
			t.Errorf("%q: logged %s", damaged, got)
		}
	}
}

func TestPointsAreLimitedInNumber(t *testing.T) {
	var all []point
	for ago := 100 * day; ago >= 0; ago -= 5 * time.Minute {
		all = append(all, recordedAt(ago, "12345.678901234567"))
	}
	all = thinned(all)
	oldest := now.Sub(all[0].At)
	if len(all) != maxPoints || oldest < 30*day || oldest > maxAge {
		t.Errorf("%d points, the oldest is %v old", len(all), oldest)
	}
	if stored := len(encode(all)); stored > 128<<10 {
		t.Errorf("%d bytes are stored", stored)
	}
	for i, p := range all[1:] {
		if p.At.Sub(all[i].At) < 10*time.Minute {
			t.Fatalf("points at %v and %v", all[i].At, p.At)
		}
	}
}
