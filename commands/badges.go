package commands

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/members"
)

// badgeOutcome is what became of a badge that was to be given or removed. A reply lists the outcomes in this order, the
// most important first.
type badgeOutcome int

const (
	badgeGivenHere badgeOutcome = iota
	badgeGivenElsewhere
	badgeAwaitsRules // is given once the user has accepted the rules of the server
	badgeNotGiven
	badgesNotChecked // the platform did not say which badges the user has
	badgeNotRemoved  // or not yet
	badgeGivenLater
	badgeRemoved

	// The outcomes from here on are less important than the answer to the command itself.

	badgesCheckedLater // until then, it is not known which badges are to be given or removed
	badgeDeleted       // was to be removed, but the community has deleted the badge itself
)

// outcomeKeys are the messages about each outcome.
var outcomeKeys = [...]string{
	badgeGivenHere:      "badge.given_here",
	badgeGivenElsewhere: "badge.given_elsewhere",
	badgeAwaitsRules:    "badge.awaits_rules",
	badgeNotGiven:       "badge.not_given",
	badgesNotChecked:    "badge.not_checked",
	badgeNotRemoved:     "badge.not_removed",
	badgeGivenLater:     "badge.given_later",
	badgeRemoved:        "badge.removed",
	badgesCheckedLater:  "badge.checked_later",
	badgeDeleted:        "badge.deleted",
}

// outcomeOf returns the outcome of a change, for a reader in the community here.
func outcomeOf(c members.Change, here string) badgeOutcome {
	isRemoval := c.Removed // even if it did not succeed
	if isRemoval {
		return removalOutcome(c)
	}
	isUnknown := c.Badge.ID == "" // It is unknown which badges are to change.
	switch {
	case isUnknown && c.Later:
		return badgesCheckedLater
	case isUnknown:
		return badgesNotChecked
	case c.Later:
		return badgeGivenLater
	case c.Problem == chat.RulesPending:
		return badgeAwaitsRules
	case c.Problem != "":
		return badgeNotGiven
	case c.Badge.Community == here:
		return badgeGivenHere
	}
	return badgeGivenElsewhere
}

// removalOutcome returns the outcome of a change that was to remove a badge.
func removalOutcome(c members.Change) badgeOutcome {
	switch {
	case c.Later:
		return badgeNotRemoved
	case c.Problem == chat.BadgeGone:
		return badgeDeleted
	case c.Problem != "":
		return badgeNotRemoved
	}
	return badgeRemoved
}

// badgeResult is what one line of a reply is about: badges of one community that have the same outcome and the same
// problem.
type badgeResult struct {
	outcome badgeOutcome
	badges  []members.Badge   // at least one; without an ID if it is unknown which badges are to change
	problem chat.BadgeProblem // why the badges were not given or removed, or ""
}

// includes reports whether the line of r is also about a change with this outcome.
func (r badgeResult) includes(c members.Change, outcome badgeOutcome) bool {
	return r.badges[0].Community == c.Badge.Community && r.outcome == outcome && r.problem == c.Problem
}

// badgeResults groups changes into results, in the order of their outcomes. The reader is in the community here.
func badgeResults(here string, changes []members.Change) (all []badgeResult) {
	for _, c := range changes {
		outcome := outcomeOf(c, here)
		i := slices.IndexFunc(all, func(r badgeResult) bool { return r.includes(c, outcome) })
		if i < 0 {
			all = append(all, badgeResult{outcome: outcome, badges: []members.Badge{c.Badge}, problem: c.Problem})
		} else {
			all[i].badges = append(all[i].badges, c.Badge)
		}
	}
	slices.SortStableFunc(all, func(a, b badgeResult) int { return cmp.Compare(a.outcome, b.outcome) })
	return all
}

// isBad reports whether the result is bad news for the user: a badge was removed, or could not be given or checked.
func (r badgeResult) isBad() bool {
	switch r.outcome {
	case badgeNotGiven, badgesNotChecked, badgeRemoved:
		return true
	}
	return false
}

// isMinor reports whether the result is less important than the answer to the command itself.
func (r badgeResult) isMinor() bool { return r.outcome >= badgesCheckedLater }

// line returns the message about the result.
func (r badgeResult) line() chat.Text {
	return chat.SayWith(outcomeKeys[r.outcome], chat.Values{"badge": badgeText(r.badges), "group": r.badges[0].Group()})
}

// resultLines returns the line of each result.
func resultLines(results []badgeResult) (all []chat.Text) {
	for _, r := range results {
		all = append(all, r.line())
	}
	return all
}

// badgeText returns the names of badges, such as "Staker, Whale", each once. If the name of any badge is unknown, it
// returns a message that stands for all of them.
func badgeText(badges []members.Badge) chat.Value {
	var names []string
	for _, b := range badges {
		if b.Name == "" {
			return chat.Say("badge.unnamed")
		}
		if !slices.Contains(names, string(b.Name)) {
			names = append(names, string(b.Name))
		}
	}
	return chat.Untrusted(strings.Join(names, ", "))
}

// badgeTextIn returns the names of badges for a reader in the community here. If here is "", it adds the communities.
func badgeTextIn(here string, badges []members.Badge) chat.Value {
	if here != "" {
		return badgeText(badges)
	}
	return badgeTextByCommunity(badges)
}

// badgeTextByCommunity returns the names of badges with their communities, such as "Staker in Token talk, Whale in
// Staking lounge".
func badgeTextByCommunity(badges []members.Badge) (list chat.Value) {
	var communities []string
	byCommunity := map[string][]members.Badge{}
	for _, b := range badges {
		if byCommunity[b.Community] == nil {
			communities = append(communities, b.Community)
		}
		byCommunity[b.Community] = append(byCommunity[b.Community], b)
	}
	for _, community := range communities {
		group := byCommunity[community]
		next := chat.SayWith("badge.at", chat.Values{"badge": badgeText(group), "group": group[0].Group()})
		if list == nil {
			list = next
		} else {
			list = chat.SayWith("list.next", chat.Values{"first": list, "next": next})
		}
	}
	return list
}

// givenBadges returns the badges without the times when they were given.
func givenBadges(given []members.GivenBadge) (all []members.Badge) {
	for _, g := range given {
		all = append(all, g.Badge)
	}
	return all
}

// lostBadges returns the badges without the reasons why they were lost.
func lostBadges(lost []members.LostBadge) (all []members.Badge) {
	for _, l := range lost {
		all = append(all, l.Badge)
	}
	return all
}

// problemText explains why a badge could not be given or removed on a platform.
func problemText(p chat.Platform, problem chat.BadgeProblem) chat.Text {
	return chat.SayWith("badge.why."+string(problem), chat.Values{"right": chat.Say("badge.right." + string(p))})
}

// everyText returns words such as "every 6 hours" or, if d is not a whole number of hours, "every 90 minutes".
func everyText(d time.Duration) chat.Text {
	if d%time.Hour == 0 {
		return chat.SayWith("every.hours", chat.Values{"n": chat.Count(d / time.Hour)})
	}
	return chat.SayWith("every.minutes", chat.Values{"n": chat.Count(d / time.Minute)})
}

// forgetButton returns the button that deletes what is saved about the user who presses it. badges are the user's: if
// there are any, the label says that they are removed.
func forgetButton(badges []members.Badge) chat.Action {
	label := chat.Say("button.forget")
	if len(badges) > 0 {
		label = chat.SayWith("button.remove", chat.Values{"badge": badgeText(badges)})
	}
	return chat.Action{Label: label, Command: forgetName, Edit: true}
}
