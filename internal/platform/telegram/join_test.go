package telegram

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// joinOutcome is how a user's request ends.
type joinOutcome struct {
	user    int64
	state   faketelegram.JoinState // of the request in the end
	answers string                 // the bot's answers to Telegram, as answersOf prints them
	told    string                 // how the message to the user begins
	counted string                 // the event
}

// checkJoinOutcomes makes each user ask to join, by polling and by webhook. guarded is whether each request has a
// query.
func checkJoinOutcomes(t *testing.T, guarded bool, cases map[string]joinOutcome) {
	t.Helper()
	for _, way := range ways {
		inBubble(t, cases, func(t *testing.T, tt joinOutcome) {
			r := joinTest(t, way)
			r.runJoins()
			r.requestJoin(tt.user, guarded)
			r.settledRequest(tt.user)
			r.checkRequest(tt.user, tt.state, tt.answers)
			r.checkTold(tt.user, tt.told)
			check(t, "counted "+r.events.String(), r.events.Of(tt.counted), 1)
		})
	}
}

// How the messages to users begin.
const (
	toldIn      = "✅ You're in: MAT Holders"
	toldNo      = "Not in yet: you're not registered yet"
	toldUnknown = "⚠️ Not in yet: I can't check that right now\nThat took too long."
)

func TestJoinRequestsAreAnsweredOnce(t *testing.T) {
	const guarded = false
	checkJoinOutcomes(t, guarded, map[string]joinOutcome{
		"let in": {
			user:    qualified,
			state:   faketelegram.JoinApproved,
			answers: "[approve]",
			told:    toldIn,
			counted: "join_approved",
		},
		"no": {
			user:    unqualified,
			state:   faketelegram.JoinOpen,
			answers: "[]",
			told:    toldNo,
			counted: "join_left_open",
		},
		"unknown": {
			user:    uncheckable,
			state:   faketelegram.JoinOpen,
			answers: "[]",
			told:    toldUnknown,
			counted: "join_unknown",
		},
	})
}

// Telegram waits for the answer to a query of a group that the bot guards.
func TestJoinQueriesAreAnsweredOnce(t *testing.T) {
	const guarded = true
	checkJoinOutcomes(t, guarded, map[string]joinOutcome{
		"let in": {
			user:    qualified,
			state:   faketelegram.JoinApproved,
			answers: "[approve]",
			told:    toldIn,
			counted: "join_approved",
		},
		"no": {
			user:    unqualified,
			state:   faketelegram.JoinOpen,
			answers: "[queue]",
			told:    toldNo,
			counted: "join_left_open",
		},
		"unknown": {
			user:    uncheckable,
			state:   faketelegram.JoinOpen,
			answers: "[queue]",
			told:    toldUnknown,
			counted: "join_unknown",
		},
	})
}

func TestModeratorsSeeHowRequestsEnded(t *testing.T) {
	type test struct {
		user    int64
		counts  chat.JoinCounts
		leftOut int    // how many people are left out
		why     string // the key of the reason
	}
	inBubble(t, map[string]test{
		"let in": {
			user:   qualified,
			counts: chat.JoinCounts{LetIn: 1},
		},
		"no": {
			user:    unqualified,
			counts:  chat.JoinCounts{LeftOpen: 1},
			leftOut: 1,
			why:     "details.unregistered",
		},
		"unknown": {
			user:    uncheckable,
			counts:  chat.JoinCounts{Unchecked: 1},
			leftOut: 1,
		},
	}, func(t *testing.T, tt test) {
		r := joinTest(t)
		r.runJoins()
		r.requestJoin(tt.user, false)
		r.settledRequest(tt.user)
		counts, leftOut := r.adapter.Joins.For(fmt.Sprint(holders))
		check(t, "counts", counts, tt.counts)
		check(t, "people left out", len(leftOut), tt.leftOut)
		for _, out := range leftOut {
			check(t, "user", out.User, userOf(tt.user))
			check(t, "why", out.Why.Key, tt.why)
		}
	})
}

