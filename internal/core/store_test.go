package core_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"herald/internal/core"
)

// shelf is a Store.
type shelf map[string][]byte

func (s shelf) Load(_ context.Context, key string) ([]byte, bool) { v, ok := s[key]; return v, ok }

func (s shelf) Save(_ context.Context, key string, value []byte, _ time.Duration) { s[key] = value }

func TestReplicasShareWhatIsSharedAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := shelf{}
		replica := func(price func(context.Context) (core.Quote, error)) *world {
			w := newWorldOf(core.CacheConfig{Store: store}, "USD")
			w.stake = func(context.Context) (core.Stake, error) { return core.Stake{Checked: 1}, nil }
			w.price(price)
			return w
		}
		one, two := replica(priced(7)), replica(priced(8))
		for _, w := range []*world{one, two} {
			q, err := w.Quote(t.Context())
			if err != nil || q.Stale || q.Value.Price.IntPart() != 7 || !q.FreshUntil.Equal(time.Now().Add(30*time.Second)) {
				t.Errorf("got %+v, %v", q, err)
			}
			w.stakes.Get(t.Context(), common.Address{1})
		}
		if len(store) != 1 || one.calls.Load() != 2 || two.calls.Load() != 1 {
			t.Errorf("%d answers are shared, after %d and %d calls", len(store), one.calls.Load(), two.calls.Load())
		}
		other := newWorldOf(core.CacheConfig{Store: store}, "EUR")
		other.price(priced(9))
		if q, err := other.Quote(t.Context()); err != nil || q.Value.Price.IntPart() != 9 {
			t.Errorf("a replica with another source got %+v, %v", q, err)
		}
		time.Sleep(31 * time.Second)
		three := replica(down)
		if q, err := three.Quote(t.Context()); err != nil || !q.Stale || q.Value.Price.IntPart() != 7 {
			t.Errorf("a new replica whose service fails got %+v, %v", q, err)
		}
		time.Sleep(time.Hour)
		if q, err := replica(down).Quote(t.Context()); err == nil {
			t.Errorf("past STALE_FOR a new replica got %+v", q)
		}
	})
}

// notSaved are entries that no replica of this version has saved, by what is
// wrong with them. %s is a time.
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

// quoteAt is a saved quote of that time with nothing but a price.
func quoteAt(at, price string) string {
	return `{"Value":{` + price + `,"Change1h":null,"Change24h":null,"Change7d":null,"MarketCap":null,"Volume24h":null,` +
		`"LastUpdated":"0001-01-01T00:00:00Z","OldFrom":"0001-01-01T00:00:00Z"},"At":"` + at + `","Stale":false}`
}

// loaded is what a new replica answers whose Store holds one entry, and whose
// service says 7.
func loaded(t *testing.T, entry string) core.Snapshot[core.Quote] {
	t.Helper()
	store := shelf{}
	first := newWorldOf(core.CacheConfig{Store: store}, "USD")
	first.price(priced(1))
	first.Quote(t.Context())
	for key := range store {
		store[key] = []byte(entry)
	}
	w := newWorldOf(core.CacheConfig{Store: store}, "USD")
	w.price(priced(7))
	q, err := w.Quote(t.Context())
	if err != nil {
		t.Errorf("%s: %v", entry, err)
	}
	return q
}

func TestWhatIsSavedIsTakenIfItsTimeIsPossible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		right := func(at time.Time) string {
			return strings.Replace(quoteAt("%s", `"Price":"9"`), "%s", at.Format(time.RFC3339Nano), 1)
		}
		if q := loaded(t, right(time.Now().Add(-time.Second))); q.Value.Price.IntPart() != 9 {
			t.Fatalf("a right entry is not taken: got %+v", q)
		}
		for name, at := range map[string]time.Time{
			"in a moment": time.Now().Add(time.Millisecond), "before the longest staleness": time.Now().Add(-61 * time.Minute),
		} {
			if q := loaded(t, right(at)); q.Value.Price.IntPart() != 7 {
				t.Errorf("from %s: got %+v", name, q)
			}
		}
	})
}

// FuzzLoad wants a load to fail, or to be what would be saved again. All of
// notSaved fails.
func FuzzLoad(f *testing.F) {
	for _, entry := range notSaved {
		f.Add(entry)
	}
	f.Add(quoteAt("%s", `"Price":"9"`))
	f.Fuzz(func(t *testing.T, entry string) {
		at := time.Now().Add(-time.Second)
		entry = strings.Replace(entry, "%s", at.Format(time.RFC3339Nano), 1)
		q := loaded(t, entry)
		if q.At.After(time.Now()) || q.Stale || !q.Value.Price.IsPositive() {
			t.Fatalf("%q is taken for %+v", entry, q)
		}
		if own, err := json.Marshal(q); q.Value.Price.IntPart() != 7 && (err != nil || string(own) != entry) {
			t.Fatalf("%q is taken for %s", entry, own)
		}
	})
}
