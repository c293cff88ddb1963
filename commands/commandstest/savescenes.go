package commandstest

import (
	"slices"

	"herald/internal/chat"
	"herald/internal/members"
)

// Lines of several scenes of saving.
const (
	save      = "/save " + AnnsWallet
	existsAnn = "/exists " + Ann
)

// scenesOfSaving returns scenes where users save and delete addresses, and the bot gives and removes badges
// accordingly.
func scenesOfSaving() []scene {
	all := slices.Concat(
		savedByAnn(),
		savedThenUnstaked(),
		[]scene{
			{change: savingOn(fuseBlown), lines: []string{save, existsAnn, status, "/details"}},
			{change: savingOn(whaleRefused), lines: []string{"/details"}},
			{change: savingOn(storeAway), lines: []string{"/details"}},
			{from: annInGroup(), change: savingOn(unchanged), lines: []string{"/details"}},
		},
		badgeRefusals(),
		badgesLeftByForget(),
		[]scene{
			{from: annInGroup(), change: savingOn(saveBusy), lines: []string{save}},
		},
	)
	for i := range all {
		all[i].name = "members"
	}
	return all
}

// savedByAnn returns scenes where Ann saves and deletes an address while services and the store work, and while they
// fail.
func savedByAnn() []scene {
	private := &sender{id: Ann}
	return []scene{
		{
			from:   annInGroup(),
			change: savingOn(unchanged),
			lines: []string{
				"/verify",
				verify,
				save,
				"/verify",
				"/forget",
				"/forget",
				"/save " + BobsWallet,
				"/save 0x12",
			},
		},
		{from: annInGroup(), change: savingOn(unchanged), lines: []string{"/help", "/hello"}},
		{from: private, change: savingOn(unchanged), lines: []string{verify, save, "/help", "/start"}},
		{from: private, change: savingOn(nothingToGive), lines: []string{verify, save, verify}},
		{from: annInGroup(), change: savingOn(unnamed), lines: []string{verify, save, "/help"}},
		{from: annInGroup(), change: savingOn(stakesNothing), lines: []string{verify, save}},
		{from: annInGroup(), change: savingOn(stakingSlow), lines: []string{save}},
		{from: annInGroup(), change: savingOn(storeAway), lines: []string{"/verify", verify, save, "/forget"}},
		{from: annInGroup(), change: savingOn(savedUnreadable), lines: []string{"/verify", verify, save, "/forget"}},
		{change: savingOn(savedUnreadable), lines: []string{existsAnn}},
	}
}

// savedThenUnstaked returns scenes where the wallet is unstaked before or after its address is saved.
func savedThenUnstaked() []scene {
	return []scene{
		{
			from:   annInGroup(),
			change: savingOn(unchanged),
			lines:  []string{save, unstake, later, "/verify", later, "/verify", "/forget"},
		},
		{
			from:   annInGroup(),
			change: savingOn(unchanged),
			lines:  []string{unstake, save},
		},
		{
			change: savingOn(unchanged),
			lines:  []string{save, unstake, later, existsAnn, later, existsAnn},
		},
	}
}

// badgeRefusals returns a scene for each reason why a platform refuses to give badges.
func badgeRefusals() []scene {
	var all []scene
	for _, p := range []chat.BadgeProblem{
		chat.MissingRight, chat.RoleAbove, chat.NotAllowed, chat.TwoFactor,
		chat.BadgeGone, chat.CommunityGone, chat.CannotHave, chat.BadgeFailed,
	} {
		all = append(all, scene{from: annInGroup(), change: badgesRefused(p), lines: []string{save}})
	}
	return all
}

// badgesLeftByForget returns scenes where /forget cannot remove a badge: the platform refuses to, or the community
// has deleted the badge.
func badgesLeftByForget() []scene {
	return []scene{
		{from: annInGroup(), change: badgesRefused(chat.RoleAbove), lines: []string{save, verify, "/forget"}},
		{from: annInGroup(), change: savingOn(unchanged), lines: []string{save, refuse, "/forget"}},
		{from: annInGroup(), change: savingOn(unchanged), lines: []string{save, gone, "/forget", "/forget"}},
	}
}

// annInGroup returns Ann in Community, where she does not moderate.
func annInGroup() *sender { return &sender{id: Ann, community: Community, title: communityTitle} }

// savingOn returns a change that lets users save addresses and get two badges, and then makes change.
func savingOn(change func(*Answers)) func(*Answers) {
	return func(w *Answers) {
		w.Saved = FakeMembers{
			Badges: []chat.Badge{
				{Community: Community, ID: "Staker"},
				{Community: Stakers, ID: "Whale", Amount: number("1000")},
			},
			Status: members.Status{
				Have:     128,
				Gives:    9,
				Removals: 3,
				Each: []members.BadgeStatus{
					{Badge: named("Staker"), Have: 128, Checked: 126},
					{Badge: named("Whale"), Have: 14, Checked: 14},
				},
			},
		}
		change(w)
	}
}

// badgesRefused is like savingOn, but the platform refuses to give or remove badges because of p.
func badgesRefused(p chat.BadgeProblem) func(*Answers) {
	return savingOn(func(w *Answers) { w.Saved.Problem = p })
}

// named returns a badge of Community with a name.
func named(name string) members.Badge {
	return members.Badge{Badge: chat.Badge{Community: Community, ID: name}, Name: chat.Untrusted(name)}
}

// These functions change a bot that saves addresses, for savingOn.

func nothingToGive(w *Answers)   { w.Saved.Badges = nil }
func unnamed(w *Answers)         { w.Saved.Unnamed = true }
func storeAway(w *Answers)       { w.Saved.Away = true }
func savedUnreadable(w *Answers) { w.Saved.Unreadable = true }
func saveBusy(w *Answers)        { w.Saved.Busy = true }

// fuseBlown makes the fuse hold back the badges of 12 of the 14 users who would lose one. The status names 10 of them.
func fuseBlown(w *Answers) {
	w.Saved.Status.Losing = 14
	w.Saved.Status.HeldBack = 12
	for i := range 10 {
		w.Saved.Status.FirstHeldBack = append(w.Saved.Status.FirstHeldBack, numbered(i))
	}
}

// whaleRefused makes the status say that the platform refuses to give or remove the badge Whale.
func whaleRefused(w *Answers) {
	w.Saved.Status.Refused = chat.MissingRight
	w.Saved.Status.Each[1].Refused = chat.MissingRight
}
