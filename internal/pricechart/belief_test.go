package pricechart

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/core"
)

// market is a source of quotes, which each call of ask updates.
type market struct {
	price   string
	changes [3]string
	answer  core.Snapshot[core.Quote]
}

// ask asks q for the market's quote of now, and reports whether it is doubtful. Any other error
// fails the test.
func (m *market) ask(t *testing.T, q *Quotes) (doubtful bool) {
	t.Helper()
	m.answer = core.Snapshot[core.Quote]{Value: changed(m.price, time.Now(), m.changes[:]...), At: time.Now()}
	source := &Recorded{Quotes: q, Prices: priceSource(func() (core.Snapshot[core.Quote], error) { return m.answer, nil })}
	got, err := source.Get(t.Context(), struct{}{})
	_, doubtful = errors.AsType[*core.DoubtError](err)
	if err != nil && !doubtful || doubtful != got.Value.Price.IsZero() {
		t.Fatalf("got %v, %v", got.Value.Price, err)
	}
	return doubtful
}

// run asks every minute for a time, and fails the test unless each answer is as doubtful as wanted.
func (m *market) run(t *testing.T, q *Quotes, lasts time.Duration, doubtful bool) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < lasts; time.Sleep(time.Minute) {
		if got := m.ask(t, q); got != doubtful {
			t.Fatalf("%s after %v: doubtful %t", m.price, time.Since(begun), got)
		}
	}
}

// inBubble runs a test in simulated time, a year after its beginning.
func inBubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(365 * day)
		test(t)
	})
}

func TestAGlitchOfAnHourIsDoubtedAndInNoChart(t *testing.T) {
	for _, glitch := range []string{"20000000", "0.00000005"} {
		inBubble(t, func(t *testing.T) {
			q, _ := open(source)
			m := &market{price: "1", changes: [3]string{"0", "0.5", "-3"}}
			m.run(t, q, 2*time.Hour, false)
			m.price = glitch
			m.run(t, q, time.Hour, true)
			m.price = "1"
			m.run(t, q, 2*time.Hour, false)
			for _, p := range q.all() {
				if p.Price.String() != "1" {
					t.Fatalf("%v is recorded", p)
				}
			}
			if n := len(q.all()); n != 16 {
				t.Errorf("%d points of four hours, want 16", n)
			}
		})
	}
}

func TestATrueMoveIsBelievedOnceItsChangesFollow(t *testing.T) {
	for price, change := range map[string]string{"100": "9900", "0.01": "-99"} {
		inBubble(t, func(t *testing.T) {
			q, _ := open(source)
			m := &market{price: "1", changes: [3]string{"0", "0.5", "-3"}}
			m.run(t, q, 2*time.Hour, false)
			m.price = price
			m.run(t, q, 5*time.Minute, true)
			m.changes = [3]string{change, change, change}
			m.run(t, q, time.Hour, false)
			m.changes = [3]string{"0", change, change}
			m.run(t, q, 3*time.Hour, false)
			if all := q.all(); all[len(all)-1].Price.String() != price {
				t.Errorf("the last price recorded is %v", all[len(all)-1])
			}
		})
	}
}

// A restart, another replica, and a time without questions change nothing.
func TestAContradictionIsBelievedAfterSixHours(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(shared)
		q, _ := open(source, store)
		m := &market{price: "1", changes: [3]string{"0", "0.5", "-3"}}
		m.run(t, q, 2*time.Hour, false)
		m.price = "20000000"
		m.run(t, q, 3*time.Hour, true)
		q.Close()
		restarted, _ := open(source, store)
		m.run(t, restarted, time.Hour, true)
		time.Sleep(time.Hour)
		replica, _ := open(source, store)
		m.run(t, replica, time.Hour, true)
		m.run(t, replica, 4*time.Hour, false)
		time.Sleep(time.Hour)
		m.run(t, replica, time.Minute, false)
		m.price = "1"
		m.run(t, replica, time.Minute, true) // No change explains it.
	})
}

// Six hours of one doubtful price say nothing about another.
func TestAnotherContradictionIsAnotherDoubt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(shared)
		q, _ := open(source, store)
		replica, _ := open(source, store)
		m := &market{price: "1", changes: [3]string{"0"}}
		m.run(t, q, time.Hour, false)
		m.price = "5000"
		m.run(t, q, 5*time.Hour+58*time.Minute, true)
		m.run(t, replica, time.Minute, true)
		m.price = "20000000"
		m.run(t, q, 5*time.Hour+59*time.Minute, true)
		m.run(t, replica, time.Minute, true)
		m.run(t, q, time.Hour, false)
	})
}

