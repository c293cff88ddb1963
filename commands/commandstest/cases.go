package commandstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/market"
	"herald/internal/partner"
	"herald/internal/staking"
	"herald/internal/supply"
)

// Case is a command as it was typed, and its answer.
type Case struct {
	// Scene is what the case has in common with some others, as in "failing".
	Scene string
	// Line is the command as typed, as in "/exists 12345".
	Line  string
	Reply chat.Reply
	// Private answers reach the asker alone.
	Private bool
}

// Wallet is whose stake is asked for.
const Wallet = "0x52908400098527886E0F7030069857D2E4169EE7"

// asker is a sender, by their Telegram ID; an empty one is anonymous.
type asker struct {
	id        string
	role      chat.Role
	community string
}

// scene is some commands in one state of the world.
type scene struct {
	name   string
	change func(*World)
	// from is who asks; nil is Ann as a moderator.
	from  *asker
	wait  limit
	lines []string
}

// Reasons are all that a service can fail for.
var Reasons = []core.Reason{
	core.Unreachable, core.SlowAnswer, core.Limited, core.Denied, core.Rejected, core.Malformed, core.Behind, core.Paused,
}

// Services are all that can fail.
var Services = []*core.Service{partner.Service, market.Service, supply.Service, staking.Service}

func failed(s *core.Service, r core.Reason) *core.Error { return s.Fail(r, errors.New("inner")) }

func unreadPools(n int) []core.UnreadPool {
	unread := make([]core.UnreadPool, n)
	for i := range unread {
		unread[i] = core.UnreadPool{Pool: core.Pool{Address: common.Address{byte(i)}}, Err: failed(staking.Service, core.Rejected)}
	}
	return unread
}

var (
	price, supplies, staked, logins, exists = "/price", "/supply", "/staked " + Wallet, "/mylogins", "/exists"
	// everything is each command once.
	everything = []string{price, supplies, staked, logins, exists, "/exists 12345", "/help"}
)

func scenes() []scene {
	all := []scene{
		{name: "healthy", lines: append(everything[:5:5], "/help", "/start")},
		{name: "moderator", lines: []string{
			"/exists 12345", "/exists 999", "/exists discord 5", "/exists EMAIL a@b.c", "/exists evm " + Wallet,
		}},
		{name: "forbidden", from: &asker{Ann, chat.Member, Community}, lines: []string{"/exists 12345", "/exists discord 5"}},
		{name: "unlisted", from: &asker{Ann, chat.Moderator, "-1009876543210"}, lines: []string{"/exists 12345", exists}},
		{name: "strangers", from: &asker{Stranger, chat.Member, Community}, lines: []string{logins, exists}},
		{name: "anonymous", from: &asker{"", chat.Moderator, Community}, lines: []string{logins, exists}},
		{name: "quiet", change: func(w *World) { w.Logins = nil }, lines: []string{logins}},
		{name: "many", change: many, lines: []string{logins, staked}},
		{name: "sparse", change: func(w *World) {
			w.Price.Value = core.Quote{Price: number("64123.456")}
			w.Stake = core.Stake{Block: 1_000_000, Checked: 21}
		}, lines: []string{price, staked}},
		{name: "old", change: func(w *World) { w.Price.Stale, w.Supply.Stale = true, true }, lines: []string{price, supplies}},
		{name: "partly", change: func(w *World) {
			w.PriceErr = failed(market.Service, core.Limited)
			w.Stake.Failed, w.Stake.Checked = unreadPools(2), 19
			w.Stake.Unbonding = []core.PoolAmount{{Pool: core.Pool{Name: "Exit"}, Amount: number("3")}}
			w.Stake.UnbondingFailed = unreadPools(1)
		}, lines: []string{supplies, staked}},
		{name: "undetermined", change: func(w *World) {
			w.Stake.Staked, w.Stake.Checked, w.Stake.Failed = nil, 20, unreadPools(1)
		}, lines: []string{staked}},
		{name: "half failing", change: func(w *World) { w.LoginsErr = failed(partner.Service, core.Unreachable) }, lines: []string{logins, exists}},
		{name: "failing inside", change: func(w *World) {
			w.PriceErr, w.SupplyErr, w.StakeErr, w.AccountsErr = errors.New("inner"), context.DeadlineExceeded, context.DeadlineExceeded, errors.New("inner")
		}, lines: everything[:5]},
		{name: "limited", wait: limit(7 * time.Second), lines: everything},
		{name: "unknown", lines: []string{"/moon"}},
		{name: "badly typed", lines: []string{
			"/staked", "/staked a b", "/staked vitalik.eth", "/staked 0x1234", "/staked 52908400098527886E0F7030069857D2E4169EE7",
			"/staked 0x52908400098527886E0F7030069857D2E4169Ee7", "/staked 0x52908400098527886E0F7030069857D2E4169EG7",
			"/staked " + strings.Repeat("9", 4000), "/staked \u202e0x52908400098527886e0f7030069857d2e4169ee7",
			"/price now", "/exists @somebody", "/exists moon 1", "/exists Telegram ann", "/exists BTC 0x1", "/exists EVM 0x1", "/exists a b c",
		}},
	}
	for _, reason := range Reasons {
		all = append(all, scene{name: "failing " + string(reason), change: func(w *World) {
			w.PriceErr = failed(market.Service, reason)
			w.SupplyErr = failed(supply.Service, reason)
			w.StakeErr = failed(staking.Service, reason)
			w.AccountsErr = failed(partner.Service, reason)
		}, lines: everything[:6]})
	}
	return all
}

