package members

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// TestNextStep has one row for each reason of a call.
func TestNextStep(t *testing.T) {
	l := testLevels()
	given := func(badge string, s State) Given { return Given{Community: "9001", Badge: badge, State: s} }
	all := func(g ...Given) []Given { return g }
	any := decimal.NewNullDecimal(decimal.Zero)
	below := []Time{timeOf(noon), timeOf(noon)}
	for name, c := range map[string]struct {
		row           Row
		oneEach, hold bool
		want          string
	}{
		"nothing reached":                    {row: Row{}, want: "none"},
		"one reached":                        {row: Row{Level: 1}, want: "give 7001"},
		"both reached":                       {row: Row{Level: 2, Given: all(given("7001", Had))}, want: "give 7002"},
		"all given":                          {row: Row{Level: 2, Given: all(given("7001", Had), given("7002", Had))}, want: "none"},
		"in doubt":                           {row: Row{Level: 1, Given: all(given("7001", Doubt))}, want: "give 7001 again"},
		"absent":                             {row: Row{Level: 1, Given: all(given("", Absent))}, want: "none"},
		"fallen":                             {row: Row{Level: 1, Given: all(given("7001", Had), given("7002", Had))}, want: "remove 7002"},
		"fallen, in doubt":                   {row: Row{Given: all(given("7001", Doubt))}, want: "remove 7001 again"},
		"a first below takes nothing":        {row: Row{Level: 1, Below: below, Given: all(given("7001", Had))}, want: "none"},
		"and gives nothing":                  {row: Row{Level: 2, Below: below, Given: all(given("7001", Had))}, want: "none"},
		"nor what is in doubt":               {row: Row{Level: 1, Below: below, Given: all(given("7001", Doubt))}, want: "none"},
		"another list gives nothing":         {row: Row{Level: 2, List: 1, Given: all(given("7001", Had))}, want: "none"},
		"but what was found in these pools":  {row: Row{Level: 1, List: 1, Pools: l.poolsHash, Reached: any}, want: "give 7001"},
		"and not what was found in others":   {row: Row{Level: 1, List: 1, Pools: 1, Reached: any}, want: "none"},
		"not in the settings":                {row: Row{Level: 1, Given: all(given("7001", Had), given("6000", Had))}, want: "remove 6000"},
		"held":                               {row: Row{Given: all(given("7001", Had))}, hold: true, want: "none"},
		"held, but taken out":                {row: Row{Level: 1, Given: all(given("7001", Had), given("6000", Had))}, hold: true, want: "remove 6000"},
		"held and released":                  {row: Row{Released: true, Given: all(given("7001", Had))}, hold: true, want: "remove 7001"},
		"held and forgotten":                 {row: Row{User: chat.User{ID: "gone"}, Given: all(given("7001", Had))}, hold: true, want: "remove 7001"},
		"one each: the highest":              {row: Row{Level: 2}, oneEach: true, want: "give 7002"},
		"one each: instead of the other":     {row: Row{Level: 2, Given: all(given("7001", Had))}, oneEach: true, want: "give 7002"},
		"one each: in doubt":                 {row: Row{Level: 1, Given: all(given("7001", Doubt))}, oneEach: true, want: "give 7001 again"},
		"one each: down":                     {row: Row{Level: 1, Given: all(given("7002", Had))}, oneEach: true, want: "give 7001"},
		"one each: held above":               {row: Row{Level: 1, Given: all(given("7002", Had))}, oneEach: true, hold: true, want: "none"},
		"one each: a first below":            {row: Row{Level: 2, Below: []Time{{}, timeOf(noon)}, Given: all(given("7002", Had))}, oneEach: true, want: "none"},
		"one each: to nothing":               {row: Row{Given: all(given("7002", Had))}, oneEach: true, want: "remove 7002"},
		"one each: instead of a taken out":   {row: Row{Level: 1, Given: all(given("6000", Had))}, oneEach: true, want: "give 7001"},
		"another community's is none of its": {row: Row{Given: []Given{{Community: "9002", Badge: "7003"}}}, want: "none"},
	} {
		r := c.row
		if r.User.ID == "" {
			r.Wallet = common.Address{1}
		}
		if r.List == 0 {
			r.List, r.Pools = l.listHash, l.poolsHash
			if n := l.expected(r); n > 0 {
				r.Reached = decimal.NewNullDecimal(l.amounts[n-1])
			}
		}
		s, left := l.next(r, "9001", c.oneEach, c.hold)
		got := map[bool]string{true: "remove ", false: "give "}[s.remove] + s.badge
		if s.doubt {
			got += " again"
		}
		if !left {
			got = "none"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestDone has what becomes of a row by each outcome of a call.
func TestDone(t *testing.T) {
	refused := func(p chat.BadgeProblem) *chat.BadgeError { return &chat.BadgeError{Problem: p, Err: errFault} }
	unknown := &chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true, Err: errFault}
	give, again, remove := step{badge: "7001"}, step{badge: "7001", doubt: true}, step{badge: "7001", remove: true}
	giving, had := Given{Community: "9001", Badge: "7001", State: Doubt}, Given{Community: "9001", Badge: "7001"}
	other, elsewhere := Given{Community: "9001", Badge: "7002"}, Given{Community: "9002", Badge: "7003"}
	for name, c := range map[string]struct {
		given   []Given
		step    step
		err     *chat.BadgeError
		oneEach bool
		want    string
	}{
		"given":                      {given: []Given{giving}, step: give, want: "7001 had"},
		"given, of one each":         {given: []Given{giving, other}, step: give, oneEach: true, want: "7001 had"},
		"given beside another":       {given: []Given{giving, other}, step: give, want: "7001 had, 7002 had"},
		"refused":                    {given: []Given{giving}, step: give, err: refused(chat.MissingRight), want: ""},
		"refused, but in doubt":      {given: []Given{giving}, step: again, err: refused(chat.MissingRight), want: "7001 in doubt"},
		"before the rules":           {given: []Given{giving, other}, step: give, err: refused(chat.RulesPending), want: "7002 had"},
		"rate-limited":               {given: []Given{giving}, step: give, err: refused(chat.BadgeFailed), want: ""},
		"unknown":                    {given: []Given{giving}, step: give, err: unknown, want: "7001 in doubt"},
		"no member":                  {given: []Given{giving, other}, step: give, err: refused(chat.NotAMember), want: " absent"},
		"an administrator":           {given: []Given{giving}, step: give, err: refused(chat.CannotHave), want: " absent"},
		"the role is deleted":        {given: []Given{giving}, step: again, err: refused(chat.BadgeGone), want: ""},
		"the server is gone":         {given: []Given{had, other}, step: remove, err: refused(chat.CommunityGone), want: ""},
		"removed":                    {given: []Given{had, other}, step: remove, want: "7002 had"},
		"removed, unknown":           {given: []Given{giving}, step: remove, err: unknown, want: "7001 in doubt"},
		"not removed, begun before":  {given: []Given{giving}, step: step{badge: "7001", remove: true, doubt: true}, err: refused(chat.MissingRight), want: "7001 in doubt refused"},
		"not removed, begun now":     {given: []Given{giving}, step: remove, err: refused(chat.MissingRight), want: "7001 had refused"},
		"not removed":                {given: []Given{had}, step: remove, err: refused(chat.MissingRight), want: "7001 had refused"},
		"not removed, rate-limited":  {given: []Given{had}, step: remove, err: refused(chat.BadgeFailed), want: "7001 had"},
		"a deleted role to remove":   {given: []Given{had}, step: remove, err: refused(chat.BadgeGone), want: ""},
		"removed from who has left":  {given: []Given{had, other}, step: remove, err: refused(chat.NotAMember), want: " absent"},
		"another community is as is": {given: []Given{had, elsewhere}, step: remove, err: refused(chat.CommunityGone), want: "7003 had"},
	} {
		r := Row{Wallet: common.Address{1}, Given: c.given}
		if got := shown(r.done("9001", c.step, c.err, c.oneEach, noon)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	const month = 30 * 24 * time.Hour
	late := Row{Wallet: common.Address{1}, Given: []Given{had}}
	for range 2 {
		late = late.done("9001", remove, refused(chat.MissingRight), false, noon)
	}
	if got := shown(late.done("9001", remove, refused(chat.MissingRight), false, noon.Add(month))); got != "7001 had refused" {
		t.Errorf("refused for 30 days: %q", got)
	}
	if got := shown(late.done("9001", remove, refused(chat.MissingRight), false, noon.Add(month+time.Second))); got != "" {
		t.Errorf("refused for longer: %q", got)
	}
	if got := shown(late.done("9001", remove, refused(chat.BadgeFailed), false, noon.Add(month+time.Second))); got != "7001 had refused" {
		t.Errorf("refused before, and failed for another reason: %q", got)
	}
	gone := Row{Given: []Given{had}}
	if got := shown(gone.done("9001", remove, refused(chat.NotAMember), false, noon)); got != "" {
		t.Errorf("forgotten, and no member: %q", got)
	}
}

// shown returns the badges of a row.
func shown(r Row) (s string) {
	for i, g := range r.Given {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(g.Badge, " ", []string{"had", "in doubt", "absent"}[g.State])
		if !g.RefusedAt.IsZero() {
			s += " refused"
		}
	}
	return s
}

// TestSettle has the calls of a row in server 9001, what the user is told of them, and what the
// row has then.
func TestSettle(t *testing.T) {
	fails := func(p chat.BadgeProblem) *chat.BadgeError { return &chat.BadgeError{Problem: p, Err: errFault} }
	unknown := &chat.BadgeError{Problem: chat.BadgeFailed, OutcomeUnknown: true, Err: errFault}
	const warned = "could not be removed"
	for name, c := range map[string]struct {
		level            int
		given            []string
		forgotten, away  bool
		fails            *chat.BadgeError
		of               string // is the badge that fails; "" is all of the server
		oneEach, held    bool
		closed           bool // by an earlier refusal; a cycle settles
		want, calls, log string
	}{
		"everything reached is given":                       {level: 2, calls: "give 7001 to 1, give 7002 to 1", want: "+7001, +7002; 7001 had, 7002 had"},
		"nothing is done twice":                             {level: 1, given: []string{"7001"}, want: "; 7001 had"},
		"what is lost goes":                                 {given: []string{"7001"}, calls: "remove 7001 to 1", want: "-7001; "},
		"but not while the fuse holds":                      {given: []string{"7001"}, held: true, want: "; 7001 had"},
		"of who forgets, all goes":                          {given: []string{"7001", "7002"}, held: true, forgotten: true, calls: "remove 7002 to 1, remove 7001 to 1", want: "-7001, -7002; no row"},
		"who left is not told":                              {level: 1, away: true, calls: "give 7001 to 1", want: ";  absent"},
		"nor is of a server that is gone":                   {level: 1, fails: fails(chat.CommunityGone), calls: "give 7001 to 1", want: "; "},
		"a refusal ends it":                                 {level: 2, fails: fails(chat.MissingRight), calls: "give 7001 to 1", want: "+7001 missing_right; "},
		"so does a member who has yet to accept the rules":  {level: 2, fails: fails(chat.RulesPending), calls: "give 7001 to 1", want: "+7001 rules_pending; "},
		"so does an outcome not known":                      {level: 2, fails: unknown, calls: "give 7001 to 1", want: "+7001 failed; 7001 in doubt"},
		"a role that may not go stays":                      {given: []string{"7001"}, fails: fails(chat.RoleAbove), calls: "remove 7001 to 1", want: "-7001 role_above; 7001 had refused"},
		"a refused role keeps no other from being given":    {level: 2, fails: fails(chat.RoleAbove), of: "7001", calls: "give 7001 to 1, give 7002 to 1", want: "+7001 role_above, +7002; 7002 had"},
		"nor from going":                                    {level: 1, given: []string{"7002"}, fails: fails(chat.RoleAbove), of: "7001", calls: "give 7001 to 1, remove 7002 to 1", want: "+7001 role_above, -7002; "},
		"nor of who forgets":                                {forgotten: true, given: []string{"7001", "7002"}, fails: fails(chat.NotAllowed), of: "7002", calls: "remove 7002 to 1, remove 7001 to 1", want: "-7001, -7002 not_allowed; 7002 had refused"},
		"nor does one that is deleted":                      {level: 2, fails: fails(chat.BadgeGone), of: "7001", calls: "give 7001 to 1, give 7002 to 1", want: "+7001 gone, +7002; 7002 had"},
		"a refused tag takes no lower one":                  {level: 2, given: []string{"7001"}, oneEach: true, fails: fails(chat.BadgeGone), of: "7002", calls: "give 7002 to 1", want: "+7002 gone; 7001 had"},
		"but a failure ends it":                             {level: 2, fails: fails(chat.BadgeFailed), of: "7001", calls: "give 7001 to 1", want: "+7001 failed; "},
		"nor one of a server that is closed":                {given: []string{"7001"}, closed: true, want: "-7001 missing_right; 7001 had refused"},
		"one that is deleted is dropped":                    {given: []string{"7001"}, fails: fails(chat.BadgeGone), calls: "remove 7001 to 1", want: "-7001 gone; ", log: warned},
		"who left loses it without a word":                  {given: []string{"7001"}, away: true, calls: "remove 7001 to 1", want: ";  absent"},
		"a lower tag takes a higher's place, which is told": {level: 1, given: []string{"7002"}, oneEach: true, calls: "give 7001 to 1", want: "+7001, -7002; 7001 had"},
		"a higher one takes a lower's, which is not":        {level: 2, given: []string{"7001"}, oneEach: true, calls: "give 7002 to 1", want: "+7002; 7002 had"},
		"a lower one that goes takes no place":              {level: 2, given: []string{"7001", "7002"}, oneEach: true, calls: "remove 7001 to 1", want: "-7001; 7002 had"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				row := m.current(1, c.level, c.given...)
				if c.forgotten {
					row.forget()
				}
				m.put(row)
				m.has["9001 1"] = c.given
				if m.oneEach = c.oneEach; c.away {
					delete(m.has, "9001 1")
				}
				m.refusals[strings.TrimSpace("9001 "+c.of)] = c.fails
				m.rows.complete.Store(!c.held)
				here, by := m.platform.community("9001"), byPerson
				if c.closed {
					here.record(m.Context(), "1", step{}, fails(chat.MissingRight))
					by = byCycle
				}
				changes := m.settle(m.Context(), here, user(1), by)
				row = m.saved(1)
				got := changed(changes) + "; " + shown(row)
				if row.User.ID == "" {
					got += "no row"
				}
				m.equal("calls", m.called(), c.calls)
				m.equal("changes and row", got, c.want)
				m.equal("the log warns", strings.Contains(m.log.String(), warned), c.log != "")
			})
		})
	}
}

// TestWhileSettling has what happens in the middle of a call for a badge, or just before it.
func TestWhileSettling(t *testing.T) {
	forget := func(m *membersTest) { m.put(Row{User: user(1), Given: m.saved(1).Given}) }
	for name, c := range map[string]struct {
		level int // what is saved first: 1 without badges, or
		given []string
		wait  bool // for the call, when it happens
		does  func(m *membersTest)
		calls string
		row   string
	}{
		"who forgets before a call gets nothing":  {wait: true, does: forget},
		"who falls before a call does not get it": {level: 2, given: []string{"7001"}, wait: true, does: func(m *membersTest) { m.put(m.current(1, 0, "7001")) }, calls: "remove 7001 to 1"},
		"who forgets meanwhile loses it":          {does: forget, calls: "give 7001 to 1, remove 7001 to 1"},
		"a row that is lost meanwhile, too": {does: func(m *membersTest) {
			_, _ = m.rows.update(m.Context(), user(1), func(*Row) *Row { return nil })
		}, calls: "give 7001 to 1, remove 7001 to 1"},
		"who falls meanwhile loses it":              {does: func(m *membersTest) { r := m.current(1, 0); r.Given = m.saved(1).Given; m.put(r) }, calls: "give 7001 to 1, remove 7001 to 1"},
		"who presses during a removal has it again": {given: []string{"7001"}, does: func(m *membersTest) { r := m.current(1, 1); r.Given = m.saved(1).Given; m.put(r) }, calls: "remove 7001 to 1, give 7001 to 1", row: "7001 had"},
		"who rises meanwhile gets the next, too":    {does: func(m *membersTest) { r := m.current(1, 2); r.Given = m.saved(1).Given; m.put(r) }, calls: "give 7001 to 1, give 7002 to 1", row: "7001 had, 7002 had"},
		"what cannot be written stays in doubt":     {does: func(m *membersTest) { m.storeAway.Store(true) }, calls: "give 7001 to 1", row: "7001 in doubt"},
		"without a store nothing is called":         {wait: true, does: func(m *membersTest) { m.storeAway.Store(true) }},
		"who forgets in another replica, too":       {wait: true, does: func(m *membersTest) { m.change(func() { m.beforeReplace = m.deleteElsewhere }) }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(m *membersTest) {
				if c.given == nil {
					c.level = 1
				}
				m.put(m.current(1, c.level, c.given...))
				here := m.platform.community("9001")
				if c.wait {
					here.pausedUntil = time.Now().Add(5 * time.Second)
					time.AfterFunc(time.Second, func() { c.does(m) })
				} else {
					m.during = func() { c.does(m) }
				}
				m.settle(m.Context(), here, user(1), byPerson)
				m.storeAway.Store(false)
				m.equal("calls", m.called(), c.calls)
				m.equal("row", shown(m.saved(1)), c.row)
			})
		})
	}
}

