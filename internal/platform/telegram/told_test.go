package telegram

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

// None of the users has started the bot, so it may not write to them after their approval.
func TestEightWithinASecondAreAllTold(t *testing.T) {
	type test struct {
		checkTakes time.Duration
		guarded    bool  // the bot is the group's guardian
		leftOut    int64 // users who ask at the same time and lack what is required
	}
	inBubble(t, map[string]test{
		"quick checks": {
			checkTakes: 10 * time.Millisecond,
		},
		"slow checks": {
			checkTakes: 6 * time.Second,
		},
		"slow checks of queries": {
			checkTakes: 3 * time.Second,
			guarded:    true,
		},
		"beside others": {
			checkTakes: 10 * time.Millisecond,
			leftOut:    crowdSize - 8,
		},
	}, func(t *testing.T, tt test) {
		r := joinTest(t)
		r.handler.Reply = joinReplyAfter(tt.checkTakes)
		r.runJoins()
		for user := range tt.leftOut {
			r.requestJoin(unqualified+user, tt.guarded)
		}
		for user := range int64(8) {
			r.requestJoin(1+user, tt.guarded)
			time.Sleep(time.Second / 8)
		}
		r.settledRequest(1)
		for user := range int64(8) {
			r.checkTold(1+user, "✅ You're in: MAT Holders")
		}
	})
}

func TestUpToCrowdSizeEverybodyIsToldWithPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := joinTest(t, paced)
		r.runJoins()
		for user := range int64(crowdSize) {
			r.requestJoin(1+user, user%2 == 0)
		}
		r.settledRequest(1)
		for user := range int64(crowdSize) {
			r.checkRequest(1+user, faketelegram.JoinApproved, "[approve]")
			r.checkTold(1+user, "✅ You're in: MAT Holders")
		}
	})
}

// In a crowd, users who started the bot are told after their approval.
func TestACrowdIsLetInBeforeItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const people = 2 * crowdSize
		// The last ones are too few for a crowd, so they are told before their approval, at joinMessages a second.
		const slowest = people/otherChecks*time.Second + crowdSize*time.Second/joinMessages
		r := joinTest(t)
		r.handler.Reply = joinReplyAfter(time.Second)
		r.runJoins()
		start := time.Now()
		for user := range int64(people) {
			if user%2 == 0 {
				r.api.Start(1 + user)
			}
			r.requestJoin(1+user, false)
		}
		r.settledRequest(1)
		for user := range int64(people) {
			r.checkRequest(1+user, faketelegram.JoinApproved, "[approve]")
			if user%2 == 0 {
				r.checkTold(1+user, "✅ You're in: MAT Holders")
			}
			if took := r.requestOf(1 + user).Answers[0].At.Sub(start); took > slowest {
				t.Errorf("user %d is let in after %v", 1+user, took)
			}
		}
	})
}

// The approval of a crowd does not wait for Telegram to take messages.
func TestACrowdIsLetInWhileMessagesHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := joinTest(t)
		r.divert("sendMessage", time.Hour, hangs)
		r.handler.Reply = joinReplyAfter(time.Second)
		r.runJoins()
		const people = 2 * crowdSize
		for user := range int64(people) {
			r.requestJoin(1+user, false)
		}
		time.Sleep(people/otherChecks*time.Second + crowdMessageTime + time.Second/10)
		r.checkJoinEvents(people, 0, 0)
	})
}

// severalGroups returns n groups that are in JoinChats.
func (r *adapterTest) severalGroups(n int64) (groups []faketelegram.Chat) {
	for i := range n {
		group := faketelegram.Chat{ID: -2000 - i, Type: "supergroup", Title: fmt.Sprint("Group ", i)}
		r.adapter.Settings.JoinChats[group.ID] = chat.Requirement{}
		r.api.GrantInvite(group.ID, true)
		groups = append(groups, group)
	}
	return groups
}

