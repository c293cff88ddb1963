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

// Communities. The ModeratorChats of newRouter list all of them except unlisted.
const (
	listed            = "listed"
	unlisted          = "unlisted"
	whereAnnModerates = "where ann moderates" // according to askRole
	roleInDoubt       = "in doubt"            // askRole returns an UnknownRole
	platformDown      = "down"                // askRole fails
)

// askRole is a router.AskRole. It returns Member, except in the last three communities.
func askRole(_ context.Context, user chat.User, community string) (chat.Role, error) {
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

// newRouter returns a Router with the command "exists". change changes its Config, and may be nil.
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
		Roles:         map[chat.Platform]router.AskRole{"telegram": askRole},
		Timeout:       time.Second,
		Limiter:       refusing(""),
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

// existsCommand returns a command with three forms, about the sender, a person, or an ID on a platform. A reply of it
// names the form and repeats the arguments.
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

// withRun returns a change that replaces the Run of "exists" without arguments.
func withRun(run chat.Run) func(*router.Config) {
	return func(c *router.Config) { c.Commands[0].Forms[0].Run = run }
}

// withResult returns a change by which "exists" without arguments returns reply and err.
func withResult(reply *chat.Reply, err error) func(*router.Config) {
	return withRun(func(context.Context, *chat.Request) (*chat.Reply, error) { return reply, err })
}

// refusing is a Limiter that refuses limits whose key contains this text. If the text is empty, it refuses none.
type refusing string

func (r refusing) Reserve(
	_ context.Context, _ time.Duration, limits ...ratelimit.Limit,
) (wait time.Duration, ok bool) {
	for _, l := range limits {
		if r != "" && strings.Contains(l.Key, string(r)) {
			return 1500 * time.Millisecond, false
		}
	}
	return 0, true
}

func (refusing) Peek(context.Context, ...ratelimit.Limit) (wait time.Duration) { return 0 }

// counter counts the slots that were taken, by the limit's key. It is a Limiter that gives each key Burst slots, and no
// further ones later. It is also a claim.Claims to which every key is new.
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
