package telegram

import (
	"testing"
	"testing/synctest"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
)

// checkStop calls stop, and fails the test unless it returns nil within a time.
func (r *adapterTest) checkStop(stop func() error, within time.Duration) {
	r.Helper()
	start := time.Now()
	if err := stop(); err != nil {
		r.Fatal(err)
	}
	if took := time.Since(start); took > within {
		r.Errorf("stopped after %v, want at most %v", took, within)
	}
}

// The checks in flight end, and their users are let in. The requests that wait are left open at once.
func TestAStopLeavesWaitingJoinRequestsOpen(t *testing.T) {
	const waiting = 50
	type test struct {
		guarded bool   // whether each request has a query
		checks  int64  // how many requests are checked at a time
		answers string // the bot's answers to each request that waits
	}
	tests := map[string]test{
		"no query": {
			checks:  otherChecks,
			answers: "[]",
		},
		"queries": {
			guarded: true,
			checks:  queryChecks,
			answers: "[queue]",
		},
	}
	for _, way := range ways {
		inBubble(t, tests, func(t *testing.T, tt test) {
			r := joinTest(t, way)
			r.handler.Reply = joinReplyAfter(3 * time.Second)
			stop := r.runJoins()
			for user := range tt.checks {
				r.requestJoin(1+user, tt.guarded)
			}
			time.Sleep(time.Second)
			for user := range int64(waiting) {
				r.requestJoin(1000+user, tt.guarded)
			}
			time.Sleep(time.Second)
			r.checkStop(stop, 3*time.Second)
			for user := range tt.checks {
				r.checkRequest(1+user, faketelegram.JoinApproved, "[approve]")
			}
			for user := range int64(waiting) {
				r.checkRequest(1000+user, faketelegram.JoinOpen, tt.answers)
			}
			r.checkJoinEvents(int(tt.checks), 0, waiting)
			check(t, "updates in the queue", len(r.api.Pending()), 0)
			check(t, "checks", len(r.handler.Requests()), int(tt.checks))
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
		r.checkStop(stop, 9*time.Second)
		r.checkRequest(qualified, faketelegram.JoinOpen, "[]")
		r.checkTold(qualified, "⚠️ Not in yet: I can't let you in right now\nThat took too long.")
		r.checkJoinEvents(0, 0, 1)
	})
}

// Users whose message still waits get it while the drain has time.
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
		r.checkStop(stop, 10*time.Second)
		r.checkJoinEvents(0, people, 0)
		check(t, "requests in flight", r.requestsInFlight(), 0)
		if more := len(r.api.Sent()) - told; more < 5*joinMessages {
			t.Errorf("%d are told during the drain", more)
		}
	})
}
