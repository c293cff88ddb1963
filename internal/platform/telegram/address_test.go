package telegram

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/platform/platformtest"
)

// whales is a second group for stakers.
const whales = -1004

// Somebody with an open request to join a group of stakers owns one of these wallets.
const (
	theirs   = "0x1100000000000000000000000000000000000000"
	anothers = "0x2200000000000000000000000000000000000000"
)

// addressTest is a joinTest with the bot's own commands, in which user 7 has asked to join the groups,
// and was asked for their wallet.
func addressTest(t *testing.T, groups ...int64) *adapterTest {
	r := joinTest(t)
	for _, group := range []int64{stakers, whales} {
		r.adapter.Settings.JoinChats[group] = chat.Requirement{Staker: true}
	}
	accounts := source[core.Identity, core.Account](func(_ context.Context, id core.Identity) (core.Account, error) {
		if id.UID == common.HexToAddress(anothers).Hex() {
			return core.Account{DID: "did:x:2"}, nil
		}
		return core.Account{DID: "did:x:1"}, nil
	})
	stakes := source[common.Address, core.Stake](func(context.Context, common.Address) (core.Stake, error) {
		return core.Stake{Checked: 1, BlockTime: time.Now(), Staked: []core.PoolAmount{{Amount: decimal.NewFromInt(5)}}}, nil
	})
	r.serve(platformtest.Routed{Router: joinRouter(t, accounts, stakes)})
	time.Sleep(time.Second)
	for _, group := range groups {
		r.api.GrantInvite(group, true)
		r.api.RequestJoin(loungeOf(group), faketelegram.Person(7), false)
		time.Sleep(time.Second)
	}
	time.Sleep(20 * time.Second)
	return r
}

// loungeOf returns one of the groups for stakers.
func loungeOf(group int64) faketelegram.Chat {
	return faketelegram.Chat{ID: group, Type: "supergroup", Title: fmt.Sprint("Lounge ", -group)}
}

// tells has user 7 write a text, and returns the first line of each answer.
func (r *adapterTest) tells(text string) string {
	r.Helper()
	before := len(r.api.Sent())
	r.give(inPrivate(7, text))
	return r.firstLines(before)
}

// firstLines returns the first line of each message but the first ones.
func (r *adapterTest) firstLines(before int) string {
	var lines []string
	for _, m := range r.api.Sent()[before:] {
		first, _, _ := strings.Cut(strings.TrimPrefix(m.Text, "\u200b"), "\n")
		first, _, _ = strings.Cut(first, "  ≈")
		lines = append(lines, strings.Join(strings.Fields(first), " "))
	}
	return strings.Join(lines, " | ")
}

// While a request is open, an address in private is meant for it.
func TestAnAddressIsMeantForTheOpenRequest(t *testing.T) {
	const (
		in     = "✅ You're in: Lounge 1003"
		inToo  = "✅ You're in: Lounge 1004"
		not    = "Not in yet: that wallet isn't registered to you"
		stake  = "✅ Staking 5 TKN"
		wallet = "✅ Your wallet · staking 5 TKN"
		other  = "Not your wallet · staking 5 TKN"
	)
	one, two := []int64{stakers}, []int64{stakers, whales}
	type step struct{ says, want string }
	inBubble(t, map[string]struct {
		groups []int64
		steps  []step
	}{
		"plain text":                {one, []step{{theirs, in}, {theirs, stake}}},
		"with words":                {one, []step{{"here: " + theirs, in}}},
		"a wrong one, the right":    {one, []step{{anothers, not}, {theirs, in}, {theirs, stake}}},
		"a damaged one, the right":  {one, []step{{"0x11", "⚠️ Check the wallet address"}, {theirs, in}}},
		"/staked":                   {one, []step{{"/staked " + anothers, stake + " | " + not}, {"/staked " + theirs, stake + " | " + in}}},
		"/verify":                   {one, []step{{"/verify " + anothers, other + " | " + not}, {"/verify " + theirs, wallet + " | " + in}}},
		"two requests":              {two, []step{{anothers, not + " | " + not}, {theirs, in + " | " + inToo}, {theirs, stake}}},
		"two requests, /staked":     {two, []step{{"/staked " + theirs, stake + " | " + in + " | " + inToo}}},
		"no request":                {nil, []step{{theirs, stake}, {"/verify " + theirs, wallet}}},
		"a command about a group":   {two, []step{{fmt.Sprint("/join ", whales, " ", theirs), inToo + " | " + in}}},
		"a command without address": {one, []step{{"/help", ""}, {theirs, in}}},
	}, func(t *testing.T, tt struct {
		groups []int64
		steps  []step
	}) {
		r := addressTest(t, tt.groups...)
		for _, s := range tt.steps {
			if got := r.tells(s.says); got != s.want && s.says != "/help" {
				t.Errorf("%s: answered by %q, want %q", s.says, got, s.want)
			}
			time.Sleep(time.Minute)
		}
	})
}

// The bot is not told how moderators decide, or that the person takes the request back.
func TestAnAddressIsAnsweredAsEverOnceTheRequestIsSettled(t *testing.T) {
	inBubble(t, map[string]faketelegram.JoinState{
		"let in by a moderator": faketelegram.JoinApproved, "declined": faketelegram.JoinDeclined, "withdrawn": faketelegram.JoinWithdrawn,
	}, func(t *testing.T, state faketelegram.JoinState) {
		r := addressTest(t, stakers)
		r.api.CloseJoin(stakers, 7, state)
		for range 2 {
			check(t, "answer", r.tells(theirs), "✅ Staking 5 TKN")
		}
		check(t, "approvals", len(r.api.Calls("approveChatJoinRequest")), map[bool]int{false: 1}[state == faketelegram.JoinApproved])
	})
}

// Nobody tells the bot of a request that was declined, so it counts as open for a day.
func TestARequestCountsAsOpenForADay(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := addressTest(t, stakers)
		r.api.CloseJoin(stakers, 7, faketelegram.JoinDeclined)
		time.Sleep(23 * time.Hour)
		check(t, "answer within a day", r.tells(anothers), "Not in yet: that wallet isn't registered to you")
		time.Sleep(2 * time.Hour)
		check(t, "answer after a day", r.tells(anothers), "✅ Staking 5 TKN")
	})
}

// The question is the bot's own, so its answer must not be lost.
func TestAnAddressThatAnswersAQuestionGetsTheCommandsAnswer(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := addressTest(t, stakers)
		r.give(inPrivate(7, "/staked"))
		sent := r.api.Sent()
		r.give(inPrivate(7, anothers).ReplyingTo(sent[len(sent)-1]))
		check(t, "answers", r.firstLines(len(sent)), "✅ Staking 5 TKN | Not in yet: that wallet isn't registered to you")
	})
}

// A restart forgets the requests. Whoever answers the bot's question reminds it.
func TestAnAnsweredQuestionSaysThatARequestIsOpen(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := addressTest(t, stakers)
		question := r.api.Sent()[0]
		r.adapter.Joins.Close(fmt.Sprint(stakers), userOf(7))
		before := len(r.api.Sent())
		r.give(inPrivate(7, anothers).ReplyingTo(question))
		check(t, "first", r.firstLines(before), "Not in yet: that wallet isn't registered to you")
		check(t, "then", r.tells(theirs), "✅ You're in: Lounge 1003")
	})
}
