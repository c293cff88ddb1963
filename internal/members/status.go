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
	// HeldBack counts those of Losing whose badges the fuse holds. The fuse blows if too many users would lose a badge at
	// once. Otherwise HeldBack is 0.
	HeldBack int
	// FirstHeldBack are the first ten of these users, by ascending ID.
	FirstHeldBack []chat.User
	// Gives and Removals count the calls that succeeded since the start of this process.
	Gives, Removals int
	// Refused is why the platform refused calls there a short time ago, or "" if it did not. A refusal of all badges comes
	// before refusals of single badges, and these come in the order of Each.
	Refused chat.BadgeProblem
}

// BadgeStatus is what moderators of a community see of one badge.
type BadgeStatus struct {
	Badge
	// Have counts the users who have, or may have, the badge.
	Have int
	// Checked counts those of Have whose stake a check within the last cycle read completely.
	Checked int
	// Refused is why the platform refused calls for the badge a short time ago, or "" if it did not.
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
	s.Refused = c.refusedWithin(c.cycleRetryAfter(), allChanges)
	for _, b := range m.ConfiguredBadges(name, community) {
		each := BadgeStatus{
			Badge:   b,
			Refused: c.refusedWithin(c.cycleRetryAfter(), allChanges, subject{badge: b.ID}),
		}
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

// All returns every row of the platforms whose tokens are set, sorted by platform and user ID, and how many saved
// values cannot be read as rows. It changes nothing. If the store fails, it returns an error and the rows that it could
// read.
func (m *Members) All(ctx context.Context) (all []Row, unreadable int, err error) {
	for _, p := range m.savingPlatforms() {
		rowsHere, unreadableHere, failed := p.rows.all(ctx)
		all = append(all, rowsHere...)
		unreadable += unreadableHere
		err = cmp.Or(err, failed)
	}
	slices.SortFunc(all, func(a, b Row) int { return compareUsers(a.User, b.User) })
	return all, unreadable, err
}

// compareUsers orders users by platform and then by ID, as a number.
func compareUsers(a, b chat.User) int {
	byLength := cmp.Compare(len(a.ID), len(b.ID)) // The longer number is the higher one.
	return cmp.Or(cmp.Compare(a.Platform, b.Platform), byLength, cmp.Compare(a.ID, b.ID))
}