// many is more than one answer has room for.
func many(w *World) {
	w.Logins, w.Stake.Staked = nil, nil
	for i := range 500 {
		w.Logins = append(w.Logins, core.Login{Dapp: fmt.Sprint("Dapp ", i), Platform: "EVM", At: Noon.Add(-time.Duration(i) * time.Hour)})
	}
	for i := range 60 {
		w.Stake.Staked = append(w.Stake.Staked, core.PoolAmount{
			Pool:   core.Pool{Name: fmt.Sprintf("Pool %d %s", i, strings.Repeat("with a long name ", 3))},
			Amount: number("123456789.000000000000000001"),
		})
	}
	w.Stake.Checked = 60
}

// Cases are every command's every outcome, the same in every run: in a bubble
// time stands still.
func Cases(t *testing.T) (all []Case) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { all = cases(t) })
	return all
}

func cases(t *testing.T) []Case {
	t.Helper()
	var all []Case
	for _, s := range scenes() {
		w := Healthy()
		if s.change != nil {
			s.change(w)
		}
		if s.from == nil {
			s.from = &asker{Ann, chat.Moderator, Community}
		}
		r := w.limited(t, s.wait)
		for _, line := range s.lines {
			req := request(line, *s.from)
			command, _ := r.Commands().Find(req.Command)
			all = append(all, Case{
				Scene: s.name, Line: line, Reply: r.Handle(t.Context(), req), Private: command.Visibility == chat.Private,
			})
		}
		if s.name == "badly typed" && w.StakesAsked > 0 {
			t.Error("a service was asked about bad input")
		}
	}
	return all
}

// Ask types line as Ann, a moderator.
func Ask(t testing.TB, r *chat.Router, line string) chat.Reply {
	t.Helper()
	return r.Handle(t.Context(), request(line, asker{Ann, chat.Moderator, Community}))
}

func request(line string, from asker) chat.Request {
	words := strings.Fields(line)
	return chat.Request{
		ID: "REF", Command: strings.TrimPrefix(words[0], "/"), Args: chat.Typed(words[1:]...),
		From: chat.User{Platform: "telegram", ID: from.id}, Community: from.community, Role: from.role,
	}
}
