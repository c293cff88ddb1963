package members

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"herald/internal/chat"
)

// This file counts rows, and has the fuse of each community. The fuse blows while too many users are losing a badge in
// the community: then it holds the badges, which means that none is removed there because of a low stake. So an error
// of the node or of the settings does not remove badges. If the users did stop staking, an operator can release their
// badges from the fuse: see release.go.

// The fuse of a community blows if more than maxLosing users, and more than one in maxLosingPart of those who have a
// badge there, are losing this badge.
const (
	maxLosing     = 10
	maxLosingPart = 20
)

// census is a count of all rows of a platform, at one tick.
type census struct {
	publishedAt time.Time
	// rows counts the saved addresses, and checked those of them that are recently checked: a check within the last cycle
	// read the stake completely.
	rows, checked int
	// unreadable counts the saved values that cannot be read as rows.
	unreadable int
	// badges has a tally for each badge that anybody holds. The settings need not name it.
	badges map[badgeKey]*tally
	// communities has a tally for each community, of the users who hold any badge there.
	communities map[string]*tally
	// users has a hash of each user who has a row.
	users map[uint64]bool
	// leftCalls has the users for whom a call to the platform is left to be made.
	leftCalls []leftCall
}

// badgeKey identifies a badge of a platform.
type badgeKey struct{ Community, Badge string }

// tally counts the users who have a badge, or any badge of a community. It includes users who may have it.
type tally struct {
	have int
	// losing counts those of have who lose the badge if the next check finds what the latest one did.
	losing int
	// checked counts those of have who are recently checked.
	checked int
	// notReleased are those of losing whose badge the fuse holds if it blows.
	notReleased []chat.User
}

// isBlown reports whether so many users are losing a badge that the fuse blows. For example, of 240 users 12 may lose
// it, and 13 may not.
func (t tally) isBlown() bool { return t.losing > maxLosing && t.losing*maxLosingPart > t.have }

// leftCall says that a call is left to be made for a user in a community.
type leftCall struct {
	user      chat.User
	community string
	// despiteFuse says that it is made even while the fuse of the community has blown.
	despiteFuse bool
}

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

// add counts a row. Of a forgotten row, it counts only the user and the calls that are left.
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
		outlook := t.prospect(r, h)
		tallyIn(n.badges, badgeKey{h.Community, h.Badge}).add(r.User, isChecked, outlook)
		worst[h.Community] = max(worst[h.Community], outlook)
	}
	for community, outlook := range worst {
		tallyIn(n.communities, community).add(r.User, isChecked, outlook)
	}
}

// prospect is what becomes of a badge if the next check finds what the latest one did. Of a user's badges in a
// community, the highest prospect counts.
type prospect int

const (
	stays          prospect = iota
	lostReleased            // it is lost, and the fuse does not hold it, because an operator has released it
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
		here.hold = true // as if the fuse had blown
		despiteFuse := p.tiers.next(r, here).action != nothing
		all = append(all, leftCall{user: r.User, community: id, despiteFuse: despiteFuse})
	}
	return all
}

// add counts a user.
func (t *tally) add(user chat.User, isChecked bool, outlook prospect) {
	t.have++
	if isChecked {
		t.checked++
	}
	if outlook != stays {
		t.losing++
	}
	if outlook == lostUnlessHeld {
		t.notReleased = append(t.notReleased, user)
	}
}

// tallyIn returns the tally of a key, and adds it if there is none.
func tallyIn[K comparable](tallies map[K]*tally, key K) *tally {
	if tallies[key] == nil {
		tallies[key] = &tally{}
	}
	return tallies[key]
}

// blownFuse reports whether the fuse of a community has blown, and returns the tally of the badge because of which it
// has. If there are several such badges, it is the one that most users are losing.
func (n *census) blownFuse(community string) (worst tally, isBlown bool) {
	for key, each := range n.badges {
		if key.Community == community && each.isBlown() && each.losing > worst.losing {
			worst, isBlown = *each, true
		}
	}
	return worst, isBlown
}

// heldBack returns the users whose badges the fuse of a community holds, sorted by ID. There are none unless it has
// blown.
func (n *census) heldBack(community string) []chat.User {
	if _, isBlown := n.blownFuse(community); !isBlown {
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

// latestCensus is the latest census of a platform, and which users have rows.
type latestCensus struct {
	mu     sync.Mutex
	census *census // nil until all rows were counted
	// known has a hash of each user who has a row, as far as this process knows: the users of the latest census, and the
	// changes that this process has made since.
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

// publish replaces the census. before has the users who were known when the reading of the rows began. publish returns
// how many rows are missing:
//
//	the user is                             the row
//
//	known before and now, but not in n      is missing: it is gone, and this process did not delete it
//	known now, but not before               was saved by this process meanwhile, even if it is not in n
//	known before, but not now               was deleted by this process meanwhile, even if it is in n
func (l *latestCensus) publish(n *census, before map[uint64]bool) (missing int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := maps.Clone(n.users)
	for user := range l.known {
		isCounted := n.users[user]
		isSavedSince := !before[user]
		switch {
		case isSavedSince:
			known[user] = true
		case !isCounted:
			missing++
		}
	}
	for user := range before {
		isDeletedSince := !l.known[user]
		if isDeletedSince {
			delete(known, user)
		}
	}
	n.publishedAt = time.Now()
	l.census, l.known = n, known
	return missing
}

// censusTTL is how old a census may be. The counts are unknown after that.
const censusTTL = 3 * tickEvery

// get returns the latest census, or nil if there is none, or it is too old.
func (l *latestCensus) get() *census {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.census == nil || time.Since(l.census.publishedAt) > censusTTL {
		return nil
	}
	return l.census
}

// isFuseBlown reports whether the fuse of the community has blown. While that is not known, it counts as blown.
func (c *community) isFuseBlown() bool {
	n := c.latest.get()
	if n == nil {
		return true
	}
	_, isBlown := n.blownFuse(c.id)
	return isBlown
}

// Census counts the saved addresses on all platforms. checked are those whose stake a check within the last cycle read
// completely. held counts the users whose badges a fuse holds, once in each community. unreadable counts the saved
// values that cannot be read. All are NaN until all rows were counted, and while they cannot be read. Census does no
// I/O.
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
