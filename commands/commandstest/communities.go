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

// joining are requests to join two groups, the first for registered people and the second for
// stakers. The status for moderators is among them.
func joining() []scene {
	ann, stranger := &sender{id: Ann, title: talk}, &sender{id: Stranger, title: talk}
	members, stakers := "/join "+Members, "/join "+Stakers
	with := func(change func(*Answers)) func(*Answers) {
		return func(w *Answers) {
			w.Options.JoinChats = map[string]chat.Requirement{"telegram:" + Members: {}, "telegram:" + Stakers: {Staker: true}}
			change(w)
		}
	}
	atLeast := func(amount string) func(*Answers) {
		return with(func(w *Answers) {
			w.Options.JoinChats["telegram:"+Stakers] = chat.Requirement{Staker: true, Amount: number(amount)}
		})
	}
	return []scene{
		{name: "joining", from: ann, change: with(func(*Answers) {}), lines: []string{
			members, stakers, stakers + " " + AnnsWallet, stakers + " " + Wallet, stakers + " 0x1234", stakers + " please", stakers + " 0x?", "/join -5",
		}},
		{name: "joining", from: stranger, change: with(func(*Answers) {}), lines: []string{members, stakers, stakers + " " + Wallet, status, "/help", "/start"}},
		{name: "joining", from: &sender{id: Stranger, title: strings.Join(Hostile, " ")}, change: with(func(*Answers) {}), lines: []string{members}},
		{name: "joining", from: &sender{id: Stranger}, change: with(func(*Answers) {}), lines: []string{members}},
		{name: "joining", from: ann, change: with(func(w *Answers) { w.Stake = core.Stake{Block: 1, Checked: 21} }), lines: []string{stakers + " " + AnnsWallet}},
		{name: "joining", from: ann, change: with(func(w *Answers) { w.AccountsErr = failed(partner.Service, core.Unreachable) }), lines: []string{
			members, stakers + " " + AnnsWallet,
		}},
		{name: "joining", from: ann, change: with(func(w *Answers) {
			w.AccountsErr, w.StakeErr = failed(partner.Service, core.Unreachable), failed(staking.Service, core.SlowAnswer)
		}), lines: []string{stakers + " " + AnnsWallet}},
		{name: "joining", from: ann, change: with(func(*Answers) {}), lines: []string{members}, outcomes: chat.AccountDeleted},
		{name: "joining", from: ann, change: atLeast("1500.5"), lines: []string{stakers, stakers + " " + AnnsWallet}},
		{name: "joining", from: ann, change: atLeast("1000000000"), lines: []string{stakers + " " + AnnsWallet}},
		{name: "joining", from: ann, change: with(func(w *Answers) { w.StakeErr = failed(staking.Service, core.SlowAnswer) }), lines: []string{stakers + " " + AnnsWallet}},
		{name: "joining", change: with(func(*Answers) {}), lines: []string{status}},
		{name: "joining", change: with(func(w *Answers) {
			w.Options.JoinChats["telegram:"+Community] = chat.Requirement{Staker: true}
			w.Joins.LetIn(Community, chat.User{Platform: "telegram", ID: Bob})
			for i, key := range []string{
				"details.unregistered", "details.asked", "details.not_theirs", "details.too_little", "details.not_approved", "",
			} {
				out := chat.LeftOut{User: chat.User{Platform: "telegram", ID: fmt.Sprint(500 + i)}, At: time.Now().Add(-time.Minute), Why: chat.Text{Key: key}}
				w.Joins.LeaveOut(Community, out, i < 4)
			}
		}), lines: []string{"/details", "/help"}},
	}
}

// named returns a badge of Community with a name.
func named(name string) members.Badge {
	return members.Badge{Badge: chat.Badge{Community: Community, ID: name}, Name: chat.Untrusted(name)}
}

