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

// Somebody with an open request to join a group of stakers owns the first of these wallets.
const (
	theirs   = "0x1100000000000000000000000000000000000000"
	anothers = "0x2200000000000000000000000000000000000000"
)

// The first lines of what they are told. The Lounges are the groups stakers and whales.
const (
	inLounge     = "✅ You're in: Lounge 1003"
	inSecond     = "✅ You're in: Lounge 1004"
	notTheirs    = "Not in yet: that wallet isn't registered to you"
	walletStakes = "✅ Staking 5 TKN"
	ownStakes    = "✅ Your wallet · staking 5 TKN"
	otherStakes  = "Not your wallet · staking 5 TKN"
)

// addressTest returns a joinTest with the bot's own commands, in which user 7 has asked to join the groups, and was
// asked for their wallet.
func addressTest(t *testing.T, groups ...int64) *adapterTest {
	r := joinTest(t)
	for _, group := range []int64{stakers, whales} {
		r.adapter.Settings.JoinChats[group] = chat.Requirement{Staker: true}
	}
	accounts := func(_ context.Context, id core.Identity) (core.Account, error) {
		if id.UID == common.HexToAddress(anothers).Hex() {
			return core.Account{DID: "did:x:2"}, nil
		}
		return core.Account{DID: "did:x:1"}, nil
	}
	stakes := func(context.Context, common.Address) (core.Stake, error) {
		return core.Stake{
			Checked:   1,
			BlockTime: time.Now(),
			Staked:    []core.PoolAmount{{Amount: decimal.NewFromInt(5)}},
		}, nil
	}
	router := joinRouter(t, source[core.Identity, core.Account](accounts), source[common.Address, core.Stake](stakes))
	r.serve(platformtest.Routed{Router: router})
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

// tells makes user 7 write a text, and returns the first line of each answer.
func (r *adapterTest) tells(text string) string {
	r.Helper()
	before := len(r.api.Sent())
	r.pushAndWait(inPrivate(7, text))
	return r.firstLines(before)
}

// firstLines returns the first line of each message after the first ones.
func (r *adapterTest) firstLines(before int) string {
	var lines []string
	for _, m := range r.api.Sent()[before:] {
		first, _, _ := strings.Cut(strings.TrimPrefix(m.Text, "\u200b"), "\n")
		first, _, _ = strings.Cut(first, "  ≈")
		lines = append(lines, strings.Join(strings.Fields(first), " "))
	}
	return strings.Join(lines, " | ")
}

// conversation is what user 7 says, and the first lines of the answers to each.
type conversation struct {
	groups []int64 // that they have asked to join
	says   []string
	want   []string
}

func (c conversation) run(t *testing.T) {
	r := addressTest(t, c.groups...)
	for i, text := range c.says {
		if got := r.tells(text); got != c.want[i] {
			t.Errorf("%s: answered by %q, want %q", text, got, c.want[i])
		}
		time.Sleep(time.Minute)
	}
}

func TestAnAddressIsMeantForTheOpenRequest(t *testing.T) {
	inBubble(t, map[string]conversation{
		"plain text": {
			says: []string{theirs, theirs},
			want: []string{inLounge, walletStakes},
		},
		"with words": {
			says: []string{"here: " + theirs},
			want: []string{inLounge},
		},
		"a wrong one, the right one": {
			says: []string{anothers, theirs, theirs},
			want: []string{notTheirs, inLounge, walletStakes},
		},
		"a damaged one, the right one": {
			says: []string{"0x11", theirs},
			want: []string{"⚠️ Check the wallet address", inLounge},
		},
	}, func(t *testing.T, c conversation) {
		c.groups = []int64{stakers}
		c.run(t)
	})
}

func TestACommandWithAnAddressIsAnsweredFirst(t *testing.T) {
	inBubble(t, map[string]conversation{
		"/staked": {
			says: []string{"/staked " + anothers, "/staked " + theirs},
			want: []string{walletStakes + " | " + notTheirs, walletStakes + " | " + inLounge},
		},
		"/verify": {
			says: []string{"/verify " + anothers, "/verify " + theirs},
			want: []string{otherStakes + " | " + notTheirs, ownStakes + " | " + inLounge},
		},
	}, func(t *testing.T, c conversation) {
		c.groups = []int64{stakers}
		c.run(t)
	})
}

func TestACommandWithoutAnAddressIsNotMeantForTheRequest(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := addressTest(t, stakers)
		if got := r.tells("/help"); strings.Contains(got, "|") {
			t.Errorf("/help is answered by %q", got)
		}
		check(t, "answer to an address", r.tells(theirs), inLounge)
	})
}

