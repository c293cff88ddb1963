package telegram

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform"
	"herald/internal/platform/platformtest"
)

// holders is a group that people ask to join.
const holders = -1002

func withJoins(c *Config) {
	c.Settings.JoinChats, c.Joins = map[int64]chat.Requirement{holders: {}}, &platform.JoinLog{}
}

var holdersChat = faketelegram.Chat{ID: holders, Type: "supergroup", Title: "MAT Holders"}

// joinTest is an adapterTest with an adapter that answers the join requests of holders by
// joinReply.
func joinTest(t *testing.T, changes ...func(*Config)) *adapterTest {
	r := setUp(t, append(changes, withJoins)...)
	r.handler.Reply = joinReply
	r.api.GrantInvite(holders, true)
	r.api.SetChat(faketelegram.ChatInfo{Chat: holdersChat, JoinByRequest: true})
	return r
}

// again is a button that asks once more.
var again = chat.Action{Label: chat.Say("button.again"), Command: chat.JoinCommand, Args: []string{fmt.Sprint(holders)}, Edit: true}

// joinReply answers a JoinCommand: the users 1 to 99 are admitted, those above 900 cannot
// be checked, and all others lack what is required.
func joinReply(_ context.Context, req *chat.Request) (reply *chat.Reply) {
	defer func() { reply.Language, _ = chat.LanguageOf(req.Locale) }()
	switch id := req.From.ID; {
	case req.Command != chat.JoinCommand:
		return &chat.Reply{Title: chat.Say(req.Command)}
	case len(id) <= 2:
		return admitted(req)
	case id > "900":
		return &chat.Reply{Tone: chat.Warning, Title: chat.Say("join.unknown"), Text: chat.Say("reason.timeout"), Actions: []chat.Action{again}}
	}
	return &chat.Reply{Tone: chat.Negative, Title: chat.Say("join.no"), Join: chat.Join{LeftOut: chat.Say("details.unregistered")}, Actions: []chat.Action{again}}
}

// admitted is a reply that lets the sender into the group of the request.
func admitted(req *chat.Request) *chat.Reply {
	group := chat.Values{"group": chat.NewUntrusted(req.GroupName, 64)}
	admission := &chat.Admission{
		Group: req.Args.First(),
		Say: func(outcome chat.AdmissionOutcome) *chat.Reply {
			switch outcome {
			case chat.LetIn:
				return &chat.Reply{Tone: chat.Positive, Title: chat.SayWith("join.in", group)}
			case chat.NotRequested:
				return &chat.Reply{Tone: chat.Warning, Audience: chat.SenderAlone, Title: chat.Say("join.gone.title"), Text: chat.SayWith("join.gone.text", group)}
			}
			return &chat.Reply{Tone: chat.Warning, Title: chat.Say("join.failed"), Text: chat.Say([]string{"join.denied", "reason.timeout", "reason.internal"}[outcome-chat.MayNotApprove])}
		},
	}
	return &chat.Reply{
		Title:  chat.SayWith("join.joining", group),
		Footer: chat.Parts{chat.Say("Demo.")},
		Join:   chat.Join{Admit: admission},
	}
}

// lateJoinReply is joinReply at the Deadline.
func lateJoinReply(ctx context.Context, req *chat.Request) *chat.Reply {
	time.Sleep(time.Until(req.Deadline))
	return joinReply(ctx, req)
}

// runJoins starts the adapter, and returns once Telegram knows the kinds of update it wants.
func (r *adapterTest) runJoins() {
	r.run()
	time.Sleep(time.Second)
}

// asks has a user ask to join, and delivers the update.
func (r *adapterTest) asks(user int64, guarded bool) {
	r.Helper()
	if r.api.RequestJoin(holdersChat, faketelegram.Person(user), guarded) == 0 {
		r.Fatal("the bot is not told of the request")
	}
	if r.adapter.Settings.WebhookURL != "" {
		for _, body := range r.api.Dequeue() {
			go r.deliver(body)
		}
	}
}

// joined returns the request of a user, once nothing is in flight any more.
func (r *adapterTest) joined(user int64) faketelegram.JoinRequest {
	r.Helper()
	time.Sleep(20 * time.Second)
	r.idle(time.Minute)
	for _, request := range r.api.JoinRequests() {
		if request.From.ID == user {
			return request
		}
	}
	return faketelegram.JoinRequest{}
}

