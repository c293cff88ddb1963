package belief

import (
	"errors"
	"testing"
	"time"

	"herald/internal/core"
	"herald/internal/mirror/mirrortest"
	"herald/internal/pricechart"
	"herald/internal/secret/logtest"
)

// calm are the changes over 1 h, 24 h and 7 d of a price that hardly moves.
var calm = changes{"0", "0.5", "-3"}

// In these tests, a process of the bot asks the market: run asks at once and then every minute for a time, and ask asks
// once. quotes has what was recorded.

func TestAGlitchOfAnHourIsDoubtedAndInNoChart(t *testing.T) {
	for _, glitch := range []string{"20000000", "0.00000005"} {
		inBubble(t, func(t *testing.T) {
			m := &market{price: "1", changes: calm}
			p := start(m)
			p.run(t, 2*time.Hour, believed)
			m.price = glitch
			p.run(t, time.Hour, doubted)
			m.price = "1"
			p.run(t, 2*time.Hour, believed)
			for _, price := range p.quotes.Prices() {
				if price.Price.String() != "1" {
					t.Fatalf("%v is recorded", price)
				}
			}
			if n := len(p.quotes.Prices()); n != 16 { // one in 15 minutes
				t.Errorf("%d points of four hours, want 16", n)
			}
		})
	}
}

func TestATrueMoveIsBelievedOnceItsChangesFollow(t *testing.T) {
	for price, change := range map[string]string{"100": "9900", "0.01": "-99"} {
		inBubble(t, func(t *testing.T) {
			m := &market{price: "1", changes: calm}
			p := start(m)
			p.run(t, 2*time.Hour, believed)
			m.price = price
			p.run(t, 5*time.Minute, doubted)
			m.changes = changes{change, change, change}
			p.run(t, time.Hour, believed)
			m.changes = changes{"0", change, change} // An hour later, the change over an hour has no trace of the move.
			p.run(t, 3*time.Hour, believed)
			if all := p.quotes.Prices(); all[len(all)-1].Price.String() != price {
				t.Errorf("the last price recorded is %v", all[len(all)-1])
			}
		})
	}
}

// The six hours are the same across a restart, in another replica, and if nobody asks for an hour.
func TestAContradictionIsBelievedAfterSixHours(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(mirrortest.Store)
		m := &market{price: "1", changes: calm}
		p := start(m, store)
		p.run(t, 2*time.Hour, believed)
		m.price = "20000000"
		p.run(t, 3*time.Hour, doubted)
		p.close()
		start(m, store).run(t, time.Hour, doubted)
		time.Sleep(time.Hour)
		replica := start(m, store)
		replica.run(t, time.Hour, doubted)
		replica.run(t, 4*time.Hour, believed)
		time.Sleep(time.Hour)
		replica.run(t, time.Minute, believed)
		m.price = "1"
		replica.run(t, time.Minute, doubted) // No change explains it.
	})
}

// The six hours of a doubt begin again when another doubtful price comes.
func TestAnotherContradictionIsAnotherDoubt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(mirrortest.Store)
		m := &market{price: "1", changes: changes{"0"}}
		p := start(m, store)
		replica := start(m, store)
		p.run(t, time.Hour, believed)
		m.price = "5000"
		p.run(t, 5*time.Hour+58*time.Minute, doubted)
		replica.run(t, time.Minute, doubted)
		m.price = "20000000"
		p.run(t, 5*time.Hour+59*time.Minute, doubted) // The new doubt has begun.
		replica.run(t, time.Minute, doubted)
		p.run(t, time.Hour, believed)
	})
}

func TestAMarketCapThatFollowsAMoveLaterIsNotDoubted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := &market{}
		p := start(m)
		for _, step := range []struct{ price, change, marketCap string }{
			{price: "2", change: "0", marketCap: "2000"},
			{price: "200", change: "9900", marketCap: "2000"},
			{price: "201", change: "9900", marketCap: "2000"},
			{price: "200", change: "9900", marketCap: "200000"},
			{price: "200", change: "0", marketCap: "200000"},
		} {
			time.Sleep(time.Minute)
			m.price = step.price
			m.changes = changes{step.change}
			m.marketCap = step.marketCap
			if got := p.ask(t); got != believed {
				t.Errorf("%+v: %s", step, got)
			}
		}
	})
}