func TestAnAddressIsMeantForEachOpenRequest(t *testing.T) {
	inBubble(t, map[string]conversation{
		"plain text": {
			says: []string{anothers, theirs, theirs},
			want: []string{notTheirs + " | " + notTheirs, inLounge + " | " + inSecond, walletStakes},
		},
		"/staked": {
			says: []string{"/staked " + theirs},
			want: []string{walletStakes + " | " + inLounge + " | " + inSecond},
		},
		"about one of the groups": {
			says: []string{fmt.Sprint("/join ", whales, " ", theirs)},
			want: []string{inSecond + " | " + inLounge},
		},
	}, func(t *testing.T, c conversation) {
		c.groups = []int64{stakers, whales}
		c.run(t)
	})
}

func TestAnAddressWithoutARequestIsAnsweredAsEver(t *testing.T) {
	inBubble(t, map[string]conversation{
		"plain text": {
			says: []string{theirs},
			want: []string{walletStakes},
		},
		"/verify": {
			says: []string{"/verify " + theirs},
			want: []string{ownStakes},
		},
	}, func(t *testing.T, c conversation) { c.run(t) })
}

// The bot is not told how moderators decide, or that the person takes the request back.
func TestAnAddressIsAnsweredAsEverOnceTheRequestIsSettled(t *testing.T) {
	type test struct {
		state     faketelegram.JoinState
		approvals int
	}
	inBubble(t, map[string]test{
		"let in by a moderator": {
			state: faketelegram.JoinApproved,
		},
		"declined": {
			state:     faketelegram.JoinDeclined,
			approvals: 1,
		},
		"withdrawn": {
			state:     faketelegram.JoinWithdrawn,
			approvals: 1,
		},
	}, func(t *testing.T, tt test) {
		r := addressTest(t, stakers)
		r.api.CloseJoin(stakers, 7, tt.state)
		for range 2 {
			check(t, "answer", r.tells(theirs), walletStakes)
		}
		check(t, "approvals", len(r.api.Calls("approveChatJoinRequest")), tt.approvals)
	})
}

// Nobody tells the bot of a request that was declined, so it counts as open for a day.
func TestARequestCountsAsOpenForADay(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := addressTest(t, stakers)
		r.api.CloseJoin(stakers, 7, faketelegram.JoinDeclined)
		time.Sleep(23 * time.Hour)
		check(t, "answer within a day", r.tells(anothers), notTheirs)
		time.Sleep(2 * time.Hour)
		check(t, "answer after a day", r.tells(anothers), walletStakes)
	})
}

// The question is the bot's own, so its answer must not be lost.
func TestAnAddressThatAnswersAQuestionGetsTheCommandsAnswer(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := addressTest(t, stakers)
		r.pushAndWait(inPrivate(7, "/staked"))
		sent := r.api.Sent()
		r.pushAndWait(inPrivate(7, anothers).ReplyingTo(sent[len(sent)-1]))
		check(t, "answers", r.firstLines(len(sent)), walletStakes+" | "+notTheirs)
	})
}

// A restart forgets the requests. Whoever answers the bot's question reminds it.
func TestAnAnsweredQuestionSaysThatARequestIsOpen(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := addressTest(t, stakers)
		question := r.api.Sent()[0]
		r.adapter.Joins.Close(fmt.Sprint(stakers), userOf(7))
		before := len(r.api.Sent())
		r.pushAndWait(inPrivate(7, anothers).ReplyingTo(question))
		check(t, "first", r.firstLines(before), notTheirs)
		check(t, "then", r.tells(theirs), inLounge)
	})
}
