package router_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	"herald/internal/router"
)

// secretTyped is what the sender types. Neither a reply nor the log may repeat it.
const secretTyped = "s3cret\x1b[31m"

// outcomeCase is a command of ann, and how it ends.
type outcomeCase struct {
	name       string
	change     func(*router.Config)
	command    string
	args       []string
	outcome    router.Outcome
	inReply    string // a part of the reply
	forSender  bool
	unanswered bool
	inLog      string // a part of the log line
}

func everyOutcome() []outcomeCase {
	return slices.Concat(answeredCases(), refusedCases(), limitedCases(), failedCases())
}

func answeredCases() []outcomeCase {
	half := &chat.Reply{Title: chat.Say("half")}
	poolSilent := fmt.Errorf("wrapped: %w", &chat.PartialError{Err: errors.New("pool 5 is silent")})
	stale := &chat.Reply{Title: chat.Say("old"), Source: chat.Source{Stale: true}}
	return []outcomeCase{
		{
			name:    "an answer",
			command: "exists",
			outcome: router.OK,
			inReply: "ran",
		},
		{
			name:    "a part of one",
			change:  withResult(half, poolSilent),
			command: "exists",
			outcome: router.Partial,
			inReply: "half",
			inLog:   "pool 5 is silent",
		},
		{
			name:    "an old answer",
			change:  withResult(stale, nil),
			command: "exists",
			outcome: router.Stale,
			inReply: "old",
		},
	}
}

// refusedCases returns commands that are refused because of what ann typed.
func refusedCases() []outcomeCase {
	annOperates := func(c *router.Config) { c.Operators = append(c.Operators, ann) }
	wrongInput := &chat.InputError{Problem: chat.Say("wrong")}
	all := []outcomeCase{
		{
			name:    "an unknown command",
			command: secretTyped,
			outcome: router.Unknown,
			inReply: "unknown.title",
			inLog:   "command=unknown",
		},
		{
			name:    "a wrong argument: what to write",
			change:  annOperates,
			command: "exists",
			args:    []string{"moon", secretTyped},
			outcome: router.BadInput,
			inReply: "input.write map[]} {exists [{name.platform ",
		},
		{
			name:    "a wrong argument: its choices",
			change:  annOperates,
			command: "exists",
			args:    []string{"moon", secretTyped},
			outcome: router.BadInput,
			inReply: "map[choices:EVM last:TON]",
		},
		{
			name:    "input that the form refuses",
			change:  withResult(&chat.Reply{Title: chat.Say("half")}, wrongInput),
			command: "exists",
			outcome: router.BadInput,
			inReply: "input.title",
		},
		{
			name:    "a wrong argument of a moderators' form",
			command: "exists",
			args:    []string{"moon", secretTyped},
			outcome: router.Forbidden,
			inReply: "forbidden.text",
		},
		{
			name:    "a moderators' form",
			command: "exists",
			args:    []string{secretTyped},
			outcome: router.Forbidden,
			inReply: "forbidden.text",
		},
	}
	for i := range all {
		all[i].forSender = true
		all[i].unanswered = true
	}
	return all
}

func limitedCases() []outcomeCase {
	return []outcomeCase{
		{
			name:       "too many of the user",
			change:     func(c *router.Config) { c.Limiter = refusing("one telegram user ") },
			command:    "exists",
			outcome:    router.RateLimited,
			inReply:    "limit.text map[n:2]",
			forSender:  true,
			unanswered: true,
		},
		{
			name:       "too many in the chat",
			change:     func(c *router.Config) { c.Limiter = refusing("one telegram chat ") },
			command:    "exists",
			outcome:    router.RateLimited,
			inReply:    "limit.title",
			forSender:  true,
			unanswered: true,
		},
	}
}

func failedCases() []outcomeCase {
	half := &chat.Reply{Title: chat.Say("half")}
	endless := func(ctx context.Context, _ *chat.Request) (*chat.Reply, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	panics := func(context.Context, *chat.Request) (*chat.Reply, error) { panic(secretTyped) }
	return []outcomeCase{
		{
			name:       "an error",
			change:     withResult(half, errors.New("down")),
			command:    "exists",
			outcome:    router.Unavailable,
			inReply:    "explained",
			unanswered: true,
			inLog:      "err=down",
		},
		{
			name:       "too slow",
			change:     withRun(endless),
			command:    "exists",
			outcome:    router.TimedOut,
			inReply:    "explained",
			unanswered: true,
			inLog:      `err="context deadline exceeded"`,
		},
		{
			name:       "a panic",
			change:     withRun(panics),
			command:    "exists",
			outcome:    router.Panicked,
			inReply:    "reference map[reference:REF]",
			forSender:  true,
			unanswered: true,
			inLog:      "outcome_test.go",
		},
	}
}

// handled is what the Router did with a request.
type handled struct {
	reply    *chat.Reply
	log      string
	observed []router.Outcome
	took     time.Duration
}

// chatID is where each outcomeCase is typed. The log may not name it.
const chatID = "231642"

// handle handles the case's request, in simulated time.
func (c outcomeCase) handle(t *testing.T) handled {
	t.Helper()
	var log bytes.Buffer
	var got handled
	r := newRouter(t, &log, func(config *router.Config) {
		config.Observe = func(_ chat.Platform, _ string, outcome router.Outcome, _ time.Duration) {
			got.observed = append(got.observed, outcome)
		}
		if c.change != nil {
			c.change(config)
		}
	})
	req := &chat.Request{ID: "REF", Command: c.command, Args: chat.Typed(c.args...), From: ann, Chat: chatID}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got.reply = r.Handle(t.Context(), req)
		got.took = time.Since(start)
	})
	got.log = log.String()
	return got
}

