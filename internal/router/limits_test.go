package router_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/platform"
	"herald/internal/platform/platformtest"
	"herald/internal/ratelimit"
	"herald/internal/router"
)

// withLimits returns a change that sets the limits of a user and of a chat. 0 is no limit.
func withLimits(by ratelimit.Limiter, userPerMinute, chatPerMinute int) func(*router.Config) {
	return func(c *router.Config) {
		c.Limiter = by
		c.UserPerMinute = userPerMinute
		c.ChatPerMinute = chatPerMinute
	}
}

// isLimited reports whether a limit refused the request.
func isLimited(reply *chat.Reply) bool { return reply.Title.Key == "limit.title" }

// countAllowed handles requests, and returns how many of them no limit refused.
func countAllowed(t *testing.T, r *router.Router, requests ...*chat.Request) int {
	t.Helper()
	n := 0
	for _, req := range requests {
		if !isLimited(r.Handle(t.Context(), req)) {
			n++
		}
	}
	return n
}

// existsRequests returns n requests of ann in one chat. The platform does not say when they were asked.
func existsRequests(n int) []*chat.Request {
	requests := make([]*chat.Request, n)
	for i := range requests {
		requests[i] = &chat.Request{Command: "exists", From: ann, Chat: "1"}
	}
	return requests
}

// Each user and each chat may ask once.
func TestLimitsAreOfOneUserAndOneChat(t *testing.T) {
	r := newRouter(t, io.Discard, withLimits(counter{}, 1, 1))
	annOnDiscord := chat.User{Platform: "discord", ID: ann.ID}
	for _, step := range []struct {
		name    string
		req     chat.Request
		refused bool
	}{
		{"the first", chat.Request{From: ann, Chat: "1"}, false},
		{"the same user elsewhere", chat.Request{From: ann, Chat: "2"}, true},
		{"another user there", chat.Request{From: bob, Chat: "1"}, true},
		{"somebody anonymous there", chat.Request{From: anonymous, Chat: "1"}, true},
		{"somebody anonymous elsewhere", chat.Request{From: anonymous, Chat: "4"}, false},
		{"another platform", chat.Request{From: annOnDiscord, Chat: "1"}, false},
		{"a channel", chat.Request{From: anonymous, LimitKey: "channel", Chat: "5"}, false},
		{"the same channel elsewhere", chat.Request{From: anonymous, LimitKey: "channel", Chat: "6"}, true},
		{"another channel there", chat.Request{From: anonymous, LimitKey: "another", Chat: "6"}, false},
		{"inline", chat.Request{From: ann, Inline: true, Chat: "inline 1"}, false},
		{"inline again", chat.Request{From: ann, Inline: true, Chat: "inline 1"}, true},
	} {
		step.req.Command = "exists"
		got := r.Handle(t.Context(), &step.req)
		if isLimited(got) != step.refused {
			t.Errorf("%s: %+v, want refused: %t", step.name, got, step.refused)
		}
		if got.Audience == chat.SenderAgain {
			t.Errorf("%s: the first refusal is for SenderAgain", step.name)
		}
	}
}

func TestASecondRefusalIsForSenderAgain(t *testing.T) {
	for name, req := range map[string]chat.Request{
		"a user":    {Command: "exists", From: ann, Chat: "1"},
		"a channel": {Command: "exists", From: anonymous, LimitKey: "channel", Chat: "1"},
	} {
		r := newRouter(t, io.Discard, withLimits(counter{}, 1, 1))
		r.Handle(t.Context(), &req)
		first := r.Handle(t.Context(), &req)
		second := r.Handle(t.Context(), &req)
		if first.Audience == chat.SenderAgain || second.Audience != chat.SenderAgain {
			t.Errorf("%s: refused for %d, then for %d", name, first.Audience, second.Audience)
		}
	}
}

