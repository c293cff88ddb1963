package members

import (
	"slices"
	"time"

	"herald/internal/chat"
)

// action is what a step does.
type action int

const (
	nothing action = iota
	// ask asks the platform which badges the user wears in the community.
	ask
	give
	remove
)

// step is the next call for a user in a community.
type step struct {
	action action
	badge  string // to be given or removed
}

// place is a community as next sees it.
type place struct {
	community string
	// oneEach says that a member has one badge there at a time: giving one replaces another.
	oneEach bool
	// hold says that the fuse has blown: of the badges that are lost there, only those that are Released are removed.
	hold bool
	// refused are the badges for which the platform has refused a call since settle began, and may take one for another
	// badge. It is empty if oneEach is set.
	refused []string
}

// next returns the next step for a row in a place, by the first of these rules that applies:
//
//	the community is idle            nothing
//	a badge there is unsure          ask
//	a badge is earned and not held   give it; where a member has one badge at a time, only the highest
//	a badge may be removed           remove it
//
// It gives before it removes, so that users who fall to a lower badge always have one. A badge that the settings no
// longer name is removed only once nothing is left to be given in its place.
func (t tiers) next(r Row, p place) step {
	held := r.in(p.community)
	switch {
	case slices.Contains(r.Idle, p.community):
		return step{}
	case slices.ContainsFunc(held, isUnsure):
		return step{action: ask}
	case p.oneEach:
		return t.nextTag(r, p, held)
	}
	return t.nextRole(r, p)
}

func isUnsure(h Held) bool { return h.Unsure }

// nextRole is next where a member has any number of badges.
func (t tiers) nextRole(r Row, p place) step {
	for _, b := range t.in(p.community) {
		if t.lacks(r, b) && !slices.Contains(p.refused, b.ID) {
			return step{give, b.ID}
		}
	}
	return t.nextRemoval(r, p)
}

// lacks reports whether the user of a row earns a badge and does not hold it.
func (t tiers) lacks(r Row, b tier) bool { return t.earns(r, b) && r.index(b.Community, b.ID) < 0 }

// nextTag is next where a member has one badge at a time: a tag. To give one replaces the one that they wear.
func (t tiers) nextTag(r Row, p place, held []Held) step {
	target := t.target(r, p)
	if target == "" {
		return t.nextRemoval(r, p)
	}
	mayBeHigher := func(h Held) bool { return t.mayBeHigher(h, target) }
	isTargetHeld := r.index(p.community, target) >= 0
	if isTargetHeld || slices.ContainsFunc(held, mayBeHigher) {
		return step{}
	}
	return step{give, target}
}

// target returns the highest tag that is earned, or held and not to be removed; "" if there is none.
func (t tiers) target(r Row, p place) (target string) {
	for _, b := range t.in(p.community) { // the lowest first
		i := r.index(p.community, b.ID)
		stays := i >= 0 && !t.mayRemove(r, r.Badges[i], p)
		if stays || t.earns(r, b) {
			target = b.ID
		}
	}
	return target
}

// mayBeHigher reports whether a tag may be higher than the target: the settings no longer name it, no check under these
// settings has judged it yet, and the target is not the highest tag of the settings.
func (t tiers) mayBeHigher(h Held, target string) bool {
	_, configured := t.find(h.Community, h.Badge)
	all := t.in(h.Community)
	isTargetHighest := target == all[len(all)-1].ID
	return !configured && !t.mustGo(h) && !isTargetHighest
}

// nextRemoval returns the removal of the newest badge that may be removed and whose removal the platform does not
// refuse. While the user lacks a badge because the platform refuses to give it, a badge that the settings no longer
// name stays in its place.
func (t tiers) nextRemoval(r Row, p place) step {
	lacksOne := slices.ContainsFunc(t.in(p.community), func(b tier) bool { return t.lacks(r, b) })
	for _, h := range slices.Backward(r.in(p.community)) {
		_, configured := t.find(h.Community, h.Badge)
		isNeeded := lacksOne && !configured
		if t.mayRemove(r, h, p) && !isNeeded && !slices.Contains(p.refused, h.Badge) {
			return step{remove, h.Badge}
		}
	}
	return step{}
}

// mayRemove reports whether a badge is to be removed now.
func (t tiers) mayRemove(r Row, h Held, p place) bool {
	switch {
	case r.Forgotten():
		return true
	case !t.mustGo(h):
		return false
	case !t.namesAny(p.community):
		return true // The operator has taken all badges out of the settings. That is no fault of a node.
	}
	return !p.hold || h.Released
}