func TestAMarketCapThatFollowsAMoveLaterIsNotDoubted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		q, _ := open(source)
		for _, step := range []struct{ price, change, marketCap string }{
			{"2", "0", "2000"}, {"200", "9900", "2000"}, {"201", "9900", "2000"}, {"200", "9900", "200000"},
			{"200", "0", "200000"},
		} {
			time.Sleep(time.Minute)
			answer := core.Snapshot[core.Quote]{Value: changed(step.price, time.Now(), step.change, "", ""), At: time.Now()}
			answer.Value.MarketCap.Decimal, answer.Value.MarketCap.Valid = number(step.marketCap), true
			if v := q.record(answer); v.doubt != nil {
				t.Errorf("%+v: %v", step, v.doubt)
			}
		}
	})
}

// A month is more than any change of a quote covers.
func TestPricesOfLongAgoContradictNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		q, _ := open(source)
		m := &market{price: "1", changes: [3]string{"0"}}
		m.run(t, q, time.Hour, false)
		time.Sleep(32 * day)
		m.price = "0.05"
		m.run(t, q, time.Minute, false)
	})
}

func TestTheFirstOfAReplicasDoubtsCounts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(shared)
		one, _ := open(source, store)
		two, _ := open(source, store)
		m := &market{price: "1", changes: [3]string{"0"}}
		for range 30 {
			m.run(t, one, time.Minute, false)
			m.run(t, two, time.Minute, false)
		}
		m.price = "5000"
		m.run(t, one, 4*time.Hour, true)
		m.run(t, two, 2*time.Hour, true)
		m.run(t, two, time.Hour, false)
	})
}

func TestAMoveThatAnotherReplicaSawIsNotDoubted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(shared)
		one, _ := open(source, store)
		two, _ := open(source, store)
		m := &market{price: "1", changes: [3]string{"0"}}
		m.run(t, one, time.Minute, false)
		m.run(t, two, time.Hour, false)
		m.price, m.changes = "100", [3]string{"9900"}
		m.run(t, one, time.Hour, false)
		m.changes = [3]string{"0"}
		m.run(t, one, time.Hour, false)
		m.run(t, two, time.Minute, false)
	})
}

// Two answers may be judged in another order than they were given.
func TestAnOlderAnswerEndsNoDoubt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		q, _ := open(source)
		m := &market{price: "1", changes: [3]string{"0"}}
		m.run(t, q, time.Hour, false)
		older := core.Snapshot[core.Quote]{Value: quoted("1", time.Now()), At: time.Now()}
		time.Sleep(time.Minute)
		m.price = "5000"
		m.ask(t, q)
		q.record(older)
		m.run(t, q, 6*time.Hour, true)
		m.run(t, q, time.Hour, false)
	})
}

func TestAMarketCapIsDoubtedByTheLastCount(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		q, _ := open(source)
		ask := func(marketCap string) error {
			time.Sleep(time.Minute)
			answer := core.Snapshot[core.Quote]{Value: quoted("2", time.Now()), At: time.Now()}
			answer.Value.MarketCap.Decimal, answer.Value.MarketCap.Valid = number(marketCap), true
			prices := priceSource(func() (core.Snapshot[core.Quote], error) { return answer, nil })
			recorded := &Recorded{Quotes: q, Prices: prices}
			_, err := recorded.Get(t.Context(), struct{}{})
			return err
		}
		for _, step := range []struct {
			marketCap string
			wait      time.Duration
			doubtful  bool
		}{
			{"2000", 0, false}, {"2000000", 0, true}, {"2000", 0, false}, {"2000000", 0, true},
			{"2000000", 6 * time.Hour, false}, {"2000000", 0, false},
		} {
			time.Sleep(step.wait)
			if err := ask(step.marketCap); (err != nil) != step.doubtful {
				t.Errorf("%+v: %v", step, err)
			}
		}
	})
}