// answersOf returns the bot's answers that had an effect.
func answersOf(request faketelegram.JoinRequest) (results []string) {
	for _, a := range request.Answers {
		results = append(results, a.Result)
	}
	return results
}

// toldTo returns what stands in a user's private chat, one message after the other.
func (r *adapterTest) toldTo(user int64) string {
	var all []string
	for _, m := range r.api.Sent() {
		if m.Chat == user && !m.Deleted {
			all = append(all, m.Text)
		}
	}
	return strings.Join(all, "\n---\n")
}

func TestJoinRequestsAreAnsweredOnce(t *testing.T) {
	const letIn, no, unknown = 7, 700, 901
	for way, change := range ways {
		for _, guarded := range []bool{false, true} {
			inBubble(t, map[string]int64{fmt.Sprintf("let in %s %t", way, guarded): letIn, fmt.Sprintf("no %s %t", way, guarded): no, fmt.Sprintf("unknown %s %t", way, guarded): unknown}, func(t *testing.T, user int64) {
				r := joinTest(t, change)
				r.runJoins()
				r.asks(user, guarded)
				got := r.joined(user)
				state, answers, told, counted := faketelegram.JoinApproved, "[approve]", "✅ You're in: MAT Holders", "join_approved"
				switch {
				case user == no:
					state, told, counted = faketelegram.JoinOpen, "Not in yet: you're not registered yet", "join_left_open"
				case user == unknown:
					state, told, counted = faketelegram.JoinOpen, "⚠️ Not in yet: I can't check that right now\nThat took too long.", "join_unknown"
				}
				if user != letIn {
					answers = map[bool]string{false: "[]", true: "[queue]"}[guarded]
				}
				check(t, "state", got.State, state)
				check(t, "answers", fmt.Sprint(answersOf(got)), answers)
				if shown := r.toldTo(user); !strings.HasPrefix(shown, told) || strings.Contains(shown, "---") {
					t.Errorf("told %q, want one message that begins with %q", shown, told)
				}
				check(t, "counted "+r.events.String(), r.events.Of(counted), 1)
				counts, last := r.adapter.Joins.For(fmt.Sprint(holders))
				want := map[int64]chat.JoinCounts{letIn: {LetIn: 1}, no: {LeftOpen: 1}, unknown: {Unchecked: 1}}[user]
				check(t, "counts for moderators", counts, want)
				why := map[int64]string{no: "details.unregistered"}[user]
				if user != letIn && (len(last) != 1 || last[0].User != userOf(user) || last[0].Why.Key != why) || user == letIn && len(last) > 0 {
					t.Errorf("left out: %+v", last)
				}
			})
		}
	}
}