// The methods below return the row after what happened in a community.

// afterBegin is the row while the call of a step is made: the badge of the step is unsure.
func (r Row) afterBegin(community string, s step) Row {
	r = r.clone()
	h := Held{Community: community, Badge: s.badge}
	if i := r.index(community, s.badge); i >= 0 {
		h = r.Badges[i]
	}
	h.Unsure = true
	r.set(h)
	return r
}

// afterSuccess is the row after the call of a step succeeded.
func (r Row) afterSuccess(p place, s step, now time.Time) Row {
	r = r.clone()
	given := Held{Community: p.community, Badge: s.badge}
	if i := r.index(p.community, s.badge); i >= 0 {
		given = r.Badges[i] // A check during the call may have missed its amount.
	}
	// A tag replaces any other, and to remove it leaves none.
	r.drop(func(h Held) bool { return h.Community == p.community && (p.oneEach || h.Badge == s.badge) })
	if s.action == remove {
		return r
	}
	given.Since, given.Unsure = timeOf(now), false
	r.set(given)
	r.endIdle(p.community) // The platform has just taken the badge.
	if !given.goes() {
		r.dropLost(p.community, s.badge)
	}
	return r
}

// refusedFor is how long the removal of a badge is tried while the platform refuses it.
const refusedFor = 30 * 24 * time.Hour

// afterFailure is the row after a step failed with err. A failure that says that the user or the community is gone
// decides even if the outcome is unknown: nothing is unsure then.
func (r Row) afterFailure(p place, s step, err *chat.BadgeError, now time.Time) Row {
	switch {
	case err.Problem == chat.NotAMember, err.Problem == chat.CannotHave:
		return r.idleIn(p.community) // Telegram takes the tag from whoever leaves or becomes an administrator.
	case err.Problem == chat.CommunityGone && r.Forgotten():
		return r.idleIn(p.community) // Otherwise a server that is deleted would keep the user's ID.
	case s.action == ask, err.OutcomeUnknown:
		return r // What is unsure stays unsure.
	case s.action == give, err.Problem == chat.BadgeGone: // The badge is certainly not worn.
		r = r.clone()
		r.drop(func(h Held) bool { return h.Community == p.community && h.Badge == s.badge })
		return r
	}
	return r.afterFailedRemoval(p.community, s.badge, err.Problem, now)
}

// afterFailedRemoval is the row after a badge was certainly not removed. If the platform has refused that for longer
// than refusedFor, the badge is given up.
func (r Row) afterFailedRemoval(community, badge string, problem chat.BadgeProblem, now time.Time) Row {
	r = r.clone()
	i := r.index(community, badge)
	if i < 0 {
		return r
	}
	h := &r.Badges[i]
	h.Unsure = false
	switch {
	case problem == chat.BadgeFailed:
		// It is no refusal.
	case h.Refused.IsZero():
		h.Refused = timeOf(now)
	case now.Sub(h.Refused.Time) > refusedFor:
		r.Badges = slices.Delete(r.Badges, i, i+1)
	}
	return r
}

// idleIn is the row without the badges of a community, where no more calls are made for the user. The platform has said
// that they are no member there or can have no badge, or they wear a tag that an administrator has set.
func (r Row) idleIn(community string) Row {
	r = r.clone()
	r.drop(func(h Held) bool { return h.Community == community })
	if !r.Forgotten() {
		r.setIdle(community)
	}
	return r
}

// afterCommand is the row of a user who sent a command in a community, and seemed to wear these badges there. A badge
// that they do not seem to wear is unsure, because a call may be giving it just now.
func (r Row) afterCommand(community string, wears []string) Row {
	r = r.clone()
	r.endIdle(community)
	for i := range r.Badges {
		h := &r.Badges[i]
		if h.Community == community && !slices.Contains(wears, h.Badge) {
			h.Unsure = true
		}
	}
	return r
}

// afterAnswer is the row of a user who is in a community and wears these badges there, as the platform has just said.
// Badges that they do not wear are dropped, and the others are sure.
func (r Row) afterAnswer(community string, wears []string, now time.Time) Row {
	r = r.clone()
	r.endIdle(community)
	r.drop(func(h Held) bool { return h.Community == community && !slices.Contains(wears, h.Badge) })
	for i := range r.Badges {
		h := &r.Badges[i]
		if h.Community != community || !h.Unsure {
			continue
		}
		h.Unsure = false
		if h.Since.IsZero() {
			h.Since = timeOf(now)
		}
	}
	return r
}
