package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"herald/internal/ratelimit"
)

const (
	// maxLimited is how many 429s in a row hold calls back as a global one does.
	maxLimited = 20
	// probeEvery is the least time before a probe, and between two.
	probeEvery = 3 * time.Second
	// refusedWindow is the time in which Discord counts responses 401, 403 and 429.
	refusedWindow = 10 * time.Minute
)

// refusals bounds the responses 401, 403 and 429. Without a slot, edits and follow-ups wait. Discord bans an address
// after 10,000 of them in refusedWindow, and half are kept for first responses.
// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
//
// A refusedWindow has at most the Burst, the 750 slots that come back in it, and MaxOther calls that are under way
// when the last slot is taken: 5,000 in all.
var refusals = ratelimit.Limit{Key: "refusals", Burst: 5000 - 750 - MaxOther, Every: refusedWindow / 750}

// stopLines bounds the log lines about a stop.
var stopLines = ratelimit.Limit{Key: "stops", Burst: 1, Every: refusedWindow}

// globalLimit holds back all calls but first responses while Discord limits all calls.
// After the time that Discord asked for, one call goes as a probe. Once a probe has
// succeeded, the others follow.
type globalLimit struct {
	log           *slog.Logger
	mu            sync.Mutex
	limitedInARow int               // 429s since the last success
	probeAt       time.Time         // when the next probe may go; zero: calls are not held back
	probing       bool              // a probe went, and Discord has limited no call since
	counts        *ratelimit.Memory // of refusals and stopLines
}

// reserve returns how long the caller has to wait before calling reserve again for the
// call. With 0 or less, the call may go at once.
func (l *globalLimit) reserve(call *call) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if call.kind == firstResponse {
		return 0
	}
	pause := time.Until(l.probeAt)
	if call.kind != own {
		pause = max(pause, l.counts.Peek(context.Background(), refusals))
	}
	if pause <= 0 && !l.probeAt.IsZero() {
		l.probeAt, l.probing = time.Now().Add(probeEvery), true
	}
	return pause
}

// note counts the outcome of a call, and ends or begins the holding back. It logs a stop once
// in refusedWindow.
func (l *globalLimit) note(call *call, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, refused := time.Now(), errorOf(err)
	switch refused.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		l.countRefusal()
	}
	limited := refused.Status == http.StatusTooManyRequests
	mayWait := call.kind != firstResponse
	switch {
	case limited && mayWait:
		l.limitedInARow++
	case err == nil && mayWait && (l.probing || l.probeAt.IsZero()):
		l.limitedInARow, l.probeAt = 0, time.Time{}
	}
	if limited && (refused.Global || l.limitedInARow >= maxLimited) {
		l.probeAt, l.probing = now.Add(min(max(refused.RetryAfter, probeEvery), TokenLife)), false
	}
}

// countRefusal takes a slot of refusals, also one that is not due yet: the call was made.
func (l *globalLimit) countRefusal() {
	ctx := context.Background()
	l.counts.Reserve(ctx, refusedWindow, refusals)
	wait := l.counts.Peek(ctx, refusals)
	if wait > 0 && l.counts.Allow(stopLines) {
		l.log.Error("edits and follow-ups stop: Discord refused so many calls that it may ban this address",
			"for", wait)
	}
}
