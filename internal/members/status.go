package members

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"herald/internal/chat"
)

var errUnread = errors.New("the saved addresses could not be read")

// Status is what moderators of a community see.
type Status struct {
	// Have counts the users who have, or may have, a badge there.
	Have int
	// Each has the badges that the settings name there, by ascending amount.
	Each []BadgeStatus
	// Losing counts those of Have who lose a badge if the next check finds what the latest one did.
	Losing int
	// HeldBack counts those of Losing whose badges the fuse does not let go. It is 0 unless the fuse has blown: it blows
	// if too many users would lose a badge at once, and then nobody does.
	HeldBack int
	// FirstHeldBack are the first ten of HeldBack, by ascending ID.
	FirstHeldBack []chat.User
	// Gives and Removals count the calls that succeeded since the start of this process.
	Gives, Removals int
	// Refused is why the platform refused calls there a short time ago, or "": calls for any badge, or else calls for the
	// first badge in Each that it refused.
	Refused chat.BadgeProblem
}

// BadgeStatus is what moderators of a community see of one badge.
type BadgeStatus struct {
	Badge
	// Have counts the users who have, or may have, the badge.
	Have int
	// Checked counts those of Have whose stake was known within a cycle.
	Checked int
	// Refused is why the platform refused calls for the badge a short time ago, or "".
	Refused chat.BadgeProblem
}

// Status counts the rows of a community as this process read them at the latest tick, some minutes ago. It fails until
// all rows were read once, and while they cannot be read. It does no I/O.
func (m *Members) Status(name chat.Platform, community string) (Status, error) {
	p := m.platforms[name]
	if p == nil {
		return Status{}, errUnread
	}
	n := p.latest.get()
	if n == nil {
		return Status{}, errUnread
	}
	heldBack := n.heldBack(community)
	s := Status{HeldBack: len(heldBack), FirstHeldBack: heldBack[:min(len(heldBack), 10)]}
	if t := n.communities[community]; t != nil {
		s.Have, s.Losing = t.have, t.losing
	}
	if p.adapter == nil {
		return s, nil
	}
	c := p.community(community)
	forAll := c.refusedWithin(c.cycleRetryAfter(), allChanges)
	s.Refused = forAll
	for _, b := range m.ConfiguredBadges(name, community) {
		forThis := c.refusedWithin(c.cycleRetryAfter(), subject{badge: b.ID})
		each := BadgeStatus{Badge: b, Refused: cmp.Or(forAll, forThis)}
		if t := n.badges[badgeKey{community, b.ID}]; t != nil {
			each.Have, each.Checked = t.have, t.checked
		}
		s.Each = append(s.Each, each)
		s.Refused = cmp.Or(s.Refused, each.Refused)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Gives, s.Removals = c.gives, c.removals
	return s, nil
}

// All returns every row of the platforms whose tokens are set, sorted by platform and user ID, and how many values
// are no rows. It changes nothing. If it cannot read some, it returns the others and an error.
func (m *Members) All(ctx context.Context) (all []Row, unreadable int, err error) {
	for _, p := range m.savingPlatforms() {
		rows, n, failed := p.rows.all(ctx)
		all = append(all, rows...)
		unreadable += n
		err = cmp.Or(err, failed)
	}
	slices.SortFunc(all, func(a, b Row) int { return compareUsers(a.User, b.User) })
	return all, unreadable, err
}

// compareUsers orders users by platform and ID.
func compareUsers(a, b chat.User) int {
	byLength := cmp.Compare(len(a.ID), len(b.ID)) // A longer number is a higher one.
	return cmp.Or(cmp.Compare(a.Platform, b.Platform), byLength, cmp.Compare(a.ID, b.ID))
}
