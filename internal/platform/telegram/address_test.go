package telegram

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-telegram/bot/models"
	"github.com/shopspring/decimal"

	"herald/internal/chat"
	"herald/internal/core"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/platform/platformtest"
	"herald/internal/query"
)

// whales is a second group for stakers.
const whales = -1004

// The wallets of user 7 and of somebody else.
const (
	ownWallet    = "0x1100000000000000000000000000000000000000"
	othersWallet = "0x2200000000000000000000000000000000000000"
)

// The first lines of answers to user 7. "Lounge 1003" is the name of the group stakers, and "Lounge 1004" of whales.
const (
	letIn1003     = "✅ You're in: Lounge 1003"
	letIn1004     = "✅ You're in: Lounge 1004"
	notRegistered = "Not in yet: that wallet isn't registered to you"
	staked        = "✅ Staking 5 TKN"
	verifiedOwn   = "✅ Your wallet · staking 5 TKN"
	verifiedOther = "Not your wallet · staking 5 TKN"
)

// walletTest returns a running adapter with the product's commands. User 7 has asked to join the groups, and the bot
// has asked for their wallet.
func walletTest(t *testing.T, groups ...int64) *adapterTest {
	r := joinTest(t)
	for _, group := range []int64{stakers, whales} {
		r.adapter.Settings.JoinChats[group] = chat.Requirement{Staker: true}
	}
	accounts, stakes := walletSources()
	router := joinRouter(t, accounts, stakes)
	r.serve(platformtest.Routed{Router: router})
	time.Sleep(time.Second)
	for _, group := range groups {
		r.api.GrantInvite(group, true)
		r.api.RequestJoin(loungeOf(group), faketelegram.Person(7), false)
		time.Sleep(time.Second)
	}
	r.waitIdle(time.Minute)
	return r
}

// walletSources returns sources in which user 7 and ownWallet have one account, and othersWallet has another. Both
// wallets stake 5 TKN.
func walletSources() (query.Source[core.Identity, core.Account], query.Source[common.Address, core.Stake]) {
	accounts := func(_ context.Context, id core.Identity) (core.Account, error) {
		if id.UID == common.HexToAddress(othersWallet).Hex() {
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
	return source[core.Identity, core.Account](accounts), source[common.Address, core.Stake](stakes)
}

// loungeOf returns a group for stakers, with a name that has its ID.
func loungeOf(group int64) faketelegram.Chat {
	return faketelegram.Chat{ID: group, Type: "supergroup", Title: fmt.Sprint("Lounge ", -group)}
}

// sayInPrivate makes user 7 write a text in private, and returns the first line of each answer, as firstLines does.
func (r *adapterTest) sayInPrivate(text string) string {
	r.Helper()
	before := len(r.api.Sent())
	r.pushAndWait(inPrivate(7, text))
	return r.firstLines(before)
}

// firstLines skips some messages, and returns the first line of each further one, joined by " | ". It leaves out what a
// stake is worth.
func (r *adapterTest) firstLines(skipped int) string {
	var lines []string
	for _, m := range r.api.Sent()[skipped:] {
		line, _, _ := strings.Cut(strings.TrimPrefix(m.Text, "\u200b"), "\n")
		line, _, _ = strings.Cut(line, "  ≈")
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, " | ")
}

// conversation is a list of texts that user 7 writes, and the answers.
type conversation struct {
	groups []int64  // the groups that the user has asked to join
	says   []string // the texts
	want   []string // the answers to each text, as firstLines returns them
}

func (c conversation) run(t *testing.T) {
	r := walletTest(t, c.groups...)
	for i, text := range c.says {
		if got := r.sayInPrivate(text); got != c.want[i] {
			t.Errorf("%s: answered by %q, want %q", text, got, c.want[i])
		}
		time.Sleep(time.Minute)
	}
}

func TestAWalletIsMeantForTheOpenRequest(t *testing.T) {
	inBubble(t, map[string]conversation{
		"plain text": {
			says: []string{ownWallet, ownWallet},
			want: []string{letIn1003, staked},
		},
		"with words": {
			says: []string{"here: " + ownWallet},
			want: []string{letIn1003},
		},
		"a wrong one, the right one": {
			says: []string{othersWallet, ownWallet, ownWallet},
			want: []string{notRegistered, letIn1003, staked},
		},
		"a damaged one, the right one": {
			says: []string{"0x11", ownWallet},
			want: []string{"⚠️ Check the wallet address", letIn1003},
		},
	}, func(t *testing.T, c conversation) {
		c.groups = []int64{stakers}
		c.run(t)
	})
}

func TestACommandWithAWalletIsAnsweredFirst(t *testing.T) {
	inBubble(t, map[string]conversation{
		"/staked": {
			says: []string{"/staked " + othersWallet, "/staked " + ownWallet},
			want: []string{staked + " | " + notRegistered, staked + " | " + letIn1003},
		},
		"/verify": {
			says: []string{"/verify " + othersWallet, "/verify " + ownWallet},
			want: []string{verifiedOther + " | " + notRegistered, verifiedOwn + " | " + letIn1003},
		},
	}, func(t *testing.T, c conversation) {
		c.groups = []int64{stakers}
		c.run(t)
	})
}

// The name of a group is not known if Telegram has not answered since the start of the process.
func TestTheAnswerToARequestHasNoNameOfAnotherGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := walletTest(t, stakers)
		r.api.GrantInvite(whales, true)
		r.api.Promote(whales, 7, "left")
		r.adapter.groups.Clear()
		r.adapter.seeGroup(models.Chat{ID: whales, Title: "Lounge 1004"})
		want := "⚠️ No open request | ✅ You're in: -1003"
		if got := r.sayInPrivate(fmt.Sprint("/join ", whales, " ", ownWallet)); got != want {
			t.Errorf("answered by %q, want %q", got, want)
		}
	})
}