// deleteElsewhere deletes the row of user 1, who is alone in a shard, as another replica does.
func (m *membersTest) deleteElsewhere() {
	key := shardKey(shardOf(user(1)))
	value, _ := m.Store.Load(m.Context(), key)
	_, _ = m.Store.Replace(m.Context(), key, value, nil)
}

// One caller at a time settles a user in a server. Others wait, for as long as a person does.
func TestSettlingWaitsForAnotherCaller(t *testing.T) {
	inBubble(t, func(m *membersTest) {
		m.put(m.current(1, 1))
		here := m.platform.community("9001")
		m.during = func() { time.Sleep(5 * time.Second) }
		go m.settle(m.Context(), here, user(1), byCycle)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(m.Context(), 2*time.Second)
		defer cancel()
		m.equal("within two seconds", changed(m.settle(ctx, here, user(1), byPerson)), "+ later")
		m.equal("later", changed(m.settle(m.Context(), here, user(1), byPerson)), "")
		m.equal("calls", m.called(), "give 7001 to 1")
	})
}

// TestReason has what an audit log shows.
func TestReason(t *testing.T) {
	m := newMembersTest(t)
	lost := &Loss{First: timeOf(at(0)), Second: timeOf(at(1.5))}
	for _, c := range []struct {
		row  Row
		step step
		want string
	}{
		{Row{Wallet: wallet(1), Block: timeOf(noon)}, step{badge: "7001"}, "Herald: stakes enough (21 pools, block of 2026-11-24 12:00 UTC)"},
		{Row{}, step{badge: "7001", remove: true}, "Herald: the member asked to be forgotten"},
		{Row{Wallet: wallet(1)}, step{badge: "6000", remove: true}, "Herald: the settings name another badge"},
		{Row{Wallet: wallet(1)}, step{badge: "7001", remove: true}, "Herald: too little staked for this badge, or the member has another one"},
		{Row{Wallet: wallet(1), Lost: lost}, step{badge: "6000", remove: true}, "Herald: the settings name another badge"},
		{Row{Wallet: wallet(1), Lost: &Loss{Disowned: true}}, step{badge: "7001", remove: true}, "Herald: the wallet is not the member's any more"},
		{Row{Wallet: wallet(1), Lost: lost}, step{badge: "7001", remove: true}, "Herald: too little staked at 2026-11-24 12:00 and at 2026-11-24 13:30 UTC (21 pools)"},
	} {
		m.equal("reason", m.reason(m.platform.community("9001"), c.row, c.step), c.want)
	}
}
