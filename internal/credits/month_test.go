package credits_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
	"herald/internal/credits"
	"herald/internal/market"
	"herald/internal/sandbox"
)

// provider is the sandbox's price provider with a plan: it counts calls by the
// calendar month, and refuses those beyond. It is served in real time, and tells
// the simulated time.
type provider struct {
	*httptest.Server
	plan  int
	world *sandbox.Sandbox
	now   atomic.Int64 // Unix seconds, simulated
	fault atomic.Int64 // an error code instead of an answer; 0 is none

	months map[string]int // calls that cost a credit, by month
	last   time.Time      // the newest call
}

func newProvider(t *testing.T, plan int) *provider {
	p := &provider{plan: plan, months: map[string]int{}}
	p.Server = httptest.NewUnstartedServer(p)
	p.Config.SetKeepAlivesEnabled(false) // else connections outlive a simulation
	p.Start()
	t.Cleanup(p.Close)
	return p
}

// ServeHTTP is called for one call after another.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.last = time.Unix(p.now.Load(), 0).UTC()
	month, code := p.last.Format("2006-01"), p.fault.Load()
	if code == 0 && p.months[month] < p.plan {
		p.months[month]++
		p.world.Price.Handler.ServeHTTP(w, r)
		return
	}
	if code == 0 {
		code = 1010
	}
	status := http.StatusTooManyRequests
	switch {
	case code < 1000:
		status = int(code)
	case code < 1008:
		status = http.StatusUnauthorized
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"status":{"timestamp":%q,"error_code":%d}}`, p.last.Format(time.RFC3339), code)
}

const (
	ttl      = 30 * time.Second
	staleFor = time.Hour
)

type silent struct{}

func (silent) Call(*core.Service, string, time.Duration) {}
func (silent) Lookup(string, string, time.Duration)      {}

// bot is what of a bot asks for the price. A call takes 800 ms of simulated time.
type bot struct {
	cache *core.Cache
	price *core.Cached[core.NoArgument, core.Quote]
}

func (p *provider) start(store core.Store, config credits.Config) *bot {
	config.PerMonth = p.plan
	b := &bot{cache: core.NewCache(core.CacheConfig{
		MaxItems: 10, StaleFor: staleFor, CallTimeout: 5 * time.Second, Timeout: 20 * time.Second, Store: store, Observer: silent{},
	})}
	b.price = market.New(market.Settings{URL: p.URL, By: "id", Token: sandbox.TokenID, Symbol: sandbox.Symbol, TTL: ttl}, b.cache, credits.New(config)).Price
	ask := b.price.Ask
	b.price.Ask = func(ctx context.Context, key core.NoArgument) (core.Quote, error) {
		select {
		case <-time.After(800 * time.Millisecond):
			p.now.Store(time.Now().Unix())
			return ask(ctx, key)
		case <-ctx.Done():
			return core.Quote{}, ctx.Err()
		}
	}
	return b
}

// seen is what askers were answered.
type seen struct {
	oldest  time.Duration // age of a price that was not marked as old
	old     time.Duration // of one that was
	waited  time.Duration
	silence time.Duration // the longest without a price
	price   time.Time     // the last one
}

func (s *seen) ask(t *testing.T, b *bot) {
	start := time.Now()
	q, err := b.price.Get(t.Context(), core.NoArgument{})
	now := time.Now()
	s.waited = max(s.waited, now.Sub(start))
	switch {
	case err != nil:
		s.silence = max(s.silence, now.Sub(s.price))
		return
	case q.Stale:
		s.old = max(s.old, now.Sub(q.At))
	default:
		s.oldest = max(s.oldest, now.Sub(q.At))
	}
	s.silence = max(s.silence, now.Sub(s.price))
	s.price = now
}

// TestAMonthEndsWithCreditsLeft simulates months of a plan. Every hour in which
// the provider is well has a price in it.
func TestAMonthEndsWithCreditsLeft(t *testing.T) {
	type world struct {
		*provider
		bots    []*bot
		restart func()
	}
	const minute, hour, day = time.Minute, time.Hour, 24 * time.Hour
	always := func(time.Duration) time.Duration { return minute }
	for name, c := range map[string]struct {
		plan     int
		begins   string
		lasts    time.Duration
		replicas int
		// next is how long after the beginning the next asker comes.
		next func(since time.Duration) time.Duration
		// each is called before each asker; nil is not.
		each func(w *world, since time.Duration)
		// What is seen at most: the age of a price, and that of one marked as old.
		oldest, old time.Duration
		silence     time.Duration
	}{
		"steady, 31 and 29 days": {plan: 1000, begins: "2028-01-01", lasts: 60 * day, next: always, oldest: 50 * minute},
		"steady, 28 days":        {plan: 1000, begins: "2027-02-01", lasts: 28 * day, next: always, oldest: 50 * minute},
		"steady, from the middle of a month on": {plan: 1000, begins: "2027-06-17", lasts: 62 * day, next: always,
			oldest: 50 * minute},
		"a hundred credits": {plan: 100, begins: "2027-04-01", lasts: 61 * day, next: always, oldest: 8*hour + 10*minute},
		"one credit":        {plan: 1, begins: "2027-01-01", lasts: 59 * day, next: always, oldest: 31*day + 2*minute},
		"a large plan":      {plan: 333_333, begins: "2027-01-01", lasts: 12 * hour, next: func(time.Duration) time.Duration { return 11 * time.Second }, oldest: ttl},
		"quiet nights, and crowds": {plan: 10_000, begins: "2027-03-01", lasts: 31 * day, next: func(since time.Duration) time.Duration {
			switch at := since % day; {
			case at < 8*hour:
				return hour
			case at%(6*hour) < 10*time.Second:
				return time.Second / 50
			}
			return minute
		}, oldest: 6 * minute, silence: hour + time.Second},
		"a provider that fails for hours, with each code": {plan: 1000, begins: "2027-05-01", lasts: 31 * day, next: always,
			each: func(w *world, since time.Duration) {
				codes := []int64{0, 1001, 1002, 1008, 1011, 500, 503, 400}
				code := int64(0)
				if since%day > 10*hour && since%day < 15*hour {
					code = codes[int(since/day)%len(codes)]
				}
				w.fault.Store(code)
			}, oldest: 50 * minute, old: hour + 50*minute, silence: 4*hour + 50*minute},
		"a day that is used up": {plan: 1000, begins: "2027-07-01", lasts: 31 * day, next: always,
			each: func(w *world, since time.Duration) {
				code := int64(0)
				if since%(7*day) > 3*day+20*hour && since%(7*day) < 4*day {
					code = 1009
				}
				w.fault.Store(code)
			}, oldest: 50 * minute, old: hour + 50*minute, silence: 3*hour + 50*minute},
		"a restart an hour": {plan: 1000, begins: "2027-08-01", lasts: 31 * day, next: always,
			each: func(w *world, since time.Duration) {
				if since%hour < minute+time.Second {
					w.restart()
				}
			}, oldest: 50 * minute},
		"a start a minute": {plan: 1000, begins: "2027-10-01", lasts: 31 * day, next: func(time.Duration) time.Duration { return minute },
			each: func(w *world, _ time.Duration) { w.restart() }, oldest: 50 * minute, silence: minute + time.Second},
		"three replicas": {plan: 1000, replicas: 3, begins: "2027-12-01", lasts: 31 * day, next: always, oldest: 57 * minute},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, c.plan)
			synctest.Test(t, func(t *testing.T) {
				begin, err := time.Parse(time.DateOnly, c.begins)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(begin))
				p.world = sandbox.New()
				w := &world{provider: p, bots: make([]*bot, max(1, c.replicas))}
				shared, kept := &counter{}, newShelf()
				w.restart = func() {
					for i, b := range w.bots {
						if b != nil {
							b.cache.Close()
						}
						if c.replicas > 0 {
							w.bots[i] = p.start(kept, credits.Config{Turns: shared})
						} else {
							w.bots[i] = p.start(kept, credits.Config{Store: kept})
						}
					}
				}
				w.restart()
				s := seen{price: time.Now()}
				for n := 0; time.Since(begin) < c.lasts; n++ {
					if c.each != nil {
						c.each(w, time.Since(begin))
					}
					s.ask(t, w.bots[n%len(w.bots)])
					time.Sleep(c.next(time.Since(begin)))
				}
				for _, b := range w.bots {
					b.cache.Close()
				}
				synctest.Wait()
				for month, calls := range p.months {
					if calls >= p.plan && p.plan > 1 || calls > p.plan {
						t.Errorf("%s ends with %d calls of %d", month, calls, p.plan)
					}
				}
				if s.oldest > c.oldest || s.old > c.old || s.silence > max(c.silence, minute+time.Second) {
					t.Errorf("a price was %v old, and %v marked as old; there was none for %v", s.oldest, s.old, s.silence)
				}
				t.Logf("calls %v of %d; a price was at most %v old, and %v marked as old; none for at most %v; nobody waited longer than %v",
					p.months, p.plan, s.oldest.Round(time.Second), s.old.Round(time.Second), s.silence.Round(time.Second), s.waited)
			})
		})
	}
}
