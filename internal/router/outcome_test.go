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
	said       string // in the reply
	forSender  bool
	unanswered bool
	logged     string
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
			said:    "ran",
		},
		{
			name:    "a part of one",
			change:  returning(half, poolSilent),
			command: "exists",
			outcome: router.Partial,
			said:    "half",
			logged:  "pool 5 is silent",
		},
		{
			name:    "an old answer",
			change:  returning(stale, nil),
			command: "exists",
			outcome: router.Stale,
			said:    "old",
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
			said:    "unknown.title",
			logged:  "command=unknown",
		},
		{
			name:    "a wrong argument: what to write",
			change:  annOperates,
			command: "exists",
			args:    []string{"moon", secretTyped},
			outcome: router.BadInput,
			said:    "input.write map[]} {exists [{name.platform ",
		},
		{
			name:    "a wrong argument: its choices",
			change:  annOperates,
			command: "exists",
			args:    []string{"moon", secretTyped},
			outcome: router.BadInput,
			said:    "map[choices:EVM last:TON]",
		},
		{
			name:    "input that the form refuses",
			change:  returning(&chat.Reply{Title: chat.Say("half")}, wrongInput),
			command: "exists",
			outcome: router.BadInput,
			said:    "input.title",
		},
		{
			name:    "a wrong argument of a moderators' form",
			command: "exists",
			args:    []string{"moon", secretTyped},
			outcome: router.Forbidden,
			said:    "forbidden.text",
		},
		{
			name:    "a moderators' form",
			command: "exists",
			args:    []string{secretTyped},
			outcome: router.Forbidden,
			said:    "forbidden.text",
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
			change:     func(c *router.Config) { c.Limiter = noSlotOf("one telegram user ") },
			command:    "exists",
			outcome:    router.RateLimited,
			said:       "limit.text map[n:2]",
			forSender:  true,
			unanswered: true,
		},
		{
			name:       "too many in the chat",
			change:     func(c *router.Config) { c.Limiter = noSlotOf("one telegram chat ") },
			command:    "exists",
			outcome:    router.RateLimited,
			said:       "limit.title",
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
			change:     returning(half, errors.New("down")),
			command:    "exists",
			outcome:    router.Unavailable,
			said:       "explained",
			unanswered: true,
			logged:     "err=down",
		},
		{
			name:       "too slow",
			change:     running(endless),
			command:    "exists",
			outcome:    router.TimedOut,
			said:       "explained",
			unanswered: true,
			logged:     `err="context deadline exceeded"`,
		},
		{
			name:       "a panic",
			change:     running(panics),
			command:    "exists",
			outcome:    router.Panicked,
			said:       "reference map[reference:REF]",
			forSender:  true,
			unanswered: true,
			logged:     "outcome_test.go",
		},
	}
}

// handled is what became of a request.
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
		if said := fmt.Sprint(reply); !strings.Contains(said, c.said) {
			t.Errorf("%s: said %s, want %s", c.name, said, c.said)
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
		for _, want := range []string{level, "id=REF", "outcome=" + string(c.outcome), c.logged} {
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
	failing := returning(&chat.Reply{}, errors.New("down"))
	got := ask(t, failing, &chat.Request{Command: "exists", From: ann})
	want := []chat.Action{chat.TryAgain("exists")}
	if !reflect.DeepEqual(got.Actions, want) || !got.Unanswered() {
		t.Errorf("got %+v, want %+v", got.Actions, want)
	}
}

func TestACommandMayChooseHowItIsTriedAgain(t *testing.T) {
	want := []chat.Action{chat.TryAgain("exists", "in another spelling")}
	failing := returning(&chat.Reply{Actions: want}, errors.New("down"))
	got := ask(t, failing, &chat.Request{Command: "exists", From: ann})
	if !reflect.DeepEqual(got.Actions, want) || !got.Unanswered() {
		t.Errorf("got %+v, want %+v", got.Actions, want)
	}
}

func TestAPartialErrorWithoutAReplyIsNoAnswer(t *testing.T) {
	noReply := returning(nil, &chat.PartialError{Err: errors.New("down")})
	got := ask(t, noReply, &chat.Request{Command: "exists", From: ann})
	if got.Title.Key != "unchecked.title" {
		t.Errorf("got %+v", got)
	}
}
