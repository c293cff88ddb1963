package commands_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/market"
	"herald/internal/staking"
	"herald/internal/words"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has the answers as cards, before any platform shows them.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *update, func(c commandstest.Case) string {
		return shown(words.Print(c.Reply))
	})
}

// shown is all of a card.
func shown(c words.Card) string {
	lines := []string{fmt.Sprintf("[%d] %s", c.Tone, c.Title)}
	add := func(format string, line words.Line) {
		if !line.Empty() {
			lines = append(lines, fmt.Sprintf(format, marked(line)))
		}
	}
	add("%s", c.Text)
	for _, s := range c.Sections {
		add("== %s", s.Heading)
		for _, f := range s.Fields {
			lines = append(lines, marked(f.Name)+" | "+marked(f.Value))
		}
	}
	for _, f := range c.Details {
		lines = append(lines, "… "+marked(f.Name)+" | "+marked(f.Value))
	}
	for _, n := range c.Notes {
		add("(%s)", n)
	}
	if c.Image != nil {
		lines = append(lines, fmt.Sprintf("picture %s: %s", c.Image.Name, c.Image.Alt))
	}
	for _, b := range c.Buttons {
		lines = append(lines, fmt.Sprintf("[ %s ] %s", b.Label, b.State+b.URL+b.Copy))
	}
	if c.Ask != nil {
		lines = append(lines, fmt.Sprintf("asks for %s of /%s: %s", c.Ask.Param, c.Ask.Command, c.Ask.Question))
	}
	return strings.Join(lines, "\n")
}

// marked is a line with marks around what is not plain text.
func marked(l words.Line) string {
	var b strings.Builder
	for _, s := range l {
		switch {
		case s.URL != "":
			fmt.Fprintf(&b, "[%s](%s)", s.Text, s.URL)
		case s.Person != nil:
			fmt.Fprintf(&b, "<person %s>", s.Person.ID)
		case s.Channel != nil:
			fmt.Fprintf(&b, "<chat %s>", s.Text)
		case s.Style == words.Code:
			fmt.Fprintf(&b, "`%s`", s.Text)
		case s.Style == words.Foreign:
			fmt.Fprintf(&b, "«%s»", s.Text)
		default:
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

// texts are every text of a reply, in English.
func texts(r chat.Reply) string { return shown(words.Print(r)) }

func TestEveryPersonalAnswerIsPrivate(t *testing.T) {
	commandstest.Cases(t, chat.English, func(c commandstest.Case) {
		name, _, _ := strings.Cut(c.Line, " ")
		if personal := slices.Contains([]string{"/mylogins", "/exists", "/verify"}, name); c.Private != personal {
			t.Errorf("%s, %s: private is %t", c.Scene, c.Line, c.Private)
		}
	})
}

func TestNobodyStandsBehindAnAnonymousMessage(t *testing.T) {
	for command, args := range map[string]chat.Args{"exists": {}, "verify": chat.Typed(commandstest.Wallet)} {
		reply := commandstest.Healthy().Router(t).Handle(t.Context(), chat.Request{
			Command: command, Args: args, From: chat.User{Platform: "telegram", ID: "1"}, Target: &chat.User{Platform: "telegram"},
			Role: chat.Moderator, Community: commandstest.Community,
		})
		if reply.Text.Key != "anonymous.them" {
			t.Errorf("/%s: got %+v", command, reply)
		}
	}
}

func TestEveryFailureOfEveryServiceHasWordsWithoutItsDetail(t *testing.T) {
	for _, l := range chat.Languages() {
		for _, service := range commandstest.Services {
			for _, reason := range core.Reasons() {
				got := words.Say(l, commands.Explain(fmt.Errorf("outer: %w", &core.Error{Service: service, Reason: reason, Err: errors.New("secret detail")})))
				if got == "" || strings.Contains(got, "reason.") || strings.Contains(got, "service.") || strings.ContainsAny(got, "{}%") || strings.Contains(got, "detail") {
					t.Errorf("%s: %s %s: %q", l, service.Name, reason, got)
				}
			}
		}
		for _, err := range []error{errors.New("secret detail"), fmt.Errorf("secret detail: %w", context.DeadlineExceeded)} {
			if got := words.Say(l, commands.Explain(err)); got == "" || strings.Contains(got, "detail") || strings.Contains(got, "reason.") {
				t.Errorf("%s: an unknown error is shown: %q", l, got)
			}
		}
	}
}

func TestAnAnswerThatIsNotWholeSaysForTheLogWhatIsMissing(t *testing.T) {
	unread := core.UnreadPool{
		Pool: core.Pool{Address: common.HexToAddress("0x05"), Name: "Pool 05"},
		Err:  staking.Service.Fail(core.Rejected, errors.New("the pool reverted the call")),
	}
	const line = `pool 0x0000000000000000000000000000000000000005 (Pool 05): chain: rejected: the pool reverted the call`
	for name, test := range map[string]struct {
		command string
		change  func(*commandstest.World)
		want    string // "" is a whole answer
	}{
		"whole":        {"staked", func(*commandstest.World) {}, ""},
		"a staker's":   {"staked", func(w *commandstest.World) { w.Stake.Failed = []core.UnreadPool{unread} }, line},
		"undetermined": {"staked", func(w *commandstest.World) { w.Stake.Staked, w.Stake.Failed = nil, []core.UnreadPool{unread} }, line},
		"withdrawals":  {"staked", func(w *commandstest.World) { w.Stake.UnbondingFailed = []core.UnreadPool{unread} }, line},
		"both, named once": {"staked", func(w *commandstest.World) {
			w.Stake.Failed, w.Stake.UnbondingFailed = []core.UnreadPool{unread}, []core.UnreadPool{unread}
		}, line},
		"supply":                 {"supply", func(*commandstest.World) {}, ""},
		"supply without a price": {"supply", func(w *commandstest.World) { w.PriceErr = market.Service.Fail(core.Limited, errors.New("status 429")) }, "price: limited: status 429"},
		"supply at an old price": {"supply", func(w *commandstest.World) { w.Price.Stale = true }, ""},
	} {
		w := commandstest.Healthy()
		test.change(w)
		command, _ := w.Router(t).Commands().Find(test.command)
		reply, err := command.Forms[0].Run(t.Context(), chat.Request{Args: chat.Named(map[string]string{"wallet": commandstest.Wallet})})
		if reply.Title.Key == "" {
			t.Errorf("%s: no reply", name)
		}
		partial, ok := errors.AsType[*chat.PartialError](err)
		switch {
		case test.want == "" && err != nil, test.want != "" && !ok:
			t.Errorf("%s: %v", name, err)
		case ok && (partial.Err.Error() != test.want || strings.Contains(strings.ToLower(err.Error()), strings.ToLower(commandstest.Wallet[2:]))):
			t.Errorf("%s: the log says %q, want %q", name, err, test.want)
		}
	}
}