// Requests that a platform delivers late count in the minutes in which they were asked.
func TestLateRequestsCountInTheMinuteInWhichTheyWereAsked(t *testing.T) {
	for _, test := range []struct {
		name          string
		userPerMinute int
		chatPerMinute int
		perMinute     int // how many are asked in each of ten minutes, an hour ago
		allowed       int
	}{
		{
			name:          "within the user's limit",
			userPerMinute: 5,
			chatPerMinute: 0,
			perMinute:     5,
			allowed:       50,
		},
		{
			name:          "within the chat's limit",
			userPerMinute: 0,
			chatPerMinute: 7,
			perMinute:     7,
			allowed:       70,
		},
		{
			name:          "more than the user's limit",
			userPerMinute: 5,
			chatPerMinute: 0,
			perMinute:     9,
			allowed:       50,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRouter(t, io.Discard, withLimits(counter{}, test.userPerMinute, test.chatPerMinute))
			start := time.Now().Add(-time.Hour).Truncate(time.Minute)
			requests := existsRequests(10 * test.perMinute)
			for i, req := range requests {
				req.Asked = start.Add(time.Duration(i) * time.Minute / time.Duration(test.perMinute))
			}
			if got := countAllowed(t, r, requests...); got != test.allowed {
				t.Errorf("%s: %d are allowed, want %d", test.name, got, test.allowed)
			}
		})
	}
}

// The requests are asked within one minute, but the clock shows two different minutes meanwhile.
func TestRequestsOfTheLastMinuteCountTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * time.Second)
		r := newRouter(t, io.Discard, withLimits(counter{}, 5, 0))
		start := time.Now().Add(-55 * time.Second)
		requests := existsRequests(50)
		for i, req := range requests {
			req.Asked = start.Add(time.Duration(i) * time.Second)
		}
		if got := countAllowed(t, r, requests...); got != 5 {
			t.Errorf("%d are allowed, want 5", got)
		}
	})
}

func TestRequestsWithoutATimeCountTogether(t *testing.T) {
	for _, test := range []struct {
		name          string
		userPerMinute int
		chatPerMinute int
		allowed       int
	}{
		{
			name:          "of the user alone",
			userPerMinute: 5,
			chatPerMinute: 0,
			allowed:       5,
		},
		{
			name:          "of the chat alone",
			userPerMinute: 0,
			chatPerMinute: 7,
			allowed:       7,
		},
		{
			name:          "of both, the smaller",
			userPerMinute: 9,
			chatPerMinute: 7,
			allowed:       7,
		},
		{
			name:          "no limit",
			userPerMinute: 0,
			chatPerMinute: 0,
			allowed:       200,
		},
	} {
		r := newRouter(t, io.Discard, withLimits(counter{}, test.userPerMinute, test.chatPerMinute))
		if got := countAllowed(t, r, existsRequests(200)...); got != test.allowed {
			t.Errorf("%s: %d are allowed, want %d", test.name, got, test.allowed)
		}
	}
}

// The limits of a user, of a chat and of a form mean the same: n requests at once, and n again over each minute.
func TestALimitComesBackEvenlyOverAMinute(t *testing.T) {
	bounded := chat.Command{
		Name:       "bounded",
		Visibility: chat.Private,
		Forms:      []chat.Form{{Limit: chat.Limit{Uses: 5, Per: time.Minute}, Run: ran}},
	}
	steps := []struct {
		pause   time.Duration
		allowed int
	}{
		{pause: 0, allowed: 5},
		{pause: 11 * time.Second, allowed: 0},
		{pause: time.Second, allowed: 1},
		{pause: time.Minute, allowed: 5},
	}
	for _, test := range []struct {
		limit         string
		command       string
		userPerMinute int
		chatPerMinute int
	}{
		{
			limit:         "user",
			command:       "exists",
			userPerMinute: 5,
			chatPerMinute: 0,
		},
		{
			limit:         "chat",
			command:       "exists",
			userPerMinute: 0,
			chatPerMinute: 5,
		},
		{
			limit:         "form",
			command:       "bounded",
			userPerMinute: 0,
			chatPerMinute: 0,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRouter(t, io.Discard, func(c *router.Config) {
				withLimits(ratelimit.NewMemory(), test.userPerMinute, test.chatPerMinute)(c)
				c.Commands = append(c.Commands, bounded)
			})
			for _, step := range steps {
				time.Sleep(step.pause)
				got := 0
				for range 10 {
					got += countAllowed(t, r, &chat.Request{Command: test.command, From: ann, Chat: "1"})
				}
				if got != step.allowed {
					t.Errorf("%s: %d are allowed after %v, want %d", test.limit, got, step.pause, step.allowed)
				}
			}
		})
	}
}