func TestJoinRequestsThatAreNotAnswered(t *testing.T) {
	inBubble(t, map[string]func(*adapterTest){
		"of a bot": func(r *adapterTest) {
			r.api.RequestJoin(holdersChat, faketelegram.User{ID: 7, IsBot: true, FirstName: "Bot"}, false)
		},
		"to another group": func(r *adapterTest) {
			r.api.GrantInvite(group, true)
			r.api.RequestJoin(faketelegram.Group(group), faketelegram.Person(7), false)
		},
	}, func(t *testing.T, request func(*adapterTest)) {
		r := joinTest(t)
		r.runJoins()
		request(r)
		if got := r.settledRequest(7); got.UpdateID == 0 {
			t.Error("the bot is not told of the request")
		}
		r.checkRequest(7, faketelegram.JoinOpen, "[]")
		r.checkTold(7, "")
		check(t, "requests handled", len(r.handler.Requests()), 0)
	})
}

// A request is acknowledged before it is answered, so that it does not hold back the updates behind it. Telegram does
// not deliver it again.
func TestAJoinRequestIsAcknowledgedAsSoonAsItIsAccepted(t *testing.T) {
	inBubble(t, ways, func(t *testing.T, way func(*Config)) {
		r := joinTest(t, way)
		r.handler.Reply = lateJoinReply
		r.runJoins()
		r.api.RequestJoin(holdersChat, faketelegram.Person(qualified), false)
		if r.adapter.Settings.WebhookURL != "" {
			body := r.api.Dequeue()[0]
			began := time.Now()
			check(t, "status", r.postUpdate(body), 200)
			check(t, "time until the response", time.Since(began), 0)
			check(t, "status of a repetition", r.postUpdate(body), 200)
		}
		time.Sleep(time.Second)
		check(t, "updates in the queue", len(r.api.Pending()), 0)
		check(t, "requests in flight", r.requestsInFlight(), 1)
		r.settledRequest(qualified)
		check(t, "checks", len(r.handler.Requests()), 1)
		r.checkRequest(qualified, faketelegram.JoinApproved, "[approve]")
	})
}

func TestADrainRefusesJoinRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := joinTest(t)
		stop := r.runJoins()
		s := r.adapter.current.Load()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		request := &joinRequest{ChatJoinRequest: models.ChatJoinRequest{Chat: models.Chat{ID: holders}}}
		check(t, "accepted", s.acceptJoin(request), false)
		check(t, "requests in flight", r.requestsInFlight(), 0)
	})
}

func TestTheDeadlineOfAJoinRequest(t *testing.T) {
	arrived := time.Unix(1_800_000_000, 0)
	for name, tt := range map[string]struct {
		query string        // its ID
		age   time.Duration // at the request's arrival, by its date
		want  time.Duration // from the arrival to the deadline
	}{
		"no query": {
			want: 4 * time.Minute,
		},
		"no query, an old date": {
			age:  time.Hour,
			want: 4 * time.Minute,
		},
		"a query": {
			query: "1",
			want:  10 * time.Second,
		},
		"a query that was delivered late": {
			query: "1",
			age:   4 * time.Second,
			want:  6 * time.Second,
		},
		"a query by a slow clock": {
			query: "1",
			age:   time.Hour,
			want:  5 * time.Second,
		},
		"a query by a fast clock": {
			query: "1",
			age:   -time.Hour,
			want:  10 * time.Second,
		},
	} {
		r := &joinRequest{QueryID: tt.query}
		r.Date = int(arrived.Add(-tt.age).Unix())
		check(t, name, joinDeadline(r, arrived).Sub(arrived), tt.want)
	}
}

