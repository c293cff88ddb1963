package members

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// The tests of this file try many sequences of events, such as checks, presses and lost answers. They use the functions
// that change rows, and a simulated platform. After each call they check that no badge was removed without a reason.
// After each sequence, four cycles without a fault must leave the user with the badges that their stake reaches.

// walk is one user in one community, and what happened to them. A copy of a walk is independent of the original,
// because nothing that a walk refers to is changed.
type walk struct {
	tiers    *tiers // settingsA or settingsB
	oneEach  bool   // the badges are tags
	isMember bool
	stake    int64
	worn     []string
	row      Row
	now      time.Time // of the latest check

	// The fields below are what the tests know of the checks, so that they can judge a removal.

	// By amount: [0] is any stake, [1] is high.
	missedInARow [2]int  // how many of the latest checks missed it, at most 2
	lost         [2]bool // two checks in a row have missed it since it was last reached
	found        [2]bool // the latest conclusive check reached it

	// By settings: [0] is settingsA, [1] is settingsB.
	isComplete [2]bool // a conclusive check was made under them since high was last reached
}

// high is the amount of the higher badge. The lower badge requires any stake.
const high = 1000

// settingsA and settingsB differ in the ID of the higher badge.
var settingsA, settingsB = walkTiers("7002"), walkTiers("7009")

// walkTiers returns settings with this ID of the higher badge.
func walkTiers(id string) *tiers {
	t := newTiers("1", poolList(1), []chat.Badge{
		{Community: "9001", ID: "7001"},
		{Community: "9001", ID: id, Amount: decimal.NewFromInt(high)},
	}, Settings{Every: cycle})
	return &t
}

// newWalk returns a member who has just saved a wallet without a stake.
func newWalk(oneEach bool) walk {
	return walk{
		tiers:    settingsA,
		oneEach:  oneEach,
		isMember: true,
		now:      noon,
		row:      Row{User: user(1), Wallet: wallet(1)},
	}
}

// amountOf returns the index of a badge's amount: 0 for the lower badge, and 1 for the higher one under either ID.
func amountOf(badge string) int {
	if badge == "7001" {
		return 0
	}
	return 1
}

// reaches reports whether the stake reaches the amount with this index.
func (w *walk) reaches(amount int) bool { return w.stake >= []int64{1, high}[amount] }

// outcome is the outcome of all calls that one event causes.
type outcome string

const (
	succeeds    outcome = "ok"
	isExecuted  outcome = "executed, but the answer is lost"
	isUnsent    outcome = "not executed, and the answer is lost"
	isRefused   outcome = "refused"
	refusesHigh outcome = "the higher badge is refused"
)

var outcomes = []outcome{succeeds, isExecuted, isUnsent, isRefused, refusesHigh}

// event is something that happens to a walk.
type event struct {
	name string
	do   func(w *walk) string // returns what is wrong afterwards, or ""
}

// events returns all events.
func events() (all []event) {
	add := func(name string, do func(w *walk) string) { all = append(all, event{name, do}) }
	for _, stake := range []int64{0, 5, high} {
		add(fmt.Sprint("stake ", stake), func(w *walk) string {
			w.stake = stake
			return ""
		})
	}
	for _, o := range outcomes {
		for _, known := range []bool{true, false} {
			add(fmt.Sprint("cycle known:", known, " ", o), func(w *walk) string { return w.cycle(known, o) })
			add(fmt.Sprint("press known:", known, " ", o), func(w *walk) string { return w.press(known, o) })
		}
		add(fmt.Sprint("command ", o), func(w *walk) string { return w.command(o) })
	}
	add("leave", (*walk).leave)
	add("return", (*walk).comeBack)
	add("rename", (*walk).rename)
	return all
}

// leave makes the user leave the community, and lose their badges by that. The bot does not notice.
func (w *walk) leave() string {
	w.isMember = false
	w.worn = nil
	return ""
}

// comeBack makes the user a member again. The bot does not notice.
func (w *walk) comeBack() string {
	w.isMember = true
	return ""
}

// rename changes the settings, or changes them back.
func (w *walk) rename() string {
	next := settingsB
	if w.tiers == settingsB {
		next = settingsA
	}
	w.tiers = next
	return ""
}

// load reads the row under the present settings.
func (w *walk) load() { w.row = w.tiers.withoutVoid(w.row.clone()) }

// cycle is a check by the cycle. If known is not set, the stake cannot be read.
func (w *walk) cycle(known bool, o outcome) string {
	w.load()
	w.check(known, false)
	return w.settle(o)
}

