package members

import (
	"errors"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"herald/internal/chat"
)

// This file counts rows, and has the fuse of each community: while too many users are losing a badge there, no badge is
// removed because of a low stake. So an error of the node or of the settings removes no badges. An operator can release
// the users who did stop staking, see release.go.

// census is a count of all rows of a platform, at one tick.
type census struct {
	at time.Time // when it was published
	// rows counts the saved addresses, and checked those of them whose stake a check within the last cycle knew.
	rows, checked int
	// unreadable counts the values that are no rows.
	unreadable int
	// badges has a tally for each configured badge, and for each badge held that the settings no longer name.
	badges map[badgeKey]*tally
	// communities has a tally of the users with any badge in a community.
	communities map[string]*tally
	// users has a hash of each user who has a row.
	users map[uint64]bool
	// leftCalls are the users and communities for whom next has a step.
	leftCalls []leftCall
}

// leftCall says that a call is left to be made for a user in a community.
type leftCall struct {
	user      chat.User
	community string
	// despiteFuse says that it is made even while the fuse of the community has blown.
	despiteFuse bool
}

// badgeKey identifies a badge of a platform.
type badgeKey struct{ Community, Badge string }

// tally counts the users who hold something, or may hold it.
type tally struct {
	have int
	// losing counts those of have who lose it if the next check finds what the latest one did.
	losing int
	// checked counts those of have whose stake a check within the last cycle knew.
	checked int
	// notReleased are those of losing whom the fuse holds if it blows.
	notReleased []chat.User
}

// The fuse of a community blows if more than maxLosing users, and more than one in maxLosingPart of those who hold a
// badge there, are losing it.
const (
	maxLosing     = 10
	maxLosingPart = 20
)

// isBlown reports whether too many users lose a badge, so that the fuse blows. For example, of 240 users 12 may lose
// it, and 13 may not.
func (t tally) isBlown() bool { return t.losing > maxLosing && t.losing*maxLosingPart > t.have }

// newCensus returns a census without rows.
func newCensus() *census {
	return &census{
		badges: map[badgeKey]*tally{}, communities: map[string]*tally{}, users: map[uint64]bool{},
	}
}

// seed makes the hashes of users differ from one process to another.
var seed = maphash.MakeSeed()

// hashOf returns a number that stands for a user in this process.
func hashOf(id string) uint64 { return maphash.String(seed, id) }

// add counts a row. A forgotten row counts only for its user and the calls that are left.
func (n *census) add(p *platform, r Row) {
	t := p.tiers
	n.users[hashOf(r.User.ID)] = true
	n.leftCalls = append(n.leftCalls, p.leftCalls(r)...)
	if r.Forgotten() {
		return
	}
	isChecked := time.Since(r.CheckedAt.Time) <= t.settings.Every+tickEvery // A check is up to a tick late.
	n.rows++
	if isChecked {
		n.checked++
	}
	worst := map[string]prospect{} // by community
	for _, h := range r.Badges {
		what := t.prospect(r, h)
		tallyIn(n.badges, badgeKey{h.Community, h.Badge}).add(r.User, isChecked, what)
		worst[h.Community] = max(worst[h.Community], what)
	}
	for community, what := range worst {
		tallyIn(n.communities, community).add(r.User, isChecked, what)
	}
}

// prospect is what becomes of a badge if the next check finds what the latest one did. The worst one is the last.
type prospect int

const (
	stays          prospect = iota
	lostReleased            // it is lost, and the fuse does not hold it
	lostUnlessHeld          // it is lost, unless the fuse holds it
)

// prospect returns the prospect of a badge of a row.
func (t tiers) prospect(r Row, h Held) prospect {
	switch {
	case !t.isLosing(r, h):
		return stays
	case h.Released:
		return lostReleased
	}
	return lostUnlessHeld
}

// leftCalls returns the communities where a call is left for the user of a row.
func (p *platform) leftCalls(r Row) (all []leftCall) {
	if p.adapter == nil {
		return nil
	}
	for _, id := range p.communitiesFor(r) {
		here := place{community: id, oneEach: p.adapter.OneEach()}
		if p.tiers.next(r, here).action == nothing {
			continue
		}
		here.hold = true
		despiteFuse := p.tiers.next(r, here).action != nothing
		all = append(all, leftCall{r.User, id, despiteFuse})
	}
	return all
}