// savingScenes are addresses that are saved and deleted, and badges that come with them.
func savingScenes() []scene {
	here, alone := &sender{id: Ann, community: Community, title: talk}, &sender{id: Ann}
	with := func(change func(*Answers)) func(*Answers) {
		return func(w *Answers) {
			w.Saved = Saved{Badges: []chat.Badge{{Community: Community, ID: "Staker"}, {Community: Stakers, ID: "Whale", Amount: number("1000")}}}
			w.Saved.Status = members.Status{Have: 128, Gives: 9, Removals: 3, Each: []members.BadgeStatus{
				{Badge: named("Staker"), Have: 128, Checked: 126}, {Badge: named("Whale"), Have: 14, Checked: 14},
			}}
			change(w)
		}
	}
	problem := func(p chat.BadgeProblem) func(*Answers) { return with(func(w *Answers) { w.Saved.Problem = p }) }
	unreadable := with(func(w *Answers) { w.Saved.Unreadable = true })
	press, refused := "/save "+AnnsWallet, []string{"/save " + AnnsWallet}
	all := []scene{
		{name: "members", from: here, change: with(func(*Answers) {}), lines: []string{
			"/verify", verify, press, "/verify", "/forget", "/forget", "/save " + BobsWallet, "/save 0x12",
		}},
		{name: "members", from: here, change: with(func(*Answers) {}), lines: []string{"/help", "/hello"}},
		{name: "members", from: alone, change: with(func(*Answers) {}), lines: []string{verify, press, "/help", "/start"}},
		{name: "members", from: alone, change: with(func(w *Answers) { w.Saved.Badges = nil }), lines: []string{verify, press, verify}},
		{name: "members", from: here, change: with(func(w *Answers) { w.Saved.Unnamed = true }), lines: []string{verify, press, "/help"}},
		{name: "members", from: here, change: with(func(w *Answers) { w.Stake = core.Stake{Block: 1, Checked: 21} }), lines: []string{verify, press}},
		{name: "members", from: here, change: with(func(w *Answers) { w.StakeErr = failed(staking.Service, core.SlowAnswer) }), lines: refused},
		{name: "members", from: here, change: with(func(w *Answers) { w.Saved.Away = true }), lines: []string{"/verify", verify, press, "/forget"}},
		{name: "members", from: here, change: unreadable, lines: []string{"/verify", verify, press, "/forget"}},
		{name: "members", change: unreadable, lines: []string{"/exists " + Ann}},
		{name: "members", from: here, change: with(func(*Answers) {}), lines: []string{press, unstake, later, "/verify", later, "/verify", "/forget"}},
		{name: "members", from: here, change: with(func(*Answers) {}), lines: []string{unstake, press}},
		{name: "members", change: with(func(*Answers) {}), lines: []string{press, unstake, later, "/exists " + Ann, later, "/exists " + Ann}},
		{name: "members", change: with(func(w *Answers) {
			w.Saved.Status.Losing, w.Saved.Status.Held = 14, 12
			for i := range 10 {
				w.Saved.Status.FirstHeld = append(w.Saved.Status.FirstHeld, chat.User{Platform: "telegram", ID: fmt.Sprint(500 + i)})
			}
		}), lines: []string{
			press, "/exists " + Ann, status, "/details",
		}},
		{name: "members", change: with(func(w *Answers) {
			w.Saved.Status.Refused, w.Saved.Status.Each[1].Refused = chat.MissingRight, chat.MissingRight
		}), lines: []string{"/details"}},
		{name: "members", change: with(func(w *Answers) { w.Saved.Away = true }), lines: []string{"/details"}},
		{name: "members", from: here, change: with(func(*Answers) {}), lines: []string{"/details"}},
	}
	for _, p := range []chat.BadgeProblem{chat.MissingRight, chat.RoleAbove, chat.NotAllowed, chat.TwoFactor, chat.BadgeGone, chat.CommunityGone, chat.CannotHave, chat.BadgeFailed} {
		all = append(all, scene{name: "members", from: here, change: problem(p), lines: refused})
	}
	return append(all,
		scene{name: "members", from: here, change: problem(chat.RoleAbove), lines: []string{press, verify, "/forget"}},
		scene{name: "members", from: here, change: with(func(*Answers) {}), lines: []string{press, refuse, "/forget"}},
		scene{name: "members", from: here, change: with(func(*Answers) {}), lines: []string{press, gone, "/forget", "/forget"}},
		scene{name: "members", from: here, change: with(func(w *Answers) { w.Saved.Busy = true }), lines: refused},
	)
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
	w.Stake.NextClaim = core.Claim{Amount: number(amounts[0]), At: Noon.Add(after)}
}

const talk = "Token *talk*"
