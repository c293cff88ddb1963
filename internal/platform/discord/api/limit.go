package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"herald/internal/ratelimit"
)

// callLimits decides when a call may be sent. It never holds back first responses.
//
// Discord answers a call with status 429 if it limits calls like that one or, globally, all calls of the bot. After a
// global 429, callLimits holds back the calls for the time that Discord asks for. It then lets one call through as a
// probe. If the probe succeeds, it lets all calls through again. If the probe is not answered within probeEvery, it
// lets another one through.
//
// It also holds back edits and follow-ups after too many refusals, which are responses with status 401, 403 or 429.
type callLimits struct {
	log    *slog.Logger
	counts *ratelimit.Memory // counts refusals and stopLines

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
	// limited: calls are held back until probeAt. A call that was sent before the 429 may still succeed. That does not
	// end this state.
	limited
	// probing: a probe was sent. Other calls are held back until a call succeeds, or until the next probe.
	probing
)

const (
	// maxLimitedInARow is how many 429s in a row count as a global one.
	maxLimitedInARow = 20
	// probeEvery is the minimum wait before a probe, and between two probes.
	probeEvery = 3 * time.Second
)

// refusedWindow is the time in which Discord counts refusals. It bans an IP address after 10,000 of them.
// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
const refusedWindow = 10 * time.Minute

// refusals counts refusals. While it has no slot, edits and follow-ups are held back. They stop after at most 5,000
// refusals in a refusedWindow: the Burst, the 750 slots that come back in that time, and the MaxOther calls that may be
// in flight when the last slot is taken. The other 5,000 are left for first responses.
var refusals = ratelimit.Limit{Key: "refusals", Burst: 5000 - 750 - MaxOther, Every: refusedWindow / 750}

// stopLines limits the log lines that say that edits and follow-ups are held back.
var stopLines = ratelimit.Limit{Key: "stops", Burst: 1, Every: refusedWindow}

// reserve returns how long the caller must wait before it calls reserve again. If it returns 0 or less, the caller may
// send the call now.
func (l *callLimits) reserve(call *call) time.Duration {
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
	isProbe := l.state != unlimited && pause <= 0
	if isProbe {
		l.state = probing
		l.probeAt = time.Now().Add(probeEvery)
	}
	return pause
}

// note takes note of how a call ended. It counts refusals, and begins or ends the time in which Discord limits all
// calls.
func (l *callLimits) note(call *call, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused := errorOf(err)
	switch refused.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		l.countRefusal()
	}
	is429 := refused.Status == http.StatusTooManyRequests
	canBeHeldBack := call.kind != firstResponse
	switch {
	case is429 && canBeHeldBack:
		l.limitedInARow++
	case err == nil && canBeHeldBack && l.state != limited:
		l.state = unlimited
		l.limitedInARow = 0
	}
	if is429 && (refused.Global || l.limitedInARow >= maxLimitedInARow) {
		l.state = limited
		l.probeAt = time.Now().Add(min(max(refused.RetryAfter, probeEvery), TokenLife))
	}
}

// countRefusal takes a slot of refusals. The call was already made, so it also takes a slot that is not due yet. If no
// slot is left, it logs that edits and follow-ups stop, at most once per refusedWindow.
func (l *callLimits) countRefusal() {
	ctx := context.Background()
	l.counts.Reserve(ctx, refusedWindow, refusals)
	wait := l.counts.Peek(ctx, refusals)
	if wait > 0 && l.counts.Allow(stopLines) {
		l.log.Error("edits and follow-ups stop: Discord refused so many calls that it may ban this address",
			"for", wait)
	}
}