// Nothing is believed for good before the stores have been read.
func TestASlowStoreIsNotOverruled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(shared)
		before, _ := open(source, store)
		m := &market{price: "1", changes: [3]string{"0"}}
		m.run(t, before, time.Hour, false)
		before.Close()
		store.delay = 30 * time.Second
		after, _ := open(source, store)
		m.price = "5000"
		m.ask(t, after)
		time.Sleep(5 * time.Minute)
		m.run(t, after, time.Hour, true)
		after.Close()
	})
}

func TestAStoreThatFailsAtFirstIsNotOverruled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(shared)
		before, _ := open(source, store)
		m := &market{price: "1", changes: [3]string{"0"}}
		m.run(t, before, time.Hour, false)
		before.Close()
		store.fails = 100
		after, _ := open(source, store)
		m.price = "5000"
		m.ask(t, after)
		store.fails = 0
		time.Sleep(time.Minute)
		m.run(t, after, time.Hour, true)
		after.Close()
	})
}

func TestAStaleAnswerIsJudgedAndNotRemembered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		q, _ := open(source)
		m := &market{price: "1"}
		m.run(t, q, time.Hour, false)
		m.price = "5000"
		m.ask(t, q)
		stale := &Recorded{Quotes: q, Prices: priceSource(func() (core.Snapshot[core.Quote], error) {
			s := m.answer
			s.Stale = true
			return s, nil
		})}
		for range 10 {
			time.Sleep(time.Hour)
			if _, err := stale.Get(t.Context(), struct{}{}); err == nil {
				t.Fatal("believed, though nothing confirmed it")
			}
		}
	})
}

func TestADamagedBeliefIsLoggedAndForgotten(t *testing.T) {
	for _, damaged := range []string{
		"{", "[]", `{"at":"2001-01-01T00:00:00Z","price":"0"}`, `{"at":"2001-01-01T00:00:00Z","price":"-1"}`,
		`{"at":"2001-01-01T00:00:00Z","price":"1e999999999"}`, `{"count":"1e999999999"}`, `{"count":"-1"}`,
		`{"at":"9999-01-01T00:00:00Z","price":"1"}`, `{"doubted":"9999-01-01T00:00:00Z"}`,
	} {
		inBubble(t, func(t *testing.T) {
			store := &shared{values: map[string]string{"belief " + source: damaged}}
			q, log := open(source, store)
			m := &market{price: "5000"}
			m.run(t, q, time.Minute, false)
			if got := log.String(); strings.Count(got, "\n") != 1 {
				t.Errorf("%s: logged %s", damaged, got)
			}
		})
	}
}

func TestOfDoubtsAboutTwoPricesTheLaterCounts(t *testing.T) {
	earlier := belief{At: now, Doubted: now.Add(time.Hour), Doubtful: number("50")}
	later := belief{At: now, Doubted: now.Add(2 * time.Hour), Doubtful: number("5000")}
	for _, got := range []belief{earlier.mergedWith(later), later.mergedWith(earlier)} {
		if !got.Doubtful.Equal(later.Doubtful) || !got.Doubted.Equal(later.Doubted) {
			t.Errorf("got %+v", got)
		}
	}
}

// Each letter is a time, in alphabetical order: when a quote was believed, and when doubts began.
func TestTheNewerBeliefWinsWithItsFirstDoubt(t *testing.T) {
	at := func(letter string) (at time.Time) {
		if letter != "" {
			at = now.Add(time.Duration(letter[0]) * time.Minute)
		}
		return at
	}
	for _, test := range []struct{ at, doubted, otherAt, otherDoubted, wantAt, wantDoubted string }{
		{"b", "", "a", "", "b", ""}, {"b", "", "", "", "b", ""},
		{"a", "c", "a", "d", "a", "c"}, {"a", "c", "b", "d", "b", "c"},
		{"a", "b", "c", "", "c", ""}, {"a", "b", "c", "d", "c", "d"},
		{"a", "d", "a", "", "a", "d"}, {"", "c", "", "d", "", "c"},
	} {
		one := belief{At: at(test.at), Doubted: at(test.doubted), Doubtful: number("50")}
		two := belief{At: at(test.otherAt), Doubted: at(test.otherDoubted), Doubtful: number("60")}
		for _, got := range []belief{one.mergedWith(two), two.mergedWith(one)} {
			doubted := at("")
			if got.isDoubted() {
				doubted = got.Doubted
			}
			if !got.At.Equal(at(test.wantAt)) || !doubted.Equal(at(test.wantDoubted)) {
				t.Errorf("%+v: got %+v", test, got)
			}
		}
	}
}
