package telegram

import (
	"testing"
	"testing/synctest"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
)

// stops calls stop, and checks that it returns in time.
func (r *adapterTest) stops(stop func() error, within time.Duration) {
	r.Helper()
	start := time.Now()
	if err := stop(); err != nil {
		r.Fatal(err)
	}
	if took := time.Since(start); took > within {
		r.Errorf("stopped after %v", took)
	}
}

// The requests that are being checked end as ever. Those that wait are left open at once.
func TestAStopLeavesWaitingJoinRequestsOpen(t *testing.T) {
	const waiting = 50
	for _, way := range ways {
		inBubble(t, map[string]bool{"no query": false, "queries": true}, func(t *testing.T, guarded bool) {
			r := joinTest(t, way)
			r.handler.Reply = joinReplyAfter(3 * time.Second)
			stop := r.runJoins()
			checks := map[bool]int64{false: otherChecks, true: queryChecks}[guarded]
			for user := range checks {
				r.requestJoin(1+user, guarded)
			}
			time.Sleep(time.Second)
			for user := range int64(waiting) {
				r.requestJoin(1000+user, guarded)
			}
			time.Sleep(time.Second)
			r.stops(stop, 3*time.Second)
			for user := range checks {
				r.checkRequest(1+user, faketelegram.JoinApproved, "[approve]")
			}
			for user := range int64(waiting) {
				r.checkRequest(1000+user, faketelegram.JoinOpen, map[bool]string{false: "[]", true: "[queue]"}[guarded])
			}
			r.checkJoinEvents(int(checks), 0, waiting)
			check(t, "updates in the queue", len(r.api.Pending()), 0)
			check(t, "checks", len(r.handler.Requests()), int(checks))
		})
	}
}

// "Letting you in…" must not be the last message to a user who is not let in.
func TestAStopTellsThoseWhoseApprovalHangs(t *testing.T) {
	inBubble(t, map[string]roundTripper{
		"no answer": hangs,
		"a 429":     limited(25),
	}, func(t *testing.T, broken roundTripper) {
		r := joinTest(t)
		r.divert("approveChatJoinRequest", time.Hour, broken)
		stop := r.runJoins()
		r.requestJoin(qualified, false)
		time.Sleep(time.Second)
		r.stops(stop, 9*time.Second)
		r.checkRequest(qualified, faketelegram.JoinOpen, "[]")
		r.checkTold(qualified, "⚠️ Not in yet: I can't let you in right now\nThat took too long.")
		r.checkJoinEvents(0, 0, 1)
	})
}

// Those who wait to be told are told as far as the drain has time.
func TestAStopTellsAsManyAsItHasTimeFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const people = 200
		r := joinTest(t)
		stop := r.runJoins()
		for user := range int64(people) {
			r.requestJoin(1000+user, false)
		}
		time.Sleep(time.Second)
		told := len(r.api.Sent())
		r.stops(stop, 10*time.Second)
		r.checkJoinEvents(0, people, 0)
		check(t, "requests in flight", r.requestsInFlight(), 0)
		if more := len(r.api.Sent()) - told; more < 5*joinMessages {
			t.Errorf("%d are told during the drain", more)
		}
	})
}
