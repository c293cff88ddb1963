package members

import (
	"fmt"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// testLevels has badges for any stake and for 1,000 tokens, and a cycle of six hours.
func testLevels() levels { return newLevels("1", poolList(21), twoBadges, 6*time.Hour) }

func at(hours float64) time.Time { return noon.Add(time.Duration(hours * float64(time.Hour))) }

// TestDecide has one row for each rule: a level and a first check below it, then a check, then
// the level and the first check after it.
func TestDecide(t *testing.T) {
	l := testLevels()
	all := l.highest()
	// below has checks below the levels above level since then.
	below := func(level int, hours float64) []Time {
		return append(make([]Time, level), timeOf(at(hours)), timeOf(at(hours)))
	}
	for name, c := range map[string]struct {
		row   Row
		check finding
		want  string // level, below, whether lost, whether released
	}{
		"a stake raises at once":                     {Row{}, finding{least: 2, most: 2, block: at(6)}, "2 <nil> false"},
		"and forgets how it was lost":                {Row{Lost: &Loss{From: 0}}, finding{least: 1, most: 1, block: at(6)}, "1 <nil> false"},
		"the level that stands does not":             {Row{Level: 1, Lost: &Loss{From: 1, Second: timeOf(at(6))}}, finding{least: 1, most: 1, block: at(6)}, "1 <nil> true"},
		"so does a part of it":                       {Row{}, finding{least: 1, most: 2, block: at(6)}, "1 <nil> false"},
		"the first below is remembered":              {Row{Level: 2}, finding{least: 0, most: 0, block: at(6)}, "2 0@6 false"},
		"the second lowers":                          {Row{Level: 2, Below: below(0, 0)}, finding{block: at(6)}, "0 <nil> true"},
		"to the higher of the two":                   {Row{Level: 2, Below: below(1, 0)}, finding{block: at(6)}, "1 0@6 true"},
		"and no lower than the second":               {Row{Level: 2, Below: below(0, 0)}, finding{least: 1, most: 1, block: at(6)}, "1 <nil> true"},
		"within the hour it is none":                 {Row{Level: 1, Below: below(0, 5.1)}, finding{block: at(6)}, "1 0@5.1 false"},
		"after exactly an hour it is one":            {Row{Level: 1, Below: below(0, 5)}, finding{block: at(6)}, "0 <nil> true"},
		"within the hour a level may be found again": {Row{Level: 2, Below: below(0, 5.5)}, finding{least: 1, most: 1, block: at(6)}, "2 1@5.5 false"},
		"each level has a first of its own":          {Row{Level: 2, Below: []Time{timeOf(at(5.5)), timeOf(at(0))}}, finding{block: at(6)}, "1 0@5.5 true"},
		"the level again forgets the first":          {Row{Level: 1, Below: below(0, 0), Released: true}, finding{least: 1, most: 1, block: at(6)}, "1 <nil> false"},
		"an unknown forgets it":                      {Row{Level: 1, Below: below(0, 0), Released: true}, finding{most: all}, "1 <nil> false"},
		"an unknown press does not":                  {Row{Level: 1, Below: below(0, 0), Released: true}, finding{most: all, press: true}, "1 0@0 false released"},
		"a press below is a first":                   {Row{Level: 1}, finding{block: at(6), press: true}, "1 0@6 false"},
		"and a second":                               {Row{Level: 1, Below: below(0, 0)}, finding{block: at(6), press: true}, "0 <nil> true"},
		"a press that finds the level forgets it":    {Row{Level: 1, Below: below(0, 0)}, finding{least: 1, most: 1, block: at(6), press: true}, "1 <nil> false"},
		"an older block is unknown":                  {Row{Level: 1, Block: timeOf(at(7))}, finding{block: at(6)}, "1 <nil> false"},
		"also for a yes":                             {Row{Level: 0, Block: timeOf(at(7))}, finding{least: 2, most: 2, block: at(6)}, "0 <nil> false"},
		"an older block of a press forgets nothing":  {Row{Level: 1, Block: timeOf(at(7)), Below: below(0, 0)}, finding{least: 1, most: 1, block: at(6), press: true}, "1 0@0 false"},
		"a missing check begins anew":                {Row{Level: 1, Below: below(0, -6), CheckedAt: timeOf(at(-6))}, finding{block: at(6)}, "1 0@6 false"},
		"so does a clock that was ahead":             {Row{Level: 1, Below: below(0, 0), CheckedAt: timeOf(at(30))}, finding{block: at(6)}, "1 0@6 false"},
		"another list begins anew":                   {Row{Level: 1, List: 1, Below: below(0, 0), Given: []Given{{Community: "9001", Badge: "7001"}}}, finding{block: at(6)}, "1 0@6 false"},
		"of another list only what is worn counts":   {Row{Level: 2, List: 1}, finding{block: at(6)}, "0 <nil> false"},
		"the highest of what is worn counts":         {Row{List: 1, Given: []Given{{Community: "9001", Badge: "7002"}, {Community: "9001", Badge: "7001"}}}, finding{least: 1, most: 1, block: at(6)}, "2 1@6 false"},
		"unknown under another list keeps the level": {Row{Level: 2, List: 1, Given: []Given{{Community: "9001", Badge: "7002"}}}, finding{least: 1, most: 2, block: at(6)}, "2 <nil> false"},
		"who has nothing stays so":                   {Row{}, finding{block: at(6)}, "0 <nil> false"},
		"a release ends once its badge is gone":      {Row{Level: 1, Released: true, Given: []Given{{Community: "9001", Badge: "7001"}}}, finding{least: 1, most: 1, block: at(6)}, "1 <nil> false"},
		"but not while the badge is worn":            {Row{Level: 1, Released: true, Given: []Given{{Community: "9001", Badge: "7002"}}}, finding{least: 1, most: 1, block: at(6)}, "1 <nil> false released"},
		"and not with the second below":              {Row{Level: 1, Below: below(0, 0), Released: true, Given: []Given{{Community: "9001", Badge: "7001"}}}, finding{block: at(6)}, "0 <nil> true released"},
		"disowned is below":                          {Row{Level: 2, Below: below(0, 0)}, finding{block: at(6), disowned: true}, "0 <nil> true"},
	} {
		r := c.row
		r.Wallet = common.Address{1}
		if r.CheckedAt.IsZero() {
			r.CheckedAt = timeOf(noon)
		}
		if r.List == 0 {
			r.List = l.listHash
		}
		r.Below = r.Below[:min(r.Level, len(r.Below))]
		r = l.decide(r, c.check, at(6))
		got := fmt.Sprintf("%d <nil> %t", r.Level, r.Lost != nil)
		if r.Below != nil {
			n := l.expected(r)
			got = fmt.Sprintf("%d %d@%v %t", r.Level, n, r.Below[n].Sub(noon).Hours(), r.Lost != nil)
		}
		if r.Released {
			got += " released"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if lost := r.Lost; lost != nil && (lost.Disowned != c.check.disowned || lost.From != c.row.Level || lost.Second != timeOf(c.check.block)) {
			t.Errorf("%s: lost %+v", name, lost)
		}
		if r.Below != nil && len(r.Below) != r.Level {
			t.Errorf("%s: %+v", name, r)
		}
		if r.CheckedAt == timeOf(at(6)) && r.Block != timeOf(c.check.block) {
			t.Errorf("%s: block of %v", name, r.Block)
		}
	}
}

// That the platform refused to remove a badge counts for as long as the badge is to be removed.
func TestABadgeThatIsKeptAgainIsNotRefused(t *testing.T) {
	l := testLevels()
	for name, c := range map[string]struct {
		badge string
		row   Row
		check finding
		want  string
	}{
		"staked again":              {"7001", Row{}, finding{least: 1, most: 1, block: noon}, "7001 had"},
		"staked as before":          {"7001", Row{Level: 1}, finding{least: 1, most: 1, block: noon}, "7001 had"},
		"too little staked again":   {"7002", Row{}, finding{least: 1, most: 1, block: noon}, "7002 had refused"},
		"still nothing":             {"7001", Row{}, finding{block: noon}, "7001 had refused"},
		"not known":                 {"7001", Row{}, finding{most: l.highest()}, "7001 had refused"},
		"not in the settings":       {"6000", Row{}, finding{least: 2, most: 2, block: noon}, "6000 had refused"},
		"in the settings once more": {"7001", Row{List: 1}, finding{least: 1, most: 1, block: noon}, "7001 had"},
	} {
		before := []Given{{Community: "9001", Badge: c.badge, RefusedAt: timeOf(noon)}}
		c.row.Wallet, c.row.Given = common.Address{1}, before
		if c.row.List == 0 {
			c.row.List = l.listHash
		}
		if got := shown(l.decide(c.row, c.check, noon)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if before[0].RefusedAt.IsZero() {
			t.Errorf("%s: the row before has changed", name)
		}
	}
}

// Two wallets of one's own that stake nothing, saved in turn, are checks like any other.
func TestPressingInTurnKeepsNoBadge(t *testing.T) {
	l := testLevels()
	r := Row{Wallet: common.Address{1}, List: l.listHash, Level: 1, CheckedAt: timeOf(noon)}
	for hours := 1.0; hours <= 12; hours += 0.5 {
		r.Wallet = common.Address{byte(1 + int(hours*2)%2)}
		r = l.decide(r, finding{block: at(hours), press: true}, at(hours))
		if r.Level == 0 {
			return
		}
	}
	t.Errorf("after 12 hours of presses: %+v", r)
}

func TestAStakeIsARangeOfLevels(t *testing.T) {
	l := testLevels()
	stake := func(amount int64, failed int, block time.Time) core.Answer[core.Stake] {
		s := core.Stake{BlockTime: block, Checked: 21 - failed, Failed: make([]core.UnreadPool, failed)}
		if amount > 0 {
			s.Staked = []core.PoolAmount{{Amount: decimal.NewFromInt(amount)}}
		}
		return core.Answer[core.Stake]{Snapshot: core.Snapshot[core.Stake]{Value: s}}
	}
	for _, c := range []struct {
		stake       core.Answer[core.Stake]
		least, most int
	}{
		{stake(0, 0, noon), 0, 0},
		{stake(5, 0, noon), 1, 1},
		{stake(1000, 0, noon), 2, 2},
		{stake(0, 1, noon), 0, 2},
		{stake(5, 1, noon), 1, 2},
		{stake(1000, 1, noon), 2, 2},
		{stake(0, 0, time.Time{}), 0, 2},
		{stake(5, 0, time.Time{}), 1, 2},
		{core.Answer[core.Stake]{Snapshot: stake(0, 0, noon).Snapshot, Err: errFault}, 0, 2},
	} {
		if got := l.finding(c.stake.Value, c.stake.Err); got.least != c.least || got.most != c.most {
			t.Errorf("%+v: from %d to %d, want from %d to %d", c.stake.Value, got.least, got.most, c.least, c.most)
		}
	}
}

func TestAListStandsForChainPoolsAndAmounts(t *testing.T) {
	lists := map[uint64]string{}
	reversed := poolList(21)
	reversed[0], reversed[20] = reversed[20], reversed[0]
	same := newLevels("1", reversed, twoBadges, time.Hour).listHash
	for name, l := range map[string]levels{
		"as it is":        testLevels(),
		"another chain":   newLevels("2", poolList(21), twoBadges, time.Hour),
		"another pool":    newLevels("1", poolList(22), twoBadges, time.Hour),
		"another amount":  newLevels("1", poolList(21), []chat.Badge{{Amount: decimal.NewFromInt(999)}}, time.Hour),
		"an amount moved": newLevels("1", poolList(21), []chat.Badge{twoBadges[1], twoBadges[0], twoBadges[2]}, time.Hour),
		"another server":  newLevels("1", poolList(21), []chat.Badge{{Community: "9003", ID: "7001"}, twoBadges[1], twoBadges[2]}, time.Hour),
		"no amount":       newLevels("1", poolList(21), nil, time.Hour),
		"chain and a bit": newLevels("11", poolList(21), twoBadges, time.Hour),
	} {
		if other, twice := lists[l.listHash]; twice {
			t.Errorf("%s is the same as %s", name, other)
		}
		lists[l.listHash] = name
	}
	if lists[same] != "as it is" {
		t.Error("the order of the pools counts")
	}
}