// The check takes as long as it may. The ten seconds begin at the date of the request, which is old when it arrives.
func TestAQueryIsAnsweredWithinTenSeconds(t *testing.T) {
	const old = 4 * time.Second
	inBubble(t, map[string]int64{"let in": qualified, "no": unqualified}, func(t *testing.T, user int64) {
		r := joinTest(t)
		r.handler.Reply = lateJoinReply
		r.runJoins()
		r.api.SetAhead(-old)
		r.requestJoin(user, true)
		got := r.settledRequest(user)
		if len(got.Answers) != 1 {
			t.Fatalf("answered with %v", got.Answers)
		}
		took := got.Answers[0].At.Sub(got.At)
		if took > answerWithin-old || took < answerWithin-old-reserveAfterCheck {
			t.Errorf("answered after %v", took)
		}
	})
}

// If a query has expired or is answered already, nobody can do anything. Any other failure is logged as a warning, once
// a minute.
func TestAQueryWithoutAnAnswerIsLogged(t *testing.T) {
	type test struct {
		fault    telegramtest.Fault
		warnings int
	}
	inBubble(t, map[string]test{
		"expired": {
			fault: refusal("query is too old and response timeout expired or query ID is invalid"),
		},
		"no right": {
			fault:    refusal("CHAT_ADMIN_REQUIRED"),
			warnings: 1,
		},
		"broken": {
			fault:    telegramtest.Page(502),
			warnings: 1,
		},
	}, func(t *testing.T, tt test) {
		r := joinTest(t)
		r.api.Break("answerChatJoinRequestQuery", tt.fault)
		r.runJoins()
		r.requestJoin(700, true)
		r.requestJoin(701, true)
		r.settledRequest(701)
		const warning = `level=WARN msg="telegram: a join request could not be answered"`
		check(t, "warnings", r.logs.Lines(warning), tt.warnings)
	})
}

// A panic leaves its own request open, and nobody else's.
func TestAPanicConcernsOneJoinRequest(t *testing.T) {
	inBubble(t, map[string]bool{"no query": false, "a query": true}, func(t *testing.T, guarded bool) {
		r := joinTest(t)
		r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
			reply := joinReply(ctx, req)
			if req.From.ID == "7" {
				reply.Join.Admit.Say = func(chat.ApprovalResult) *chat.Reply { panic("a defect") }
			}
			return reply
		}
		r.api.Bar(7, "USER_KICKED")
		r.runJoins()
		r.requestJoin(7, guarded)
		r.requestJoin(8, guarded)
		r.settledRequest(7)
		wantAnswers := "[]"
		if guarded {
			wantAnswers = "[queue]"
		}
		r.checkRequest(7, faketelegram.JoinOpen, wantAnswers)
		r.checkRequest(8, faketelegram.JoinApproved, "[approve]")
		r.checkTold(8, "✅ You're in: MAT Holders")
		r.checkJoinEvents(1, 0, 1)
		check(t, "panics", r.events.Of("panic"), 1)
		check(t, "requests in flight", r.requestsInFlight(), 0)
		check(t, "checks that have not ended", len(r.adapter.door.queries.places)+len(r.adapter.door.others.places), 0)
	})
}

func TestAJoinRequestIsAnsweredInThePersonsLanguage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := joinTest(t)
		r.api.Fail("getChat", telegramtest.Status(400)) // The group's name is in the request.
		r.runJoins()
		shown := r.shownTexts()
		for _, user := range []int64{qualified, unqualified} {
			r.api.RequestJoin(holdersChat, faketelegram.User{ID: user, FirstName: "Ana", Language: "es"}, false)
			r.settledRequest(user)
		}
		want := []string{
			"Dejándote entrar… MAT Holders\nDemo.",
			"✅ Ya estás dentro: MAT Holders\nDemo.",
			"Aún no estás dentro: no tienes registro",
		}
		check(t, "shown", strings.Join(*shown, "|"), strings.Join(want, "|"))
	})
}

func TestTheLinkOfAGroup(t *testing.T) {
	for want, c := range map[string]models.Chat{
		"https://t.me/holders":        {ID: -1001234567890, Username: "holders"},
		"https://t.me/c/1234567890/1": {ID: -1001234567890},
		"":                            {ID: -1001234},
	} {
		check(t, "link", linkTo(&c), want)
	}
}
