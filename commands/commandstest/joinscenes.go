package commandstest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/chat"
)

// Lines of several scenes of joining.
const (
	joinMembers = "/join " + Members
	joinStakers = "/join " + Stakers
	joinProven  = "/join " + Stakers + " " + AnnsWallet
)

// scenesOfJoining returns scenes where users ask to join Members or Stakers, or moderators read the outcomes.
func scenesOfJoining() []scene {
	return slices.Concat(
		joinRequests(),
		refusedJoinRequests(),
		[]scene{
			{name: "joining", change: joinChats(unchanged), lines: []string{status}},
			{name: "joining", change: joinChats(joinsCounted), lines: []string{"/details", "/help"}},
		},
	)
}

// joinRequests returns scenes where Ann and a stranger ask to join while all services are healthy.
func joinRequests() []scene {
	return []scene{
		{
			name:   "joining",
			from:   annJoins(),
			change: joinChats(unchanged),
			lines: []string{
				joinMembers,
				joinStakers,
				joinProven,
				joinStakers + " " + Wallet,
				joinStakers + " 0x1234",
				joinStakers + " please",
				joinStakers + " 0x?",
				"/join -5",
			},
		},
		{
			name:   "joining",
			from:   &sender{id: Stranger, title: communityTitle},
			change: joinChats(unchanged),
			lines:  []string{joinMembers, joinStakers, joinStakers + " " + Wallet, status, "/help", "/start"},
		},
		{
			name:   "joining",
			from:   &sender{id: Stranger, title: strings.Join(Hostile, " ")},
			change: joinChats(unchanged),
			lines:  []string{joinMembers},
		},
		{
			name:   "joining",
			from:   &sender{id: Stranger, title: ""},
			change: joinChats(unchanged),
			lines:  []string{joinMembers},
		},
	}
}

// refusedJoinRequests returns scenes where Ann asks to join, and a requirement, a service or Telegram may keep her out.
func refusedJoinRequests() []scene {
	bothFail := joinChats(func(w *Answers) {
		partnerDown(w)
		stakingSlow(w)
	})
	all := []scene{
		{change: joinChats(stakesNothing), lines: []string{joinProven}},
		{change: joinChats(partnerDown), lines: []string{joinMembers, joinProven}},
		{change: bothFail, lines: []string{joinProven}},
		{change: joinChats(unchanged), lines: []string{joinMembers}, outcomes: chat.AccountDeleted},
		{change: stakersNeed("1500.5"), lines: []string{joinStakers, joinProven}},
		{change: stakersNeed("1000000000"), lines: []string{joinProven}},
		{change: joinChats(stakingSlow), lines: []string{joinProven}},
	}
	for i := range all {
		all[i].name = "joining"
		all[i].from = annJoins()
	}
	return all
}

// annJoins returns Ann in her private chat with the bot, where join requests are answered.
func annJoins() *sender { return &sender{id: Ann, title: communityTitle} }

// joinChats returns a change that lets registered users join Members and stakers join Stakers, and then makes change.
func joinChats(change func(*Answers)) func(*Answers) {
	return func(w *Answers) {
		w.Options.JoinChats = map[string]chat.Requirement{
			"telegram:" + Members: {},
			"telegram:" + Stakers: {Staker: true},
		}
		change(w)
	}
}

// stakersNeed is like joinChats, but Stakers requires a stake of at least this amount.
func stakersNeed(amount string) func(*Answers) {
	return joinChats(func(w *Answers) {
		w.Options.JoinChats["telegram:"+Stakers] = chat.Requirement{Staker: true, Amount: number(amount)}
	})
}

// joinsCounted adds outcomes to the log of Community: Bob was let in, and one user was left out for each cause.
func joinsCounted(w *Answers) {
	w.Options.JoinChats["telegram:"+Community] = chat.Requirement{Staker: true}
	w.Joins.LetIn(Community, chat.User{Platform: "telegram", ID: Bob})
	causes := []string{
		"details.unregistered",
		"details.asked",
		"details.not_theirs",
		"details.too_little",
		"details.not_approved",
		"",
	}
	for i, key := range causes {
		checked := i < 4 // the users before the last two lack what is required
		out := chat.LeftOut{
			User: numbered(i),
			At:   time.Now().Add(-time.Minute),
			Why:  chat.Text{Key: key},
		}
		w.Joins.LeaveOut(Community, out, checked)
	}
}

// numbered returns another user of Telegram for each i.
func numbered(i int) chat.User { return chat.User{Platform: "telegram", ID: fmt.Sprint(500 + i)} }
