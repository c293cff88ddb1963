package query

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/core"
)

func TestReplicasShareThePrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mapStore{}
		one := newFixture(t, setup{store: store, price: priced(7)})
		two := newFixture(t, setup{store: store, price: priced(8)})
		for _, f := range []*fixture{one, two} {
			q, err := f.askPrice(t.Context())
			if err != nil || q.Value.Price.IntPart() != 7 {
				t.Errorf("got %+v, %v", q, err)
			}
			if left := time.Until(q.FreshUntil); q.Stale || left != 30*time.Second {
				t.Errorf("stale: %t, fresh for %v; want fresh for 30 s", q.Stale, left)
			}
		}
		if one.calls.Load() != 1 || two.calls.Load() != 0 {
			t.Errorf("%d and %d calls, want 1 and none", one.calls.Load(), two.calls.Load())
		}
	})
}

func TestStakesAreNotSaved(t *testing.T) {
	store := mapStore{}
	f := newFixture(t, setup{store: store})
	f.askStake(t, 1)
	if len(store) != 0 {
		t.Errorf("%d answers are saved", len(store))
	}
}

func TestAReplicaThatSharesUnderAnotherNameLoadsNothing(t *testing.T) {
	store := mapStore{}
	newFixture(t, setup{store: store, price: priced(7)}).askPrice(t.Context())
	other := newFixture(t, setup{store: store, sharedAs: "EUR", price: priced(9)})
	if q, err := other.askPrice(t.Context()); err != nil || q.Value.Price.IntPart() != 9 {
		t.Errorf("got %+v, %v", q, err)
	}
}

func TestASavedAnswerStandsInAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mapStore{}
		down := setup{store: store, price: failing(core.Unreachable)}
		newFixture(t, setup{store: store, price: priced(7)}).askPrice(t.Context())
		time.Sleep(31 * time.Second) // The TTL is 30 s, and StaleFor is an hour.
		q, err := newFixture(t, down).askPrice(t.Context())
		if err != nil || !q.Stale || q.Value.Price.IntPart() != 7 {
			t.Errorf("got %+v, %v", q, err)
		}
		time.Sleep(time.Hour)
		if q, err := newFixture(t, down).askPrice(t.Context()); err == nil {
			t.Errorf("past StaleFor: %+v", q)
		}
	})
}

// The prices of TestWhereANewerAnswerComesFrom show where an answer comes from.
const (
	fromCache   = 1
	fromStore   = 2
	fromService = 3
)

// fetchTest is a fetch for a caller that has just looked into the Cache. An age is how old an answer is when the fetch
// begins; 0: there is no answer.
type fetchTest struct {
	lastAge      time.Duration // of the answer that the caller found in the Cache
	cachedAge    time.Duration // of the answer that is in the Cache when the fetch begins
	storedAge    time.Duration // of the answer in the Store
	serviceFails bool

	want       int64 // fromCache, fromStore or fromService; 0: an error
	wantCached int64 // the price in the Cache after the fetch; 0: none
	wantNoted  int   // how many calls of another replica the Budget is told of
}

