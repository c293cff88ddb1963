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

// again is a button that asks once more.
var again = chat.Action{
	Label:   chat.Say("button.again"),
	Command: chat.JoinCommand,
	Args:    []string{fmt.Sprint(holders)},
	Edit:    true,
}

// The users that joinReply admits, turns away, and cannot check: those with an ID up to 99, up to 900, and above.
const (
	qualified   = 7
	unqualified = 700
	uncheckable = 901
)

// joinReply answers a JoinCommand by the user's ID.
func joinReply(_ context.Context, req *chat.Request) *chat.Reply {
	var reply *chat.Reply
	switch user := idOf(req.From.ID); {
	case req.Command != chat.JoinCommand:
		return &chat.Reply{Title: chat.Say(req.Command)}
	case user <= 99:
		reply = admitted(req)
	case user <= 900 || user >= 1000:
		reply = &chat.Reply{
			Tone:    chat.Negative,
			Title:   chat.Say("join.no"),
			Join:    chat.Join{WhyLeftOut: chat.Say("details.unregistered")},
			Actions: []chat.Action{again},
		}
	default:
		reply = &chat.Reply{
			Tone:    chat.Warning,
			Title:   chat.Say("join.unknown"),
			Text:    chat.Say("reason.timeout"),
			Actions: []chat.Action{again},
		}
	}
	reply.Language, _ = chat.LanguageOf(req.Locale)
	return reply
}

// admitted returns a reply that lets the sender into the group of the request.
func admitted(req *chat.Request) *chat.Reply {
	group := chat.Values{"group": chat.NewUntrusted(req.GroupName, 64)}
	say := func(outcome chat.ApprovalResult) *chat.Reply {
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
		}
		why := []string{"join.denied", "reason.timeout", "reason.internal"}[outcome-chat.MayNotApprove]
		return &chat.Reply{Tone: chat.Warning, Title: chat.Say("join.failed"), Text: chat.Say(why)}
	}
	return &chat.Reply{
		Title:  chat.SayWith("join.joining", group),
		Footer: chat.Parts{chat.Say("Demo.")},
		Join:   chat.Join{Admit: &chat.Admission{Group: req.Args.First(), Say: say}},
	}
}

// afterwards returns a handler that answers as joinReply does, after the given time or at the end of the drain's
// commands.
func afterwards(takes time.Duration) func(context.Context, *chat.Request) *chat.Reply {
	return func(ctx context.Context, req *chat.Request) *chat.Reply {
		select {
		case <-time.After(takes):
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

// runJoins starts the adapter, and returns once Telegram knows which kinds of update it wants.
func (r *adapterTest) runJoins() (stop func() error) {
	stop = r.run()
	time.Sleep(time.Second)
	return stop
}

// asks makes a user ask to join, and delivers the update.
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

// joined waits 20 seconds, and then until no update is queued or in flight. It returns the request of a user.
func (r *adapterTest) joined(user int64) faketelegram.JoinRequest {
	r.Helper()
	time.Sleep(20 * time.Second)
	r.idle(time.Minute)
	return r.requestOf(user)
}

// requestOf returns the request of a user.
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

// answersOf returns the bot's answers that had an effect.
func answersOf(request faketelegram.JoinRequest) (results []string) {
	for _, a := range request.Answers {
		results = append(results, a.Result)
	}
	return results
}

// toldTo returns the messages in a user's private chat.
func (r *adapterTest) toldTo(user int64) string {
	var all []string
	for _, m := range r.api.Sent() {
		if m.Chat == user && !m.Deleted {
			all = append(all, m.Text)
		}
	}
	return strings.Join(all, "\n---\n")
}

// checkTold fails the test unless a user got one message that begins with want. If want is "", they got none.
func (r *adapterTest) checkTold(user int64, want string) {
	r.Helper()
	told := r.toldTo(user)
	if !strings.HasPrefix(told, want) || want == "" && told != "" || strings.Contains(told, "---") {
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

// checkJoinEvents fails the test unless this many join requests were counted by each event.
func (r *adapterTest) checkJoinEvents(letIn, lackingN, undecidedN int) {
	r.Helper()
	check(r, "counted as let in", r.events.Of("join_approved"), letIn)
	check(r, "counted as left open", r.events.Of(string(lacking)), lackingN)
	check(r, "counted as unknown", r.events.Of(string(undecided)), undecidedN)
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
