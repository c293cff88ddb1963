package telegram

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	faketelegram "herald/internal/demo/fake/telegram"
)

func TestJoinRequestsThatWaitAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := joinTest(t)
		r.handler.Reply = lateJoinReply
		r.runJoins()
		for i := range int64(maxQueries + 500) {
			r.requestJoin(100_000+i, true)
		}
		for i := range int64(maxOthers + 500) {
			r.requestJoin(200_000+i, false)
		}
		time.Sleep(6 * time.Second) // No check has ended.
		check(t, "checks at a time", len(r.handler.Requests()), queryChecks+otherChecks)
		check(t, "queries that wait", r.adapter.door.queries.waiting.Load(), maxQueries)
		check(t, "others that wait", r.adapter.door.others.waiting.Load(), maxOthers)
		waitingOrChecked := maxQueries + maxOthers + queryChecks + otherChecks
		check(t, "requests in flight", r.requestsInFlight(), waitingOrChecked)
		check(t, "updates in flight", r.adapter.InFlight(), 0) // Join requests do not count.
		time.Sleep(6 * time.Minute)
		check(t, "requests in flight in the end", r.requestsInFlight(), 0)
	})
}

// A query is left to moderators if it cannot be checked in time, or if too many others wait. The user is not told why.
func TestAQueryIsAnsweredWithoutACheck(t *testing.T) {
	type test struct {
		waiting int64         // how many other queries wait
		within  time.Duration // how long the answer may take
	}
	inBubble(t, map[string]test{
		"no room": {
			waiting: maxQueries,
			within:  time.Second,
		},
		"no time": {
			within: answerWithin,
		},
	}, func(t *testing.T, tt test) {
		r := joinTest(t)
		r.runJoins()
		line := &r.adapter.door.queries
		for range queryChecks { // Other checks take all places.
			line.places <- struct{}{}
		}
		line.waiting.Add(tt.waiting)
		r.requestJoin(qualified, true)
		got := r.settledRequest(qualified)
		r.checkRequest(qualified, faketelegram.JoinOpen, "[queue]")
		if took := got.Answers[0].At.Sub(got.At); took > tt.within {
			t.Errorf("answered after %v", took)
		}
		r.checkTold(qualified, "")
		check(t, "requests handled", len(r.handler.Requests()), 0)
		_, last := r.adapter.Joins.For(fmt.Sprint(holders))
		check(t, "left out without a reason", len(last) == 1 && last[0].Why.Key == "", true)
	})
}

// A call to a service may outlast its check, and counts towards the service's maximum until it ends.
func TestAPlaceIsKeptAfterACheckThatRanOutOfTime(t *testing.T) {
	type test struct {
		takes time.Duration // how long the check takes
		free  time.Duration // how long after its beginning its place is free again
	}
	inBubble(t, map[string]test{
		"a check in time": {
			takes: time.Second,
			free:  time.Second,
		},
		"a check that ran out of time": {
			takes: checkTime,
			free:  placeTime,
		},
	}, func(t *testing.T, tt test) {
		r := joinTest(t)
		r.handler.Reply = joinReplyAfter(tt.takes)
		r.runJoins()
		r.requestJoin(uncheckable, false)
		time.Sleep(tt.free - time.Second/10)
		check(t, "places taken before", len(r.adapter.door.others.places), 1)
		time.Sleep(time.Second / 5)
		check(t, "places taken afterwards", len(r.adapter.door.others.places), 0)
	})
}