func (t *tally) add(user chat.User, isChecked bool, what prospect) {
	t.have++
	if isChecked {
		t.checked++
	}
	if what != stays {
		t.losing++
	}
	if what == lostUnlessHeld {
		t.notReleased = append(t.notReleased, user)
	}
}

// tallyIn returns the tally of a key, which it adds if there is none.
func tallyIn[K comparable](tallies map[K]*tally, key K) *tally {
	if tallies[key] == nil {
		tallies[key] = &tally{}
	}
	return tallies[key]
}

// blown returns the tally of the badge that blows a community's fuse, or false if none does. If several do, blown
// returns the tally of the badge that most users are losing.
func (n *census) blownFuse(community string) (t tally, blown bool) {
	for key, each := range n.badges {
		if key.Community == community && each.isBlown() && each.losing > t.losing {
			t, blown = *each, true
		}
	}
	return t, blown
}

// heldBack returns the users whom the fuse of a community holds, in order.
func (n *census) heldBack(community string) []chat.User {
	if _, blown := n.blownFuse(community); !blown {
		return nil
	}
	t := n.communities[community]
	if t == nil {
		return nil
	}
	held := slices.Clone(t.notReleased)
	slices.SortFunc(held, compareUsers)
	return held
}

// latest is the latest census of a platform, and which users have rows.
type latestCensus struct {
	mu     sync.Mutex
	census *census // nil: not all rows were read yet
	// known has a hash of each user who had a row at the latest census, or whose row was saved since by this
	// process, without those whose rows it deleted.
	known map[uint64]bool
}

// knows reports whether a user has a row, as far as this process knows. Until all rows were counted, it returns true.
func (l *latestCensus) knows(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.census == nil || l.known[hashOf(id)]
}

// note records that this process has saved a row of a user, or deleted it.
func (l *latestCensus) note(id string, exists bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if exists {
		l.known[hashOf(id)] = true
	} else {
		delete(l.known, hashOf(id))
	}
}

// users returns a copy of the users who are known to have rows.
func (l *latestCensus) users() map[uint64]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.known)
}

// publish replaces the census. before are the users who were known when the reading of rows began. publish returns how
// many rows are missing, by what is known of each user:
//
//	known then, known now, not counted     it is missing: it is gone, and this process did not delete it
//	known then, not known now              this process has deleted it since
//	not known then, known now              this process has saved it since
func (l *latestCensus) publish(n *census, before map[uint64]bool) (missing int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := maps.Clone(n.users)
	for user := range l.known {
		isCounted := n.users[user]
		switch {
		case isCounted:
		case before[user]:
			missing++
		default:
			known[user] = true
		}
	}
	for user := range before {
		isDeleted := !l.known[user]
		if isDeleted {
			delete(known, user)
		}
	}
	n.at = time.Now()
	l.census, l.known = n, known
	return missing
}

// censusLasts is how old a census may be before the numbers count as unknown.
const censusLasts = 3 * tickEvery

// get returns the latest census, or nil if there is none, or only an old one.
func (l *latestCensus) get() *census {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.census == nil || time.Since(l.census.at) > censusLasts {
		return nil
	}
	return l.census
}

var errUnread = errors.New("the saved addresses could not be read")

// isFuseBlown reports whether the fuse of the community has blown. While that is not known, it counts as blown.
func (c *community) isFuseBlown() bool {
	n := c.latest.get()
	if n == nil {
		return true // Not all rows were counted yet, or they cannot be read any more.
	}
	_, blown := n.blownFuse(c.id)
	return blown
}

// Census counts the saved addresses, those whose stake was known within a cycle, the users whom a fuse holds, once in
// each community, and the saved values that cannot be read. Each is NaN until all rows were counted, and while they
// cannot be read. Census does no I/O.
func (m *Members) Census() (rows, checked, held, unreadable float64) {
	for _, p := range m.activePlatforms() {
		n := p.latest.get()
		if n == nil {
			return math.NaN(), math.NaN(), math.NaN(), math.NaN()
		}
		rows += float64(n.rows)
		checked += float64(n.checked)
		unreadable += float64(n.unreadable)
		for _, community := range p.tiers.communities() {
			held += float64(len(n.heldBack(community)))
		}
	}
	return rows, checked, held, unreadable
}