// press is a press that saves the wallet again. If known is not set, the stake cannot be read.
func (w *walk) press(known bool, o outcome) string {
	w.load()
	w.row = rowWithWallet(&w.row, w.row.User, w.row.Wallet, w.now)
	w.check(known, true)
	wrong := w.settle(o)
	if wrong == "" && known && o == succeeds && w.isMember {
		return w.lacksAfterPress()
	}
	return wrong
}

// lacksAfterPress returns what is wrong if the user does not wear a badge that their stake reaches. Where badges are
// tags, a higher one will do.
func (w *walk) lacksAfterPress() string {
	for _, b := range w.tiers.all {
		wears := func(id string) bool { return id == b.ID || w.oneEach && amountOf(id) >= amountOf(b.ID) }
		if w.reaches(amountOf(b.ID)) && !slices.ContainsFunc(w.worn, wears) {
			return fmt.Sprintf("wears %v after a press, and reaches %s", w.worn, b.ID)
		}
	}
	return ""
}

// command is a command in the community. A user who has left comes back first.
func (w *walk) command(o outcome) string {
	w.isMember = true
	w.load()
	w.row = w.row.afterCommand("9001", w.worn)
	return w.settle(o)
}

// check checks the wallet a cycle later.
func (w *walk) check(known, press bool) {
	w.now = w.now.Add(cycle)
	c := check{stake: stakeOf(w.stake, w.now), press: press, failed: !known}
	w.row = w.tiers.decide(w.row, c, w.now)
	for amount := range w.missedInARow {
		switch {
		case known && w.reaches(amount):
			w.missedInARow[amount] = 0
			w.lost[amount] = false
		case known:
			w.missedInARow[amount] = min(w.missedInARow[amount]+1, 2)
			w.lost[amount] = w.lost[amount] || w.missedInARow[amount] == 2
		case !press:
			w.missedInARow[amount] = 0
		}
	}
	if !known {
		return
	}
	w.found = [2]bool{w.reaches(0), w.reaches(1)}
	if w.found[1] {
		w.isComplete = [2]bool{}
	}
	w.isComplete[w.settingsIndex()] = true
}

// settingsIndex returns 0 for settingsA, and 1 for settingsB.
func (w *walk) settingsIndex() int {
	if w.tiers == settingsA {
		return 0
	}
	return 1
}

// settle takes steps until none is left, as Members.settle does. It returns the first thing that is wrong after a step.
func (w *walk) settle(o outcome) (wrong string) {
	const maxSteps = 10
	p := place{community: "9001", oneEach: w.oneEach}
	for range maxSteps {
		next := w.tiers.next(w.row, p)
		if next.action == nothing {
			return wrong
		}
		before := w.worn
		failed := w.answer(next, o)
		if wrong == "" {
			wrong = w.judge(before)
		}
		switch {
		case failed == nil && next.action == ask:
			w.row = w.row.afterAnswer("9001", w.worn, w.now)
		case failed == nil:
			w.row = w.row.afterSuccess(p, next, w.now)
		default:
			w.row = w.row.afterFailure(p, next, failed, w.now)
			if w.oneEach || !concernsOneBadge(failed.Problem) || next.action == ask {
				return wrong
			}
			p.refused = append(p.refused, next.badge)
		}
	}
	return "settle does not end"
}

// answer carries out a step, and returns the platform's answer.
func (w *walk) answer(s step, o outcome) *chat.BadgeError {
	if s.action != ask {
		w.row = w.row.afterBegin("9001", s)
	}
	switch {
	case !w.isMember:
		return failure(chat.NotAMember)
	case s.action == ask && (o == isExecuted || o == isUnsent):
		return failure(chat.BadgeFailed)
	case s.action == ask:
		return nil
	case o == isRefused, o == refusesHigh && s.action == give && amountOf(s.badge) == 1:
		return failure(chat.RoleAbove)
	case o == isUnsent:
		return lost(false)
	}
	w.worn = slices.DeleteFunc(slices.Clone(w.worn), func(id string) bool { return id == s.badge || w.oneEach })
	if s.action == give {
		w.worn = append(w.worn, s.badge)
	}
	if o == isExecuted {
		return lost(true)
	}
	return nil
}

// judge returns what is wrong about the badges that a call removed, or "". before are the badges that the user wore
// before the call.
func (w *walk) judge(before []string) string {
	for _, badge := range before {
		if !slices.Contains(w.worn, badge) && !w.mayBeRemoved(badge) {
			return fmt.Sprintf("%s is removed after %d low checks", badge, w.missedInARow[amountOf(badge)])
		}
	}
	return ""
}

