package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/claim"
	"herald/internal/ratelimit"
)

// A claim in Redis is one key. Its value is a random text until the work is done, and then done. If this process cannot
// tell Redis that the work is done, the key expires after claim.Lasts, and the work is New again.

// done is the value of a claim whose work is done.
const done = "done"

// Claim implements claim.Claims. It claims the key and takes the slots in one round trip, as independent commands: a
// caller whose work is not New may take slots, too.
func (r *Redis) Claim(
	ctx context.Context, key string, limits ...ratelimit.Limit,
) (p claim.Progress, wait time.Duration) {
	token := rand.Text()
	var slots []any
	if len(limits) > 0 {
		slots = r.limitArgs(0, limits)
	}
	var value string
	_, err := r.ask(ctx, func(conn redis.Conn) (any, error) {
		var err error
		value, wait, err = claimOn(conn, r.claimKey(key), token, slots)
		return nil, err
	})
	switch {
	case err != nil:
		r.keepClaim(key, token) // Redis may have it, although no answer came.
		return r.memory.Claim(ctx, key, limits...)
	case value == token: // It was set now, or by a first attempt whose answer was lost.
		r.keepClaim(key, token)
		return claim.New, wait
	case value == done:
		return claim.Done, 0
	}
	return claim.InFlight, 0
}

// claimOn sets key to token unless the key has a value, and runs limitScript with slots unless they are nil. It
// returns the value that the key has then, and the wait for the slots. If the value expires meanwhile, it fails, and
// ask tries again.
func claimOn(conn redis.Conn, key, token string, slots []any) (value string, wait time.Duration, err error) {
	// If a Send fails, Do fails, too.
	_ = conn.Send("SET", key, token, "NX", "PX", claim.Lasts.Milliseconds())
	if slots != nil {
		_ = limitScript.SendHash(conn, slots...)
	}
	replies, err := redis.Values(conn.Do(""))
	if err != nil {
		return "", 0, err
	}
	switch reply := replies[0].(type) {
	case redis.Error:
		return "", 0, reply
	case nil: // The key had a value.
		value, err = redis.String(conn.Do("GET", key))
	default:
		value = token
	}
	if err != nil || slots == nil {
		return value, 0, err
	}
	if isNoScript(replies[1]) {
		wait, err = microseconds(limitScript.Do(conn, slots...))
	} else {
		wait, err = microseconds(replies[1], nil)
	}
	return value, wait, err
}

// keepClaim remembers the claim of a key for Release.
func (r *Redis) keepClaim(key, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claims[key] = token
}

// Release implements claim.Claims. It deletes the key only if the key still has this claim: the claim may have
// expired, and the key may have another replica's claim.
func (r *Redis) Release(key string) {
	r.memory.Release(key)
	token, found := r.forgetClaim(key)
	if !found || !r.Up() {
		return
	}
	// If that fails, the claim expires.
	_, _ = r.ask(context.Background(), script(replaceScript, []string{r.claimKey(key)}, token, ""))
}

// mark is that the work of a claim is done.
type mark struct {
	key   string
	lasts time.Duration
}

// maxMarks is how many marks may wait to be sent. Redis takes less than a millisecond for so many.
const maxMarks = 500

// MarkDone implements claim.Claims. It replaces another's claim, too: this work is done. It does not block unless Redis
// is slow: a moment later, sendMarks tells Redis of all that is done by then.
func (r *Redis) MarkDone(key string, lasts time.Duration) {
	r.forgetClaim(key)
	m := mark{key, lasts}
	if !r.Up() {
		r.setDone([]mark{m})
		return
	}
	select {
	case r.marks <- m:
	default:
		r.setDone([]mark{m})
	}
}

// sendMarks sends marks until ctx is done, and then those that are left.
func (r *Redis) sendMarks(ctx context.Context) {
	for {
		select {
		case m := <-r.marks:
			r.setDone(append([]mark{m}, r.waitingMarks()...))
		case <-ctx.Done():
			r.setDone(r.waitingMarks())
			return
		}
	}
}

// waitingMarks returns the marks that wait, at most maxMarks.
func (r *Redis) waitingMarks() (all []mark) {
	for len(all) < maxMarks {
		select {
		case m := <-r.marks:
			all = append(all, m)
		default:
			return all
		}
	}
	return all
}

// setDone sets the claims of marks to done, in one round trip. If Redis does not answer, this process remembers them,
// and Redis is not told later: after the outage, the work may be done again.
func (r *Redis) setDone(marks []mark) {
	if len(marks) == 0 {
		return
	}
	_, err := r.ask(context.Background(), func(conn redis.Conn) (any, error) {
		for _, m := range marks {
			// If a Send fails, Do fails, too.
			_ = conn.Send("SET", r.claimKey(m.key), done, "PX", max(m.lasts.Milliseconds(), 1))
		}
		return nil, firstError(conn.Do(""))
	})
	for _, m := range marks {
		if err == nil {
			r.memory.Release(m.key) // The claim may have been made without Redis.
		} else {
			r.memory.MarkDone(m.key, m.lasts)
		}
	}
}

// firstError returns the first error of the replies to several commands.
func firstError(reply any, err error) error {
	replies, err := redis.Values(reply, err)
	for _, reply := range replies {
		if refused, is := reply.(redis.Error); is {
			err = cmp.Or[error](err, refused)
		}
	}
	return err
}

// forgetClaim returns the claim that this process made in Redis, and forgets it.
func (r *Redis) forgetClaim(key string) (token string, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	token, found = r.claims[key]
	delete(r.claims, key)
	return token, found
}

// claimKey returns the key of a claim in Redis. It says "update" for every kind of work.
func (r *Redis) claimKey(key string) string { return r.key("update", key) }
