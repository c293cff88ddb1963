package api

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	// maxLimited is how many 429s in a row hold calls back as a global one does.
	maxLimited = 20
	// probeEvery is the least time before a probe, and between two.
	probeEvery = 3 * time.Second
	// maxRefused is how many responses 401, 403 and 429 within refusedWindow stop edits
	// and follow-ups. Discord bans an address after 10,000; half of them are kept for first
	// responses. MaxOther is how many calls may still be under way when the stop begins.
	// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	refusedWindow = 10 * time.Minute
	maxRefused    = 5000 - MaxOther
)

// globalLimit holds back all calls but first responses while Discord limits all calls.
// After the time that Discord asked for, one call goes as a probe. Once a probe has
// succeeded, the others follow.
type globalLimit struct {
	log           *slog.Logger
	mu            sync.Mutex
	limitedInARow int                   // 429s since the last success
	probeAt       time.Time             // when the next probe may go; zero: calls are not held back
	probing       bool                  // a probe went, and Discord has limited no call since
	refusals      [maxRefused]time.Time // a ring of the last 401, 403 and 429
	oldest        int                   // the index of the oldest in refusals
	stoppedUntil  time.Time             // edits and follow-ups wait until then
}

// reserve returns how long the caller has to wait before calling reserve again for the
// call. With 0 or less, the call may go at once.
func (l *globalLimit) reserve(call *call) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if call.first {
		return 0
	}
	pause := time.Until(l.probeAt)
	if isAnswer := !call.until.IsZero(); isAnswer {
		pause = max(pause, time.Until(l.stoppedUntil))
	}
	if pause <= 0 && !l.probeAt.IsZero() {
		l.probeAt, l.probing = time.Now().Add(probeEvery), true
	}
	return pause
}

// note counts the outcome of a call, and ends or begins the holding back. It logs a stop,
// unless the one before ended less than refusedWindow ago.
func (l *globalLimit) note(call *call, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, refused := time.Now(), errorOf(err)
	switch refused.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		l.refusals[l.oldest] = now
		l.oldest = (l.oldest + 1) % maxRefused
		if stop := l.refusals[l.oldest].Add(refusedWindow); stop.After(now) {
			if now.Sub(l.stoppedUntil) > refusedWindow {
				l.log.Error("edits and follow-ups stop: Discord refused so many calls that it may ban this address", "until", stop)
			}
			l.stoppedUntil = stop
		}
	}
	limited := refused.Status == http.StatusTooManyRequests
	switch {
	case limited && !call.first:
		l.limitedInARow++
	case err == nil && !call.first && (l.probing || l.probeAt.IsZero()):
		l.limitedInARow, l.probeAt = 0, time.Time{}
	}
	if limited && (refused.Global || l.limitedInARow >= maxLimited) {
		l.probeAt, l.probing = now.Add(min(max(refused.RetryAfter, probeEvery), TokenLife)), false
	}
}
