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
	// and follow-ups. Discord bans an address after 10,000, so first responses have the
	// other half. MaxOther calls may be under way by then.
	// https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	refusedWindow = 10 * time.Minute
	maxRefused    = 5000 - MaxOther
)

// globalLimit holds back all calls but first responses while Discord limits all calls.
// After the time that Discord asked for, one call goes as a probe. Once a probe has
// succeeded, the others follow.
type globalLimit struct {
	log     *slog.Logger
	mu      sync.Mutex
	inARow  int       // 429s since the last success
	until   time.Time // when the next probe may go; zero: calls are not held back
	probing bool      // nothing was limited since the last probe went
	refused [maxRefused]time.Time
	oldest  int       // its index in refused
	stopped time.Time // until when edits and follow-ups stop
}

// reserve returns how long the call has to wait before it calls reserve again. The call
// may go at once if that is 0 or less.
func (l *globalLimit) reserve(call *call) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if call.first {
		return 0
	}
	pause := time.Until(l.until)
	if isAnswer := !call.until.IsZero(); isAnswer {
		pause = max(pause, time.Until(l.stopped))
	}
	if pause <= 0 && !l.until.IsZero() {
		l.until, l.probing = time.Now().Add(probeEvery), true
	}
	return pause
}

// note counts the outcome of a call. It logs one line for all stops that are less than
// refusedWindow apart.
func (l *globalLimit) note(call *call, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, refused := time.Now(), errorOf(err)
	switch refused.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		l.refused[l.oldest] = now
		l.oldest = (l.oldest + 1) % maxRefused
		if stop := l.refused[l.oldest].Add(refusedWindow); stop.After(now) {
			if now.Sub(l.stopped) > refusedWindow {
				l.log.Error("edits and follow-ups stop: Discord refused so many calls that it may ban this address", "until", stop)
			}
			l.stopped = stop
		}
	}
	limited := refused.Status == http.StatusTooManyRequests
	switch {
	case limited && !call.first:
		l.inARow++
	case err == nil && !call.first && (l.probing || l.until.IsZero()):
		l.inARow, l.until = 0, time.Time{}
	}
	if limited && (refused.Global || l.inARow >= maxLimited) {
		l.until, l.probing = now.Add(min(max(refused.RetryAfter, probeEvery), TokenLife)), false
	}
}
