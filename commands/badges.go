package commands

import (
	"slices"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/members"
)

// badgeResult is what happened to badges of one community, as one line says it.
type badgeResult struct {
	key     string // one of resultKeys
	badges  []members.Badge
	problem chat.BadgeProblem // ""; or why the badges were not given or removed
}

const (
	badgeFailed  = "badge.failed"
	badgeRemoved = "badge.removed"
	// badgeGone is the result of badges that were to be removed and do not exist any more.
	badgeGone = "badge.gone"
)

// resultKeys are the keys of the messages about results, in the order in which people read them.
var resultKeys = []string{
	"badge.here", "badge.in", "badge.rules", badgeFailed, "badge.still", "badge.soon", badgeRemoved, badgeGone,
}

// resultKey returns the key of the message about a change, for a reader in the community here.
func resultKey(here string, c members.Change) string {
	switch {
	case c.Removed && !c.Later && c.Problem == chat.BadgeGone:
		return badgeGone
	case c.Removed && (c.Later || c.Problem != ""):
		return "badge.still"
	case c.Later:
		return "badge.soon"
	case c.Problem == chat.RulesPending:
		return "badge.rules"
	case c.Problem != "":
		return badgeFailed
	case c.Removed:
		return badgeRemoved
	case c.Badge.Community == here:
		return "badge.here"
	}
	return "badge.in"
}

// badgeResults groups changes by key and community, and returns the groups in the order of resultKeys. The reader is
// in the community here.
func badgeResults(here string, changes []members.Change) (all []badgeResult) {
	for _, c := range changes {
		key := resultKey(here, c)
		i := slices.IndexFunc(all, func(r badgeResult) bool {
			return r.key == key && r.badges[0].Community == c.Badge.Community
		})
		if i < 0 {
			all = append(all, badgeResult{key: key, badges: []members.Badge{c.Badge}, problem: c.Problem})
		} else {
			all[i].badges = append(all[i].badges, c.Badge)
		}
	}
	slices.SortStableFunc(all, func(a, b badgeResult) int {
		return slices.Index(resultKeys, a.key) - slices.Index(resultKeys, b.key)
	})
	return all
}

// isBad reports whether the person has fewer badges than they expect.
func (r badgeResult) isBad() bool { return r.key == badgeFailed || r.key == badgeRemoved }

// line returns the message about the result.
func (r badgeResult) line() chat.Text {
	return chat.SayWith(r.key, chat.Values{"badge": badgeNames(r.badges), "group": r.badges[0].Group()})
}

// lines returns the line of each result.
func lines(results []badgeResult) (all []chat.Text) {
	for _, r := range results {
		all = append(all, r.line())
	}
	return all
}

// badgeNames returns the names of badges, each once. If one name is not known, it returns words that stand for all
// of them.
func badgeNames(badges []members.Badge) chat.Value {
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

// badgesIn returns the names of badges for a reader in the community here. If here is "", it adds the communities.
func badgesIn(here string, badges []members.Badge) chat.Value {
	if here != "" {
		return badgeNames(badges)
	}
	return badgesByCommunity(badges)
}

// badgesByCommunity returns the names of badges, each with its community.
func badgesByCommunity(badges []members.Badge) (list chat.Value) {
	var communities []string
	in := map[string][]members.Badge{}
	for _, b := range badges {
		if in[b.Community] == nil {
			communities = append(communities, b.Community)
		}
		in[b.Community] = append(in[b.Community], b)
	}
	for _, community := range communities {
		there := in[community]
		next := chat.SayWith("badge.at", chat.Values{"badge": badgeNames(there), "group": there[0].Group()})
		if list == nil {
			list = next
		} else {
			list = chat.SayWith("list.next", chat.Values{"first": list, "next": next})
		}
	}
	return list
}

// badgesOf returns the badges without their times.
func badgesOf(given []members.GivenBadge) (all []members.Badge) {
	for _, h := range given {
		all = append(all, h.Badge)
	}
	return all
}

// whyNot explains why a badge could not be given or removed on a platform.
func whyNot(p chat.Platform, problem chat.BadgeProblem) chat.Text {
	return chat.SayWith("badge.why."+string(problem), chat.Values{"right": chat.Say("badge.right." + string(p))})
}

// everyText returns words such as "every 6 hours", in hours if d is a whole number of them, and else in minutes.
func everyText(d time.Duration) chat.Text {
	if d%time.Hour == 0 {
		return chat.SayWith("every.hours", chat.Values{"n": chat.Count(d / time.Hour)})
	}
	return chat.SayWith("every.minutes", chat.Values{"n": chat.Count(d / time.Minute)})
}

// forgetButton returns the button that deletes what is saved of the person who presses it. It also removes the badges
// that they have.
func forgetButton(badges []members.Badge) chat.Action {
	label := chat.Say("button.forget")
	if len(badges) > 0 {
		label = chat.SayWith("button.remove", chat.Values{"badge": badgeNames(badges)})
	}
	return chat.Action{Label: label, Command: forgetName, Edit: true}
}
