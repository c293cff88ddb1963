package members

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// at returns a time some hours after noon.
func at(hours float64) time.Time { return noon.Add(time.Duration(hours * float64(time.Hour))) }

// testTiers has the roles of the tests.
func testTiers() tiers { return newTiers("1", poolList(21), roles, Settings{Every: cycle}) }

// underOf returns the settings of a badge of server 9001.
func underOf(t tiers, badge string) SettingsHash {
	return t.underNow(Held{Community: "9001", Badge: badge})
}

// checkOf returns a check that found a stake at some hours after noon.
func checkOf(stake int64, hours float64) check { return check{stake: stakeOf(stake, at(hours))} }

// byPressOf returns checkOf for a press.
func byPressOf(stake int64, hours float64) check {
	c := checkOf(stake, hours)
	c.press = true
	return c
}

// judged is one row of the table of judge: what is known of role 7002 before, and what a check makes of it.
type judged struct {
	before Held
	check  check
	want   string
}

// judge runs a table of judge. Its wants are flags, and the hour of Low if there is one.
func judge(t *testing.T, tiers tiers, table map[string]judged) {
	t.Helper()
	for name, c := range table {
		c.before.Community = "9001"
		if c.before.Badge == "" {
			c.before.Badge = "7002"
		}
		row := tiers.withoutVoid(Row{Wallet: wallet(1), Badges: []Held{c.before}})
		after := tiers.decide(row, c.check, at(24)).Badges[0]
		got := flags(after)
		if low := after.Low.BlockTime; !low.IsZero() {
			got += low.Format(" @15:04")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestABadgeGoesByTwoMissesAnHourApart(t *testing.T) {
	tiers := testTiers()
	under := underOf(tiers, "7002")
	low := Held{Low: MissedCheck{timeOf(at(0)), under}}
	goes := Held{Low: low.Low, RemoveUnder: under}
	judge(t, tiers, map[string]judged{
		"reached":                              {low, checkOf(1000, 6), ""},
		"reached by a press":                   {low, byPressOf(1000, 6), ""},
		"reached once it goes":                 {goes, checkOf(1000, 6), ""},
		"unknown, by the cycle":                {low, checkOf(-1, 6), ""},
		"a failed check, by the cycle":         {low, check{failed: true}, ""},
		"unknown, by a press":                  {low, byPressOf(-1, 6), " low @12:00"},
		"unknown keeps what goes":              {goes, checkOf(-1, 6), " goes"},
		"unknown by a press keeps what goes":   {goes, byPressOf(-1, 6), " low goes @12:00"},
		"missed for the first time":            {Held{}, checkOf(999, 6), " low @18:00"},
		"missed for the first time by a press": {Held{}, byPressOf(999, 6), " low @18:00"},
		"less than an hour later":              {low, checkOf(0, 0.99), " low @12:00"},
		"an hour later":                        {low, checkOf(0, 1), " low goes @12:00"},
		"an hour later by a press":             {low, byPressOf(0, 1), " low goes @12:00"},
		"two cycles and an hour later":         {low, checkOf(0, 13), " low goes @12:00"},
		"older than that":                      {low, checkOf(0, 13.01), " low @01:00"},
		"missed once it goes":                  {goes, checkOf(0, 6), " low goes @12:00"},
	})
}

func TestAMissUnderOtherSettingsDoesNotCount(t *testing.T) {
	tiers := testTiers()
	ofOthers := Held{Low: MissedCheck{timeOf(at(0)), 1}}
	decidedUnderOthers := Held{Low: ofOthers.Low, RemoveUnder: 1}
	ofAnotherAmount := Held{Low: MissedCheck{timeOf(at(0)), underOf(tiers, "7001")}}
	judge(t, tiers, map[string]judged{
		"a first of other settings":     {ofOthers, checkOf(0, 6), " low @18:00"},
		"two of other settings":         {decidedUnderOthers, checkOf(0, 6), " low @18:00"},
		"two of others, then unknown":   {Held{RemoveUnder: 1}, checkOf(-1, 6), ""},
		"a first of another amount":     {ofAnotherAmount, checkOf(0, 6), " low @18:00"},
		"an amount that is not its own": {Held{Badge: "7001"}, checkOf(5, 6), ""},
	})
}

func TestAReachedAmountAndOtherSettingsEndReleaseAndRefusal(t *testing.T) {
	tiers := testTiers()
	under := underOf(tiers, "7002")
	held := Held{Low: MissedCheck{timeOf(noon), under}, RemoveUnder: under, Released: true, Refused: timeOf(noon)}
	ofOthers := held
	ofOthers.Low.Under, ofOthers.RemoveUnder = 1, 1
	judge(t, tiers, map[string]judged{
		"reached":                     {held, checkOf(1000, 6), ""},
		"missed":                      {held, checkOf(5, 6), " low goes released refused @12:00"},
		"unknown":                     {held, checkOf(-1, 6), " goes released refused"},
		"missed under other settings": {ofOthers, checkOf(5, 6), " low @18:00"},
	})
}

// If refusals under other settings counted, the badge would be given up at its first refusal under the present ones.
func TestARefusalCountsOnlyForTheDecisionThatWasRefused(t *testing.T) {
	tiers := testTiers()
	removed := Held{Badge: "6000", RemoveUnder: 1, Refused: timeOf(noon)}
	goes := removed
	goes.RemoveUnder = tiers.underOf["9001"]
	// Its removal was refused while the settings named no badge of its community. So nothing was decided.
	undecided := Held{Low: MissedCheck{timeOf(noon), underOf(tiers, "7002")}, Refused: timeOf(noon)}
	judge(t, tiers, map[string]judged{
		"a removed badge, decided again":        {removed, checkOf(5, 6), " goes"},
		"a removed badge, decided once":         {goes, checkOf(5, 6), " goes refused"},
		"a removed badge, a low check":          {removed, checkOf(0, 6), " low @18:00"},
		"a configured badge, the second miss":   {undecided, checkOf(5, 6), " low goes @12:00"},
		"a configured badge, soon after it":     {undecided, checkOf(5, 0.5), " low refused @12:00"},
		"a configured badge, nothing was known": {undecided, checkOf(-1, 6), " refused"},
	})
}

// The configured badges of its community are given first. Whoever reaches none of them keeps it until a second check.
func TestARemovedBadgeGoesAfterOneCompleteCheckIfAnotherIsReached(t *testing.T) {
	low := Held{Badge: "6000", Low: MissedCheck{timeOf(at(0)), 1}}
	lowNow := Held{Badge: "6000", Low: MissedCheck{timeOf(at(0)), testTiers().underOf["9001"]}}
	partly := checkOf(5, 6)
	partly.stake.Failed = make([]core.UnreadPool, 1)
	judge(t, testTiers(), map[string]judged{
		"all reached":           {low, checkOf(1000, 6), " goes"},
		"one reached":           {low, checkOf(5, 6), " goes"},
		"none reached":          {low, checkOf(0, 6), " low @18:00"},
		"none, a second time":   {lowNow, checkOf(0, 6), " low goes @12:00"},
		"by a press":            {low, byPressOf(5, 6), " goes"},
		"unknown":               {low, checkOf(-1, 6), ""},
		"only one is known":     {low, partly, ""},
		"of other settings":     {Held{Badge: "6000", RemoveUnder: 1}, checkOf(-1, 6), ""},
		"of other settings, go": {Held{Badge: "6000", RemoveUnder: 1}, checkOf(5, 6), " goes"},
	})
}

func TestAnAnswerNeedsABlockAndEveryPool(t *testing.T) {
	noBlock := func(c check) check {
		c.stake.BlockTime = time.Time{}
		return c
	}
	partly := checkOf(5, 6)
	partly.stake.Failed = make([]core.UnreadPool, 1)
	disowned := func(c check) check {
		c.disowned = true
		return c
	}
	for name, c := range map[string]struct {
		check        check
		little, much answer
	}{
		"nothing":             {checkOf(0, 6), missed, missed},
		"something":           {checkOf(5, 6), reached, missed},
		"much":                {checkOf(1000, 6), reached, reached},
		"no pool was read":    {checkOf(-1, 6), unknown, unknown},
		"some were":           {partly, reached, unknown},
		"nothing, no block":   {noBlock(checkOf(0, 6)), unknown, unknown},
		"something, no block": {noBlock(checkOf(5, 6)), reached, unknown},
		"a failure":           {check{failed: true, stake: stakeOf(1000, noon)}, unknown, unknown},
		"another's wallet":    {disowned(checkOf(1000, 6)), missed, missed},
		"and no block":        {disowned(noBlock(checkOf(1000, 6))), unknown, unknown},
		"an empty answer":     {check{stake: core.Stake{BlockTime: noon}}, unknown, unknown},
	} {
		little, much := c.check.answerFor(decimal.Zero), c.check.answerFor(decimal.NewFromInt(1000))
		if little != c.little || much != c.much {
			t.Errorf("%s: %d and %d, want %d and %d", name, little, much, c.little, c.much)
		}
	}
}

func TestABlockOfOtherPoolsIsNotOlder(t *testing.T) {
	tiers := testTiers()
	before := Row{Wallet: common.Address{1}, Block: timeOf(at(6)), Pools: tiers.pools + 1}
	after := tiers.decide(tiers.withoutVoid(before), checkOf(1000, 5), at(7))
	if !after.Block.Equal(at(5)) || !tiers.reaches(after, decimal.NewFromInt(1000)) {
		t.Errorf("%s", encode(after))
	}
}

func TestTheBlockOfOtherPoolsIsForgottenIfTheNewOnesHaveNone(t *testing.T) {
	tiers := testTiers()
	before := Row{Wallet: common.Address{1}, Block: timeOf(at(6)), Pools: tiers.pools + 1}
	withoutBlock := checkOf(1000, 5)
	withoutBlock.stake.BlockTime = time.Time{}
	after := tiers.decide(tiers.withoutVoid(before), withoutBlock, at(7))
	if !after.Block.IsZero() || !tiers.reaches(after, decimal.NewFromInt(1000)) {
		t.Errorf("%s", encode(after))
	}
}

func TestACheckOfAnOlderBlockChangesNothing(t *testing.T) {
	tiers := testTiers()
	before := Row{
		Wallet:    common.Address{1},
		Block:     timeOf(at(6)),
		CheckedAt: timeOf(at(6)),
		Pools:     tiers.pools,
		Badges:    []Held{{Community: "9001", Badge: "7001", Low: MissedCheck{timeOf(at(0)), underOf(tiers, "7001")}}},
	}
	for name, c := range map[string]check{
		"missed":     checkOf(0, 5),
		"reached":    checkOf(1000, 5),
		"by a press": byPressOf(1000, 5),
		"unknown":    checkOf(-1, 5),
	} {
		after := tiers.decide(before, c, at(7))
		if string(encode(after)) != string(encode(before)) {
			t.Errorf("%s: %s", name, encode(after))
		}
	}
}

func TestDecideDoesNotChangeTheRowBefore(t *testing.T) {
	tiers := testTiers()
	before := Row{
		Wallet: common.Address{1},
		Badges: []Held{{Community: "9001", Badge: "7001"}},
		Lost:   []Loss{{Community: "9001", Badge: "7002"}},
	}
	copied := string(encode(before))
	tiers.decide(before, checkOf(0, 6), at(6))
	tiers.decide(before, checkOf(1000, 6), at(6))
	if string(encode(before)) != copied {
		t.Errorf("%s, was %s", encode(before), copied)
	}
}

// reachedCase is a check of a row, and the amount that the row reaches afterwards. -1 is none.
type reachedCase struct {
	name   string
	before int64
	pools  SettingsHash // that the row was checked in before
	check  check
	after  int64
}

// checkReached checks each case under testTiers. A conclusive check also sets CheckedAt.
func checkReached(t *testing.T, isConclusive bool, cases []reachedCase) {
	t.Helper()
	tiers := testTiers()
	for _, c := range cases {
		before := Row{Wallet: common.Address{1}, Pools: c.pools}
		if c.before >= 0 {
			before.Reached = decimal.NewNullDecimal(decimal.NewFromInt(c.before))
		}
		after := tiers.decide(tiers.withoutVoid(before), c.check, at(6))
		got := int64(-1)
		for _, amount := range tiers.amounts {
			if tiers.reaches(after, amount) {
				got = amount.IntPart()
			}
		}
		if got != c.after {
			t.Errorf("%s: reaches %d, want %d", c.name, got, c.after)
		}
		if isChecked := !after.CheckedAt.IsZero(); isChecked != isConclusive {
			t.Errorf("%s: checked %t, want %t", c.name, isChecked, isConclusive)
		}
	}
}

func TestAWholeCheckSetsReached(t *testing.T) {
	here := testTiers().pools
	checkReached(t, true, []reachedCase{
		{
			name:   "a first check",
			before: -1,
			pools:  0,
			check:  checkOf(1000, 6),
			after:  1000,
		},
		{
			name:   "a rise",
			before: 0,
			pools:  here,
			check:  checkOf(1000, 6),
			after:  1000,
		},
		{
			name:   "a fall",
			before: 1000,
			pools:  here,
			check:  checkOf(5, 6),
			after:  0,
		},
		{
			name:   "a fall to nothing",
			before: 1000,
			pools:  here,
			check:  checkOf(0, 6),
			after:  -1,
		},
	})
}

func TestAnUnknownCheckCanOnlyRaiseReached(t *testing.T) {
	here := testTiers().pools
	const others = SettingsHash(1)
	partly := func(stake int64) check {
		c := checkOf(stake, 6)
		c.stake.Failed = make([]core.UnreadPool, 1)
		return c
	}
	checkReached(t, false, []reachedCase{
		{
			name:   "a rise that is partly read",
			before: -1,
			pools:  here,
			check:  partly(5),
			after:  0,
		},
		{
			name:   "a fall that is partly read",
			before: 1000,
			pools:  here,
			check:  partly(5),
			after:  1000,
		},
		{
			name:   "unknown",
			before: 1000,
			pools:  here,
			check:  checkOf(-1, 6),
			after:  1000,
		},
		{
			name:   "partly read in other pools",
			before: 1000,
			pools:  others,
			check:  partly(5),
			after:  0,
		},
		{
			name:   "unknown in other pools",
			before: 1000,
			pools:  others,
			check:  checkOf(-1, 6),
			after:  -1,
		},
		{
			name:   "a failure",
			before: 1000,
			pools:  here,
			check:  check{failed: true},
			after:  1000,
		},
	})
}

func TestALossIsNotedOnceAndEndsWhenTheAmountIsReached(t *testing.T) {
	tiers := testTiers()
	r := Row{Wallet: common.Address{1}, Badges: []Held{{Community: "9001", Badge: "7002"}}}
	r = tiers.decide(r, checkOf(5, 0), at(0))
	if len(r.Lost) != 0 {
		t.Errorf("after one low check: %+v", r.Lost)
	}
	r = tiers.decide(r, checkOf(5, 6), at(6))
	r = tiers.decide(r, checkOf(5, 12), at(12))
	want := Loss{Community: "9001", Badge: "7002", First: timeOf(at(0)), Second: timeOf(at(6))}
	if len(r.Lost) != 1 || r.Lost[0] != want || r.LastLost() != at(6) || r.FirstLow() != at(0) {
		t.Errorf("after three: %+v", r.Lost)
	}
	r = tiers.decide(r, checkOf(-1, 18), at(18))
	if len(r.Lost) != 1 {
		t.Errorf("after an unknown one: %+v", r.Lost)
	}
	r = tiers.decide(r, checkOf(1000, 24), at(24))
	if len(r.Lost) != 0 {
		t.Errorf("once it is reached: %+v", r.Lost)
	}
}

func TestALossSaysThatTheWalletIsAnothers(t *testing.T) {
	tiers := testTiers()
	r := Row{Wallet: common.Address{1}, Badges: []Held{{Community: "9001", Badge: "7001"}}}
	for _, hours := range []float64{0, 6} {
		c := checkOf(1000, hours)
		c.disowned = true
		r = tiers.decide(r, c, at(hours))
	}
	if len(r.Lost) != 1 || !r.Lost[0].Disowned {
		t.Errorf("%+v", r.Lost)
	}
}

// A badge whose community is not in the settings any more is gone for another reason.
func TestABadgeWithoutACommunityIsNotALoss(t *testing.T) {
	tiers := testTiers()
	r := Row{Wallet: common.Address{1}, Badges: []Held{{Community: "8888", Badge: "6000", RemoveUnder: 7}}}
	r = tiers.decide(r, checkOf(5, 6), at(6))
	if len(r.Lost) != 0 {
		t.Errorf("%+v", r.Lost)
	}
}

// Amounts that are raised and lowered between two low checks are other settings each time.
func TestAmountsThatChangeBetweenTwoLowChecksTakeNothing(t *testing.T) {
	before := testTiers()
	changed := []chat.Badge{roles[0], {Community: "9001", ID: "7002", Amount: decimal.NewFromInt(2000)}, roles[2]}
	raised := newTiers("1", poolList(21), changed, Settings{Every: cycle})
	r := Row{Wallet: common.Address{1}, Badges: []Held{{Community: "9001", Badge: "7002"}}}
	for i, under := range []tiers{before, raised, before} {
		hours := float64(6 * i)
		r = under.decide(under.withoutVoid(r), checkOf(5, hours), at(hours))
		if r.Badges[0].goes() {
			t.Errorf("after low check %d: %+v", i+1, r.Badges)
		}
	}
	r = before.decide(before.withoutVoid(r), checkOf(5, 18), at(18))
	if !r.Badges[0].goes() {
		t.Errorf("after two under the same settings: %+v", r.Badges)
	}
	if r = raised.withoutVoid(r); r.Badges[0].goes() {
		t.Errorf("under other settings: %+v", r.Badges)
	}
}

// Two wallets that stake nothing, saved in turn, are checks like any other.
func TestPressingInTurnKeepsNoBadge(t *testing.T) {
	tiers := testTiers()
	r := Row{User: user(1), Wallet: wallet(1), Badges: []Held{{Community: "9001", Badge: "7001"}}}
	for hours := 1.0; hours <= 2.5; hours += 0.5 {
		r = rowWithWallet(&r, user(1), wallet(1+int(hours*2)%2), at(hours))
		r = tiers.decide(r, byPressOf(0, hours), at(hours))
	}
	if !tiers.mustGo(r.Badges[0]) {
		t.Errorf("after an hour and a half of presses: %+v", r.Badges)
	}
}

func TestUnderStandsForChainPoolsAndAmount(t *testing.T) {
	of := func(chain string, pools []core.Pool, amount int64) SettingsHash {
		badges := []chat.Badge{{Community: "9001", ID: "7001", Amount: decimal.NewFromInt(amount)}}
		return newTiers(chain, pools, badges, Settings{Every: cycle}).all[0].under
	}
	reversed := poolList(21)
	reversed[0], reversed[20] = reversed[20], reversed[0]
	if of("1", poolList(21), 5) != of("1", reversed, 5) {
		t.Error("the order of the pools counts")
	}
	names := map[SettingsHash]string{}
	for name, under := range map[string]SettingsHash{
		"as it is":            of("1", poolList(21), 5),
		"another chain":       of("2", poolList(21), 5),
		"chain and one digit": of("11", poolList(21), 5),
		"another pool":        of("1", poolList(22), 5),
		"another amount":      of("1", poolList(21), 6),
	} {
		if other, known := names[under]; known {
			t.Errorf("%s is the same as %s", name, other)
		}
		names[under] = name
	}
}

func TestBadgesOfACommunityAreAListOfSettings(t *testing.T) {
	list := func(badges ...chat.Badge) SettingsHash {
		return newTiers("1", poolList(21), badges, Settings{Every: cycle}).underOf["9001"]
	}
	renamed := chat.Badge{Community: "9001", ID: "7009", Amount: roles[1].Amount}
	names := map[SettingsHash]string{}
	for name, under := range map[string]SettingsHash{
		"as it is":     list(roles...),
		"one less":     list(roles[0]),
		"one renamed":  list(roles[0], renamed),
		"one raised":   list(roles[0], chat.Badge{Community: "9001", ID: "7002", Amount: decimal.NewFromInt(1001)}),
		"none is left": list(roles[2]),
	} {
		if other, known := names[under]; known {
			t.Errorf("%s is the same as %s", name, other)
		}
		names[under] = name
	}
	if list(roles...) != list(roles[:2]...) {
		t.Error("another community counts")
	}
}