// The count of tokens is the market cap divided by the price.
func TestAMarketCapIsDoubtedByTheLastCount(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := &market{price: "2"}
		p := start(m)
		for _, step := range []struct {
			wait      time.Duration // since the step before
			marketCap string
			want      opinion
		}{
			{wait: time.Minute, marketCap: "2000", want: believed},
			{wait: time.Minute, marketCap: "2000000", want: doubted},
			{wait: time.Minute, marketCap: "2000", want: believed},
			{wait: time.Minute, marketCap: "2000000", want: doubted},
			{wait: 6 * time.Hour, marketCap: "2000000", want: believed},
			{wait: time.Minute, marketCap: "2000000", want: believed},
			{wait: time.Minute, marketCap: "2000", want: doubted},
		} {
			time.Sleep(step.wait)
			m.marketCap = step.marketCap
			if got := p.ask(t); got != step.want {
				t.Errorf("%+v: %s", step, got)
			}
		}
	})
}

// No change of a quote covers more than a month.
func TestPricesOlderThanAMonthContradictNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := &market{price: "1", changes: changes{"0"}}
		p := start(m)
		p.run(t, time.Hour, believed)
		time.Sleep(32 * day)
		m.price = "0.05"
		p.run(t, time.Minute, believed)
	})
}

func TestTheSixHoursCountFromTheFirstReplicasDoubt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(mirrortest.Store)
		m := &market{price: "1", changes: changes{"0"}}
		one := start(m, store)
		two := start(m, store)
		for range 30 {
			one.run(t, time.Minute, believed)
			two.run(t, time.Minute, believed)
		}
		m.price = "5000"
		one.run(t, 4*time.Hour, doubted)
		two.run(t, 2*time.Hour, doubted)
		two.run(t, time.Hour, believed)
	})
}

func TestAMoveThatAnotherReplicaSawIsNotDoubted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(mirrortest.Store)
		m := &market{price: "1", changes: changes{"0"}}
		one := start(m, store)
		two := start(m, store)
		one.run(t, time.Minute, believed)
		two.run(t, time.Hour, believed)
		m.price = "100"
		m.changes = changes{"9900"}
		one.run(t, time.Hour, believed)
		m.changes = changes{"0"}
		one.run(t, time.Hour, believed)
		two.run(t, time.Minute, believed)
	})
}

// Answers may be judged in another order than the provider gave them.
func TestAnOlderAnswerDoesNotEndADoubt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := &market{price: "1", changes: changes{"0"}}
		p := start(m)
		p.run(t, time.Hour, believed)
		older, _ := m.Get(t.Context(), struct{}{})
		time.Sleep(time.Minute)
		m.price = "5000"
		p.ask(t)
		p.prices.record(older)
		p.run(t, 6*time.Hour, doubted)
		p.run(t, time.Hour, believed)
	})
}

func TestAnOlderAnswerIsNotRemembered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := &market{price: "1"}
		p := start(m)
		older, _ := m.Get(t.Context(), struct{}{})
		time.Sleep(20 * time.Minute)
		m.price = "2"
		p.ask(t)
		p.prices.record(older)
		if all := p.quotes.Prices(); len(all) != 1 || all[0].Price.String() != "2" {
			t.Errorf("recorded %v", all)
		}
	})
}

// A price that contradicts the stored prices must not be recorded before the stores have been read.
func TestASlowStoreIsNotOverruled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(mirrortest.Store)
		m := &market{price: "1", changes: changes{"0"}}
		before := start(m, store)
		before.run(t, time.Hour, believed)
		before.close()
		store.Delay = 30 * time.Second
		after := start(m, store)
		m.price = "5000"
		after.ask(t)
		time.Sleep(5 * time.Minute)
		after.run(t, time.Hour, doubted)
		after.close()
	})
}

