package telegram

import (
	"context"
	"fmt"
	"testing"
	"time"

	"herald/internal/chat"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/transport"
)

func TestTheTimesOfAJoinRequest(t *testing.T) {
	arrived := time.Unix(1_800_000_000, 0)
	at := func(seconds float64) time.Time { return arrived.Add(time.Duration(seconds * float64(time.Second))) }
	for name, tt := range map[string]struct {
		turn, date time.Time
		query      bool
		want       joinTimes
	}{
		"its turn comes at once":           {arrived, arrived, false, joinTimes{turn: at(240), check: at(7), approve: at(10), tell: at(290)}},
		"its turn comes last":              {at(240), arrived, false, joinTimes{turn: at(240), check: at(247), approve: at(250), tell: at(290)}},
		"its date counts for nothing":      {arrived, at(-3600), false, joinTimes{turn: at(240), check: at(7), approve: at(10), tell: at(290)}},
		"a query":                          {arrived, arrived, true, joinTimes{turn: at(7), check: at(7), approve: at(10), tell: at(290)}},
		"a query that waited":              {at(6), arrived, true, joinTimes{turn: at(7), check: at(7), approve: at(10), tell: at(290)}},
		"a query that was delivered late":  {arrived, at(-4), true, joinTimes{turn: at(3), check: at(3), approve: at(6), tell: at(290)}},
		"a query of another clock, before": {arrived, at(-3600), true, joinTimes{turn: at(2), check: at(2), approve: at(5), tell: at(290)}},
		"a query of another clock, ahead":  {arrived, at(3600), true, joinTimes{turn: at(7), check: at(7), approve: at(10), tell: at(290)}},
	} {
		check(t, name, timesOf(arrived, tt.turn, tt.date, tt.query), tt.want)
	}
}

// A guardian's ten seconds begin with the date of the request, unless the clocks differ.
func TestTheDeadlineOfAQueryGoesByItsDate(t *testing.T) {
	inBubble(t, map[string]struct{ ahead, left time.Duration }{
		"at once":           {0, 7 * time.Second},
		"later":             {-4 * time.Second, 3 * time.Second},
		"very late":         {-time.Hour, 2 * time.Second},
		"before it is made": {time.Hour, 7 * time.Second},
	}, func(t *testing.T, tt struct{ ahead, left time.Duration }) {
		r := joinTest(t)
		r.api.SetAhead(tt.ahead)
		var left time.Duration
		r.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
			left = time.Until(req.Deadline)
			return joinReply(ctx, req)
		}
		r.runJoins()
		r.asks(7, true)
		r.joined(7)
		if left > tt.left || left < tt.left-time.Second {
			t.Errorf("%v are left for the check, want %v", left, tt.left)
		}
	})
}

// A person gets one message a minute about their requests, and all together eight a second. Each
// who is refused is told while Telegram takes a message to them.
func TestMessagesAboutJoinRequestsAreBounded(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.GrantInvite(holders, true)
		r.handler.Reply = joinReply
		r.runJoins()
		for range 3 {
			r.asks(700, false)
			r.joined(700)
			r.api.CloseJoin(holders, 700, faketelegram.JoinWithdrawn)
		}
		check(t, "messages within a minute", len(r.api.Sent()), 1)
		const raid = 3000
		began := time.Now()
		for i := range int64(raid) {
			r.asks(100_000+i, false)
		}
		time.Sleep(6 * time.Minute)
		sent := r.api.Sent()[1:]
		for i, m := range sent {
			if m.At.Sub(began) > 5*time.Minute || i >= refusals && m.At.Sub(sent[i-refusals].At) < time.Second {
				t.Errorf("message %d goes out after %v", i, m.At.Sub(began))
			}
		}
		check(t, "messages", len(sent), 1+refusals*int(contactTime/time.Second))
		check(t, "left open", r.events.Of("join_left_open"), 3+raid)
		check(t, "requests in flight", r.adapter.joins.held(), 0)
	}, withJoins)
}

// Join requests that wait take no place from commands.
func TestJoinRequestsHoldNoPlaces(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.GrantInvite(holders, true)
		r.handler.Reply = lateJoinReply
		r.runJoins()
		for i := range int64(20) {
			r.asks(100_000+i, false)
		}
		time.Sleep(2 * time.Second)
		check(t, "places that are taken", r.adapter.InFlight(), 0)
		if n := len(r.handler.Requests()); n != maxChecks {
			t.Errorf("%d are checked at a time", n)
		}
		r.joined(100_000)
	}, withJoins)
}

// Queries that cannot be checked in time, or for which there is no room, are left to moderators.
func TestAQueryIsAnsweredWithoutACheck(t *testing.T) {
	inBubble(t, map[string]int{"no room": maxQueries, "no time": 0}, func(t *testing.T, waiting int) {
		r := joinTest(t)
		r.handler.Reply = joinReply
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

// A stop ends the wait of requests that are not acknowledged. The next session answers them.
func TestJoinRequestsThatWaitOutliveAStop(t *testing.T) {
	simulated(t, func(t *testing.T, r *adapterTest) {
		r.api.GrantInvite(holders, true)
		r.handler.Reply = func(ctx context.Context, req chat.Request) chat.Reply {
			if !transport.Sleep(ctx, 5*time.Second) {
				return chat.Reply{Tone: chat.Warning, Title: chat.Say("join.unknown")}
			}
			return admitted(req)
		}
		stop := r.run()
		time.Sleep(time.Second)
		for i := range int64(raidJoins - 10) {
			r.asks(1000+i, false)
		}
		time.Sleep(time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if n := r.events.Of("join_approved"); n == 0 || n > 2*maxChecks {
			t.Errorf("%d are let in before the stop", n)
		}
		r.again().run()
		r.joined(1000)
		for _, j := range r.api.JoinRequests() {
			if j.State != faketelegram.JoinApproved || len(j.Answers) != 1 {
				t.Fatalf("%+v; %v", j, r.events)
			}
		}
		check(t, "left open", r.events.Of("join_unknown"), 0)
	}, withJoins)
}
