package telegram

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/platform"
)

// holders is a group that people ask to join.
const holders = -1002

var holdersChat = faketelegram.Chat{ID: holders, Type: "supergroup", Title: "MAT Holders"}

func withJoins(c *Config) {
	c.Settings.JoinChats = map[int64]chat.Requirement{holders: {}}
	c.Joins = &platform.JoinLog{}
}

// joinTest returns an adapterTest. Its handler answers join requests for holders by joinReply.
func joinTest(t *testing.T, changes ...func(*Config)) *adapterTest {
	r := setUp(t, append(changes, withJoins)...)
	r.handler.Reply = joinReply
	r.api.GrantInvite(holders, true)
	r.api.SetChat(faketelegram.ChatInfo{Chat: holdersChat, JoinByRequest: true})
	return r
}

// tryAgain is a button that asks once more.
var tryAgain = chat.Action{
	Label:   chat.Say("button.again"),
	Command: chat.JoinCommand,
	Args:    []string{fmt.Sprint(holders)},
	Edit:    true,
}

// IDs of users: joinReply admits the first user, turns away the second, and cannot check the third.
const (
	qualified   = 7
	unqualified = 700
	uncheckable = 901
)

// joinReply answers a JoinCommand by the user's ID: it admits IDs up to 99, cannot check 901 to 999, and turns away all
// others. It answers any other command by its name.
func joinReply(_ context.Context, req *chat.Request) *chat.Reply {
	if req.Command != chat.JoinCommand {
		return &chat.Reply{Title: chat.Say(req.Command)}
	}
	var reply *chat.Reply
	switch user := idOf(req.From.ID); {
	case user > 900 && user <= 999:
		reply = &chat.Reply{
			Tone:    chat.Warning,
			Title:   chat.Say("join.unknown"),
			Text:    chat.Say("reason.timeout"),
			Actions: []chat.Action{tryAgain},
		}
	case user <= 99:
		reply = admissionReply(req)
	default:
		reply = &chat.Reply{
			Tone:    chat.Negative,
			Title:   chat.Say("join.no"),
			Join:    chat.Join{WhyLeftOut: chat.Say("details.unregistered")},
			Actions: []chat.Action{tryAgain},
		}
	}
	reply.Language, _ = chat.LanguageOf(req.Locale)
	return reply
}

// admissionReply returns a reply that lets the sender into the group of the request.
func admissionReply(req *chat.Request) *chat.Reply {
	group := chat.Values{"group": chat.NewUntrusted(req.GroupName, 64)}
	admission := &chat.Admission{
		Group: req.Args.First(),
		Say:   func(outcome chat.ApprovalResult) *chat.Reply { return outcomeReply(group, outcome) },
	}
	return &chat.Reply{
		Title:  chat.SayWith("join.joining", group),
		Footer: chat.Parts{chat.Say("Demo.")},
		Join:   chat.Join{Admit: admission},
	}
}

// outcomeReply returns what an admitted user reads of the outcome of their approval.
func outcomeReply(group chat.Values, outcome chat.ApprovalResult) *chat.Reply {
	failed := func(reason string) *chat.Reply {
		return &chat.Reply{Tone: chat.Warning, Title: chat.Say("join.failed"), Text: chat.Say(reason)}
	}
	switch outcome {
	case chat.LetIn:
		return &chat.Reply{Tone: chat.Positive, Title: chat.SayWith("join.in", group)}
	case chat.NotRequested:
		return &chat.Reply{
			Tone:     chat.Warning,
			Audience: chat.SenderAlone,
			Title:    chat.Say("join.gone.title"),
			Text:     chat.SayWith("join.gone.text", group),
		}
	case chat.MayNotApprove:
		return failed("join.denied")
	case chat.ApprovalTimedOut:
		return failed("reason.timeout")
	case chat.ApprovalFailed:
		return failed("reason.internal")
	default: // Only tests with the product's commands have the other outcomes.
		panic(fmt.Sprint("no reply to the outcome ", outcome))
	}
}

// joinReplyAfter returns a handler that answers as joinReply does, after a time. If ctx ends before, it answers
// join.unknown.
func joinReplyAfter(delay time.Duration) func(context.Context, *chat.Request) *chat.Reply {
	return func(ctx context.Context, req *chat.Request) *chat.Reply {
		select {
		case <-time.After(delay):
			return joinReply(ctx, req)
		case <-ctx.Done():
			return &chat.Reply{Tone: chat.Warning, Title: chat.Say("join.unknown")}
		}
	}
}