// Nobody is in a group of whom Telegram does not say so.
func TestNobodyIsToldTheyAreInWithoutAnApproval(t *testing.T) {
	type test struct {
		guarded bool
		before  func(r *adapterTest)
		state   faketelegram.JoinState
		told    string
	}
	refused := func(text string) telegramtest.Fault {
		return telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: " + text}
	}
	inBubble(t, map[string]test{
		"the right is taken away": {false, func(r *adapterTest) {
			r.api.Fail("approveChatJoinRequest", refused("not enough rights to manage chat invite link"))
			r.api.Fail("editMessageText", telegramtest.TooMany(messageTime+time.Second))
		}, faketelegram.JoinOpen, "⚠️ Not in yet: I can't let you in right now\nI can't approve people there."},
		"the query has expired": {true, func(r *adapterTest) {
			r.api.Fail("answerChatJoinRequestQuery", refused("query is too old and response timeout expired or query ID is invalid"))
		}, faketelegram.JoinOpen, "⚠️ Not in yet: I can't let you in right now\nThat took too long."},
		"Telegram refuses for another reason": {false, func(r *adapterTest) {
			r.api.Fail("approveChatJoinRequest", refused("CHANNEL_PRIVATE"))
		}, faketelegram.JoinOpen, "⚠️ Not in yet: I can't let you in right now\nSomething went wrong on my side."},
		"a moderator declines": {false, func(r *adapterTest) {
			r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
				r.api.CloseJoin(holders, 7, faketelegram.JoinDeclined)
				return joinReply(ctx, req)
			}
		}, faketelegram.JoinDeclined, ""},
		"a moderator lets them in": {false, func(r *adapterTest) {
			r.api.Start(7)
			r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
				r.api.CloseJoin(holders, 7, faketelegram.JoinApproved)
				return joinReply(ctx, req)
			}
		}, faketelegram.JoinApproved, "✅ You're in: MAT Holders"},
		"the approval is carried out without an answer": {false, func(r *adapterTest) {
			r.api.Fail("approveChatJoinRequest", telegramtest.Page(http.StatusBadGateway).CarriedOut())
			r.api.Fail("getChatMember", telegramtest.TooMany(time.Second), telegramtest.Hang())
		}, faketelegram.JoinApproved, "✅ You're in: MAT Holders"},
		"the answer to the query is carried out without an answer": {true, func(r *adapterTest) {
			r.api.Fail("answerChatJoinRequestQuery", telegramtest.Page(http.StatusBadGateway).CarriedOut())
		}, faketelegram.JoinApproved, "✅ You're in: MAT Holders"},
		"the approval does not arrive": {false, func(r *adapterTest) {
			r.api.Fail("approveChatJoinRequest", telegramtest.Page(http.StatusBadGateway), telegramtest.TooMany(time.Second))
		}, faketelegram.JoinApproved, "✅ You're in: MAT Holders"},
		"Telegram hangs on the approval": {false, func(r *adapterTest) {
			r.api.Fail("approveChatJoinRequest", telegramtest.Hang())
		}, faketelegram.JoinApproved, "✅ You're in: MAT Holders"},
		"Telegram takes no approval": {false, func(r *adapterTest) {
			r.api.Break("approveChatJoinRequest", telegramtest.Page(http.StatusBadGateway))
		}, faketelegram.JoinOpen, "⚠️ Not in yet: I can't let you in right now\nThat took too long."},
		"every approval is carried out without an answer": {false, func(r *adapterTest) {
			r.api.Break("approveChatJoinRequest", telegramtest.Page(http.StatusBadGateway).CarriedOut())
		}, faketelegram.JoinApproved, "✅ You're in: MAT Holders"},
		"Telegram takes no message": {false, func(r *adapterTest) {
			r.api.Fail("sendMessage", telegramtest.Fault{Status: http.StatusForbidden, Description: "Forbidden: bot can't initiate conversation with a user"})
		}, faketelegram.JoinApproved, ""},
		"a 429 holds back messages for minutes": {false, func(r *adapterTest) {
			r.api.Fail("sendMessage", telegramtest.TooMany(2*time.Minute))
		}, faketelegram.JoinApproved, ""},
		"Telegram hangs on the message": {true, func(r *adapterTest) {
			r.api.Fail("sendMessage", telegramtest.Hang())
		}, faketelegram.JoinApproved, ""},
	}, func(t *testing.T, tt test) {
		r := joinTest(t)
		tt.before(r)
		r.runJoins()
		r.asks(7, tt.guarded)
		got := r.joined(7)
		check(t, "state", got.State, tt.state)
		check(t, "requests in flight", r.adapter.joins.count(), 0)
		if shown := r.toldTo(7); !strings.HasPrefix(shown, tt.told) || tt.told == "" && shown != "" || strings.Contains(shown, "---") {
			t.Errorf("told %q, want %q", shown, tt.told)
		}
		if len(got.Answers) > 1 {
			t.Errorf("answered with %v", answersOf(got))
		}
		in := min(1, strings.Count(string(got.State), "approved"))
		check(t, "counted as let in", r.events.Of("join_approved"), in)
		check(t, "counted as unknown", r.events.Of("join_unknown"), 1-in)
		check(t, "warnings", r.logs.Lines("a join request could not be answered"), strings.Count(tt.told, "⚠️"))
	})
}