// An adapter that claims an update has the claim count the request, before the Router handles it. The Router then does
// not count it again: a limit of five allows five of twenty requests, whether or not they are claimed.
func TestARequestIsCountedOnce(t *testing.T) {
	for name, claimOne := range map[string]func(*platform.Work, claim.Claims, string, *chat.Request){
		"not claimed": func(*platform.Work, claim.Claims, string, *chat.Request) {},
		"claimed": func(w *platform.Work, claims claim.Claims, key string, req *chat.Request) {
			w.Claim(claims, key, req)
		},
		"claimed without a request": func(w *platform.Work, claims claim.Claims, key string, _ *chat.Request) {
			w.Claim(claims, key, nil)
		},
	} {
		slots := counter{}
		r := newRouter(t, io.Discard, withLimits(slots, 5, 10))
		discard := slog.New(slog.DiscardHandler)
		w := platform.NewWork(t.Context(), platformtest.Routed{Router: r}, discard, func(string) {})
		got := 0
		for i, req := range existsRequests(20) {
			claimOne(w, slots, fmt.Sprint(i), req)
			got += countAllowed(t, r, req)
		}
		if got != 5 {
			t.Errorf("%s: %d are allowed, want 5", name, got)
		}
	}
}

// hiddenCommand returns the command "hidden", which only buttons send. Its argument is a group's ID. A user may send it
// perMinute times at once.
func hiddenCommand(perMinute int, run chat.Run) chat.Command {
	return chat.Command{
		Name:       "hidden",
		Visibility: chat.Private,
		Forms: []chat.Form{{
			Params:   []chat.Param{{Name: "group", Like: regexp.MustCompile("^-")}},
			Unlisted: true,
			Limit:    chat.Limit{Uses: perMinute, Per: time.Minute},
			Run:      run,
		}},
	}
}

// withCommand returns a change that adds a command, and has no limits except the command's.
func withCommand(command chat.Command) func(*router.Config) {
	return func(c *router.Config) {
		withLimits(counter{}, 0, 0)(c)
		c.Commands = append(c.Commands, command)
	}
}

func TestAnUnlistedCommandIsInNoMenu(t *testing.T) {
	r := newRouter(t, io.Discard, withCommand(hiddenCommand(2, ran)))
	if listed := r.Commands(); len(listed) != 1 || listed[0].Name != "exists" {
		t.Errorf("listed are %+v", listed)
	}
}

func TestVisibilityIsOfAnyKnownCommand(t *testing.T) {
	r := newRouter(t, io.Discard, withCommand(hiddenCommand(2, ran)))
	for name, want := range map[string]chat.Visibility{"hidden": chat.Private, "exists": chat.Private, "nobody": 0} {
		if got := r.Visibility(name); got != want {
			t.Errorf("%s: visibility %d, want %d", name, got, want)
		}
	}
}

func TestACommandEndsByItsDeadlineOrTheTimeLimit(t *testing.T) {
	for _, test := range []struct {
		within time.Duration // the platform waits for this long
		want   time.Duration
	}{
		{within: time.Hour, want: time.Second},
		{within: time.Millisecond, want: time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var left time.Duration
			run := func(ctx context.Context, req *chat.Request) (*chat.Reply, error) {
				deadline, _ := ctx.Deadline()
				left = time.Until(deadline)
				return &chat.Reply{About: req.Args.Value("group")}, nil
			}
			reply := ask(t, withCommand(hiddenCommand(2, run)), &chat.Request{
				Command:  "hidden",
				Args:     chat.Typed("-5", "please"),
				From:     ann,
				Deadline: time.Now().Add(test.within),
			})
			if reply.About != "-5" || left != test.want {
				t.Errorf("answered with %+v, %v before the deadline, want %v", reply, left, test.want)
			}
		})
	}
}

// hiddenRequest returns a request of ann about a group.
func hiddenRequest(group string) *chat.Request {
	return &chat.Request{Command: "hidden", Args: chat.Typed(group), From: ann}
}

