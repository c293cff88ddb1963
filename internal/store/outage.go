package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// callTimeout bounds one call to Redis unless the URL says otherwise.
	callTimeout = 10 * time.Millisecond
	// checkPause is how often a Redis that is away is tried.
	checkPause = 500 * time.Millisecond
	// connectTimeout bounds the making of connections, which are ready before a call.
	connectTimeout = 3 * time.Second
	// loggedAfter is how many checks an outage lasts before it is logged: a second. A
	// shorter one is only counted.
	loggedAfter = 2
)

// ask makes a call and reports whether Redis answered it. After a call that failed
// or took too long nobody asks, until check has found that Redis answers again. So
// a Redis that is away costs one command one call.
func (r *Redis) ask(ctx context.Context, call func(context.Context) error) bool {
	if r.Up() {
		if r.try(ctx, call) == nil {
			return true
		}
		r.up.Store(false)
	}
	r.fallbacks.Add(1)
	return false
}

// try makes a call. It goes on when ctx is cancelled: what a command did must be
// written down also when its time is up.
func (r *Redis) try(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	return call(ctx)
}

// Connect makes the connections for later calls, so that no command waits for a
// handshake, and uses all of them, so that the server closes none. It takes at most
// 3 seconds; what fails is tried again in the background.
func (r *Redis) Connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := r.client.Ping(ctx).Err(); err != nil {
		return err
	}
	var pings sync.WaitGroup
	for range r.client.Options().PoolSize {
		pings.Go(func() { _ = r.client.Ping(ctx).Err() })
	}
	pings.Wait()
	return nil
}

// maintain renews the claims and the connections, and looks after a Redis that is
// away, until ctx is done.
func (r *Redis) maintain(ctx context.Context) {
	renewal, check := time.NewTicker(r.claim/3), time.NewTicker(checkPause)
	defer renewal.Stop()
	defer check.Stop()
	away := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-renewal.C:
			if r.Up() {
				_ = r.Connect(ctx)
				r.renew(ctx)
			}
		case <-check.C:
			away = r.check(ctx, away)
		}
	}
}

// check tries to reach a Redis that is away, and logs when it went and when it is
// back. It takes and returns how many checks in a row have found it away.
func (r *Redis) check(ctx context.Context, away int) int {
	if r.Up() {
		return 0
	}
	err := r.Connect(ctx)
	if err == nil {
		err = r.try(ctx, r.write)
	}
	if err != nil {
		if away++; away == loggedAfter {
			r.log.Warn("redis does not answer, using in-process state", "reason", reason(err))
		}
		return away
	}
	if away >= loggedAfter {
		r.log.Info("redis answers again")
	}
	r.up.Store(true)
	r.renew(ctx)
	return 0
}

// write does what other calls do, so that it fails where they would: it runs a
// script that writes a key, which lapses.
func (r *Redis) write(ctx context.Context) error {
	return reserve.Run(ctx, r.client, []string{r.key("probe", r.owner)}, 0, 1, 1000, 0, 0).Err()
}

// Probe does with Redis what the bot does, whatever came of earlier calls. So it
// fails on a replica that only reads, and for a user who may not run scripts. It
// also fails if every call takes longer than a call may. It returns what the fastest
// took. Its error says what is wrong and nothing of the URL or of what the server
// wrote.
func (r *Redis) Probe(ctx context.Context) (fastest time.Duration, err error) {
	// No call of the client takes longer than this.
	fastest = max(connectTimeout, r.timeout)
	for range 3 {
		start := time.Now()
		if err := r.write(ctx); err != nil {
			return 0, fmt.Errorf("write to redis: %s", reason(err))
		}
		fastest = min(fastest, time.Since(start))
	}
	if fastest > r.timeout {
		return 0, fmt.Errorf("redis is too slow: every call took more than %v", r.timeout)
	}
	return fastest, nil
}

var errorCode = regexp.MustCompile(`^[A-Z]{2,20}$`)

// reason words err with the server's error code, but without the rest of its text.
func reason(err error) string {
	var reply redis.Error
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return "its certificate is not trusted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &reply):
		if code, _, _ := strings.Cut(reply.Error(), " "); errorCode.MatchString(code) {
			return "refused with " + code
		}
		return "refused"
	}
	return "no connection"
}
