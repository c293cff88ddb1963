package telegram

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/platformtest"
)

// refusal returns a 400 with a description.
func refusal(text string) telegramtest.Fault {
	return telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: " + text}
}

// closeWhileChecking makes a moderator close the request of user 7 during the check.
func (r *adapterTest) closeWhileChecking(state faketelegram.JoinState) {
	r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
		r.api.CloseJoin(holders, 7, state)
		return joinReply(ctx, req)
	}
}

// approvalTest is a fault in the approval of user 7, and how their request ends.
type approvalTest struct {
	before  func(r *adapterTest)   // sets up the fault
	guarded bool                   // whether the request has a query
	state   faketelegram.JoinState // of the request in the end
	told    string                 // the beginning of the only message to the user; "" if they get none
}

// run makes user 7 ask to join. It checks how the request ends, and that the request is answered at most once, and
// counted and logged once.
func (tt approvalTest) run(t *testing.T) {
	r := joinTest(t)
	tt.before(r)
	r.runJoins()
	r.requestJoin(7, tt.guarded)
	got := r.settledRequest(7)
	check(t, "state", got.State, tt.state)
	r.checkTold(7, tt.told)
	if len(got.Answers) > 1 {
		t.Errorf("answered with %v", answersOf(got))
	}
	if tt.state == faketelegram.JoinApproved {
		r.checkJoinEvents(1, 0, 0)
	} else {
		r.checkJoinEvents(0, 0, 1)
	}
	wantLines := 0
	if strings.HasPrefix(tt.told, "⚠️") {
		wantLines = 1
	}
	check(t, "lines in the log", r.logs.Lines("a join request could not be answered"), wantLines)
}

// A user is told that they are in only if Telegram says so.
func TestNobodyIsToldTheyAreInWithoutAnApproval(t *testing.T) {
	const notIn = "⚠️ Not in yet: I can't let you in right now\n"
	inBubble(t, map[string]approvalTest{
		"the right is taken away": {
			before: func(r *adapterTest) {
				r.api.Fail("approveChatJoinRequest", refusal("not enough rights to manage chat invite link"))
				r.api.Fail("editMessageText", telegramtest.TooMany(minOutcomeTime+time.Second))
			},
			state: faketelegram.JoinOpen,
			told:  notIn + "I can't approve people there.",
		},
		"the query has expired": {
			before: func(r *adapterTest) {
				const expired = "query is too old and response timeout expired or query ID is invalid"
				r.api.Fail("answerChatJoinRequestQuery", refusal(expired))
			},
			guarded: true,
			state:   faketelegram.JoinOpen,
			told:    notIn + "That took too long.",
		},
		"Telegram refuses for another reason": {
			before: func(r *adapterTest) { r.api.Fail("approveChatJoinRequest", refusal("CHANNEL_PRIVATE")) },
			state:  faketelegram.JoinOpen,
			told:   notIn + "Something went wrong on my side.",
		},
		"a moderator declines": {
			before: func(r *adapterTest) { r.closeWhileChecking(faketelegram.JoinDeclined) },
			state:  faketelegram.JoinDeclined,
		},
		"Telegram takes no approval": {
			before: func(r *adapterTest) { r.api.Break("approveChatJoinRequest", telegramtest.Page(502)) },
			state:  faketelegram.JoinOpen,
			told:   notIn + "That took too long.",
		},
	}, func(t *testing.T, tt approvalTest) { tt.run(t) })
}

func TestApprovedUsersAreTold(t *testing.T) {
	const in = "✅ You're in: MAT Holders"
	tests := map[string]approvalTest{
		"a moderator lets them in": {
			before: func(r *adapterTest) {
				r.api.Start(7)
				r.closeWhileChecking(faketelegram.JoinApproved)
			},
		},
		"the approval is carried out without an answer": {
			before: func(r *adapterTest) {
				r.api.Fail("approveChatJoinRequest", telegramtest.Page(502).CarriedOut())
				r.api.Fail("getChatMember", telegramtest.TooMany(time.Second), telegramtest.Hang())
			},
		},
		"the answer to the query is carried out without an answer": {
			before: func(r *adapterTest) {
				r.api.Fail("answerChatJoinRequestQuery", telegramtest.Page(502).CarriedOut())
			},
			guarded: true,
		},
		"the approval does not arrive": {
			before: func(r *adapterTest) {
				r.api.Fail("approveChatJoinRequest", telegramtest.Page(502), telegramtest.TooMany(time.Second))
			},
		},
		"Telegram hangs on the approval": {
			before: func(r *adapterTest) { r.api.Fail("approveChatJoinRequest", telegramtest.Hang()) },
		},
		"every approval is carried out without an answer": {
			before: func(r *adapterTest) {
				r.api.Break("approveChatJoinRequest", telegramtest.Page(502).CarriedOut())
			},
		},
	}
	inBubble(t, tests, func(t *testing.T, tt approvalTest) {
		tt.state = faketelegram.JoinApproved
		tt.told = in
		tt.run(t)
	})
}