// lateJoinReply answers as joinReply does, but only at the Deadline.
func lateJoinReply(ctx context.Context, req *chat.Request) *chat.Reply {
	time.Sleep(time.Until(req.Deadline))
	return joinReply(ctx, req)
}

// runJoins starts the adapter, and waits a second of simulated time. The adapter has then told Telegram that it wants
// join requests; Telegram delivers none before.
func (r *adapterTest) runJoins() (stop func() error) {
	stop = r.run()
	time.Sleep(time.Second)
	return stop
}

// requestJoin makes a user ask to join holders, and delivers the update. guarded is whether the bot guards the group:
// the request then has a query, and Telegram waits 10 seconds for its answer.
func (r *adapterTest) requestJoin(user int64, guarded bool) {
	r.Helper()
	if r.api.RequestJoin(holdersChat, faketelegram.Person(user), guarded) == 0 {
		r.Fatal("Telegram queued no update about the request")
	}
	if r.adapter.Settings.WebhookURL != "" {
		for _, body := range r.api.Dequeue() {
			go r.postUpdate(body)
		}
	}
}

// settledRequest returns the request of a user once no update is queued or in flight. It first waits 20 seconds, which
// is twice as long as Telegram waits for the answer to a query.
func (r *adapterTest) settledRequest(user int64) faketelegram.JoinRequest {
	r.Helper()
	time.Sleep(20 * time.Second)
	r.waitIdle(time.Minute)
	return r.requestOf(user)
}

// requestOf returns the request of a user. If there is none, it returns the zero JoinRequest.
func (r *adapterTest) requestOf(user int64) faketelegram.JoinRequest {
	for _, request := range r.api.JoinRequests() {
		if request.From.ID == user {
			return request
		}
	}
	return faketelegram.JoinRequest{}
}

// requestsInFlight returns how many join requests are in flight.
func (r *adapterTest) requestsInFlight() int { return int(r.adapter.door.inFlight.Load()) }

// answersOf returns the bot's answers to a request that had an effect, such as "approve".
func answersOf(request faketelegram.JoinRequest) (results []string) {
	for _, a := range request.Answers {
		results = append(results, a.Result)
	}
	return results
}

// toldTo returns the messages in a user's private chat.
func (r *adapterTest) toldTo(user int64) (texts []string) {
	for _, m := range r.api.Sent() {
		if m.Chat == user && !m.Deleted {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// checkTold fails the test unless a user got one message that begins with want. If want is "", they got none.
func (r *adapterTest) checkTold(user int64, want string) {
	r.Helper()
	told := r.toldTo(user)
	switch {
	case want == "":
		if len(told) > 0 {
			r.Errorf("user %d is told %q, want no message", user, told)
		}
	case len(told) != 1 || !strings.HasPrefix(told[0], want):
		r.Errorf("user %d is told %q, want one message that begins with %q", user, told, want)
	}
}

// checkRequest fails the test unless a user's request has this state and the answers, as answersOf prints them.
func (r *adapterTest) checkRequest(user int64, state faketelegram.JoinState, answers string) {
	r.Helper()
	got := r.requestOf(user)
	check(r, "state", got.State, state)
	check(r, "answers", fmt.Sprint(answersOf(got)), answers)
}

// checkJoinEvents fails the test unless this many join requests were counted as approved, lacking and undecided.
func (r *adapterTest) checkJoinEvents(wantApproved, wantLacking, wantUndecided int) {
	r.Helper()
	check(r, "counted as approved", r.events.Of("join_approved"), wantApproved)
	check(r, "counted as lacking", r.events.Of(string(lacking)), wantLacking)
	check(r, "counted as undecided", r.events.Of(string(undecided)), wantUndecided)
}

// shownTexts returns a slice that gets each text that Telegram shows, of new and of edited messages.
func (r *adapterTest) shownTexts() *[]string {
	var shown []string
	r.api.Watch(func(e faketelegram.Event) {
		if e.Message != nil {
			shown = append(shown, e.Message.Text)
		}
	})
	return &shown
}