func TestEveryOutcomeIsTold(t *testing.T) {
	for _, c := range everyOutcome() {
		reply := c.handle(t).reply
		if said := fmt.Sprint(reply); !strings.Contains(said, c.inReply) {
			t.Errorf("%s: said %s, want %s", c.name, said, c.inReply)
		}
		if reply.ForSender() != c.forSender || reply.Unanswered() != c.unanswered {
			t.Errorf("%s: for the sender %t, unanswered %t; want %t, %t",
				c.name, reply.ForSender(), reply.Unanswered(), c.forSender, c.unanswered)
		}
	}
}

func TestEveryOutcomeIsObservedAndLoggedOnce(t *testing.T) {
	for _, c := range everyOutcome() {
		got := c.handle(t)
		if !slices.Equal(got.observed, []router.Outcome{c.outcome}) {
			t.Errorf("%s: observed %v, want %s", c.name, got.observed, c.outcome)
		}
		level := "level=INFO"
		if c.outcome == router.Panicked {
			level = "level=ERROR"
		}
		for _, want := range []string{level, "id=REF", "outcome=" + string(c.outcome), c.inLog} {
			if !strings.Contains(got.log, want) {
				t.Errorf("%s: logged %s, want %s", c.name, got.log, want)
			}
		}
		if n := strings.Count(got.log, "\n"); n != 1 {
			t.Errorf("%s: %d lines, want 1:\n%s", c.name, n, got.log)
		}
	}
}

func TestNoOutcomeRepeatsWhatIsPersonal(t *testing.T) {
	for _, c := range everyOutcome() {
		got := c.handle(t)
		said := fmt.Sprint(got.reply)
		if strings.Contains(said+got.log, "s3cret") {
			t.Errorf("%s: what was typed is in %s or in %s", c.name, said, got.log)
		}
		if strings.Contains(got.log, chatID) || strings.Contains(got.log, "user="+ann.ID+" ") {
			t.Errorf("%s: the user or the chat is in %s", c.name, got.log)
		}
	}
}

func TestOnlyATimeoutTakesTheWholeTimeLimit(t *testing.T) {
	for _, c := range everyOutcome() {
		took := c.handle(t).took
		if isTimeout := c.outcome == router.TimedOut; (took == time.Second) != isTimeout {
			t.Errorf("%s: took %v", c.name, took)
		}
	}
}

// pseudonymOf returns the name of a user in the log line of a request, which r writes to log.
func pseudonymOf(t *testing.T, r *router.Router, log *bytes.Buffer, u chat.User) string {
	t.Helper()
	log.Reset()
	r.Handle(t.Context(), &chat.Request{Command: "exists", From: u})
	_, rest, _ := strings.Cut(log.String(), " user=")
	name, _, _ := strings.Cut(rest, " ")
	return name
}

func TestPseudonymIsOfOneUserInOneRun(t *testing.T) {
	var log bytes.Buffer
	first := newRouter(t, &log, nil)
	second := newRouter(t, &log, nil)
	onDiscord := chat.User{Platform: "discord", ID: ann.ID}
	want := pseudonymOf(t, first, &log, ann)
	if got := pseudonymOf(t, first, &log, ann); got != want || want == "" {
		t.Errorf("the same user: got %q, want %q", got, want)
	}
	for name, got := range map[string]string{
		"another user":     pseudonymOf(t, first, &log, bob),
		"another platform": pseudonymOf(t, first, &log, onDiscord),
		"another run":      pseudonymOf(t, second, &log, ann),
	} {
		if got == want {
			t.Errorf("%s: got %q, want another pseudonym", name, got)
		}
	}
}

func TestAFailedCommandIsTriedAgainByItsName(t *testing.T) {
	failing := withResult(&chat.Reply{}, errors.New("down"))
	got := ask(t, failing, &chat.Request{Command: "exists", From: ann})
	want := []chat.Action{chat.TryAgain("exists")}
	if !reflect.DeepEqual(got.Actions, want) || !got.Unanswered() {
		t.Errorf("got %+v, want %+v", got.Actions, want)
	}
}

func TestACommandMayChooseHowItIsTriedAgain(t *testing.T) {
	want := []chat.Action{chat.TryAgain("exists", "in another spelling")}
	failing := withResult(&chat.Reply{Actions: want}, errors.New("down"))
	got := ask(t, failing, &chat.Request{Command: "exists", From: ann})
	if !reflect.DeepEqual(got.Actions, want) || !got.Unanswered() {
		t.Errorf("got %+v, want %+v", got.Actions, want)
	}
}

func TestAPartialErrorWithoutAReplyIsNoAnswer(t *testing.T) {
	noReply := withResult(nil, &chat.PartialError{Err: errors.New("down")})
	got := ask(t, noReply, &chat.Request{Command: "exists", From: ann})
	if got.Title.Key != "unchecked.title" {
		t.Errorf("got %+v", got)
	}
}
