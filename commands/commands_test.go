package commands_test

import (
	"context"
	"errors"
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
