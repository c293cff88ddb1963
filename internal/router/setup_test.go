package router_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"herald/internal/chat"
	"herald/internal/claim"
	"herald/internal/ratelimit"
	"herald/internal/router"
)

var (
	ann       = chat.User{Platform: "telegram", ID: "1"}
	bob       = chat.User{Platform: "telegram", ID: "2"}
	operator  = chat.User{Platform: "telegram", ID: "9"}
	anonymous = chat.User{Platform: "telegram"}
)

// Communities of a Router of newRouter. Its ModeratorChats lists them, except unlisted.
const (
	listed            = "listed"
	unlisted          = "unlisted"
	whereAnnModerates = "where ann moderates"
	roleInDoubt       = "in doubt" // the platform does not know a role
	platformDown      = "down"     // the platform does not answer
)

// role is a router.AskRole. In communities except the last three, everybody is a member.
func role(_ context.Context, user chat.User, community string) (chat.Role, error) {
	switch {
	case community == platformDown:
		return chat.UnknownRole, errors.New("down")
	case community == roleInDoubt:
		return chat.UnknownRole, nil
	case community == whereAnnModerates && user == ann:
		return chat.Moderator, nil
	default:
		return chat.Member, nil
	}
}

// newRouter returns a Router with the command "exists", after change, which may be nil.
func newRouter(t *testing.T, log io.Writer, change func(*router.Config)) *router.Router {
	t.Helper()
	c := router.Config{
		Commands:  chat.Commands{existsCommand()},
		Operators: []chat.User{operator},
		ModeratorChats: []string{
			"telegram:" + listed,
			"telegram:" + whereAnnModerates,
			"telegram:" + roleInDoubt,
			"telegram:" + platformDown,
		},
		Roles:         map[chat.Platform]router.AskRole{"telegram": role},
		Timeout:       time.Second,
		Limiter:       noSlotOf(""),
		UserPerMinute: 20,
		ChatPerMinute: 120,
		Bot:           "one",
		Nearest:       func(string, []string) string { return "" },
		Explain:       func(error) chat.Text { return chat.Say("explained") },
		Log:           slog.New(slog.NewTextHandler(log, nil)),
	}
	if change != nil {
		change(&c)
	}
	r, err := router.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// existsCommand returns a command about the sender, a person, or an ID on a platform. Its reply repeats its form and
// its arguments.
func existsCommand() chat.Command {
	person := chat.Param{Name: "user", Summary: chat.Say("who"), Example: "123", Person: true}
	platform := chat.Param{
		Name:       "platform",
		Summary:    chat.Say("where"),
		Example:    "EVM",
		Choices:    []string{"EVM", "TON"},
		WrongTitle: chat.Say("Check the platform"),
		Tidy:       replaceSynonyms,
	}
	uid := chat.Param{Name: "uid", Summary: chat.Say("id"), Example: "0xabc"}
	return chat.Command{
		Name:       "exists",
		Summary:    chat.Say("exists"),
		Visibility: chat.Private,
		Aliases:    map[string][]string{"is": nil, "dead": {"evm", "0xdead"}},
		Forms: []chat.Form{
			{Run: echo("self")},
			{Params: []chat.Param{person}, Moderators: true, Run: echo("user")},
			{Params: []chat.Param{platform, uid}, Moderators: true, Run: echo("uid")},
		},
	}
}

// replaceSynonyms writes "Ethereum" and "ethereum chain" as the choice EVM.
func replaceSynonyms(typed []string) []string {
	synonyms := strings.NewReplacer("ethereum chain", "EVM", "Ethereum", "EVM")
	return strings.Fields(synonyms.Replace(strings.Join(typed, " ")))
}

// echo returns a Run whose reply repeats the form's name and the arguments.
func echo(form string) chat.Run {
	return func(_ context.Context, req *chat.Request) (*chat.Reply, error) {
		target := "nobody"
		if req.Target != nil {
			target = req.Target.ID
		}
		bound := fmt.Sprintf("%s: platform %q uid %q target %s name %q",
			form, req.Args.Value("platform"), req.Args.Value("uid"), target, req.TargetName)
		return &chat.Reply{Title: chat.Say("ran"), Text: chat.Say(bound)}, nil
	}
}

// ran is a Run with a short answer.
func ran(context.Context, *chat.Request) (*chat.Reply, error) {
	return &chat.Reply{Title: chat.Say("ran")}, nil
}

// ask returns the reply of a new Router to one request.
func ask(t *testing.T, change func(*router.Config), req *chat.Request) *chat.Reply {
	t.Helper()
	return newRouter(t, io.Discard, change).Handle(t.Context(), req)
}

// running replaces the Run of the form without parameters.
func running(run chat.Run) func(*router.Config) {
	return func(c *router.Config) { c.Commands[0].Forms[0].Run = run }
}

// returning is running with a Run that returns reply and err.
func returning(reply *chat.Reply, err error) func(*router.Config) {
	return running(func(context.Context, *chat.Request) (*chat.Reply, error) { return reply, err })
}

// noSlotOf is a Limiter without slots for limits whose key contains it. If it is empty, there are always slots.
type noSlotOf string

func (n noSlotOf) Reserve(
	_ context.Context, _ time.Duration, limits ...ratelimit.Limit,
) (wait time.Duration, ok bool) {
	for _, l := range limits {
		if n != "" && strings.Contains(l.Key, string(n)) {
			return 1500 * time.Millisecond, false
		}
	}
	return 0, true
}

func (noSlotOf) Peek(context.Context, ...ratelimit.Limit) (wait time.Duration) { return 0 }

// counter is a Limiter that has Burst slots of each key for ever. It is also a claim.Claims to which every key is new.
type counter map[string]int

func (c counter) Reserve(
	_ context.Context, _ time.Duration, limits ...ratelimit.Limit,
) (wait time.Duration, ok bool) {
	for _, l := range limits {
		if c[l.Key] == l.Burst {
			return time.Minute, false
		}
	}
	for _, l := range limits {
		c[l.Key]++
	}
	return 0, true
}

func (counter) Peek(context.Context, ...ratelimit.Limit) (wait time.Duration) { return 0 }

func (c counter) Claim(ctx context.Context, _ string, limits ...ratelimit.Limit) (claim.Progress, time.Duration) {
	wait, _ := c.Reserve(ctx, 0, limits...)
	return claim.New, wait
}

func (c counter) Release(string) {}

func (c counter) MarkDone(string, time.Duration) {}
