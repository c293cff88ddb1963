package commands_test

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/commands"
	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/market"
	"herald/internal/staking"
)

var update = flag.Bool("update", false, "write the golden transcripts anew")

// TestTranscripts has the answers as commands make them, before any platform
// shows them.
func TestTranscripts(t *testing.T) {
	commandstest.Transcripts(t, *update, func(c commandstest.Case) string {
		lines := []string{fmt.Sprintf("[%d] %s", c.Reply.Tone, c.Reply.Title)}
		if c.Reply.Text != "" {
			lines = append(lines, c.Reply.Text)
		}
		for _, s := range c.Reply.Sections {
			if s.Heading != "" {
				lines = append(lines, "== "+s.Heading)
			}
			for _, f := range s.Fields {
				lines = append(lines, f.Name+" | "+f.Value)
			}
		}
		for _, n := range c.Reply.Notes {
			lines = append(lines, "("+n+")")
		}
		return strings.Join(lines, "\n")
	})
}

func TestEveryPersonalAnswerIsPrivate(t *testing.T) {
	for _, c := range commandstest.Cases(t) {
		personal := strings.HasPrefix(c.Line, "/mylogins") || strings.HasPrefix(c.Line, "/exists")
		if c.Private != personal {
			t.Errorf("%s, %s: private is %t", c.Scene, c.Line, c.Private)
		}
	}
}

func TestNobodyStandsBehindAnAnonymousMessage(t *testing.T) {
	reply := commandstest.Healthy().Router(t).Handle(t.Context(), chat.Request{
		Command: "exists", From: chat.User{Platform: "telegram", ID: "1"}, Target: &chat.User{Platform: "telegram"},
		Role: chat.Moderator, Community: commandstest.Community,
	})
	if !strings.Contains(reply.Text, "anonymously") {
		t.Errorf("got %+v", reply)
	}
}

func TestEveryFailureOfEveryServiceHasWordsWithoutItsDetail(t *testing.T) {
	for _, service := range commandstest.Services {
		for _, reason := range commandstest.Reasons {
			got := commands.Explain(fmt.Errorf("outer: %w", &core.Error{Service: service, Reason: reason, Err: errors.New("secret detail")}))
			if !strings.HasPrefix(got, "The ") || strings.ContainsAny(got, "%!") || strings.Contains(got, "detail") {
				t.Errorf("%s %s: %q", service.Name, reason, got)
			}
		}
	}
	if got := commands.Explain(errors.New("secret detail")); strings.Contains(got, "detail") {
		t.Errorf("an unknown error is shown: %q", got)
	}
}

func TestPriceKeepsItsDigits(t *testing.T) {
	for in, want := range map[string]string{
		"0.5": "$0.500000", "1": "$1.0000", "12.34567": "$12.3457", "999.99999": "$1,000.0000", "1234.5": "$1,234.50",
		"0.000000001234567": "$0.00000000123457", "123456789012345678": "$123,456,789,012,345,678.00", "1e-20": "$0.0000000000000000000100000",
	} {
		w := commandstest.Healthy()
		w.Price.Value = core.Quote{Price: decimal.RequireFromString(in)}
		got := commandstest.Ask(t, w.Router(t), "/price").Sections[0].Fields[0].Value
		if got != want {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
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
		if reply.Title == "" {
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

// A cached stake grows old while it is shown.
func TestAStakeShowsTheAgeOfItsBlockWhenItIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := commandstest.Healthy()
		w.Stake.BlockTime = time.Now().Add(91 * time.Second) // this machine's clock is slow
		for _, step := range []struct {
			after time.Duration
			want  string
		}{
			{30 * time.Second, ""},
			{time.Second, "0 s ago"},
			{60 * time.Second, "0 s ago"},
			{59 * time.Second, "59 s ago"},
			{time.Second, "1 min ago"},
			{59*time.Minute - time.Second, "59 min ago"},
			{time.Second, "1 h ago"},
			{22 * time.Hour, "23 h ago"},
			{time.Hour, "1 d ago"},
		} {
			time.Sleep(step.after)
			notes := commandstest.Ask(t, w.Router(t), "/staked "+commandstest.Wallet).Notes
			want := "Block 22,000,077."
			if step.want != "" {
				want = "Block 22,000,077, " + step.want + "."
			}
			if !slices.Contains(notes, want) {
				t.Errorf("%q, want %q", notes, want)
			}
		}
	})
}