// mayBeRemoved reports whether there is a reason to remove a badge.
func (w *walk) mayBeRemoved(badge string) bool {
	amount := amountOf(badge)
	_, isConfigured := w.tiers.find("9001", badge)
	wearsAsHigh := slices.ContainsFunc(w.worn, func(id string) bool { return amountOf(id) >= amount })
	switch {
	case w.lost[amount]:
		return true
	case wearsAsHigh && (w.oneEach || !isConfigured):
		return true // It is exchanged for that one.
	}
	isMissedByCompleteCheck := w.isComplete[w.settingsIndex()] && !w.found[amount]
	return !isConfigured && isMissedByCompleteCheck
}

// rest makes the user come back, and lets four cycles and presses pass without a fault. It returns what is wrong then.
func (w walk) rest() string {
	wrong := w.command(succeeds)
	for range 4 {
		for _, found := range []string{w.cycle(true, succeeds), w.press(false, succeeds)} {
			if wrong == "" {
				wrong = found
			}
		}
	}
	var want []string
	for _, b := range w.tiers.all {
		if w.reaches(amountOf(b.ID)) {
			want = append(want, b.ID)
		}
	}
	if w.oneEach && len(want) > 1 {
		want = want[1:]
	}
	worn := slices.Sorted(slices.Values(w.worn))
	if wrong == "" && !slices.Equal(worn, want) {
		return fmt.Sprintf("wears %v, and reaches %v", worn, want)
	}
	return wrong
}

// key returns a text that is the same for two walks if the same events lead to the same results from there. So it has
// the age of a low check in cycles, and not its time.
func (w walk) key() string {
	var b strings.Builder
	fmt.Fprint(&b, w.tiers == settingsA, w.isMember, w.stake, w.worn, w.missedInARow, w.lost, w.found, w.isComplete,
		w.row.Reached.Valid, w.row.Reached.Decimal, len(w.row.Idle))
	for _, h := range w.row.Badges {
		age := min(w.now.Sub(h.Low.BlockTime.Time)/cycle, 3) // A low check that is older does not count.
		isLow := h.Low.Under == w.tiers.underNow(h)
		fmt.Fprint(&b, h.Badge, h.Unsure, h.RemoveUnder, isLow, age, h.Refused.IsZero(), h.Since.IsZero())
	}
	return b.String()
}

// state is a walk, and the events that led to it.
type state struct {
	walk
	path []string
}

// explore visits every state after up to depth events, and returns the number of states. It calls report with
// what is wrong about a state, and the events that led to it.
func explore(oneEach bool, depth int, report func(wrong string, path []string)) int {
	known := map[string]bool{} // by key
	latest := []state{{walk: newWalk(oneEach)}}
	for range depth {
		var next []state
		for _, s := range latest {
			for _, e := range events() {
				after := state{s.walk, append(slices.Clone(s.path), e.name)}
				wrong := e.do(&after.walk)
				if wrong == "" && known[after.key()] {
					continue
				}
				if wrong == "" {
					wrong = after.rest()
				}
				if wrong != "" {
					report(wrong, after.path)
				}
				known[after.key()] = true
				next = append(next, after)
			}
		}
		latest = next
	}
	return len(known)
}

func TestEachStateEndsWithTheBadgesThatAreReached(t *testing.T) {
	depth := 6
	if testing.Short() {
		depth = 4
	}
	for _, oneEach := range []bool{false, true} {
		failures := 0
		states := explore(oneEach, depth, func(wrong string, path []string) {
			failures++
			if failures <= 3 {
				t.Errorf("one each %t: %s, after %q", oneEach, wrong, path)
			}
		})
		t.Logf("one each %t: %d states, %d are wrong", oneEach, states, failures)
	}
}

func TestLongWalksEndWithTheBadgesThatAreReached(t *testing.T) {
	const walks = 20_000
	all := events()
	for seed := range uint64(walks) {
		random := rand.New(rand.NewPCG(seed, 44))
		w := newWalk(seed%2 == 1)
		var path []string
		for range 14 {
			e := all[random.IntN(len(all))]
			path = append(path, e.name)
			if wrong := e.do(&w); wrong != "" {
				t.Fatalf("seed %d: %s, after %q", seed, wrong, path)
			}
		}
		if wrong := w.rest(); wrong != "" {
			t.Fatalf("seed %d: %s, after %q", seed, wrong, path)
		}
	}
}