func TestAFormMayCountOnlySomeRequests(t *testing.T) {
	command := hiddenCommand(1, ran)
	command.Forms[0].Limit.Counts = func(req *chat.Request) bool { return req.Args.Value("group") == "-5" }
	r := newRouter(t, io.Discard, withCommand(command))
	counted := countAllowed(t, r, hiddenRequest("-5"), hiddenRequest("-5"))
	notCounted := countAllowed(t, r, hiddenRequest("-6"), hiddenRequest("-6"))
	if counted != 1 || notCounted != 2 {
		t.Errorf("%d of two that count are allowed, want 1, and %d of two others, want 2", counted, notCounted)
	}
}

func TestAFormMayHaveALimitOfAnHour(t *testing.T) {
	command := hiddenCommand(2, ran)
	command.Forms[0].Limit.Per = time.Hour
	synctest.Test(t, func(t *testing.T) {
		r := newRouter(t, io.Discard, func(c *router.Config) {
			withCommand(command)(c)
			c.Limiter = ratelimit.NewMemory()
		})
		for _, step := range []struct {
			pause time.Duration
			want  int
		}{
			{pause: 0, want: 2},
			{pause: 29 * time.Minute, want: 0},
			{pause: time.Minute, want: 1},
		} {
			time.Sleep(step.pause)
			got := countAllowed(t, r, hiddenRequest("-5"), hiddenRequest("-5"), hiddenRequest("-5"))
			if got != step.want {
				t.Errorf("after another %v, %d are allowed, want %d", step.pause, got, step.want)
			}
		}
	})
}

func TestTheLimitOfACommandLeavesOtherCommandsAlone(t *testing.T) {
	r := newRouter(t, io.Discard, withCommand(hiddenCommand(1, ran)))
	if got := countAllowed(t, r, hiddenRequest("-5"), hiddenRequest("-5")); got != 1 {
		t.Errorf("%d are allowed, want 1", got)
	}
	if got := countAllowed(t, r, &chat.Request{Command: "exists", From: ann}); got != 1 {
		t.Error("the limit of one command holds for another")
	}
}

func TestAFormMayLimitEachArgumentByItself(t *testing.T) {
	command := hiddenCommand(2, ran)
	command.Forms[0].Limit.Of = "group"
	r := newRouter(t, io.Discard, withCommand(command))
	for _, group := range []string{"-1", "-2", "-3"} {
		if got := countAllowed(t, r, hiddenRequest(group), hiddenRequest(group), hiddenRequest(group)); got != 2 {
			t.Errorf("%s: %d are allowed, want 2", group, got)
		}
	}
}

func TestALongWaitIsToldInMinutes(t *testing.T) {
	for _, test := range []struct {
		per  time.Duration
		want string
		n    chat.Count
	}{
		{per: 2 * time.Minute, want: "limit.text", n: 120},
		{per: time.Hour, want: "limit.minutes", n: 60},
	} {
		command := hiddenCommand(1, ran)
		command.Forms[0].Limit.Per = test.per
		synctest.Test(t, func(t *testing.T) {
			r := newRouter(t, io.Discard, func(c *router.Config) {
				withCommand(command)(c)
				c.Limiter = ratelimit.NewMemory()
			})
			r.Handle(t.Context(), hiddenRequest("-5"))
			reply := r.Handle(t.Context(), hiddenRequest("-5"))
			if reply.Text.Key != test.want || reply.Text.Args["n"] != test.n {
				t.Errorf("one each %v: the sender is told %+v, want %s of %d", test.per, reply.Text, test.want, test.n)
			}
		})
	}
}

// Many anonymous moderators share a name: they count as one in their chat, and not in another.
func TestAnonymousSendersOfAChatShareTheLimitOfAForm(t *testing.T) {
	r := newRouter(t, io.Discard, withCommand(hiddenCommand(1, ran)))
	anonymousIn := func(chatID string) *chat.Request {
		req := hiddenRequest("-5")
		req.From = chat.User{Platform: "telegram"}
		req.Chat = chatID
		return req
	}
	if got := countAllowed(t, r, anonymousIn("-1"), anonymousIn("-1"), anonymousIn("-2")); got != 2 {
		t.Errorf("%d are allowed, want one in each of two chats", got)
	}
}
