package store

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/claim"
	"herald/internal/ratelimit"
)

// A claim in Redis is one key. While the work is in flight, the key's value is a random token of the claim. Then it is
// done. If this process cannot tell Redis that the work is done, the key expires after claim.Lasts, and the work is New
// again.

// done is the value of a claim whose work is done.
const done = "done"

// Claim implements claim.Claims. It claims the key and takes the slots in one round trip, as independent commands. So
// it may take slots even if the work is not New.
func (r *Redis) Claim(
	ctx context.Context, key string, limits ...ratelimit.Limit,
) (p claim.Progress, wait time.Duration) {
	token := rand.Text()
	var slots []any
	if len(limits) > 0 {
		slots = r.limitArgs(0, limits)
	}
	var value string
	isSent := false
	_, err := r.ask(ctx, func(conn redis.Conn) (any, error) {
		isSent = true
		var err error
		value, wait, err = claimOn(conn, r.claimKey(key), token, slots)
		return nil, err
	})
	if err != nil {
		p, wait = r.memory.Claim(ctx, key, limits...)
		mayHaveToken := isSent && p == claim.New // Redis may have set the token, although no answer came.
		if mayHaveToken {
			r.keepToken(key, token)
		}
		return p, wait
	}
	switch value {
	case token: // This attempt has set it, or an attempt whose answer was lost.
		r.keepToken(key, token)
		return claim.New, wait
	case done:
		return claim.Done, 0
	}
	return claim.InFlight, 0
}

// claimOn sets key to token unless the key has a value, and runs limitScript with slots unless they are nil. It
// returns the value that the key has then, and the wait for the slots.
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
	value, err = claimedValue(conn, key, token, replies[0])
	if err != nil || slots == nil {
		return value, 0, err
	}
	wait, err = slotWait(conn, slots, replies[1])
	return value, wait, err
}

// claimedValue returns the value of key after a SET of token that had this reply. If there was a value, it asks for it.
// If that value expires meanwhile, claimedValue fails, and ask makes the whole call again.
func claimedValue(conn redis.Conn, key, token string, setReply any) (string, error) {
	switch reply := setReply.(type) {
	case redis.Error:
		return "", reply
	case nil: // There was a value.
		return redis.String(conn.Do("GET", key))
	}
	return token, nil
}

// slotWait returns the wait for slots after limitScript had this reply. If Redis did not know the script yet, slotWait
// sends it.
func slotWait(conn redis.Conn, slots []any, scriptReply any) (time.Duration, error) {
	if isNoScript(scriptReply) {
		return microseconds(limitScript.Do(conn, slots...))
	}
	return microseconds(scriptReply, nil)
}

// keepToken remembers the token of a claim for Release.
func (r *Redis) keepToken(key, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens[key] = token
}

// takeToken returns the token of a claim that this process made in Redis, and forgets it.
func (r *Redis) takeToken(key string) (token string, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	token, found = r.tokens[key]
	delete(r.tokens, key)
	return token, found
}

// claimKey returns the key of a claim in Redis. It says "update" for every kind of work.
func (r *Redis) claimKey(key string) string { return r.key("update", key) }

// Release implements claim.Claims. It deletes the key only if the value is the token of this process: the claim may
// have expired, and the value may be another replica's token.
func (r *Redis) Release(key string) {
	r.memory.Release(key)
	token, found := r.takeToken(key)
	if !found || !r.Up() {
		return
	}
	// If that fails, the claim expires.
	_, _ = r.ask(context.Background(), deleteCall(r.claimKey(key), token))
}

// mark is a claim whose work is done, to be told to Redis.
type mark struct {
	key   string
	lasts time.Duration
}

// maxMarks is how many marks may wait to be sent. Redis applies 500 in less than a millisecond.
const maxMarks = 500

// MarkDone implements claim.Claims. It marks the key as done even if another replica has claimed it since. It does not
// block unless maxMarks wait already, because sendMarks tells Redis.
func (r *Redis) MarkDone(key string, lasts time.Duration) {
	r.takeToken(key)
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

// sendMarks sends marks until ctx is done, and then the remaining ones. It sends all marks that wait in one call.
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

// setDone sets the claims of marks to done, in one round trip. If Redis does not answer, only this process remembers
// that they are done. Redis is not told later, so after the outage the work may be done again.
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
			r.memory.Release(m.key) // The memory has the claim if it was made without Redis.
		} else {
			r.memory.MarkDone(m.key, m.lasts)
		}
	}
}

// firstError returns the first error of the replies to several commands.
func firstError(reply any, err error) error {
	replies, err := redis.Values(reply, err)
	if err != nil {
		return err
	}
	for _, reply := range replies {
		refused, isRefused := reply.(redis.Error)
		if isRefused {
			return refused
		}
	}
	return nil
}
