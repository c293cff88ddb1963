package store

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/claim"
	"herald/internal/ratelimit"
)

// A claim in Redis is one key. While the work is in flight, the key's value is a token: a random text that only the
// claiming process knows. When the work is done, the value is "done". If this process cannot tell Redis so, the key
// expires after claim.Lasts, and the work is New again.
//
// The process also keeps its claims in its Memory, so that its own work stays InFlight if Redis becomes unavailable.

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

// claimInMemory is Claim if Redis does not answer. token is the token that Claim has tried to set.
func (r *Redis) claimInMemory(
	ctx context.Context, key, token string, limits []ratelimit.Limit,
) (p claim.Progress, wait time.Duration) {
	p, wait = r.memory.Claim(ctx, key, limits...)
	if p == claim.New {
		r.keepToken(key, token) // Redis may have set it, although it did not answer. Release then deletes it.
	}
	return p, wait
}

// claimReply is what Redis replies to a claim.
type claimReply struct {
	value string        // the value of the key after the claim: this claim's token, another claim's token, or done
	wait  time.Duration // how long to wait until the slots are due
}

// claimCall returns a call of claimOn, whose reply is a claimReply.
func claimCall(key, token string, slots []any) call {
	return func(conn redis.Conn) (any, error) { return claimOn(conn, key, token, slots) }
}

// claimOn sets key to token if the key has no value. If slots is not nil, it also runs limitScript with these
// arguments.
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

// claimedValue returns the value of key after a SET NX of token that had this reply. It is token, or the value that the
// key had before. If that has expired meanwhile, claimedValue fails with redis.ErrNil, and ask makes the whole call
// again.
func claimedValue(conn redis.Conn, key, token string, setReply any) (string, error) {
	switch reply := setReply.(type) {
	case redis.Error:
		return "", reply
	case nil: // SET did nothing, because the key had a value.
		return redis.String(conn.Do("GET", key))
	}
	return token, nil
}

// slotWait returns the wait for slots after limitScript had this reply. If Redis did not know the script yet, slotWait
// sends it.
func slotWait(conn redis.Conn, slots []any, scriptReply any) (time.Duration, error) {
	if isNoScript(scriptReply) {
		return waitIn(limitScript.Do(conn, slots...))
	}
	return waitIn(scriptReply, nil)
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

// Release implements claim.Claims. It deletes the key only if the value is still the token of this claim. If the claim
// has expired, the value may be another replica's token.
func (r *Redis) Release(key string) {
	// This comes first: after memory.Release, another caller of this process may claim the key and store a token.
	token, found := r.takeToken(key)
	r.memory.Release(key)
	if !found || !r.Up() {
		return
	}
	// If that fails, the claim expires.
	_, _ = r.ask(context.Background(), deleteCall(r.claimKey(key), token))
}

// mark says that the work of a claim is done.
type mark struct {
	key   string
	lasts time.Duration
}

// maxMarks is the maximum number of marks that wait to be sent. Redis applies 500 in less than a millisecond.
const maxMarks = 500

// MarkDone implements claim.Claims. It marks the key as done even if the claim has expired and another replica has
// claimed the key. It does not block, because sendMarks tells Redis, unless maxMarks are waiting already.
func (r *Redis) MarkDone(key string, lasts time.Duration) {
	r.takeToken(key)
	m := mark{key, lasts}
	if !r.Up() {
		r.setDone([]mark{m}) // It does not block, because ask fails at once while Redis is down.
		return
	}
	select {
	case r.marks <- m:
	default:
		r.setDone([]mark{m})
	}
}

// sendMarks sends marks to Redis until ctx is done, and then the remaining marks. It sends all waiting marks in one
// call.
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

// waitingMarks takes the waiting marks out of r.marks, at most maxMarks.
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
// that they are done, and only until Redis answers again. It does not tell Redis later. So after the outage any
// replica, including this one, may do the work again.
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
			r.memory.Release(m.key) // The memory may forget the claim, because Redis remembers it.
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