func TestAStoreThatFailsAtFirstIsNotOverruled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := new(mirrortest.Store)
		m := &market{price: "1", changes: changes{"0"}}
		before := start(m, store)
		before.run(t, time.Hour, believed)
		before.close()
		store.Fail(100) // more calls than are made until Fail(0)
		after := start(m, store)
		m.price = "5000"
		after.ask(t)
		store.Fail(0)
		time.Sleep(time.Minute)
		after.run(t, time.Hour, doubted)
		after.close()
	})
}

func TestAStaleAnswerIsJudgedAndNotRemembered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := &market{price: "1"}
		p := start(m)
		p.run(t, time.Hour, believed)
		m.price = "5000"
		p.ask(t)
		m.isStale = true
		for range 10 {
			time.Sleep(time.Hour)
			if p.ask(t) == believed {
				t.Fatal("believed, though nothing confirmed it")
			}
		}
	})
}

func TestAPeekIsJudgedAndNotRemembered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := &market{price: "1"}
		p := start(m)
		p.run(t, time.Hour, believed)
		m.price = "5000"
		for range 10 {
			time.Sleep(time.Hour)
			answer, _ := m.Get(t.Context(), struct{}{})
			if _, err := p.prices.Peek(answer); err == nil {
				t.Fatal("believed, though it was doubted for no time")
			}
		}
	})
}

func TestADamagedBeliefIsLoggedAndForgotten(t *testing.T) {
	for _, damaged := range []string{
		"{",
		"[]",
		`{"at":"2000-01-01T00:00:00Z","price":"0"}`,
		`{"at":"2000-01-01T00:00:00Z","price":"-1"}`,
		`{"at":"2000-01-01T00:00:00Z","price":"1e999999999"}`,
		`{"count":"1e999999999"}`,
		`{"count":"-1"}`,
		`{"at":"9999-01-01T00:00:00Z","price":"1"}`,
		`{"doubted":"9999-01-01T00:00:00Z","doubtful":"1"}`,
	} {
		inBubble(t, func(t *testing.T) {
			p := start(&market{price: "5000"}, mirrortest.With("belief "+token, damaged))
			p.run(t, time.Minute, believed)
			p.close()
			if p.log.Lines("") != 1 {
				t.Errorf("%s: logged %s", damaged, p.log)
			}
		})
	}
}

func TestEachFreshAnswerIsRecordedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := &market{}
		p := start(m, new(mirrortest.Store))
		down := errors.New("down")
		for _, step := range []struct {
			name         string
			price        string
			isStale      bool
			err          error
			wantRecorded int
		}{
			{name: "failed", price: "1", err: down, wantRecorded: 0},
			{name: "fresh", price: "3", wantRecorded: 1},
			{name: "stale", price: "3", isStale: true, wantRecorded: 1},
			{name: "the next one", price: "4", wantRecorded: 2},
		} {
			time.Sleep(15 * time.Minute)
			m.price = step.price
			m.isStale = step.isStale
			m.err = step.err
			for range 2 {
				got, err := p.prices.Get(t.Context(), struct{}{})
				if err != step.err || err == nil && !got.At.Equal(m.answer.At) {
					t.Errorf("%s: got %+v, %v, want %+v", step.name, got, err, m.answer)
				}
			}
			if n := len(p.quotes.Prices()); n != step.wantRecorded {
				t.Errorf("%s: %d are recorded, want %d", step.name, n, step.wantRecorded)
			}
		}
	})
}

// countingSeries counts who looks at the prices.
type countingSeries struct {
	Series
	looks int
}

func (s *countingSeries) Prices() []core.PricedAt {
	s.looks++
	return s.Series.Prices()
}

func TestTheSameAnswerIsJudgedOnce(t *testing.T) {
	m := &market{price: "1"}
	log := new(logtest.Buffer)
	series := &countingSeries{Series: pricechart.NewQuotes(token, nil, log.Logger())}
	prices := NewPrices(Config{Source: m, Token: token, Series: series, Log: log.Logger()})
	answer, _ := m.Get(t.Context(), struct{}{})
	for range 10 {
		prices.record(answer)
	}
	if series.looks != 1 {
		t.Errorf("the prices so far were read %d times, want 1", series.looks)
	}
}
