package members

import (
	"errors"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

// noon is when the last look was. The first "no" was seen then.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestABadgeGoesByTheseRulesAlone(t *testing.T) {
	const every = 6 * time.Hour
	r := rules{pools: 7, every: every}
	row := Row{LookedAt: noon, FirstNo: noon, Pools: 7}
	with := func(change func(*Row)) Row {
		changed := row
		change(&changed)
		return changed
	}
	at := noon.Add(every)
	for name, test := range map[string]struct {
		row     Row
		finding finding
		now     time.Time
		goes    bool
		firstNo time.Time
	}{
		"a second no":                 {row, finding{no, at}, at, true, noon},
		"an hour apart":               {row, finding{no, noon.Add(time.Hour)}, at, true, noon},
		"a second less":               {row, finding{no, noon.Add(time.Hour - time.Second)}, at, false, noon},
		"the first no":                {with(func(r *Row) { r.FirstNo = time.Time{} }), finding{no, at}, at, false, at},
		"a yes":                       {row, finding{yes, at}, at, false, time.Time{}},
		"an unknown":                  {row, finding{unknown, at}, at, false, time.Time{}},
		"other pools":                 {with(func(r *Row) { r.Pools = 8 }), finding{no, at}, at, false, time.Time{}},
		"a block before the first no": {row, finding{no, noon.Add(-time.Hour)}, at, false, noon.Add(-time.Hour)},
		"as late as it may be":        {row, finding{no, at}, at.Add(every / 32), true, noon},
		"a look is missing":           {row, finding{no, at}, at.Add(every/32 + time.Second), false, at},
		"the clock was set back":      {row, finding{no, at}, noon.Add(-2 * every), false, at},
		"who may wear none":           {with(func(r *Row) { r.FirstNo, r.LapsedAt = time.Time{}, noon }), finding{no, at}, at, false, time.Time{}},
	} {
		after := r.after(test.row, test.finding, test.now)
		if goes := after.loses(test.finding); goes != test.goes || !after.FirstNo.Equal(test.firstNo) {
			t.Errorf("%s: goes %t with the first no at %v, want %t and %v", name, goes, after.FirstNo, test.goes, test.firstNo)
		}
		if known := test.finding.verdict != unknown; known != after.LookedAt.Equal(test.now) || known && after.Pools != 7 {
			t.Errorf("%s: looked at %v under %d", name, after.LookedAt, after.Pools)
		}
	}
	lapsed := r.after(Row{LapsedAt: noon}, finding{yes, at}, at)
	if !lapsed.Stakes() {
		t.Errorf("who stakes again may not wear it: %+v", lapsed)
	}
}

func TestOnlyACompleteReadingIsANo(t *testing.T) {
	pool := core.Pool{Name: "p"}
	staked := []core.PoolAmount{{Pool: pool, Amount: decimal.New(1, 0)}}
	unread := []core.UnreadPool{{Pool: pool}}
	for name, test := range map[string]struct {
		stake core.Stake
		err   error
		want  verdict
	}{
		"all read":        {core.Stake{Checked: 21, BlockTime: noon}, nil, no},
		"without a block": {core.Stake{Checked: 21}, nil, unknown},
		"a pool unread":   {core.Stake{Checked: 20, Failed: unread, BlockTime: noon}, nil, unknown},
		"none read":       {core.Stake{BlockTime: noon}, nil, unknown},
		"failed":          {core.Stake{Checked: 21, BlockTime: noon}, errors.New("no"), unknown},
		"staked":          {core.Stake{Checked: 21, Staked: staked, BlockTime: noon}, nil, yes},
		"staked, in part": {core.Stake{Checked: 1, Staked: staked, Failed: unread}, nil, yes},
		"only unstaking":  {core.Stake{Checked: 21, Unbonding: staked, BlockTime: noon}, nil, no},
		"only claimable":  {core.Stake{Checked: 21, Claimable: staked, BlockTime: noon}, nil, no},
	} {
		a := core.Answer[core.Stake]{Err: test.err}
		a.Value = test.stake
		if got := found(a); got.verdict != test.want {
			t.Errorf("%s: verdict %d, want %d", name, got.verdict, test.want)
		}
	}
}

func TestOnlyWhoMayWearABadgeCountsForTheFuse(t *testing.T) {
	telegram := chat.User{Platform: "telegram", ID: "1"}
	c := countRows([]Row{
		{User: telegram, LookedAt: noon}, {User: telegram, FirstNo: noon}, {User: telegram, LapsedAt: noon},
		{User: telegram, FirstNo: noon, Forgotten: true}, {User: chat.User{Platform: "discord", ID: "1"}, LookedAt: noon.Add(-time.Hour)},
	}, noon.Add(-time.Minute))
	var sum census
	sum.add(c)
	sum.add(c)
	if want := (tally{holders: 4, losing: 2}); sum.tallies[1] != want || sum.rows != 10 || sum.looked != 2 || sum.tallies[2].holders != 2 {
		t.Errorf("counted %+v", sum)
	}
}

func TestPoolsAreToldApartByChainAndAddressAlone(t *testing.T) {
	same := poolsID("1", poolList(21))
	turned := poolList(21)
	turned[0], turned[20] = turned[20], turned[0]
	turned[3].Name = "renamed"
	if poolsID("1", turned) != same {
		t.Error("another order or another name is another list")
	}
	lower := poolList(21)
	lower[0].Address = common.Address{}
	if poolsID("1", lower) == same || poolsID("2", poolList(21)) == same || poolsID("1", poolList(20)) == same || poolsID("1", poolList(22)[1:]) == same {
		t.Error("another chain, or other pools, count as the same")
	}
}
