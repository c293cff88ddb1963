package store

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/claim"
	"herald/internal/ratelimit"
)

// A claim in Redis is one key. While the work is in flight, the key's value is a random token of the claim. Afterwards
// the value is "done". If this process cannot tell Redis that the work is done, the key expires after claim.Lasts, and
// the work is New again.
//
// The memory of this process keeps the claims that the process made in Redis, too. So the process's own work stays
// InFlight if Redis becomes unavailable.

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
	reply, err := r.ask(ctx, claimCall(r.claimKey(key), token, slots))
	if err != nil {
		return r.claimInMemory(ctx, key, token, limits)
	}
	claimed := reply.(claimReply)
	switch claimed.value {
	case token: // ask may make the call twice, with the same token.
		r.keepToken(key, token)
		r.memory.setInFlight(key)
		return claim.New, claimed.wait
	case done:
		return claim.Done, 0
	}
	return claim.InFlight, 0
}

// claimInMemory is Claim while Redis is unavailable. token is the one that Redis may have got.
func (r *Redis) claimInMemory(
	ctx context.Context, key, token string, limits []ratelimit.Limit,
) (p claim.Progress, wait time.Duration) {
	p, wait = r.memory.Claim(ctx, key, limits...)
	if p == claim.New {
		r.keepToken(key, token) // Redis may have set the token, although no answer came.
	}
	return p, wait
}

// claimReply is what Redis replies to a claim.
type claimReply struct {
	value string        // the value that the key has after the claim
	wait  time.Duration // until the slots are due
}

// claimCall returns the call of claimOn. Its reply is a claimReply.
func claimCall(key, token string, slots []any) call {
	return func(conn redis.Conn) (any, error) { return claimOn(conn, key, token, slots) }
}

// claimOn sets key to token unless the key has a value, and runs limitScript with slots unless they are nil.
func claimOn(conn redis.Conn, key, token string, slots []any) (claimReply, error) {
	// If a Send fails, Do fails, too.
	_ = conn.Send("SET", key, token, "NX", "PX", claim.Lasts.Milliseconds())
	if slots != nil {
		_ = limitScript.SendHash(conn, slots...)
	}
	replies, err := redis.Values(conn.Do(""))
	if err != nil {
		return claimReply{}, err
	}
	value, err := claimedValue(conn, key, token, replies[0])
	if err != nil {
		return claimReply{}, err
	}
	if slots == nil {
		return claimReply{value: value}, nil
	}
	wait, err := slotWait(conn, slots, replies[1])
	return claimReply{value, wait}, err
}

// claimedValue returns the value of key after a SET NX of token, by the reply to it. If there was a value already,
// claimedValue gets that. If it expires meanwhile, claimedValue fails with redis.ErrNil, and ask makes the whole call
// again.
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

// claimKey returns the key of a claim in Redis. It contains "update" for every kind of work, because replicas of
// different versions share the keys while the bot is upgraded.
func (r *Redis) claimKey(key string) string { return r.key("update", key) }

// Release implements claim.Claims. It deletes the key only if the value is the token of this process: the claim may
// have expired, and the value may be another replica's token.
func (r *Redis) Release(key string) {
	token, found := r.takeToken(key) // Take it first: once the memory is free, another claim may keep its own token.
	r.memory.Release(key)
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
	if !r.Up() { // ask fails at once then, and the memory remembers.
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
			r.memory.Release(m.key) // Redis knows it now, so the memory need not.
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