func TestAMessageThatFailsKeepsNobodyOut(t *testing.T) {
	inBubble(t, map[string]approvalTest{
		"Telegram takes no message": {
			before: func(r *adapterTest) {
				r.api.Fail("sendMessage", telegramtest.Fault{
					Status:      http.StatusForbidden,
					Description: "Forbidden: bot can't initiate conversation with a user",
				})
			},
		},
		"a 429 holds back messages for minutes": {
			before: func(r *adapterTest) { r.api.Fail("sendMessage", telegramtest.TooMany(2*time.Minute)) },
		},
		"Telegram hangs on the message": {
			before:  func(r *adapterTest) { r.api.Fail("sendMessage", telegramtest.Hang()) },
			guarded: true,
		},
	}, func(t *testing.T, tt approvalTest) {
		tt.state = faketelegram.JoinApproved
		tt.run(t)
	})
}

// heldFrom returns a server that begins to answer every call with 429 after the given time, and does so for the given
// length. Before and afterwards, it passes calls on to the fake.
func (r *adapterTest) heldFrom(after, length time.Duration) roundTripper {
	start := time.Now().Add(after)
	end := start.Add(length)
	return func(req *http.Request) (*http.Response, error) {
		now := time.Now()
		if now.Before(start) || !now.Before(end) {
			return r.api.RoundTrip(req)
		}
		seconds := (end.Sub(now) + time.Second - 1) / time.Second // rounded up
		return limited(int(seconds))(req)
	}
}

// The first message is not edited until the approval's outcome is known.
func TestAnApprovalOutlastsA429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := joinTest(t)
		r.divert("approveChatJoinRequest", time.Hour, r.heldFrom(0, 26*time.Second))
		r.runJoins() // It takes a second of the 26.
		r.requestJoin(7, false)
		r.settledRequest(7)
		r.checkTold(7, "Letting you in… MAT Holders")
		time.Sleep(10 * time.Second)
		r.checkRequest(7, faketelegram.JoinApproved, "[approve]")
		r.checkTold(7, "✅ You're in: MAT Holders")
		check(t, "approvals that reach Telegram", len(r.api.Calls("approveChatJoinRequest")), 1)
	})
}

// personalReasons maps Telegram's reasons to refuse an approval that only the user can change to what the user is told.
// If the account is deleted, that is only the first message.
var personalReasons = map[string]string{
	"USER_CHANNELS_TOO_MUCH": "Not in yet: you're in too many groups and channels\n" +
		"Telegram allows no more. Leave one, then try again.",
	"CHANNELS_TOO_MUCH": "Not in yet: you're in too many groups and channels\n" +
		"Telegram allows no more. Leave one, then try again.",
	"USER_KICKED":            "Not in yet: you're banned there\nOnly moderators of MAT Holders can lift the ban.",
	"USER_BANNED_IN_CHANNEL": "Not in yet: you're banned there\nOnly moderators of MAT Holders can lift the ban.",
	"INPUT_USER_DEACTIVATED": "Letting you in… MAT Holders",
}

// The first message does not yet say that the user is in. A query is queued for the moderators in time.
func TestAPersonIsToldTheirOwnReason(t *testing.T) {
	type test struct {
		guarded bool   // whether the request has a query
		answers string // the bot's answers to the query
		method  string // the call that Telegram refuses
	}
	tests := map[string]test{
		"no query": {
			answers: "[]",
			method:  "approveChatJoinRequest",
		},
		"a query": {
			guarded: true,
			answers: "[queue]",
			method:  "answerChatJoinRequestQuery",
		},
	}
	for reason, told := range personalReasons {
		inBubble(t, tests, func(t *testing.T, tt test) {
			r := joinTest(t)
			shown := r.shownTexts()
			r.api.Bar(7, reason)
			r.runProductJoins()
			r.requestJoin(7, tt.guarded)
			got := r.settledRequest(7)
			r.checkRequest(7, faketelegram.JoinOpen, tt.answers)
			for _, a := range got.Answers {
				if took := a.At.Sub(got.At); took > answerWithin {
					t.Errorf("the query is answered after %v", took)
				}
			}
			check(t, "first message", (*shown)[0], "Letting you in… MAT Holders")
			r.checkTold(7, told)
			check(t, "lines with the cause", r.logs.Lines(tt.method+": refused: the user"), 1)
			check(t, "warnings", r.logs.Lines("level=WARN"), 0)
			r.checkJoinEvents(0, 0, 1)
		})
	}
}

