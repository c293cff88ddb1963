package query

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

func TestReplicasShareThePrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mapStore{}
		one := newFixture(t, setup{store: store, price: priced(7)})
		two := newFixture(t, setup{store: store, price: priced(8)})
		for _, f := range []*fixture{one, two} {
			q, err := f.askPrice(t.Context())
			if err != nil || q.Stale || q.Value.Price.IntPart() != 7 || time.Until(q.FreshUntil) != 30*time.Second {
				t.Errorf("got %+v, %v", q, err)
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

func TestAReplicaWithAnotherSourceLoadsNothing(t *testing.T) {
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
		time.Sleep(31 * time.Second)
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

const (
	// none is the age of an answer that does not exist.
	none = -1 * time.Second
	// newest is what the service answers in the next test.
	newest = 3
)

// fetchTest is what a fetch finds: the ages of the answers in the Cache (1) and in the Store (2), and
// of the last answer that the caller knows. The service answers 3, or fails.
type fetchTest struct {
	cached, stored, last time.Duration
	fails                bool

	want      int64 // 0: an error
	wantCache int64 // 0: none
	wantNoted int   // calls of another replica
}

func TestWhereANewerAnswerComesFrom(t *testing.T) {
	for name, test := range map[string]fetchTest{
		"nothing is known": {
			cached: none, stored: none, last: none,
			want: newest, wantCache: newest,
		},
		"another fetch has just ended": {
			cached: 5 * time.Second, stored: none, last: time.Minute,
			want: 1, wantCache: 1,
		},
		"another fetch ended long ago": {
			cached: 40 * time.Second, stored: none, last: time.Minute,
			want: newest, wantCache: newest,
		},
		"the last answer is due": {
			cached: 26 * time.Second, stored: none, last: 26 * time.Second,
			want: newest, wantCache: newest,
		},
		"a replica has one": {
			cached: 26 * time.Second, stored: 9 * time.Second, last: 26 * time.Second,
			want: 2, wantCache: 2, wantNoted: 1,
		},
		"there is one after a start": {
			cached: none, stored: 9 * time.Second, last: none,
			want: 2, wantCache: 2,
		},
		"a replica has an old one": {
			cached: time.Minute, stored: 40 * time.Second, last: time.Minute, fails: true,
			wantCache: 2, wantNoted: 1,
		},
		"a replica has an older one": {
			cached: 26 * time.Second, stored: 27 * time.Second, last: 26 * time.Second, fails: true,
			wantCache: 1,
		},
		"there is one of a month ago": {
			cached: none, stored: maxLull, last: none, fails: true,
			wantCache: 2,
		},
		"there is one from before that": {
			cached: none, stored: maxLull + time.Second, last: none, fails: true,
		},
		"a replica's clock is ahead": {
			cached: none, stored: -2 * time.Second, last: none, fails: true,
		},
	} {
		synctest.Test(t, func(t *testing.T) { test.run(t, name) })
	}
}

func (test fetchTest) run(t *testing.T, name string) {
	budget := &noteCounter{}
	store := mapStore{}
	f := newFixture(t, setup{store: store, budget: budget, price: priced(newest)})
	if test.fails {
		f.setPrice(failing(core.Denied))
	}
	if test.stored != none {
		store[f.prices.storeKey()], _ = json.Marshal(snapshotOf(2, test.stored))
	}
	if test.cached != none {
		f.prices.put(struct{}{}, snapshotOf(1, test.cached))
	}
	got, err := f.prices.fetch(t.Context(), struct{}{}, snapshotOf(0, test.last).At)
	if priceIn(got) != test.want || (err != nil) != (test.want == 0) {
		t.Errorf("%s: %v, %v, want %d", name, got.Value, err, test.want)
	}
	if cached, _ := f.prices.Last(struct{}{}); priceIn(cached) != test.wantCache {
		t.Errorf("%s: %v is cached, want %d", name, cached.Value, test.wantCache)
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

// snapshotOf returns a price of this age. Its time is zero if the age is none.
func snapshotOf(price int64, age time.Duration) (s Snapshot[*core.Quote]) {
	s.Value, _ = priced(price)(context.Background())
	if age != none {
		s.At = time.Now().Add(-age)
	}
	return s
}

// noteCounter is a Budget without a limit, which counts the calls of others.
type noteCounter struct{ noted int }

func (*noteCounter) Spend(context.Context) *core.Error { return nil }

func (b *noteCounter) NoteReplicaCall() { b.noted++ }

// notSaved are entries that no replica of this version has saved, by what is wrong with them. %s is a time.
var notSaved = map[string]string{
	"nothing":          ``,
	"no JSON":          "\x00\xff",
	"a price alone":    `{"Value":{"Price":"9"},"At":"%s","Stale":false}`,
	"no Stale":         strings.Replace(quoteAt("%s", `"Price":"9"`), `,"Stale":false`, "", 1),
	"stale":            strings.Replace(quoteAt("%s", `"Price":"9"`), `"Stale":false`, `"Stale":true`, 1),
	"another name":     quoteAt("%s", `"USD":"9"`),
	"a member twice":   quoteAt("%s", `"Price":"8","Price":"9"`),
	"a bare number":    quoteAt("%s", `"Price":9`),
	"a price of 0":     quoteAt("%s", `"Price":"0"`),
	"an exponent bomb": quoteAt("%s", `"Price":"9e999999999"`),
	"cut off":          strings.TrimSuffix(quoteAt("%s", `"Price":"9"`), "}"),
	"the year 9999":    quoteAt("9999-12-31T23:59:59Z", `"Price":"9"`),
}

// quoteAt returns a saved quote of a time, with nothing but a price.
func quoteAt(at, price string) string {
	saved, _ := json.Marshal(Snapshot[*core.Quote]{Value: &core.Quote{}})
	replacer := strings.NewReplacer(`"Price":"0"`, price, `"At":"0001-01-01T00:00:00Z"`, `"At":"`+at+`"`)
	return replacer.Replace(string(saved))
}

// loaded returns the answer of a new replica, if its Store has one entry and its service answers 7.
func loaded(t *testing.T, entry string) Snapshot[*core.Quote] {
	t.Helper()
	store := mapStore{}
	f := newFixture(t, setup{store: store, price: priced(7)})
	store[f.prices.storeKey()] = []byte(entry)
	q, err := f.askPrice(t.Context())
	if err != nil {
		t.Errorf("%s: %v", entry, err)
	}
	return q
}

// FuzzLoad checks that an entry is loaded only if it is what would be saved again. None of notSaved is
// loaded.
func FuzzLoad(f *testing.F) {
	for _, entry := range notSaved {
		f.Add(entry)
	}
	whole := quoteAt("%s", `"Price":"9"`)
	f.Add(whole)
	f.Fuzz(func(t *testing.T, entry string) {
		isWhole := entry == whole
		at := time.Now().Add(-time.Second)
		entry = strings.Replace(entry, "%s", at.Format(time.RFC3339Nano), 1)
		q := loaded(t, entry)
		if q.At.After(time.Now()) || q.Stale || !q.Value.Price.IsPositive() {
			t.Fatalf("%q is loaded as %+v", entry, q)
		}
		isLoaded := q.Value.Price.IntPart() != 7
		if isWhole && q.Value.Price.IntPart() != 9 {
			t.Fatalf("what was saved is loaded as %+v", q)
		}
		if own, err := json.Marshal(q); isLoaded && (err != nil || string(own) != entry) {
			t.Fatalf("%q is loaded as %s", entry, own)
		}
	})
}

func TestNoneOfTheDamagedEntriesIsLoaded(t *testing.T) {
	at := time.Now().Add(-time.Second).Format(time.RFC3339Nano)
	for name, entry := range notSaved {
		if q := loaded(t, strings.Replace(entry, "%s", at, 1)); q.Value.Price.IntPart() != 7 {
			t.Errorf("%s: loaded as %v", name, q.Value.Price)
		}
	}
}

// failingStore is a Store that cannot be read.
type failingStore struct{ mapStore }

func (failingStore) Load(context.Context, string) ([]byte, error) { return nil, errors.New("away") }

func TestAStoreThatCannotBeReadDoesNotDelayAnAnswer(t *testing.T) {
	f := newFixture(t, setup{store: failingStore{mapStore{}}, price: priced(7)})
	if q, err := f.askPrice(t.Context()); err != nil || q.Value.Price.IntPart() != 7 {
		t.Errorf("got %+v, %v", q, err)
	}
}

// An odd value in the Store would otherwise end the process at each start.
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
