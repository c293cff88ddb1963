package telegram

import (
	"context"
	"fmt"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/demo/fake/telegramtest"
)

func TestTheTimesOfAJoinRequest(t *testing.T) {
	arrived := time.Unix(1_800_000_000, 0)
	at := func(seconds float64) time.Time { return arrived.Add(time.Duration(seconds * float64(time.Second))) }
	for name, tt := range map[string]struct {
		turn, date time.Time
		query      bool
		want       joinTimes
	}{
		"its turn comes at once":           {arrived, arrived, false, joinTimes{giveUpWaiting: at(240), check: at(7), approve: at(10), tell: at(290)}},
		"its turn comes last":              {at(240), arrived, false, joinTimes{giveUpWaiting: at(240), check: at(247), approve: at(250), tell: at(290)}},
		"its date counts for nothing":      {arrived, at(-3600), false, joinTimes{giveUpWaiting: at(240), check: at(7), approve: at(10), tell: at(290)}},
		"a query":                          {arrived, arrived, true, joinTimes{giveUpWaiting: at(7), check: at(7), approve: at(10), tell: at(290)}},
		"a query that waited":              {at(6), arrived, true, joinTimes{giveUpWaiting: at(7), check: at(7), approve: at(10), tell: at(290)}},
		"a query that was delivered late":  {arrived, at(-4), true, joinTimes{giveUpWaiting: at(3), check: at(3), approve: at(6), tell: at(290)}},
		"a query of another clock, before": {arrived, at(-3600), true, joinTimes{giveUpWaiting: at(2), check: at(2), approve: at(5), tell: at(290)}},
		"a query of another clock, ahead":  {arrived, at(3600), true, joinTimes{giveUpWaiting: at(7), check: at(7), approve: at(10), tell: at(290)}},
	} {
		check(t, name, timesOf(arrived, tt.turn, tt.date, tt.query), tt.want)
	}
}

// A person gets one message a minute about their requests, from its delivery on, and all who are
// left out eight a second, while Telegram takes a message to them. Those who are let in get two.
func TestMessagesAboutJoinRequestsAreBounded(t *testing.T) {
	simulated(t, func(t *testing.T, _ *adapterTest) {
		r := joinTest(t)
		r.runJoins()
		r.api.Fail("sendMessage", telegramtest.TooMany(messageTime+time.Second))
		for range 2 {
			r.asks(700, false)
			time.Sleep(time.Minute + time.Second)
			r.api.CloseJoin(holders, 700, faketelegram.JoinWithdrawn)
		}
		r.api.Start(7)
		for range 2 {
			r.asks(7, false)
			time.Sleep(20 * time.Second)
			r.api.Promote(holders, 7, "left")
		}
		check(t, "let in", r.events.Of("join_approved"), 2)
		check(t, "messages to two people within a minute", len(r.api.Sent()), 2)
		const raid = 3000
		began := time.Now()
		for i := range int64(raid) {
			r.asks(100_000+i, false)
		}
		time.Sleep(6 * time.Minute)
		sent := r.api.Sent()[2:]
		for i, m := range sent {
			if m.At.Sub(began) > 5*time.Minute || i >= refusals && m.At.Sub(sent[i-refusals].At) < time.Second {
				t.Errorf("message %d goes out after %v", i, m.At.Sub(began))
			}
		}
		check(t, "messages", len(sent), 1+refusals*int(contactTime/time.Second))
		check(t, "left open", r.events.Of("join_left_open"), 2+raid)
		r.holdGroups(0, time.Second/10) // A message takes a tenth of a second.
		for user := range int64(90) {
			r.asks(1+user, false)
			time.Sleep(time.Second / 30)
		}
		r.joined(1)
		check(t, "let in", r.events.Of("join_approved"), 2+90)
		if n := len(r.api.Sent()) - len(sent) - 2; n < 3*admissions || n > 6*admissions {
			t.Errorf("%d of 90 are told that they are in", n)
		}
		check(t, "requests in flight", r.adapter.joins.count(), 0)
	})
}

// Queries that cannot be checked in time, or for which there is no room, are left to moderators.
func TestAQueryIsAnsweredWithoutACheck(t *testing.T) {
	inBubble(t, map[string]int{"no room": maxQueries, "no time": 0}, func(t *testing.T, waiting int) {
		r := joinTest(t)
		r.runJoins()
		q := &r.adapter.joins
		q.mu.Lock()
		q.checking = maxChecks
		for range waiting {
			q.queries.PushBack(&joinTask{})
		}
		q.mu.Unlock()
		r.asks(7, true)
		got := r.joined(7)
		check(t, "answers", fmt.Sprint(answersOf(got)), "[queue]")
		check(t, "requests handled", len(r.handler.Requests()), 0)
		if took := got.Answers[0].At.Sub(got.At); took > answerWithin || waiting > 0 && took > time.Second {
			t.Errorf("answered after %v", took)
		}
		check(t, "messages", r.toldTo(7), "")
		_, last := r.adapter.Joins.For(fmt.Sprint(holders))
		check(t, "left out without a reason", len(last) == 1 && last[0].Why.Key == "", true)
		q.mu.Lock()
		q.queries.Init()
		q.mu.Unlock()
	})
}

// A request is acknowledged once it is queued: no session gets it again. A stop leaves it to
// moderators, and tells as many people as it has time for.
func TestAStopLeavesAcknowledgedJoinRequestsToModerators(t *testing.T) {
	inBubble(t, ways, func(t *testing.T, way func(*Config)) {
		r := joinTest(t, way)
		r.handler.Reply = func(ctx context.Context, _ *chat.Request) *chat.Reply {
			<-ctx.Done()
			return &chat.Reply{Tone: chat.Warning, Title: chat.Say("join.unknown")}
		}
		stop := r.run()
		time.Sleep(time.Second)
		const requests = 150
		for i := range int64(requests) {
			r.asks(1000+i, false)
		}
		time.Sleep(3 * time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		check(t, "still at Telegram", len(r.api.Pending()), 0)
		check(t, "counted", r.events.Of("join_unknown"), requests)
		check(t, "requests in flight", r.adapter.joins.count(), 0)
		if told := len(r.api.Sent()); told < refusals {
			t.Errorf("%d are told", told)
		}
	})
}
