package store

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"herald/internal/ratelimit"
)

// Probe makes each call that the bot makes, on keys of its own, which it deletes or which expire within a minute. It
// fails if Redis is a read-only replica or refuses one of the calls. After a failure Redis counts as unavailable until
// a probe by watch succeeds. The error names the call and what is wrong, without the URL and the server's text. Probe
// blocks for the time of nine calls at most.
func (r *Redis) Probe(ctx context.Context) error {
	r.dropped.Store(new(time.Now()))
	id := rand.Text()
	answer := r.key("probe", "answer "+id)
	update := r.key("probe", "update "+id)
	limit := r.limitArgs(0, []ratelimit.Limit{{Key: "probe " + id, Burst: 1, Every: time.Millisecond}})
	rows := redisBucket{redis: r, key: r.key("probe", "rows "+id)}
	for _, step := range []struct {
		what string
		call call
	}{
		{"write to", command("SET", answer, id, "PX", 1000)},
		{"read from", command("GET", answer)},
		{"limit in", limitCall(limit)},
		{"claim an update in", func(conn redis.Conn) (any, error) {
			_, _, err := claimOn(conn, update, id, nil)
			return nil, err
		}},
		{"release an update in", script(replaceScript, []string{update}, id, "")},
		{"save an address in", rows.replaceCall("", nil, []byte(id))},
		{"read an address in", rows.loadCall("")},
		{"list the addresses in", rows.scanCall("0")},
		{"delete an address from", rows.replaceCall("", []byte(id), nil)},
	} {
		_, err := r.do(ctx, step.call)
		if err != nil {
			r.up.Store(false)
			return fmt.Errorf("%s redis: %s", step.what, reason(err))
		}
	}
	return nil
}

// Durability returns a warning for each way in which Redis may lose saved addresses: it
// writes nothing to disk, or may evict them. A warning also says what could not be checked,
// and which right of the user would allow that. Durability blocks for the time of two calls
// at most.
func (r *Redis) Durability(ctx context.Context) (warnings []string) {
	info, err := redis.String(r.do(ctx, command("INFO")))
	if err != nil {
		return []string{fmt.Sprintf("whether it keeps saved addresses could not be checked: %s; give its user the right +info", reason(err))}
	}
	if !strings.Contains(info, "aof_enabled:1") {
		switch found, err := redis.StringMap(r.do(ctx, command("CONFIG", "GET", "save"))); {
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("it has appendonly off, and whether it saves snapshots could not be checked: %s; "+
				"set appendonly yes, or give its user the right +config|get", reason(err)))
		case found["save"] == "":
			warnings = append(warnings, "it writes nothing to disk, so its restart loses saved addresses: set appendonly yes")
		}
	}
	_, policy, known := strings.Cut(info, "maxmemory_policy:")
	policy, _, _ = strings.Cut(policy, "\r\n")
	switch {
	case !known:
		warnings = append(warnings, "it does not tell its maxmemory-policy, which must not be one of allkeys-*")
	case strings.HasPrefix(policy, "allkeys-"):
		warnings = append(warnings, "its maxmemory-policy may delete saved addresses when memory is short: set noeviction or volatile-lru")
	}
	return warnings
}

// reason returns words for err: the server's error code, or the kind of failure. It returns
// no other text of the server.
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
		// So Redis 7 and its successors say NOPERM of a call by a script.
		if text := reply.Error(); strings.Contains(text, "user executing the script can't") || strings.Contains(text, "ACL failure in script") {
			return "refused with NOPERM"
		}
		if code, _, _ := strings.Cut(reply.Error(), " "); code == strings.ToUpper(code) {
			return "refused with " + code
		}
		return "refused"
	}
	return "no connection"
}
