package members

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// nextCase is a row in server 9001, and the next step for it.
type nextCase struct {
	reaches   int64  // -1 is none
	badges    string // such as "7001 7002:goes"
	idle      bool
	forgotten bool
	hold      bool
	refused   string
	want      string
}

// heldOf returns entries of server 9001 for "7001 7002:goes:released 6000:unsure".
func heldOf(t tiers, badges string) (all []Held) {
	for _, entry := range strings.Fields(badges) {
		flags := strings.Split(entry, ":")
		h := Held{Community: "9001", Badge: flags[0]}
		for _, flag := range flags[1:] {
			switch flag {
			case "low":
				h.Low = MissedCheck{timeOf(noon), t.underNow(h)}
			case "goes":
				h.RemoveUnder = t.underNow(h)
			case "goesElsewhere":
				h.RemoveUnder = 1
			case "released":
				h.Released = true
			case "unsure":
				h.Unsure = true
			case "refused":
				h.Refused = timeOf(noon)
			}
		}
		all = append(all, h)
	}
	return all
}

// stepIn returns the next step of a case, such as "give 7001" or "ask".
func stepIn(t tiers, c nextCase, oneEach bool) string {
	r := Row{Wallet: wallet(1), Pools: t.pools, Badges: heldOf(t, c.badges)}
	if c.forgotten {
		r = Row{Badges: r.Badges}
	}
	if c.reaches >= 0 && !c.forgotten {
		r.Reached = decimal.NewNullDecimal(decimal.NewFromInt(c.reaches))
	}
	if c.idle {
		r.Idle = []string{"9001"}
	}
	r = t.withoutVoid(r)
	s := t.next(r, place{community: "9001", oneEach: oneEach, hold: c.hold, refused: strings.Fields(c.refused)})
	return strings.TrimSpace([]string{"", "ask", "give ", "remove "}[s.action] + s.badge)
}