// reasons are the refusals of an approval for the person's own reasons, and what the person is told.
var reasons = map[string]string{
	"USER_CHANNELS_TOO_MUCH": "Not in yet: you're in too many groups and channels\nTelegram allows no more. Leave one, then try again.",
	"CHANNELS_TOO_MUCH":      "Not in yet: you're in too many groups and channels\nTelegram allows no more. Leave one, then try again.",
	"USER_KICKED":            "Not in yet: you're banned there\nOnly moderators of MAT Holders can lift the ban.",
	"USER_BANNED_IN_CHANNEL": "Not in yet: you're banned there\nOnly moderators of MAT Holders can lift the ban.",
	"INPUT_USER_DEACTIVATED": "Letting you in… MAT Holders",
}

// Nobody reads that they are approved before they are in. A query is left to moderators in time.
func TestAPersonIsToldTheirOwnReason(t *testing.T) {
	for reason, told := range reasons {
		inBubble(t, map[string]bool{reason: false, reason + ", a query": true}, func(t *testing.T, guarded bool) {
			r := joinTest(t)
			var shown []string
			r.api.Watch(func(e faketelegram.Event) {
				if e.Message != nil {
					shown = append(shown, e.Message.Text)
				}
			})
			r.api.Bar(7, reason)
			r.serve(platformtest.Routed{Router: joinRouter(t, everybody, commandstest.Healthy().Sources().Stakes)})
			time.Sleep(time.Second)
			r.asks(7, guarded)
			got := r.joined(7)
			check(t, "state", got.State, faketelegram.JoinOpen)
			check(t, "answers", fmt.Sprint(answersOf(got)), map[bool]string{false: "[]", true: "[queue]"}[guarded])
			if len(got.Answers) > 0 && got.Answers[0].At.Sub(got.At) > answerWithin {
				t.Errorf("the query is answered after %v", got.Answers[0].At.Sub(got.At))
			}
			check(t, "first", shown[0], "Letting you in… MAT Holders")
			if text := r.toldTo(7); !strings.HasPrefix(text, told) || strings.Contains(text, "---") {
				t.Errorf("told %q, want %q", text, told)
			}
			cause := map[bool]string{false: "approveChatJoinRequest: refused: the user", true: "answerChatJoinRequestQuery: refused: the user"}[guarded]
			check(t, "lines with the cause", r.logs.Lines(cause), 1)
			check(t, "warnings", r.logs.Lines("level=WARN"), 0)
			check(t, "counted as unknown", r.events.Of("join_unknown"), 1)
		})
	}
}

// everybody has an account.
var everybody = source[core.Identity, core.Account](func(_ context.Context, id core.Identity) (core.Account, error) {
	return core.Account{DID: "did:x:1"}, nil
})

// The person leaves a group, presses, and is in.
func TestAReasonThatIsGoneLetsThemIn(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := joinTest(t)
		r.api.Bar(7, "USER_CHANNELS_TOO_MUCH")
		r.serve(platformtest.Routed{Router: joinRouter(t, everybody, commandstest.Healthy().Sources().Stakes)})
		time.Sleep(time.Second)
		r.asks(7, false)
		r.joined(7)
		r.press(7, "Try again")
		r.joined(7)
		check(t, "told while it lasts", strings.HasPrefix(r.toldTo(7), reasons["USER_CHANNELS_TOO_MUCH"]), true)
		r.api.Bar(7, "")
		r.press(7, "Try again")
		check(t, "state", r.joined(7).State, faketelegram.JoinApproved)
		check(t, "told", r.toldTo(7), "✅ You're in: MAT Holders")
	})
}

// severalGroups returns n groups that are in JoinChats.
func (r *adapterTest) severalGroups(n int64) (groups []faketelegram.Chat) {
	for i := range n {
		group := faketelegram.Chat{ID: -2000 - i, Type: "supergroup", Title: fmt.Sprint("Group ", i)}
		r.adapter.Settings.JoinChats[group.ID] = chat.Requirement{}
		r.api.GrantInvite(group.ID, true)
		groups = append(groups, group)
	}
	return groups
}

// Somebody who asks to join several groups at a time is told about each.
func TestEachGroupIsTold(t *testing.T) {
	outcomes := map[int64]string{7: "You're in: Group", 700: "Not in yet: you're not registered", 901: "Not in yet: I can't check"}
	for user, told := range outcomes {
		pauses := map[string]time.Duration{told + ", at once": 0, told + ", within a second": 300 * time.Millisecond, told + ", later": time.Second}
		inBubble(t, pauses, func(t *testing.T, pause time.Duration) {
			r := joinTest(t, paced)
			groups := r.severalGroups(6)
			r.runJoins()
			for _, group := range groups {
				r.api.RequestJoin(group, faketelegram.Person(user), false)
				time.Sleep(pause)
			}
			r.joined(user)
			check(t, "told", strings.Count(r.toldTo(user), told), len(groups))
		})
	}
}