func TestACommandWithoutAWalletIsNotMeantForTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := walletTest(t, stakers)
		if got := r.sayInPrivate("/help"); strings.Contains(got, "|") {
			t.Errorf("/help is answered by %q", got)
		}
		check(t, "answer to an address", r.sayInPrivate(ownWallet), letIn1003)
	})
}

func TestAWalletIsMeantForEachOpenRequest(t *testing.T) {
	inBubble(t, map[string]conversation{
		"plain text": {
			says: []string{othersWallet, ownWallet, ownWallet},
			want: []string{notRegistered + " | " + notRegistered, letIn1003 + " | " + letIn1004, staked},
		},
		"/staked": {
			says: []string{"/staked " + ownWallet},
			want: []string{staked + " | " + letIn1003 + " | " + letIn1004},
		},
		"about one of the groups": {
			says: []string{fmt.Sprint("/join ", whales, " ", ownWallet)},
			want: []string{letIn1004 + " | " + letIn1003},
		},
	}, func(t *testing.T, c conversation) {
		c.groups = []int64{stakers, whales}
		c.run(t)
	})
}

func TestAWalletIsOnlyACommandIfThereIsNoRequest(t *testing.T) {
	inBubble(t, map[string]conversation{
		"plain text": {
			says: []string{ownWallet},
			want: []string{staked},
		},
		"/verify": {
			says: []string{"/verify " + ownWallet},
			want: []string{verifiedOwn},
		},
	}, func(t *testing.T, c conversation) { c.run(t) })
}

// Telegram does not tell the bot that a moderator decided, or that the user withdrew the request. The bot learns that
// when it tries to approve. If a moderator let the user in, the bot sees that they are a member, and does not try.
func TestAWalletIsOnlyACommandOnceTheRequestIsSettled(t *testing.T) {
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
		r := walletTest(t, stakers)
		r.api.CloseJoin(stakers, 7, tt.state)
		check(t, "first answer", r.sayInPrivate(ownWallet), staked)
		check(t, "second answer", r.sayInPrivate(ownWallet), staked)
		check(t, "approvals", len(r.api.Calls("approveChatJoinRequest")), tt.approvals)
	})
}

// Telegram does not tell the bot that a request was declined, so the request counts as open for a day.
func TestARequestCountsAsOpenForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := walletTest(t, stakers)
		r.api.CloseJoin(stakers, 7, faketelegram.JoinDeclined)
		time.Sleep(23 * time.Hour)
		check(t, "answer within a day", r.sayInPrivate(othersWallet), notRegistered)
		time.Sleep(2 * time.Hour)
		check(t, "answer after a day", r.sayInPrivate(othersWallet), staked)
	})
}

// /staked asked for the wallet, so its answer comes before the answer about the request.
func TestAWalletThatAnswersACommandGetsItsAnswerFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := walletTest(t, stakers)
		r.pushAndWait(inPrivate(7, "/staked"))
		sent := r.api.Sent()
		question := sent[len(sent)-1]
		r.pushAndWait(inPrivate(7, othersWallet).ReplyingTo(question))
		check(t, "answers", r.firstLines(len(sent)), staked+" | "+notRegistered)
	})
}

// A restart forgets the open requests. If the user then answers the question that was about one, the bot learns of it
// again.
func TestAnAnswerToTheBotsQuestionIsForTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := walletTest(t, stakers)
		question := r.api.Sent()[0]
		r.adapter.Joins.Close(fmt.Sprint(stakers), userOf(7)) // forgets the request, as a restart does
		before := len(r.api.Sent())
		r.pushAndWait(inPrivate(7, othersWallet).ReplyingTo(question))
		check(t, "answer to the question", r.firstLines(before), notRegistered)
		check(t, "next answer", r.sayInPrivate(ownWallet), letIn1003)
	})
}