// fetchTests are the cases of TestWhereANewerAnswerComesFrom. A price is fresh for 30 s. If it is 26 s old, a caller
// gets it and starts a fetch.
var fetchTests = map[string]fetchTest{
	"nothing is known": {
		want:       fromService,
		wantCached: fromService,
	},
	"another fetch has just ended": {
		lastAge:    time.Minute,
		cachedAge:  5 * time.Second,
		want:       fromCache,
		wantCached: fromCache,
	},
	"another fetch ended long ago": {
		lastAge:    time.Minute,
		cachedAge:  40 * time.Second,
		want:       fromService,
		wantCached: fromService,
	},
	"the last answer is due for a refresh": {
		lastAge:    26 * time.Second,
		cachedAge:  26 * time.Second,
		want:       fromService,
		wantCached: fromService,
	},
	"a replica has a newer one": {
		lastAge:    26 * time.Second,
		cachedAge:  26 * time.Second,
		storedAge:  9 * time.Second,
		want:       fromStore,
		wantCached: fromStore,
		wantNoted:  1,
	},
	// After a start, the saved answer may be this process's own, so it is not noted.
	"a saved one is fresh after a start": {
		storedAge:  9 * time.Second,
		want:       fromStore,
		wantCached: fromStore,
	},
	"a replica has a newer one past its TTL": {
		lastAge:      time.Minute,
		cachedAge:    time.Minute,
		storedAge:    40 * time.Second,
		serviceFails: true,
		wantCached:   fromStore,
		wantNoted:    1,
	},
	"a replica has an older one": {
		lastAge:      26 * time.Second,
		cachedAge:    26 * time.Second,
		storedAge:    27 * time.Second,
		serviceFails: true,
		wantCached:   fromCache,
	},
	"a saved one is a month old": {
		storedAge:    maxLull,
		serviceFails: true,
		wantCached:   fromStore,
	},
	"a saved one is older than a month": {
		storedAge:    maxLull + time.Second,
		serviceFails: true,
	},
	"a replica's clock is ahead": {
		storedAge:    -2 * time.Second,
		serviceFails: true,
	},
}

func TestWhereANewerAnswerComesFrom(t *testing.T) {
	for name, test := range fetchTests {
		synctest.Test(t, func(t *testing.T) { test.run(t, name) })
	}
}

func (test fetchTest) run(t *testing.T, name string) {
	budget := &noteCounter{}
	store := mapStore{}
	f := newFixture(t, setup{store: store, budget: budget, price: priced(fromService)})
	if test.serviceFails {
		f.setPrice(failing(core.Denied))
	}
	if test.storedAge != 0 {
		store[f.prices.storeKey()], _ = json.Marshal(snapshotOf(fromStore, test.storedAge))
	}
	if test.cachedAge != 0 {
		f.prices.put(struct{}{}, snapshotOf(fromCache, test.cachedAge))
	}
	var last time.Time
	if test.lastAge != 0 {
		last = time.Now().Add(-test.lastAge)
	}
	got, err := f.prices.fetch(t.Context(), struct{}{}, last)
	wantErr := test.want == 0
	if priceIn(got) != test.want || (err != nil) != wantErr {
		t.Errorf("%s: %v, %v; want %d, an error: %t", name, got.Value, err, test.want, wantErr)
	}
	if cached, _ := f.prices.Last(struct{}{}); priceIn(cached) != test.wantCached {
		t.Errorf("%s: %v is cached, want %d", name, cached.Value, test.wantCached)
	}
	if budget.noted != test.wantNoted {
		t.Errorf("%s: %d calls are noted, want %d", name, budget.noted, test.wantNoted)
	}
}

// priceIn returns the price in a snapshot, or 0.
func priceIn(s Snapshot[*core.Quote]) int64 {
	if s.Value == nil {
		return 0
	}
	return s.Value.Price.IntPart()
}

// snapshotOf returns an answer with this price and age.
func snapshotOf(price int64, age time.Duration) Snapshot[*core.Quote] {
	quote := &core.Quote{Price: decimal.NewFromInt(price)}
	return Snapshot[*core.Quote]{Value: quote, At: time.Now().Add(-age)}
}

// noteCounter is a Budget without a limit. It counts the calls of other replicas.
type noteCounter struct{ noted int }

func (*noteCounter) Spend(context.Context) *core.Error { return nil }

func (b *noteCounter) NoteReplicaCall() { b.noted++ }

// saved is an entry of the Store that another replica saved. Its price is 9. %s is its time.
var saved = quoteAt("%s", `"Price":"9"`)