// A few people are no crowd.
func TestAFewWhoAskAtOnceAreAllTold(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := joinTest(t, paced)
		r.runJoins()
		for user := range int64(maxChecks) {
			r.asks(1+user, user%2 == 0)
		}
		r.joined(1)
		for user := range int64(maxChecks) {
			if got := r.joined(1 + user); got.State != faketelegram.JoinApproved || !strings.HasPrefix(r.toldTo(1+user), "✅ You're in") {
				t.Errorf("%+v is told %q", got, r.toldTo(1+user))
			}
		}
	})
}

// In a crowd nobody waits for a message. Those who started the bot are told that they are in.
func TestACrowdIsLetInBeforeItIsTold(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := joinTest(t)
		r.runJoins()
		began, told := time.Now(), 0
		for user := range int64(40) {
			if user%2 == 0 {
				r.api.Start(1 + user)
			}
			r.asks(1+user, false)
		}
		r.joined(1)
		for _, j := range r.api.JoinRequests() {
			if j.State != faketelegram.JoinApproved || j.Answers[0].At.Sub(began) > joiningTime+time.Second {
				t.Errorf("%+v", j)
			}
			if started := j.From.ID%2 == 1; started && strings.HasPrefix(r.toldTo(j.From.ID), "✅ You're in: MAT Holders") {
				told++
			}
		}
		check(t, "told of those who started the bot", told, 20)
	})
}

// The outcome is sent as a new message if the one before the approval is not out.
func TestTheOutcomeIsToldWithoutAFirstMessage(t *testing.T) {
	inBubble(t, map[string]telegramtest.Fault{
		"a 429 of some seconds": telegramtest.TooMany(5 * time.Second), "a broken proxy": telegramtest.Page(http.StatusBadGateway),
		"no answer": telegramtest.Hang(), "a connection that breaks": telegramtest.ResetBefore(),
	}, func(t *testing.T, fault telegramtest.Fault) {
		for reason, told := range map[string]string{"": "✅ You're in", "USER_CHANNELS_TOO_MUCH": "Not in yet: you're in too many groups"} {
			r := joinTest(t)
			r.api.Start(7)
			r.api.Bar(7, reason)
			r.api.Fail("sendMessage", fault)
			stop := r.serve(platformtest.Routed{Router: joinRouter(t, everybody, commandstest.Healthy().Sources().Stakes)})
			time.Sleep(time.Second)
			r.asks(7, false)
			r.joined(7)
			if text := r.toldTo(7); !strings.HasPrefix(text, told) {
				t.Errorf("told %q, want %q", text, told)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
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
		if got := r.joined(7); got.UpdateID == 0 || got.State != faketelegram.JoinOpen || len(r.handler.Requests()) > 0 || r.toldTo(7) != "" {
			t.Errorf("%+v, %d requests handled", got, len(r.handler.Requests()))
		}
	})
}

// Until its deadline, a check may take as long as it needs. A guardian's ten seconds begin with
// the date of the request.
func TestAQueryIsAnsweredWithinTenSeconds(t *testing.T) {
	const old = 4 * time.Second
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := joinTest(t)
		r.handler.Reply = lateJoinReply
		r.runJoins()
		r.api.SetAhead(-old)
		for _, user := range []int64{7, 700} {
			r.asks(user, true)
			got := r.joined(user)
			if len(got.Answers) != 1 || got.Answers[0].At.Sub(got.At) > answerWithin-old || got.Answers[0].At.Sub(got.At) < answerWithin-old-approveTime {
				t.Errorf("asked at %v, answered with %v", got.At, got.Answers)
			}
		}
	})
}

