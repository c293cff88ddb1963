package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/core"
)

// mapStore is a Store.
type mapStore map[string][]byte

func (s mapStore) Load(_ context.Context, key string) ([]byte, error) { return s[key], nil }

func (s mapStore) Save(_ context.Context, key string, value []byte, _ time.Duration) { s[key] = value }

func TestReplicasShareThePriceOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mapStore{}
		replica := func(price func(context.Context) (core.Quote, error)) *queryTest {
			w := newQueryTest(querySetup{store: store, price: price})
			w.stake = func(context.Context) (core.Stake, error) { return core.Stake{Checked: 1}, nil }
			return w
		}
		one, two := replica(priced(7)), replica(priced(8))
		for _, w := range []*queryTest{one, two} {
			q, err := w.Quote(t.Context())
			if err != nil || q.Stale || q.Value.Price.IntPart() != 7 || !q.FreshUntil.Equal(time.Now().Add(30*time.Second)) {
				t.Errorf("got %+v, %v", q, err)
			}
			w.stakes.Get(t.Context(), common.Address{1})
		}
		if len(store) != 1 || one.calls.Load() != 2 || two.calls.Load() != 1 {
			t.Errorf("%d answers are shared, after %d and %d calls", len(store), one.calls.Load(), two.calls.Load())
		}
		other := newQueryTest(querySetup{store: store, source: "EUR", price: priced(9)})
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
	saved, _ := json.Marshal(core.Snapshot[core.Quote]{})
	return strings.NewReplacer(`"Price":"0"`, price, `"At":"0001-01-01T00:00:00Z"`, `"At":"`+at+`"`).Replace(string(saved))
}

// loaded is what a new replica answers whose Store holds one entry, and whose
// service says 7.
func loaded(t *testing.T, entry string) core.Snapshot[core.Quote] {
	t.Helper()
	store := mapStore{}
	newQueryTest(querySetup{store: store, price: priced(1)}).Quote(t.Context())
	for key := range store {
		store[key] = []byte(entry)
	}
	q, err := newQueryTest(querySetup{store: store, price: priced(7)}).Quote(t.Context())
	if err != nil {
		t.Errorf("%s: %v", entry, err)
	}
	return q
}

// FuzzLoad wants a load to fail, or to be what would be saved again. All of
// notSaved fails.
func FuzzLoad(f *testing.F) {
	for _, entry := range notSaved {
		f.Add(entry)
	}
	whole := quoteAt("%s", `"Price":"9"`)
	f.Add(whole)
	f.Fuzz(func(t *testing.T, entry string) {
		at, taken := time.Now().Add(-time.Second), entry == whole
		entry = strings.Replace(entry, "%s", at.Format(time.RFC3339Nano), 1)
		q := loaded(t, entry)
		if q.At.After(time.Now()) || q.Stale || !q.Value.Price.IsPositive() {
			t.Fatalf("%q is taken for %+v", entry, q)
		}
		if taken && q.Value.Price.IntPart() != 9 {
			t.Fatalf("what was saved is taken for %+v", q)
		}
		if own, err := json.Marshal(q); q.Value.Price.IntPart() != 7 && (err != nil || string(own) != entry) {
			t.Fatalf("%q is taken for %s", entry, own)
		}
	})
}

// fakeBudget is a Budget that gets a credit after every, and holds one.
type fakeBudget struct {
	mu    sync.Mutex
	every time.Duration
	next  time.Time
	spent atomic.Int64
}

func (p *fakeBudget) Spend(context.Context) *core.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wait := time.Until(p.next); wait > 0 {
		return &core.Error{Service: market, Reason: core.NoCredit, RetryAfter: wait, Err: errors.New("not due")}
	}
	p.next = time.Now().Add(p.every)
	p.spent.Add(1)
	return nil
}

func (p *fakeBudget) Note() {}

// after answers a price as late as that.
func after(d time.Duration) func(context.Context) (core.Quote, error) {
	return func(ctx context.Context) (core.Quote, error) {
		select {
		case <-time.After(d):
			return core.Quote{Price: decimal.NewFromInt(7)}, nil
		case <-ctx.Done():
			return core.Quote{}, ctx.Err()
		}
	}
}

// Who asks shortly before an answer expires starts a refresh, and waits for nothing.
func TestAnAnswerIsRefreshedBeforeItExpires(t *testing.T) {
	for name, test := range map[string]struct {
		refresh func(context.Context) (core.Quote, error)
		fails   bool
	}{
		"in time": {after(4900 * time.Millisecond), false}, "it fails": {failing(core.Rejected), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := quoting(priced(1))
			first, _ := w.Quote(t.Context())
			w.price(test.refresh)
			for _, step := range []struct {
				at    time.Duration
				calls int64
			}{{24900 * time.Millisecond, 1}, {25 * time.Second, 2}, {25100 * time.Millisecond, map[bool]int64{false: 2, true: 3}[test.fails]}} {
				time.Sleep(time.Until(first.At.Add(step.at)))
				q, err := w.Quote(t.Context())
				if err != nil || q.Stale || q.At != first.At || q.FreshUntil != first.At.Add(30*time.Second) || time.Since(first.At) != step.at {
					t.Errorf("%s, after %v: %+v, %v", name, step.at, q, err)
				}
				synctest.Wait()
				if w.calls.Load() != step.calls {
					t.Errorf("%s, after %v: %d calls, want %d", name, step.at, w.calls.Load(), step.calls)
				}
			}
			time.Sleep(5 * time.Second)
			if q, err := w.Quote(t.Context()); err != nil || q.Stale != test.fails || time.Since(first.At) != 30100*time.Millisecond {
				t.Errorf("%s, once it has expired: %+v, %v", name, q, err)
			}
			before := w.calls.Load()
			time.Sleep(time.Hour)
			if w.calls.Load() != before {
				t.Errorf("%s: %d calls while nobody asked", name, w.calls.Load()-before)
			}
		})
	}
}

func TestCloseCancelsAndWaitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		w := quoting(func(ctx context.Context) (core.Quote, error) {
			<-ctx.Done()
			for range 100 {
				runtime.Gosched()
			}
			ended.Store(true)
			return core.Quote{}, ctx.Err()
		})
		start := time.Now()
		time.AfterFunc(time.Second, func() {
			w.cache.Close()
			if !ended.Load() {
				t.Error("a call goes on")
			}
		})
		if _, err := w.Quote(t.Context()); err == nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		synctest.Wait()
	})
}
