package commandstest

import (
	"fmt"
	"strings"
	"time"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/members"
	"herald/internal/service/partner"
	"herald/internal/service/staking"
)

// Changes of what the services answer.

func unchanged(*Answers)       {}
func stakesNothing(w *Answers) { w.Stake = core.Stake{Block: 1, Checked: 21} }
func stakingSlow(w *Answers)   { w.StakeErr = failed(staking.Service, core.SlowAnswer) }
func partnerDown(w *Answers)   { w.AccountsErr = failed(partner.Service, core.Unreachable) }

// joining are requests to join two groups, the first for registered people and the second for
// stakers. The status for moderators is among them.
func joining() []scene {
	ann, stranger := &sender{id: Ann, title: talk}, &sender{id: Stranger, title: talk}
	hostile := &sender{id: Stranger, title: strings.Join(Hostile, " ")}
	untitled := &sender{id: Stranger}
	members, stakers := "/join "+Members, "/join "+Stakers
	proof := stakers + " " + AnnsWallet
	with := func(change func(*Answers)) func(*Answers) {
		return func(w *Answers) {
			w.Options.JoinChats = map[string]chat.Requirement{
				"telegram:" + Members: {},
				"telegram:" + Stakers: {Staker: true},
			}
			change(w)
		}
	}
	atLeast := func(amount string) func(*Answers) {
		return with(func(w *Answers) {
			w.Options.JoinChats["telegram:"+Stakers] = chat.Requirement{Staker: true, Amount: number(amount)}
		})
	}
	bothFail := with(func(w *Answers) {
		partnerDown(w)
		stakingSlow(w)
	})
	all := []scene{
		{
			from:   ann,
			change: with(unchanged),
			lines: []string{
				members,
				stakers,
				proof,
				stakers + " " + Wallet,
				stakers + " 0x1234",
				stakers + " please",
				stakers + " 0x?",
				"/join -5",
			},
		},
		{
			from:   stranger,
			change: with(unchanged),
			lines:  []string{members, stakers, stakers + " " + Wallet, status, "/help", "/start"},
		},
		{from: hostile, change: with(unchanged), lines: []string{members}},
		{from: untitled, change: with(unchanged), lines: []string{members}},
		{from: ann, change: with(stakesNothing), lines: []string{proof}},
		{from: ann, change: with(partnerDown), lines: []string{members, proof}},
		{from: ann, change: bothFail, lines: []string{proof}},
		{from: ann, change: with(unchanged), lines: []string{members}, outcomes: chat.AccountDeleted},
		{from: ann, change: atLeast("1500.5"), lines: []string{stakers, proof}},
		{from: ann, change: atLeast("1000000000"), lines: []string{proof}},
		{from: ann, change: with(stakingSlow), lines: []string{proof}},
		{change: with(unchanged), lines: []string{status}},
		{change: with(joinsCounted), lines: []string{"/details", "/help"}},
	}
	for i := range all {
		all[i].name = "joining"
	}
	return all
}

// joinsCounted lets one person into Community, and leaves out one for each cause.
func joinsCounted(w *Answers) {
	w.Options.JoinChats["telegram:"+Community] = chat.Requirement{Staker: true}
	w.Joins.LetIn(Community, chat.User{Platform: "telegram", ID: Bob})
	for i, key := range []string{
		"details.unregistered", "details.asked", "details.not_theirs", "details.too_little", "details.not_approved", "",
	} {
		out := chat.LeftOut{
			User: numbered(i),
			At:   time.Now().Add(-time.Minute),
			Why:  chat.Text{Key: key},
		}
		w.Joins.LeaveOut(Community, out, i < 4)
	}
}

// numbered returns a user of Telegram for each i.
func numbered(i int) chat.User { return chat.User{Platform: "telegram", ID: fmt.Sprint(500 + i)} }

// named returns a badge of Community with a name.
func named(name string) members.Badge {
	return members.Badge{Badge: chat.Badge{Community: Community, ID: name}, Name: chat.Untrusted(name)}
}

// Changes of what is saved.

func nothingToGive(w *Answers)   { w.Saved.Badges = nil }
func unnamed(w *Answers)         { w.Saved.Unnamed = true }
func storeAway(w *Answers)       { w.Saved.Away = true }
func savedUnreadable(w *Answers) { w.Saved.Unreadable = true }
func saveBusy(w *Answers)        { w.Saved.Busy = true }

// fuseBlown holds 12 of 14 people who would lose badges, and names 10 of them.
func fuseBlown(w *Answers) {
	w.Saved.Status.Losing = 14
	w.Saved.Status.Held = 12
	for i := range 10 {
		w.Saved.Status.FirstHeld = append(w.Saved.Status.FirstHeld, numbered(i))
	}
}