// runProductJoins is like runJoins, with the product's commands, and an account for everybody.
func (r *adapterTest) runProductJoins() {
	r.serve(platformtest.Routed{Router: joinRouter(r.T, everybody, commandstest.Healthy().Sources().Stakes)})
	time.Sleep(time.Second)
}

// everybody is a source in which every user has an account.
var everybody = source[core.Identity, core.Account](func(context.Context, core.Identity) (core.Account, error) {
	return core.Account{DID: "did:x:1"}, nil
})

// The user is in too many groups, leaves one, and presses the button.
func TestAUserWhoseReasonIsGoneIsLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := joinTest(t)
		r.api.Bar(7, "USER_CHANNELS_TOO_MUCH")
		r.runProductJoins()
		r.requestJoin(7, false)
		r.settledRequest(7)
		r.press(7, "Try again")
		r.settledRequest(7)
		r.checkTold(7, personalReasons["USER_CHANNELS_TOO_MUCH"])
		r.api.Bar(7, "")
		r.press(7, "Try again")
		check(t, "state", r.settledRequest(7).State, faketelegram.JoinApproved)
		check(t, "told", strings.Join(r.toldTo(7), "\n"), "✅ You're in: MAT Holders")
	})
}

func TestAPressLetsInTheUserWhoPressed(t *testing.T) {
	inBubble(t, map[string][]telegramtest.Fault{
		"at once":        nil,
		"an answer lost": {{DropAnswer: true}},
	}, func(t *testing.T, faults []telegramtest.Fault) {
		r := joinTest(t)
		message := r.leftOpen(7)
		r.api.Fail("approveChatJoinRequest", faults...)
		for range 2 { // The second press changes nothing.
			r.api.Press(7, faketelegram.Private(7), message, pressAgain)
			r.settledRequest(7)
		}
		r.checkRequest(7, faketelegram.JoinApproved, "[approve]")
		r.checkTold(7, "✅ You're in: MAT Holders")
		counts, last := r.adapter.Joins.For(fmt.Sprint(holders))
		check(t, "counts", counts, chat.JoinCounts{LetIn: 1, Unchecked: 1})
		check(t, "left out", len(last), 0)
	})
}

// pressAgain is the data of the button "Try again".
var pressAgain = fmt.Sprint("1 e 0 join ", holders)

// leftOpen starts the adapter, and makes a user ask to join. The check fails, so that the request stays open. leftOpen
// returns the ID of the bot's message to the user, which has the button "Try again".
func (r *adapterTest) leftOpen(user int64) (message int64) {
	r.runJoins()
	r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
		req.From.ID = fmt.Sprint(uncheckable)
		return joinReply(ctx, req)
	}
	r.requestJoin(user, false)
	r.settledRequest(user)
	r.handler.Reply = joinReply
	return r.api.Sent()[0].ID
}

func TestAPressLetsInNobodyElse(t *testing.T) {
	type test struct {
		user int64
		chat faketelegram.Chat
		told string
	}
	inBubble(t, map[string]test{
		"without an open request": {
			user: 8,
			chat: faketelegram.Private(8),
			told: "⚠️ No open request\nYou have no open request to join MAT Holders.",
		},
		"in a group": {
			user: 7,
			chat: faketelegram.Group(group),
			told: "⚠️ This button has expired",
		},
		"in another user's chat": {
			user: 7,
			chat: faketelegram.Private(8),
			told: "⚠️ This button has expired",
		},
	}, func(t *testing.T, tt test) {
		r := joinTest(t)
		message := r.leftOpen(7)
		r.api.Promote(holders, 8, "left")
		r.api.Press(tt.user, tt.chat, message, pressAgain)
		r.settledRequest(7)
		r.checkRequest(7, faketelegram.JoinOpen, "[]")
		if told := r.pressAnswers(1)[0].Text; !strings.HasPrefix(told, tt.told) {
			t.Errorf("told %q, want %q", told, tt.told)
		}
	})
}