// A press checks who presses, and approves nothing but their own open request.
func TestAPressLetsInOnlyWhoPresses(t *testing.T) {
	type test struct {
		user int64
		chat faketelegram.Chat
		data string
		in   bool
		told string
		lost []telegramtest.Fault // of the approval
	}
	own := fmt.Sprintf("1 e 0 join %d", holders)
	inBubble(t, map[string]test{
		"one's own":                {7, faketelegram.Private(7), own, true, "✅ You're in: MAT Holders", nil},
		"one's own, answer lost":   {7, faketelegram.Private(7), own, true, "✅ You're in: MAT Holders", []telegramtest.Fault{{DropAnswer: true}}},
		"without an open request":  {8, faketelegram.Private(8), own, false, "⚠️ No open request\nYou have no open request to join MAT Holders.", nil},
		"in a group":               {7, faketelegram.Group(group), own, false, "⚠️ This button has expired", nil},
		"below somebody's message": {7, faketelegram.Private(8), own, false, "⚠️ This button has expired", nil},
	}, func(t *testing.T, tt test) {
		r := joinTest(t)
		r.runJoins()
		r.api.Promote(holders, 8, "left")
		r.handler.Reply = func(ctx context.Context, req *chat.Request) *chat.Reply {
			req.From.ID = "901"
			return joinReply(ctx, req)
		}
		r.asks(7, false)
		r.joined(7)
		r.handler.Reply = joinReply
		message := r.api.Sent()[0].ID
		r.api.Fail("approveChatJoinRequest", tt.lost...)
		r.api.Press(tt.user, tt.chat, message, tt.data)
		got := r.joined(7)
		check(t, "let in", got.State == faketelegram.JoinApproved, tt.in)
		if tt.in { // A second press lets in nobody any more.
			r.api.Press(tt.user, tt.chat, message, tt.data)
			r.joined(7)
			check(t, "let in and left out", fmt.Sprint(r.adapter.Joins.For(fmt.Sprint(holders))), "{1 0 1} []")
		}
		if told := r.pressAnswers(len(r.api.Calls("answerCallbackQuery")))[0].Text + r.toldTo(tt.user); !strings.HasPrefix(told, tt.told) {
			t.Errorf("told %q, want %q", told, tt.told)
		}
	})
}

func TestAJoinRequestIsAnsweredInThePersonsLanguage(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := joinTest(t)
		r.api.Fail("getChat", telegramtest.Status(http.StatusBadRequest)) // The request names its group.
		r.runJoins()
		var shown []string
		r.api.Watch(func(e faketelegram.Event) {
			if e.Message != nil {
				shown = append(shown, e.Message.Text)
			}
		})
		for _, user := range []int64{7, 700} {
			r.api.RequestJoin(holdersChat, faketelegram.User{ID: user, FirstName: "Ana", Language: "es"}, false)
			r.joined(user)
		}
		want := "Dejándote entrar… MAT Holders\nDemo.|✅ Ya estás dentro: MAT Holders\nDemo.|Aún no estás dentro: no tienes registro"
		check(t, "shown", strings.Join(shown, "|"), want)
	})
}

// A query that is answered already, or has expired, needs nobody's attention; others need it
// once a minute.
func TestAQueryWithoutAnAnswerIsLogged(t *testing.T) {
	type test struct {
		fault    telegramtest.Fault
		warnings int
	}
	inBubble(t, map[string]test{
		"expired":  {telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: query is too old and response timeout expired or query ID is invalid"}, 0},
		"no right": {telegramtest.Fault{Status: http.StatusBadRequest, Description: "Bad Request: CHAT_ADMIN_REQUIRED"}, 1},
		"broken":   {telegramtest.Page(http.StatusBadGateway), 1},
	}, func(t *testing.T, tt test) {
		r := joinTest(t)
		r.api.Break("answerChatJoinRequestQuery", tt.fault)
		r.runJoins()
		r.asks(700, true)
		r.asks(701, true)
		r.joined(701)
		check(t, "warnings", r.logs.Lines(`level=WARN msg="telegram: a join request could not be answered"`), tt.warnings)
	})
}

func TestTheLinkOfAGroup(t *testing.T) {
	for want, c := range map[string]models.Chat{
		"https://t.me/holders": {ID: -1001234567890, Username: "holders"}, "https://t.me/c/1234567890/1": {ID: -1001234567890}, "": {ID: -1001234},
	} {
		check(t, "link", linkTo(&c), want)
	}
}