// A person who asks to join several groups at a time is told about each.
func TestAPersonIsToldAboutEachGroup(t *testing.T) {
	outcomes := map[int64]string{
		qualified:   "You're in: Group",
		unqualified: "Not in yet: you're not registered",
		uncheckable: "Not in yet: I can't check",
	}
	pauses := map[string]time.Duration{
		"at once":         0,
		"within a second": 300 * time.Millisecond,
		"later":           time.Second,
	}
	for user, told := range outcomes {
		inBubble(t, pauses, func(t *testing.T, pause time.Duration) {
			r := joinTest(t, paced)
			groups := r.severalGroups(6)
			r.runJoins()
			for _, group := range groups {
				r.api.RequestJoin(group, faketelegram.Person(user), false)
				time.Sleep(pause)
			}
			r.settledRequest(user)
			texts := strings.Join(r.toldTo(user), "\n")
			check(t, told, strings.Count(texts, told), len(groups))
		})
	}
}

// If the message before the approval was not delivered, the outcome is told in a new message.
func TestTheOutcomeIsToldWithoutAFirstMessage(t *testing.T) {
	faults := map[string]telegramtest.Fault{
		"a 429 of some seconds":    telegramtest.TooMany(25 * time.Second),
		"a broken proxy":           telegramtest.Page(http.StatusBadGateway),
		"no answer":                telegramtest.Hang(),
		"a connection that breaks": telegramtest.ResetBefore(),
	}
	outcomes := map[string]string{
		"":                       "✅ You're in",
		"USER_CHANNELS_TOO_MUCH": "Not in yet: you're in too many groups",
	}
	for reason, told := range outcomes {
		inBubble(t, faults, func(t *testing.T, fault telegramtest.Fault) {
			r := joinTest(t)
			r.api.Start(7)
			r.api.Bar(7, reason)
			r.api.Fail("sendMessage", fault)
			r.runProductJoins()
			r.requestJoin(7, false)
			r.settledRequest(7)
			time.Sleep(10 * time.Second)
			if texts := r.toldTo(7); len(texts) == 0 || !strings.HasPrefix(texts[0], told) {
				t.Errorf("told %q, want first %q", texts, told)
			}
		})
	}
}

func TestAPersonGetsOneMessageAMinute(t *testing.T) {
	type test struct {
		user     int64
		pause    time.Duration      // between two requests
		fault    telegramtest.Fault // of the first message
		messages int                // that the user gets
	}
	inBubble(t, map[string]test{
		"let in twice within a minute": {
			user:     qualified,
			pause:    20 * time.Second,
			messages: 1,
		},
		"let in twice": {
			user:     qualified,
			pause:    64 * time.Second,
			messages: 2,
		},
		"left out twice, the first message delayed": {
			user:     unqualified,
			pause:    61 * time.Second,
			fault:    telegramtest.TooMany(minOutcomeTime + time.Second),
			messages: 1,
		},
	}, func(t *testing.T, tt test) {
		r := joinTest(t)
		r.runJoins()
		r.api.Start(tt.user)
		r.api.Fail("sendMessage", tt.fault)
		for range 2 {
			r.requestJoin(tt.user, false)
			time.Sleep(tt.pause)
			r.api.CloseJoin(holders, tt.user, faketelegram.JoinWithdrawn)
			r.api.Promote(holders, tt.user, "left")
		}
		check(t, "messages", len(r.api.Sent()), tt.messages)
	})
}

// Telegram accepts messages to users who are not let in for 5 minutes after their request.
func TestMessagesToThoseLeftOutArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const raid = 3000
		r := joinTest(t)
		r.runJoins()
		start := time.Now()
		for i := range int64(raid) {
			r.requestJoin(100_000+i, false)
		}
		time.Sleep(6 * time.Minute)
		sent := r.api.Sent()
		for i, m := range sent {
			if m.At.Sub(start) > 5*time.Minute {
				t.Errorf("message %d goes out after %v", i, m.At.Sub(start))
			}
			if i >= joinMessages && m.At.Sub(sent[i-joinMessages].At) < time.Second {
				t.Errorf("message %d is one of more than %d within a second", i, joinMessages)
			}
		}
		check(t, "messages", len(sent), 1+joinMessages*int(contactTime/time.Second))
		r.checkJoinEvents(0, raid, 0)
		check(t, "requests in flight", r.requestsInFlight(), 0)
	})
}