func runNext(t *testing.T, oneEach bool, table map[string]nextCase) {
	t.Helper()
	for name, c := range table {
		if got := stepIn(testTiers(), c, oneEach); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRolesAreGivenAndThenRemoved(t *testing.T) {
	runNext(t, false, map[string]nextCase{
		"nothing reached":          {reaches: -1},
		"one reached":              {want: "give 7001"},
		"both reached":             {reaches: 1000, badges: "7001", want: "give 7002"},
		"all given":                {reaches: 1000, badges: "7001 7002"},
		"a first low check":        {badges: "7001 7002:low"},
		"two":                      {badges: "7001 7002:goes", want: "remove 7002"},
		"two, under other ones":    {badges: "7001 7002:goesElsewhere"},
		"given before removed":     {badges: "7002:goes", want: "give 7001"},
		"the highest goes first":   {reaches: -1, badges: "7001:goes 7002:goes", want: "remove 7002"},
		"reached, and low since":   {reaches: -1, badges: "7001:low"},
		"unsure":                   {badges: "7001:unsure", want: "ask"},
		"unsure, and another goes": {badges: "7001:unsure 7002:goes", want: "ask"},
		"idle":                     {idle: true, badges: "7001:goes"},
		"removed from settings":    {badges: "7001 6000"},
		"and checked since":        {badges: "7001 6000:goes", want: "remove 6000"},
		"its replacement is first": {badges: "6000:goes", want: "give 7001"},
		"a give is refused":        {reaches: 1000, refused: "7001", want: "give 7002"},
		"a removal is refused":     {badges: "7001 7002:goes 6000:goes", refused: "6000", want: "remove 7002"},
		"a give refused, removals": {badges: "7002:goes", refused: "7001", want: "remove 7002"},
	})
}

func TestTheFuseHoldsRemovalsOfUsersWhoAreNotReleased(t *testing.T) {
	table := map[string]nextCase{
		"held":                     {reaches: -1, badges: "7001:goes"},
		"released":                 {reaches: -1, badges: "7001:goes:released", want: "remove 7001"},
		"released, but it stays":   {reaches: -1, badges: "7001:low:released"},
		"forgotten":                {forgotten: true, badges: "7001", want: "remove 7001"},
		"not in the settings":      {reaches: -1, badges: "6000:goes"},
		"not in them and released": {reaches: -1, badges: "6000:goes:released", want: "remove 6000"},
	}
	for name, c := range table {
		c.hold = true
		table[name] = c
	}
	runNext(t, false, table)
	runNext(t, true, table)
}

// With roles, a lower role is given before the higher one is removed. A tag is replaced, which removes the higher one.
func TestTheFuseHoldsALowerTagButNoGive(t *testing.T) {
	held := nextCase{badges: "7002:goes", hold: true}
	if got := stepIn(testTiers(), held, false); got != "give 7001" {
		t.Errorf("a role: %q", got)
	}
	if got := stepIn(testTiers(), held, true); got != "" {
		t.Errorf("a tag: %q", got)
	}
}

func TestATagIsTheHighestThatIsReachedOrStays(t *testing.T) {
	runNext(t, true, map[string]nextCase{
		"nothing reached":           {reaches: -1},
		"the lower":                 {want: "give 7001"},
		"the highest":               {reaches: 1000, want: "give 7002"},
		"in place of the lower":     {reaches: 1000, badges: "7001", want: "give 7002"},
		"already":                   {reaches: 1000, badges: "7002"},
		"a first low check":         {badges: "7002:low"},
		"two":                       {badges: "7002:goes", want: "give 7001"},
		"two, and nothing reached":  {reaches: -1, badges: "7002:goes", want: "remove 7002"},
		"the lower stays":           {reaches: -1, badges: "7001:low 7002:goes"},
		"unsure":                    {badges: "7001:unsure", want: "ask"},
		"idle":                      {idle: true, badges: "7001:goes"},
		"renamed":                   {badges: "6000"},
		"renamed, and checked":      {badges: "6000:goes", want: "give 7001"},
		"renamed to the highest":    {reaches: 1000, badges: "6000", want: "give 7002"},
		"renamed, nothing reached":  {reaches: -1, badges: "6000"},
		"and checked since":         {reaches: -1, badges: "6000:goes", want: "remove 6000"},
		"forgotten":                 {forgotten: true, badges: "7001", want: "remove 7001"},
		"forgotten, and two unsure": {forgotten: true, badges: "7001 7002:unsure", want: "ask"},
	})
}

// The tag for 1,000 is replaced by one for 2,000. Nobody knows yet who reaches that.
func TestAHigherTagThatIsReplacedStaysUntilACheck(t *testing.T) {
	badges := []chat.Badge{roles[0], {Community: "9001", ID: "7009", Amount: decimal.NewFromInt(2000)}}
	tiers := newTiers("1", poolList(21), badges, Settings{Every: cycle})
	r := Row{Wallet: wallet(1), Pools: tiers.pools, Reached: decimal.NewNullDecimal(decimal.NewFromInt(1000))}
	r.Badges = heldOf(tiers, "7002")
	for name, c := range map[string]struct {
		check check
		want  step
	}{
		"before":       {check{failed: true}, step{}},
		"more staked":  {checkOf(5000, 6), step{give, "7009"}},
		"not enough":   {checkOf(1000, 6), step{give, "7001"}},
		"no stake":     {checkOf(0, 6), step{}}, // It goes after a second check.
		"of no answer": {checkOf(-1, 6), step{}},
	} {
		after := tiers.decide(r, c.check, at(6))
		if got := tiers.next(after, place{community: "9001", oneEach: true}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// The operator has taken all its badges out of the settings.
func TestBadgesOfACommunityThatTheSettingsDoNotNameGoAtOnce(t *testing.T) {
	other := newTiers("1", poolList(21), roles[2:], Settings{Every: cycle})
	for _, oneEach := range []bool{false, true} {
		for _, hold := range []bool{false, true} {
			got := stepIn(other, nextCase{reaches: 1000, badges: "7001", hold: hold}, oneEach)
			if got != "remove 7001" {
				t.Errorf("one each %t, hold %t: %q", oneEach, hold, got)
			}
		}
	}
}

func TestWhatWasReachedInOtherPoolsGivesNothing(t *testing.T) {
	tiers := testTiers()
	r := Row{Wallet: wallet(1), Pools: 1, Reached: decimal.NewNullDecimal(decimal.NewFromInt(1000))}
	if s := tiers.next(tiers.withoutVoid(r), place{community: "9001"}); s != (step{}) {
		t.Errorf("%+v", s)
	}
}

// afterCase is a call in server 9001, and the row after it.
type afterCase struct {
	badges  string
	step    step
	problem chat.BadgeProblem // "" is a success
	unknown bool
	oneEach bool
	want    string
}

// after returns the row of a case after its call was begun and ended.
func after(t tiers, c afterCase, r Row) Row {
	r.Badges = append(r.Badges, heldOf(t, c.badges)...)
	p := place{community: "9001", oneEach: c.oneEach}
	if c.step.action != ask {
		r = r.afterBegin("9001", c.step)
	}
	if c.problem == "" {
		return r.afterSuccess(p, c.step, noon)
	}
	return r.afterFailure(p, c.step, &chat.BadgeError{Problem: c.problem, OutcomeUnknown: c.unknown, Err: errFault}, noon)
}

// runAfter checks the row of each case after a step. An entry of another community must not change.
func runAfter(t *testing.T, s step, table map[string]afterCase) {
	t.Helper()
	elsewhere := Held{Community: "9002", Badge: "7003"}
	for name, c := range table {
		c.step = s
		r := after(testTiers(), c, Row{Wallet: wallet(1), Badges: []Held{elsewhere}})
		isElsewhere := r.index("9002", "7003") >= 0
		r.drop(func(h Held) bool { return h == elsewhere })
		if got := shown(r); got != c.want || !isElsewhere {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTheRowAfterACallThatGives(t *testing.T) {
	runAfter(t, step{give, "7001"}, map[string]afterCase{
		"given":                 {want: "7001"},
		"given beside another":  {badges: "7002:goes", want: "7001, 7002 goes"},
		"given, one each":       {badges: "7002:goes", oneEach: true, want: "7001"},
		"outcome unknown":       {badges: "7002", problem: chat.BadgeFailed, unknown: true, want: "7001 unsure, 7002"},
		"rate-limited":          {badges: "7002", problem: chat.BadgeFailed, want: "7002"},
		"refused":               {badges: "7002", problem: chat.MissingRight, want: "7002"},
		"the badge is deleted":  {badges: "7002", problem: chat.BadgeGone, want: "7002"},
		"the rules are pending": {badges: "7002", problem: chat.RulesPending, want: "7002"},
		"not a member":          {badges: "7002", problem: chat.NotAMember, want: "idle 9001"},
		"an administrator":      {badges: "7002", problem: chat.CannotHave, want: "idle 9001"},
		"no community":          {badges: "7002", problem: chat.CommunityGone, want: "7002"},
	})
}

func TestTheRowAfterACallThatRemoves(t *testing.T) {
	const both = "7001:goes 7002"
	runAfter(t, step{remove, "7001"}, map[string]afterCase{
		"removed":              {badges: both, want: "7002"},
		"removed, one each":    {badges: both, oneEach: true, want: ""},
		"outcome unknown":      {badges: both, problem: chat.BadgeFailed, unknown: true, want: "7001 goes unsure, 7002"},
		"rate-limited":         {badges: both, problem: chat.BadgeFailed, want: "7001 goes, 7002"},
		"refused":              {badges: both, problem: chat.MissingRight, want: "7001 goes refused, 7002"},
		"the badge is deleted": {badges: both, problem: chat.BadgeGone, want: "7002"},
		"not a member":         {badges: both, problem: chat.NotAMember, want: "idle 9001"},
		"no community":         {badges: both, problem: chat.CommunityGone, want: "7001 goes refused, 7002"},
	})
}

func TestTheRowAfterAQuestionThatFails(t *testing.T) {
	runAfter(t, step{action: ask}, map[string]afterCase{
		"rate-limited":     {badges: "7001:unsure", problem: chat.BadgeFailed, want: "7001 unsure"},
		"refused":          {badges: "7001:unsure", problem: chat.MissingRight, want: "7001 unsure"},
		"not a member":     {badges: "7001:unsure 7002", problem: chat.NotAMember, want: "idle 9001"},
		"an administrator": {badges: "7001:unsure 7002", problem: chat.CannotHave, want: "idle 9001"},
		"no community":     {badges: "7001:unsure", problem: chat.CommunityGone, want: "7001 unsure"},
	})
}

func TestAForgottenRowIsNotIdleAnywhere(t *testing.T) {
	r := after(testTiers(), afterCase{badges: "7001", step: step{remove, "7001"}, problem: chat.NotAMember}, Row{})
	if !r.isEmpty() || len(r.Idle) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestARemovalThatIsRefusedForThirtyDaysIsGivenUp(t *testing.T) {
	p, this := place{community: "9001"}, step{remove, "7001"}
	refused := Row{Badges: heldOf(testTiers(), "7001")}
	for _, hours := range []float64{0, 12} { // The first refusal counts.
		refused = refused.afterFailure(p, this, failure(chat.MissingRight), at(hours))
	}
	month := noon.Add(refusedFor)
	for name, c := range map[string]struct {
		problem chat.BadgeProblem
		at      time.Time
		want    string
	}{
		"for 30 days": {chat.MissingRight, month, "7001 refused"},
		"for longer":  {chat.MissingRight, month.Add(time.Second), ""},
		"and failed":  {chat.BadgeFailed, month, "7001 refused"},
	} {
		if got := shown(refused.afterFailure(p, this, failure(c.problem), c.at)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// After /forget, 30 days are left to remove the badge.
func TestAForgottenRowHasOnlyItsUserAndBadges(t *testing.T) {
	r := Row{
		User: user(1), Wallet: wallet(1), SavedAt: timeOf(noon), ProvenAt: timeOf(noon), CheckedAt: timeOf(noon),
		Due: timeOf(noon), Block: timeOf(noon), Reached: decimal.NewNullDecimal(decimal.Zero), Pools: 1,
		Badges: heldOf(testTiers(), "7001:low:goes:released:unsure:refused"), Idle: []string{"9002"}, Lost: []Loss{{}},
	}
	r.Badges[0].Since = timeOf(noon)
	want := Row{User: user(1), Badges: []Held{{Community: "9001", Badge: "7001", Since: timeOf(noon), Unsure: true}}}
	if got := r.afterForget(); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v", got)
	}
}

func TestWhatAUserWearsSettlesTheWholeCommunity(t *testing.T) {
	for name, c := range map[string]struct {
		badges string
		wears  string
		want   string
	}{
		"worn badges become sure":      {"7001:unsure 7002:goes:unsure", "7001 7002", "7001, 7002 goes"},
		"other badges are dropped":     {"7001:unsure 7002", "7001", "7001"},
		"nothing is worn":              {"7001 7002:unsure", "", ""},
		"foreign badges are not noted": {"7001", "7001 7002 VIP", "7001"},
		"an entry keeps its history":   {"7001:low:goes:released:refused", "7001", "7001 low goes released refused"},
		"a badge of an older list":     {"6000:unsure", "6000", "6000"},
	} {
		r := Row{Wallet: wallet(1), Badges: heldOf(testTiers(), c.badges)}
		r = r.afterAnswer("9001", strings.Fields(c.wears), noon)
		if got := shown(r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestABadgeThatWasUnsureIsHeldSinceItWasSeen(t *testing.T) {
	r := Row{Wallet: wallet(1), Badges: heldOf(testTiers(), "7001:low:goes:released:refused:unsure 7002:goes:unsure")}
	r = r.afterAnswer("9001", []string{"7001", "7002"}, noon)
	if got := shown(r); got != "7001 low goes released refused, 7002 goes" {
		t.Errorf("%q", got)
	}
	for _, h := range r.Badges {
		if h.Since.IsZero() {
			t.Errorf("%s is held since no time", h.Badge)
		}
	}
}

func TestAUserWhoIsSeenIsNotIdle(t *testing.T) {
	r := Row{Wallet: wallet(1), Idle: []string{"9001"}}
	if got := shown(r.afterAnswer("9001", nil, noon)); got != "" {
		t.Errorf("%q", got)
	}
}

// What a command shows may be older than a call that is being made.
func TestWhatACommandDoesNotShowIsUnsure(t *testing.T) {
	r := Row{Wallet: wallet(1), Badges: heldOf(testTiers(), "7001 7002"), Idle: []string{"9001", "9002"}}
	r.set(Held{Community: "9002", Badge: "7003"})
	if got := shown(r.afterCommand("9001", []string{"7001"})); got != "7001, 7002 unsure, 7003, idle 9002" {
		t.Errorf("%q", got)
	}
}

func TestABadgeThatIsGivenAgainIsNotLost(t *testing.T) {
	r := Row{Wallet: wallet(1), Lost: losses("7001 7002 7003")}
	r = after(testTiers(), afterCase{step: step{give, "7001"}}, r)
	if len(r.Lost) != 2 || r.lost("9001", "7001") != nil {
		t.Errorf("%+v", r.Lost)
	}
	r = after(testTiers(), afterCase{step: step{remove, "7001"}}, Row{Wallet: wallet(1), Lost: losses("7001")})
	if len(r.Lost) != 1 {
		t.Errorf("after a removal: %+v", r.Lost)
	}
}

// A check during the call of a give missed its amount for the second time.
func TestAGiveKeepsWhatACheckFoundMeanwhile(t *testing.T) {
	r := Row{Wallet: wallet(1), Lost: losses("7001"), Badges: heldOf(testTiers(), "7001:low:goes:unsure")}
	r = r.afterSuccess(place{community: "9001"}, step{give, "7001"}, noon)
	if got := shown(r); got != "7001 low goes" || len(r.Lost) != 1 || r.Badges[0].Since != timeOf(noon) {
		t.Errorf("%q, %+v", got, r)
	}
}

func TestTheRowsBeforeStepsDoNotChange(t *testing.T) {
	r := Row{Wallet: wallet(1), Badges: heldOf(testTiers(), "7001:unsure 7002:goes"), Idle: []string{"9002"}}
	before := string(encode(r))
	p, this := place{community: "9001", oneEach: true}, step{remove, "7002"}
	r.afterBegin("9001", this)
	r.afterSuccess(p, this, noon)
	r.afterFailure(p, this, failure(chat.MissingRight), noon)
	r.afterFailure(p, this, failure(chat.BadgeGone), noon)
	r.idleIn("9001")
	r.afterCommand("9001", []string{"7001"})
	r.afterCommand("9002", nil)
	r.afterAnswer("9001", []string{"7001"}, noon)
	r.afterAnswer("9002", nil, noon)
	if after := string(encode(r)); after != before {
		t.Errorf("%s, was %s", after, before)
	}
}

func TestATagOfAnAdministratorIsOneThatNobodyElseKnows(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		here := m.platform.community("9001")
		r := m.row(1, 0, "6000")
		for wears, want := range map[string]bool{"": false, "7001": false, "6000": false, "VIP": true, "7003": true} {
			m.change(func() { m.oneEach = true })
			m.equal("tag "+wears, here.wearsForeign(r, strings.Fields(wears)), want)
			m.change(func() { m.oneEach = false })
			m.equal("role "+wears, here.wearsForeign(r, strings.Fields(wears)), false)
		}
	})
}

func TestAFailureThatIsNoRefusalGivesNoBadgeUp(t *testing.T) {
	refused := timeOf(at(0))
	row := Row{Badges: []Held{{Community: "9001", Badge: "7001", Refused: refused}}}
	removal := step{remove, "7001"}
	later := at(0).Add(refusedFor + time.Hour)
	for problem, left := range map[chat.BadgeProblem]int{chat.BadgeFailed: 1, chat.RoleAbove: 0} {
		after := row.afterFailure(place{community: "9001"}, removal, &chat.BadgeError{Problem: problem}, later)
		if len(after.Badges) != left {
			t.Errorf("%s: %+v", problem, after.Badges)
		}
	}
}

func TestAGivenBadgeEndsIdle(t *testing.T) {
	row := Row{Wallet: wallet(1), Idle: []string{"9001"}}
	after := row.afterSuccess(place{community: "9001"}, step{give, "7001"}, at(0))
	if len(after.Idle) > 0 || len(after.Badges) != 1 {
		t.Errorf("%+v", after)
	}
}

func TestAServerThatIsGoneKeepsNoIDOfWhoIsForgotten(t *testing.T) {
	gone := &chat.BadgeError{Problem: chat.CommunityGone, Err: errFault}
	row := Row{User: user(1), Badges: []Held{{Community: "9001", Badge: "7001"}}}
	for _, s := range []step{{remove, "7001"}, {action: ask}} {
		after := row.afterFailure(place{community: "9001"}, s, gone, noon)
		if !after.isEmpty() {
			t.Errorf("after %d: %+v", s.action, after)
		}
	}
}
