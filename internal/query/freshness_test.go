package query

import (
	"errors"
	"testing"
	"time"

	"herald/internal/core"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func TestTheStagesOfAnAnswer(t *testing.T) {
	fresh := freshness{
		refresh: noon.Add(25 * time.Second),
		expires: noon.Add(30 * time.Second),
		useless: noon.Add(time.Hour),
	}
	for after, want := range map[time.Duration]stage{
		0:                current,
		24 * time.Second: current,
		25 * time.Second: dueForRefresh,
		29 * time.Second: dueForRefresh,
		30 * time.Second: standIn,
		59 * time.Minute: standIn,
		time.Hour:        tooOld,
	} {
		if got := fresh.stageAt(noon.Add(after)); got != want {
			t.Errorf("after %v: %v, want %v", after, got, want)
		}
	}
}

// freshnessCases are answers with and without a lull. All times are in seconds after the answer. Calls take at most 5
// s, and StaleFor is 3600 s.
var freshnessCases = map[string]struct {
	ttl            int
	recheck, until int // of the lull; 0: there is none

	refresh, expires, useless int // the wanted freshness
}{
	"no lull": {
		ttl:     30,
		refresh: 25, expires: 30, useless: 3630,
	},
	"a short TTL": {
		ttl:     6,
		refresh: 4, expires: 6, useless: 3606,
	},
	"a lull of a minute": {
		ttl: 30, recheck: 31, until: 60,
		refresh: 31, expires: 65, useless: 3630,
	},
	"a lull whose recheck is over": {
		ttl: 30, recheck: 20, until: 60,
		refresh: 25, expires: 65, useless: 3630,
	},
	"a lull that ends with the TTL": {
		ttl: 30, recheck: 27, until: 30,
		refresh: 25, expires: 30, useless: 3630,
	},
	"a lull that ends just after the TTL": {
		ttl: 30, recheck: 31, until: 31,
		refresh: 31, expires: 36, useless: 3630,
	},
	"a lull whose recheck comes after StaleFor": {
		ttl: 30, recheck: 3635, until: 7200,
		refresh: 3630, expires: 3630, useless: 7205,
	},
	"a lull of two hours": {
		ttl: 30, recheck: 31, until: 7200,
		refresh: 31, expires: 3630, useless: 7205,
	},
}

func TestTheFreshnessOfAPublicAnswer(t *testing.T) {
	for name, test := range freshnessCases {
		f := newFixture(t, setup{ttl: time.Duration(test.ttl) * time.Second})
		after := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
		if test.until > 0 {
			why := marketService.Fail(core.NoCredit, errors.New("failed"))
			f.market.pause = pause{why: why, until: after(test.recheck), retryAt: after(test.until)}
		}
		got := f.prices.freshnessOf(Snapshot[*core.Quote]{At: noon})
		isHeldLonger := test.expires > test.ttl
		hasReason := got.why != nil
		if hasReason != isHeldLonger {
			t.Errorf("%s: the reason is %v", name, got.why)
		}
		got.why = nil
		want := freshness{
			refresh: after(test.refresh),
			expires: after(test.expires),
			useless: after(test.useless),
		}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestAPersonalAnswerIsTooOldAfterItsTTL(t *testing.T) {
	f := newFixture(t, setup{})
	got := f.stakes.freshnessOf(Snapshot[core.Stake]{At: noon})
	minute := noon.Add(time.Minute)
	if got != (freshness{refresh: minute, expires: minute, useless: minute}) {
		t.Errorf("got %+v", got)
	}
}

func TestAMissingAnswerIsTooOldEvenInALull(t *testing.T) {
	f := newFixture(t, setup{})
	why := marketService.Fail(core.NoCredit, errors.New("failed"))
	f.market.pause = pause{why: why, retryAt: time.Now().Add(time.Hour)}
	missing := Snapshot[*core.Quote]{}
	if got := f.prices.freshnessOf(missing).stageAt(time.Now()); got != tooOld {
		t.Errorf("got %v", got)
	}
}
