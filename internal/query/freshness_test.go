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

// freshnessCases are answers before and during lulls. All times are in seconds after the answer.
var freshnessCases = map[string]struct {
	ttl            int
	recheck, until int // of a lull; 0: there is none
	refresh        int
	expires        int
	useless        int
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

func TestTheFreshnessOfASharedAnswer(t *testing.T) {
	for name, test := range freshnessCases {
		f := newFixture(t, setup{ttl: time.Duration(test.ttl) * time.Second})
		after := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
		if test.until > 0 {
			why := marketService.Fail(core.NoCredit, errors.New("failed"))
			f.market.pause = pause{why: why, until: after(test.recheck), retryAt: after(test.until)}
		}
		got := f.prices.freshnessOf(Snapshot[*core.Quote]{At: noon})
		if isLonger := test.expires > test.ttl; isLonger != (got.why != nil) {
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

func TestAnAnswerThatIsNotSharedIsTooOldAfterItsTTL(t *testing.T) {
	f := newFixture(t, setup{})
	got := f.stakes.freshnessOf(Snapshot[core.Stake]{At: noon})
	minute := noon.Add(time.Minute)
	if got != (freshness{refresh: minute, expires: minute, useless: minute}) {
		t.Errorf("got %+v", got)
	}
}

func TestNoAnswerIsTooOld(t *testing.T) {
	f := newFixture(t, setup{})
	why := marketService.Fail(core.NoCredit, errors.New("failed"))
	f.market.pause = pause{why: why, retryAt: time.Now().Add(time.Hour)}
	if got := f.prices.freshnessOf(Snapshot[*core.Quote]{}).stageAt(time.Now()); got != tooOld {
		t.Errorf("got %v", got)
	}
}
