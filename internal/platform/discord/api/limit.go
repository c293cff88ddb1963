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
	// maxLimited is how many 429s in a row have the same effect as a global one.
	maxLimited = 20
	// probeEvery is the minimum wait before a probe, and between two probes.
	probeEvery = 3 * time.Second
	// refusedWindow is the time in which Discord counts responses with status 401, 403 and 429.
	refusedWindow = 10 * time.Minute
)

// refusals limits the responses with status 401, 403 and 429. While it has no slot, edits and follow-ups wait. Discord
// bans an IP address after 10,000 of these responses in refusedWindow; half of them are left for first responses.
// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
//
// In a refusedWindow, there are at most 5,000: the Burst, the 750 slots that come back in that time, and MaxOther calls
// that are in flight when the last slot is taken.
var refusals = ratelimit.Limit{Key: "refusals", Burst: 5000 - 750 - MaxOther, Every: refusedWindow / 750}

// stopLines limits the log lines about refusals without a slot.
var stopLines = ratelimit.Limit{Key: "stops", Burst: 1, Every: refusedWindow}

// globalLimit holds back all calls except first responses while Discord limits all calls of the bot. After the time
// that Discord asked for, it lets one call through as a probe. If the probe succeeds, it lets all calls through again.
// If the probe is not answered within probeEvery, it sends another.
type globalLimit struct {
	log    *slog.Logger
	counts *ratelimit.Memory // of refusals and stopLines

	mu    sync.Mutex
	state limitState
	// probeAt is when the next probe may be sent, unless state is unlimited.
	probeAt time.Time
	// limitedInARow counts the 429s since the last success.
	limitedInARow int
}

// limitState is whether Discord limits all calls of the bot.
type limitState int

const (
	// unlimited: no call is held back.
	unlimited limitState = iota
	// limited: all calls are held back until probeAt. Calls sent earlier may still succeed; that proves nothing.
	limited
	// probing: a probe was sent. All calls are held back until one succeeds, or until the next probe.
	probing
)

// reserve returns how long the caller must wait before it calls reserve again. If it returns 0 or less, the caller may
// send the call now.
func (l *globalLimit) reserve(call *call) time.Duration {
	if call.kind == firstResponse {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var pause time.Duration
	if l.state != unlimited {
		pause = time.Until(l.probeAt)
	}
	if call.kind != own {
		pause = max(pause, l.counts.Peek(context.Background(), refusals))
	}
	if l.state != unlimited && pause <= 0 {
		l.state = probing
		l.probeAt = time.Now().Add(probeEvery)
	}
	return pause
}

// note takes note of how a call ended. It counts refusals, and begins or ends the time in which calls are held back.
func (l *globalLimit) note(call *call, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused := errorOf(err)
	switch refused.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		l.countRefusal()
	}
	is429 := refused.Status == http.StatusTooManyRequests
	isHeldBack := call.kind != firstResponse
	switch {
	case is429 && isHeldBack:
		l.limitedInARow++
	case err == nil && isHeldBack && l.state != limited:
		l.state = unlimited
		l.limitedInARow = 0
	}
	if is429 && (refused.Global || l.limitedInARow >= maxLimited) {
		l.state = limited
		l.probeAt = time.Now().Add(min(max(refused.RetryAfter, probeEvery), TokenLife))
	}
}

// countRefusal takes a slot of refusals, even one that is not due yet, because the call was made. If there is no slot
// left, it logs that edits and follow-ups stop, at most once per refusedWindow.
func (l *globalLimit) countRefusal() {
	ctx := context.Background()
	l.counts.Reserve(ctx, refusedWindow, refusals)
	wait := l.counts.Peek(ctx, refusals)
	if wait > 0 && l.counts.Allow(stopLines) {
		l.log.Error("edits and follow-ups stop: Discord refused so many calls that it may ban this address",
			"for", wait)
	}
}