// whaleRefused is a platform that refuses one of the badges.
func whaleRefused(w *Answers) {
	w.Saved.Status.Refused = chat.MissingRight
	w.Saved.Status.Each[1].Refused = chat.MissingRight
}

// savingScenes are addresses that are saved and deleted, and badges that come with them.
func savingScenes() []scene {
	here, alone := &sender{id: Ann, community: Community, title: talk}, &sender{id: Ann}
	with := func(change func(*Answers)) func(*Answers) {
		return func(w *Answers) {
			w.Saved = Saved{Badges: []chat.Badge{
				{Community: Community, ID: "Staker"},
				{Community: Stakers, ID: "Whale", Amount: number("1000")},
			}}
			w.Saved.Status = members.Status{
				Have:     128,
				Gives:    9,
				Removals: 3,
				Each: []members.BadgeStatus{
					{Badge: named("Staker"), Have: 128, Checked: 126},
					{Badge: named("Whale"), Have: 14, Checked: 14},
				},
			}
			change(w)
		}
	}
	problem := func(p chat.BadgeProblem) func(*Answers) {
		return with(func(w *Answers) { w.Saved.Problem = p })
	}
	press, exists := "/save "+AnnsWallet, "/exists "+Ann
	all := []scene{
		{
			from:   here,
			change: with(unchanged),
			lines: []string{
				"/verify",
				verify,
				press,
				"/verify",
				"/forget",
				"/forget",
				"/save " + BobsWallet,
				"/save 0x12",
			},
		},
		{from: here, change: with(unchanged), lines: []string{"/help", "/hello"}},
		{from: alone, change: with(unchanged), lines: []string{verify, press, "/help", "/start"}},
		{from: alone, change: with(nothingToGive), lines: []string{verify, press, verify}},
		{from: here, change: with(unnamed), lines: []string{verify, press, "/help"}},
		{from: here, change: with(stakesNothing), lines: []string{verify, press}},
		{from: here, change: with(stakingSlow), lines: []string{press}},
		{from: here, change: with(storeAway), lines: []string{"/verify", verify, press, "/forget"}},
		{from: here, change: with(savedUnreadable), lines: []string{"/verify", verify, press, "/forget"}},
		{change: with(savedUnreadable), lines: []string{exists}},
		{
			from:   here,
			change: with(unchanged),
			lines:  []string{press, unstake, later, "/verify", later, "/verify", "/forget"},
		},
		{from: here, change: with(unchanged), lines: []string{unstake, press}},
		{change: with(unchanged), lines: []string{press, unstake, later, exists, later, exists}},
		{change: with(fuseBlown), lines: []string{press, exists, status, "/details"}},
		{change: with(whaleRefused), lines: []string{"/details"}},
		{change: with(storeAway), lines: []string{"/details"}},
		{from: here, change: with(unchanged), lines: []string{"/details"}},
	}
	for _, p := range []chat.BadgeProblem{
		chat.MissingRight, chat.RoleAbove, chat.NotAllowed, chat.TwoFactor,
		chat.BadgeGone, chat.CommunityGone, chat.CannotHave, chat.BadgeFailed,
	} {
		all = append(all, scene{from: here, change: problem(p), lines: []string{press}})
	}
	all = append(all,
		scene{from: here, change: problem(chat.RoleAbove), lines: []string{press, verify, "/forget"}},
		scene{from: here, change: with(unchanged), lines: []string{press, refuse, "/forget"}},
		scene{from: here, change: with(unchanged), lines: []string{press, gone, "/forget", "/forget"}},
		scene{from: here, change: with(saveBusy), lines: []string{press}},
	)
	for i := range all {
		all[i].name = "members"
	}
	return all
}

// Lines that no command is behind: the wallet stakes nothing any more, six hours pass for what
// is saved, no badge can be given or removed any more, and all badges are deleted.
const (
	unstake = "(unstaked)"
	later   = "(six hours later)"
	refuse  = "(refused)"
	gone    = "(deleted)"
)

// unstaking lets amounts be withdrawn from a pool each. The first is claimable so long after
// Noon.
func unstaking(w *Answers, after time.Duration, amounts ...string) {
	for _, amount := range amounts {
		w.Stake.Unbonding = append(w.Stake.Unbonding, core.PoolAmount{Pool: core.Pool{Name: "Exit"}, Amount: number(amount)})
	}
	w.Stake.NextWithdrawal = core.NextWithdrawal{Amount: number(amounts[0]), At: Noon.Add(after)}
}

const talk = "Token *talk*"