// notSaved are entries that no replica of this version saves, by what is invalid about them. %s is a time.
var notSaved = map[string]string{
	"nothing":          ``,
	"no JSON":          "\x00\xff",
	"a price alone":    `{"Value":{"Price":"9"},"At":"%s","Stale":false}`,
	"no Stale":         strings.Replace(saved, `,"Stale":false`, "", 1),
	"stale":            strings.Replace(saved, `"Stale":false`, `"Stale":true`, 1),
	"another name":     quoteAt("%s", `"USD":"9"`),
	"a member twice":   quoteAt("%s", `"Price":"8","Price":"9"`),
	"a bare number":    quoteAt("%s", `"Price":9`),
	"a price of 0":     quoteAt("%s", `"Price":"0"`),
	"an exponent bomb": quoteAt("%s", `"Price":"9e999999999"`),
	"cut off":          strings.TrimSuffix(saved, "}"),
	"the year 9999":    quoteAt("9999-12-31T23:59:59Z", `"Price":"9"`),
}

// quoteAt returns a saved quote of a time, with members in the place of its Price.
func quoteAt(at, members string) string {
	empty, _ := json.Marshal(Snapshot[*core.Quote]{Value: &core.Quote{}})
	replacer := strings.NewReplacer(`"Price":"0"`, members, `"At":"0001-01-01T00:00:00Z"`, `"At":"`+at+`"`)
	return replacer.Replace(string(empty))
}

// withTime replaces %s in an entry by its time, which is a second ago.
func withTime(entry string) string {
	at := time.Now().Add(-time.Second).Format(time.RFC3339Nano)
	return strings.Replace(entry, "%s", at, 1)
}

// notLoaded is the price of the service. A replica gets it if it does not load the price in its Store.
const notLoaded = 7

// startWith returns the first answer of a replica whose Store has this entry.
func startWith(t *testing.T, entry string) Snapshot[*core.Quote] {
	t.Helper()
	store := mapStore{}
	f := newFixture(t, setup{store: store, price: priced(notLoaded)})
	store[f.prices.storeKey()] = []byte(entry)
	q, err := f.askPrice(t.Context())
	if err != nil {
		t.Errorf("%s: %v", entry, err)
	}
	return q
}

// FuzzLoad checks that an entry is loaded only if a replica would save exactly that entry.
func FuzzLoad(f *testing.F) {
	for _, entry := range notSaved {
		f.Add(entry)
	}
	f.Add(saved)
	f.Fuzz(func(t *testing.T, template string) {
		entry := withTime(template)
		q := startWith(t, entry)
		if q.At.After(time.Now()) || q.Stale || !q.Value.Price.IsPositive() {
			t.Fatalf("%q is loaded as %+v", entry, q)
		}
		price := q.Value.Price.IntPart()
		if template == saved && price != 9 {
			t.Fatalf("a saved entry is loaded as %+v", q)
		}
		if price == notLoaded {
			return
		}
		again, err := json.Marshal(q)
		if err != nil || string(again) != entry {
			t.Fatalf("%q is loaded as %s, %v", entry, again, err)
		}
	})
}

func TestADamagedEntryIsNotLoaded(t *testing.T) {
	for name, entry := range notSaved {
		if q := startWith(t, withTime(entry)); q.Value.Price.IntPart() != notLoaded {
			t.Errorf("%s: loaded as %v", name, q.Value.Price)
		}
	}
}

// failingStore is a Store that cannot be read.
type failingStore struct{ mapStore }

func (failingStore) Load(context.Context, string) ([]byte, error) { return nil, errors.New("down") }

func TestAStoreThatCannotBeReadDoesNotDelayAnAnswer(t *testing.T) {
	f := newFixture(t, setup{store: failingStore{mapStore{}}, price: priced(7)})
	if q, err := f.askPrice(t.Context()); err != nil || q.Value.Price.IntPart() != 7 {
		t.Errorf("got %+v, %v", q, err)
	}
}

// Check gets values from the Store. If its panic ended the process, one odd value would end the process at every start.
func TestAPanicOfCheckIsAFailureOfTheLookup(t *testing.T) {
	store := mapStore{}
	newFixture(t, setup{store: store, price: priced(7)}).askPrice(t.Context())
	f := newFixture(t, setup{store: store, price: priced(8)})
	f.prices.Check = func(*core.Quote) error { panic("odd") }
	_, err := f.askPrice(t.Context())
	if core.ReasonOf(err) != core.Malformed {
		t.Errorf("got %v", err)
	}
}
